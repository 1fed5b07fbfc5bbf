"""An installation without LangChain, LlamaIndex or Chroma (docs/install.md), in a process that cannot import them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import tomllib

from recall_integrations.errors import LEFT_OUT, installing

ROOT = Path(__file__).resolve().parents[3]
BLOCKED = """
import sys
from importlib.abc import MetaPathFinder

class Blocked(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.startswith({modules!r}):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
from recall_integrations import MemoryStore, OptimizedRecallRetriever, QueryOptimizer, RecallConfig, errors
from recall_integrations.config import RetrievalConfig, VectorsConfig

def refused(call):
    try:
        return call()
    except errors.MissingExtra as e:
        return e

asked = "why did the deploy fail?"
retriever = OptimizedRecallRetriever.from_texts(["The deploy failed: the certificate expired", "Tea is ready"], k=1)
assert "certificate" in retriever.recall(asked).hits[0].memory.text
"""
NO_LANGCHAIN = """
assert "certificate" in retriever.retrieve(asked)[0].node.text
for call in (retriever.invoke, retriever.batch, retriever.as_tool, lambda _: retriever | print):
    print(refused(lambda: call(asked)))
def middleware():
    import recall_integrations.frameworks.middleware
assert isinstance(refused(middleware), errors.MissingExtra)
"""
NO_LLAMA_INDEX = """
assert "certificate" in retriever.invoke(asked)[0].page_content and retriever.get_prompts() == []
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
documents = OptimizedRecallRetriever.from_documents([Document("The deploy failed", metadata={"source": "a"})])
assert (documents | RunnableLambda(len)).invoke(asked) == 1
print(refused(lambda: retriever.retrieve(asked)))
def block():
    import recall_integrations.frameworks.llamaindex_memory
print(refused(block))
"""
NO_CHROMA = """
assert retriever.invoke(asked)[0].page_content == retriever.retrieve(asked)[0].node.text
settings = RecallConfig(retrieval=RetrievalConfig(exact_max=0, cache_mb=0))  # every scope is too large to be scanned
with MemoryStore.open(config=settings) as store:
    store.remember_many(["The deploy failed: the certificate expired", "Tea is ready"])
    assert not store.indexes.settle(5)
    found = QueryOptimizer(store, config=settings).recall(asked, k=1)
    assert "certificate" in found.hits[0].memory.text
    assert "semantic" in {one.source for one in found.hits[0].contributions}
    print(*store.stats()["notices"])
served = RecallConfig(vectors=VectorsConfig(address="http://127.0.0.1:9"))
print(refused(lambda: MemoryStore.open(config=served)))
"""


@pytest.mark.parametrize(
    ("package", "modules", "code"),
    [
        ("langchain-core", ("langchain", "langsmith"), NO_LANGCHAIN),
        # The files of LlamaIndex may be there for their lists of stop words.
        ("llama-index-core", ("llama_index.", "llama_index_instrumentation"), NO_LLAMA_INDEX),
        ("llama-index-core", ("llama_index",), NO_LLAMA_INDEX),
        ("chromadb", ("chromadb",), NO_CHROMA),
    ],
)
def test_what_is_missing_is_named_where_it_is_needed(package: str, modules: tuple[str, ...], code: str) -> None:
    script = BLOCKED.format(modules=modules) + code
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said and all(installing(package) in line for line in said), done.stdout


def test_a_slim_install_has_every_other_requirement_in_the_same_bounds() -> None:
    every = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    slim = (ROOT / "docs" / "slim.txt").read_text(encoding="utf-8").splitlines()
    left_out = [f"{name}{bounds}" for name, bounds in LEFT_OUT.items()]
    assert sorted(every) == sorted([*left_out, *(line for line in slim if not line.startswith("#"))])
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    named = re.findall(r'"((?:langchain-core|llama-index-core|chromadb)[<>][^"]*)"', page)
    assert named and set(named) <= set(left_out)
