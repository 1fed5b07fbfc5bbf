"""A disk that does not give a page once is no damage. A library that is loaded before libc's makes reads fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recall_integrations import MemoryStore

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int reads = 0;
static int fails(int fd) {
    char link[64], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int n = readlink(link, path, sizeof path - 1);
    if (n < 9 || strncmp(path + n - 9, "recall.db", 9)) return 0;
    reads++;
    return reads == atoi(getenv("FAILS_AT")) || (reads > atoi(getenv("FAILS_AT")) && getenv("FAILS_ON"));
}
#define HOOK(type, name, declared, given) \
    type name declared { \
        static type (*real) declared; \
        if (!real) real = dlsym(RTLD_NEXT, #name); \
        if (fails(fd)) { errno = EIO; return -1; } \
        return real given; \
    }
HOOK(ssize_t, pread64, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
HOOK(ssize_t, pread, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
HOOK(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n))
"""
OPENS = """
import sys
from recall_integrations import MemoryStore
from recall_integrations.errors import RecallError
try:
    with MemoryStore.open(sys.argv[1]) as store:
        print("read", len(store.list(limit=1000)))
except RecallError as e:
    print(type(e).__name__, e)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs a C compiler, on Linux")
    made = tmp_path_factory.mktemp("library")
    (made / "fails.c").write_text(SOURCE)
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", str(made / "fails.so"), str(made / "fails.c"), "-ldl"], check=True
    )
    return made / "fails.so"


def opened(library: Path, path: Path, **environment: str) -> str:
    set_for_it = {**os.environ, "LD_PRELOAD": str(library), **environment}
    command = [sys.executable, "-c", OPENS, str(path)]
    return subprocess.run(
        command, env=set_for_it, capture_output=True, text=True, timeout=120, check=True
    ).stdout.strip()


def test_a_read_that_fails_is_not_told_as_damage(library: Path, tmp_path: Path) -> None:
    path = tmp_path / "store"
    with MemoryStore.open(path) as store:
        store.remember_many([f"Priya counted {i} swans on the lake" for i in range(200)])
    (path / "recall.db.checked").unlink()  # so that it is read whole
    whole = path.with_name("whole")
    shutil.copytree(path, whole)
    said = {}
    for at in ("2", "4", "8", "20", "80", "100", "130"):
        said[at] = opened(library, path, FAILS_AT=at)
        shutil.rmtree(path)
        shutil.copytree(whole, path)
    assert not [one for one in said.values() if one.startswith("StoreCorrupt")]
    assert [said[at] for at in ("4", "8", "20")] == ["read 200"] * 3
    later = [one for one in said.values() if not one.startswith("read")]
    assert all("could not be read" in one or "Cannot read" in one or "I/O error" in one for one in later)
    always = opened(library, path, FAILS_AT="8", FAILS_ON="1")
    assert always.startswith("Store") and "disk I/O error" in always and "damaged" not in always
    assert opened(library, path, FAILS_AT="0") == "read 200"
