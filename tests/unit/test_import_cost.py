"""What `import recall_integrations` may load: the rule is in docs/internals.md ("What is loaded when")."""

from __future__ import annotations

import json
import subprocess
import sys

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


def loaded(code: str, before: str = FRAMEWORKS) -> set[str]:
    """Modules that the code loads in a fresh process, beyond those of `before`."""
    script = (
        f"import json, sys\n{before}seen = set(sys.modules)\n{code}print(json.dumps(sorted(set(sys.modules) - seen)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=300)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_the_package_by_itself_loads_nothing() -> None:
    found = loaded("import recall_integrations\n", before="import importlib, typing\n")
    assert {name for name in found if name.startswith("recall_integrations")} == {"recall_integrations"}


def test_the_surface_loads_neither_engine_nor_rooms() -> None:
    found = loaded(SURFACE)
    own = [name.split(".")[1:] for name in found if name.startswith("recall_integrations.")]
    assert {parts[0] for parts in own} <= ROOMS
    assert {parts[1] for parts in own if len(parts) > 1 and parts[0] in ("store", "resilience")} <= MODULES
    assert {parts[1] for parts in own if len(parts) > 1 and parts[0] == "adapters"} <= SHAPES
    assert len(own) < 32
    assert not {name.split(".")[0] for name in found} & set(HEAVY)


def test_an_open_door_loads_no_tables_of_what_is_hidden() -> None:
    code = """
from recall_integrations import MemoryStore, QueryOptimizer
with MemoryStore.open() as store:
    store.remember("Priya said the deploy is on Friday")
    assert QueryOptimizer(store).recall("what did Priya say about the deploy?", k=1).hits
"""
    found = loaded(code)
    assert "recall_integrations.privacy.door" in found
    assert not any(name.startswith("sqlalchemy.dialects.postgresql") for name in found)
    hidden = {"redactor", "secrets", "addresses", "national", "phones"}
    assert not {f"recall_integrations.privacy.{name}" for name in hidden} & found


def test_few_classes_have_their_methods_compiled_before_they_are_used() -> None:
    """What a recall loads is made with `record`; `dataclass` compiles six functions for each class."""
    code = """
import dataclasses
made = []
plain = dataclasses._process_class
def counted(cls, init, *rest, **options):
    if init and cls.__module__.startswith("recall_integrations."):
        made.append(f"recall_integrations {cls.__module__}.{cls.__name__}")
    return plain(cls, init, *rest, **options)
dataclasses._process_class = counted
from recall_integrations import MemoryStore, QueryOptimizer
with MemoryStore.open() as store:
    store.remember("Priya said the deploy is on Friday")
    QueryOptimizer(store).recall("what did Priya say about the deploy?", k=1)
sys.modules.update(dict.fromkeys(made))
"""
    compiled = [name for name in loaded(code) if name.startswith("recall_integrations ")]
    assert len(compiled) < 10, compiled
