"""The child process of `test_crash.py`: writes to a store, says what was acknowledged, and is killed on the way.

    python crash_child.py STORE SEED TASK [POINT [COUNT]]

Every operation is announced before it is called and confirmed after it has returned, one JSON line each, flushed. At
the COUNT-th passage of POINT the process sends itself SIGKILL. Hooks are set here, in this process, only.
"""

from __future__ import annotations

import inspect
import json
import os
import random
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations import Memory, MemoryStore, RecallConfig, Scope
from recall_integrations.config import RetrievalConfig
from recall_integrations.store import chroma_files, collections, filling, indexes, journal, removing, renewal
from recall_integrations.store.chroma_files import ChromaFiles
from recall_integrations.store.removing import Removing

CONFIG = RecallConfig(retrieval=RetrievalConfig(exact_max=20))
BIG, SMALL = Scope(user_id="big"), Scope(user_id="small")


class ChildEmbedding:
    """Sixteen numbers from the characters of a text, and of the model's name."""

    dimensions, remote = 16, False

    def __init__(self, name: str = "child") -> None:
        self.fingerprint = f"{name}:16"

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self.embed_documents([text])[0]

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = [np.random.default_rng([ord(c) for c in self.fingerprint + t]).normal(size=16) for t in texts]
        matrix = np.asarray(rows, dtype=np.float32).reshape(len(texts), 16)
        return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def word_of(memory_id: str, version: int) -> str:
    """A word that only this version of this memory says."""
    return f"w{memory_id}v{version}"


def text_of(memory_id: str, version: int) -> str:
    return f"{word_of(memory_id, version)} is what was said"


def say(**line: Any) -> None:
    os.write(1, f"{json.dumps(line)}\n".encode())  # at once: a thread that logs must not write into the line


def kill_after(
    owner: Any, name: str, count: int, *, when: Callable[..., bool] = lambda *_: True, before: bool = False
) -> None:
    """Let the `count`-th call of `owner.name` for which `when` holds be this process's last."""
    real = getattr(owner, name)
    static = isinstance(inspect.getattr_static(owner, name), staticmethod)
    left = [count]

    def hooked(*args: Any, **options: Any) -> Any:
        if not when(*args):
            return real(*args, **options)
        left[0] -= 1
        if before and left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        result = real(*args, **options)
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, staticmethod(hooked) if static else hooked)


POINTS: dict[str, Callable[[int], None]] = {
    "sql committed": lambda n: kill_after(Removing, "index", n, before=True),
    "written": lambda n: kill_after(Removing, "index", n),
    "vectors stored": lambda n: kill_after(ChromaFiles, "apply", n, before=True),
    "chroma applied": lambda n: kill_after(ChromaFiles, "apply", n),
    "not entered": lambda n: kill_after(journal, "append", n, before=True),
    "entered": lambda n: kill_after(journal, "append", n),
    "slice not noted": lambda n: kill_after(collections.Collections, "_writing", n, before=True),
    "slice noted": lambda n: kill_after(collections.Collections, "_reach", n),
    "epoch not switched": lambda n: kill_after(chroma_files, "next_epoch", n, before=True),
    "epoch switched": lambda n: kill_after(ChromaFiles, "sweep", n, before=True),
    "batch forgotten": lambda n: kill_after(Removing, "remove", n),
    "names not forgotten": lambda n: kill_after(removing.Forgetting, "_forget_names", n, before=True),
    "names forgotten": lambda n: kill_after(removing.Forgetting, "_forget_names", n),
    "swept": lambda n: kill_after(renewal, "_sweep", n),
    "database not written": lambda n: kill_after(renewal, "write_anew", n, before=True),
    "database written": lambda n: kill_after(renewal, "write_anew", n),
    "re-embedded": lambda n: kill_after(indexes.Indexes, "embed", n),
}


def write(store: MemoryStore, rng: random.Random) -> None:
    """Single memories, batches, replacements and deletions, without end."""
    versions: dict[tuple[str, str], int] = {}
    step = 0
    while True:
        step += 1
        scope = BIG if rng.random() < 0.8 else SMALL
        known = sorted(i for user, i in versions if user == scope.user_id)
        kind = rng.random()
        if known and kind < 0.15:
            ids = [rng.choice(known)]
            say(do="forget", user=scope.user_id, ids=ids)
            store.forget(ids[0], scope=scope)
            say(done=True)
            continue
        ids = rng.sample(known, min(2, len(known))) if kind < 0.4 else []
        ids += [f"s{step}n{i}" for i in range(1 if kind < 0.7 else 6)]
        for memory_id in ids:
            versions[scope.user_id, memory_id] = versions.get((scope.user_id, memory_id), 0) + 1
        given = {i: versions[scope.user_id, i] for i in ids}
        say(do="put", user=scope.user_id, ids=given)
        store.remember_many([Memory(text_of(i, v), id=i, actor="Priya") for i, v in given.items()], scope=scope)
        say(done=True)


def main() -> None:
    path, seed, task, *point = sys.argv[1:]
    if point and task != "write":
        POINTS[point[0]](int(point[1]))
    name = "other" if task == "change embedding" else "child"
    store = MemoryStore.open(
        Path(path), embedding=ChildEmbedding(name), config=CONFIG, reindex=task == "change embedding"
    )
    say(open=True)
    removing.FORGET_BATCH = 10
    filling.QUIET_S = 0.02  # as often in a second as otherwise in a minute
    if task == "hold":
        sys.stdin.read()
    elif task == "reindex":
        store.reindex()
    elif task == "forget user":
        store.forget(user_id=BIG.user_id)
        store.compact()
    elif task == "write":
        if point:
            POINTS[point[0]](int(point[1]))
        write(store, random.Random(int(seed)))


if __name__ == "__main__":
    filling.QUIET_S, collections.SLICE, chroma_files.AT_ONCE = 0.0, 8, 3  # many steps, in between what is written
    collections.WAITED_S = 0.1
    main()
