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
# Each time in a process of its own, with a copy of the store. They are forked from one that has loaded the package.
OPENS = """
import os, shutil, sys
from pathlib import Path
from recall_integrations import MemoryStore
from recall_integrations.errors import RecallError
import recall_integrations.store.opening
whole = Path(sys.argv[1])
for at in sys.argv[2:]:
    path = whole.with_name("store")
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(whole, path)
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0
        continue
    os.environ["FAILS_AT"], _, on = at.partition("+")
    if on:
        os.environ["FAILS_ON"] = "1"
    try:
        with MemoryStore.open(path) as store:
            print(f"{at}:read", len(store.list(limit=1000)), flush=True)
    except RecallError as e:
        print(f"{at}:{type(e).__name__}", str(e).replace(chr(10), " "), flush=True)
    os._exit(0)
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


def opened(library: Path, whole: Path, *at: str) -> dict[str, str]:
    """What opening a store says where that read of its file fails, "0" = none; with "+on", so do all behind it."""
    command = [sys.executable, "-c", OPENS, str(whole), *at]
    set_for_it = {**os.environ, "LD_PRELOAD": str(library), "FAILS_AT": "0"}
    done = subprocess.run(command, env=set_for_it, capture_output=True, text=True, timeout=120, check=True)
    said = dict(line.split(":", 1) for line in done.stdout.splitlines())
    assert list(said) == list(at)
    return said


def test_a_read_that_fails_is_not_told_as_damage(library: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    with MemoryStore.open(whole) as store:
        store.remember_many([f"Priya counted {i} swans on the lake" for i in range(200)])
    (whole / "recall.db.checked").unlink()  # so that it is read whole
    once = ("2", "4", "8", "20", "80", "100", "130")
    said = opened(library, whole, *once, "8+on", "0")
    assert not [said[at] for at in once if said[at].startswith("StoreCorrupt")]
    assert [said[at] for at in ("4", "8", "20")] == ["read 200"] * 3
    later = [said[at] for at in once if not said[at].startswith("read")]
    assert all("could not be read" in one or "Cannot read" in one or "I/O error" in one for one in later)
    always = said["8+on"]
    assert always.startswith("Store") and "disk I/O error" in always and "damaged" not in always
    assert said["0"] == "read 200"
