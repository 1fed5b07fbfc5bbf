"""Retrievers in worker processes: a copy opens its store when it is used, beside the process that it came from."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from pathlib import Path

import pytest

from tests.quick import only

METHODS = [method for method in ("fork", "spawn") if method in multiprocessing.get_all_start_methods()]
HEAD = """
import multiprocessing, pickle, sys
from recall_integrations import MemoryStore, OptimizedRecallRetriever, QueryOptimizer

def names(text):
    return [word for word in text.split() if word.istitle()]

def found(retriever):
    return [document.page_content for document in retriever.invoke("kestrel")]

def told(retriever):
    retriever.optimizer.store.remember("a kestrel came back")

def used(pickled):
    retriever = pickle.loads(pickled)
    found = [document.page_content for document in retriever.invoke("kestrel")]
    store = retriever.optimizer.store
    before = store.stats()["mentions"]
    store.remember("today Lisbon was sunny")
    after = store.stats()["mentions"]
    store.close()
    return found, after - before
"""
OPEN = """
if __name__ == "__main__":
    store = MemoryStore.open(sys.argv[2], extractor=names)
    store.remember("the kestrel flew")
    retriever = OptimizedRecallRetriever(optimizer=QueryOptimizer(store), k=1)
    retriever.invoke("kestrel")
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(found, [retriever, retriever]))
        print([documents[0].page_content for documents in pool.map(retriever.invoke, ["kestrel"])])
        pool.map(told, [retriever])
    print(sorted(document.page_content for document in retriever.invoke("kestrel", k=5)))
    store.close()
"""
CLOSED = """
if __name__ == "__main__":
    store = MemoryStore.open(sys.argv[2], extractor=names)
    store.remember("the kestrel flew")
    pickled = pickle.dumps(OptimizedRecallRetriever(optimizer=QueryOptimizer(store), k=1))
    store.close()
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        print(pool.map(used, [pickled]))
"""


def lines(tmp_path: Path, method: str, code: str) -> list[str]:
    script = tmp_path / "script.py"
    script.write_text(HEAD + code)
    done = subprocess.run(
        [sys.executable, str(script), method, str(tmp_path / "store")],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert not done.returncode, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("method", only(METHODS, METHODS[0]))
def test_a_pool_shares_the_store_that_is_open_here(tmp_path: Path, method: str) -> None:
    one = "['the kestrel flew']"
    both = "['a kestrel came back', 'the kestrel flew']"
    assert lines(tmp_path, method, OPEN) == [f"[{one}, {one}]", one, both]


@pytest.mark.parametrize("method", only(METHODS, METHODS[0]))
def test_a_copy_in_a_worker_has_its_store_and_the_extractor(tmp_path: Path, method: str) -> None:
    assert lines(tmp_path, method, CLOSED) == ["[(['the kestrel flew'], 1)]"]
