"""What `import recall_integrations` may load: the rule is in docs/internals.md ("What is loaded when")."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import NamedTuple

import pytest

FRAMEWORKS = "import langchain_core.retrievers, langchain_core.documents, llama_index.core.retrievers\n"
SURFACE = "from recall_integrations import MemoryStore, OptimizedRecallRetriever, QueryOptimizer\n"
# Of the package, what the surface is declared with; all else is loaded when a store is opened or an optimizer made.
ROOMS = {"adapters", "collector", "errors", "optimizer", "records", "resilience", "retriever", "store", "types"}
MODULES = {"deadline", "given", "memory_store"}  # of those that hold what a store and a recall need
SHAPES = {"absent", "documents", "nodes", "runs", "shapes", "spans"}  # of adapters: what the frameworks are given
HEAVY = (
    "tokenizers",
    "safetensors",
    "dateparser",
    "rapidfuzz",
    "Stemmer",
    "chromadb",
    "filelock",
    "rank_bm25",
)


# What a recall loads is made with `record`; `dataclass` compiles six functions for each class.
COUNTED = """
import dataclasses
plain = dataclasses._process_class
def counted(cls, init, *rest, **options):
    if init and cls.__module__.startswith("recall_integrations."):
        compiled.append(f"{cls.__module__}.{cls.__name__}")
    return plain(cls, init, *rest, **options)
dataclasses._process_class = counted
"""
RECALL = """
with MemoryStore.open() as store:
    store.remember("Priya said the deploy is on Friday")
    assert QueryOptimizer(store).recall("what did Priya say about the deploy?", k=1).hits
"""


class Loaded(NamedTuple):
    """What a fresh process has loaded: with the frameworks, with the surface too, and after a recall; and the classes
    of ours that `dataclass` has made by then."""

    frameworks: set[str]
    surface: set[str]
    recall: set[str]
    compiled: set[str]


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    note = "noted.append(sorted(sys.modules))\n"
    steps = [FRAMEWORKS, note, COUNTED, SURFACE, note, RECALL, note, "print(json.dumps([*noted, compiled]))\n"]
    return Loaded(*map(set, json.loads(said("import json, sys\nnoted, compiled = [], []\n" + "".join(steps)))))


def said(script: str) -> str:
    """The last line that a fresh process prints."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    return done.stdout.splitlines()[-1]


def test_the_package_by_itself_loads_nothing() -> None:
    found = said("import sys, recall_integrations; print(*sys.modules)").split()
    assert [name for name in found if name.startswith("recall_integrations")] == ["recall_integrations"]


def test_the_surface_loads_neither_engine_nor_rooms(loaded: Loaded) -> None:
    found = loaded.surface - loaded.frameworks
    own = [name.split(".")[1:] for name in found if name.startswith("recall_integrations.")]
    assert {parts[0] for parts in own} <= ROOMS
    assert {parts[1] for parts in own if len(parts) > 1 and parts[0] in ("store", "resilience")} <= MODULES
    assert {parts[1] for parts in own if len(parts) > 1 and parts[0] == "adapters"} <= SHAPES
    assert len(own) < 32
    assert not {name.split(".")[0] for name in found} & set(HEAVY)


def test_neither_do_the_frameworks_load_an_index_or_models(loaded: Loaded) -> None:
    late = {"chromadb", "dateparser", "torch", "sentence_transformers", "rank_bm25"}
    assert not late & loaded.surface


def test_an_open_door_loads_no_tables_of_what_is_hidden(loaded: Loaded) -> None:
    assert "recall_integrations.privacy.door" in loaded.recall
    assert not any(name.startswith("sqlalchemy.dialects.postgresql") for name in loaded.recall - loaded.frameworks)
    hidden = {"redactor", "secrets", "addresses", "national", "phones"}
    assert not {f"recall_integrations.privacy.{name}" for name in hidden} & loaded.recall


def test_few_classes_have_their_methods_compiled_before_they_are_used(loaded: Loaded) -> None:
    assert len(loaded.compiled) < 10, loaded.compiled
