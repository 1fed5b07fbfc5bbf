"""The table of the source documents names nothing that is not there, and no default that is another."""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import recall_integrations
from recall_integrations import MemoryStore, QueryOptimizer, RecallConfig, errors
from recall_integrations.config.checking import OTHERS
from recall_integrations.observability import logs
from recall_integrations.observability.metrics import _TABLE, REASONS
from recall_integrations.serving.app import create_app
from recall_integrations.serving.served import Served
from recall_integrations.types import result
from tests.pages import DOCS, ROOT
from tests.rows import each_row

PAGE = (DOCS / "sources.md").read_text(encoding="utf-8")
PACKAGE = Path(recall_integrations.__file__).parent
ROWS = [
    tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
    for line in PAGE.partition("## 000")[2].splitlines()
    if line.startswith("|") and not line.startswith(("|---", "| the source"))
]
VERDICTS = ("is", "differs", "not")
_SPAN, _LINK = re.compile(r"`([^`]+)`"), re.compile(r"\]\(([\w./-]+)(#[\w-]+)?\)")
# Values of settings and arguments that the text names beside them.
SAID = {"rrf", "weighted", "full", "hypothetical", "boosts", "conversational", "scopes", "block", "content=True"}
SAID |= {"recall eval", "rerank_top_k"}
_MISSING = object()


def value_of(path: str) -> Any:
    """The value of a name in a file of the package, or of a setting, or of the public surface."""
    if "::" in path:
        file, _, name = path.partition("::")
        found: Any = importlib.import_module(f"recall_integrations.{file.removesuffix('.py').replace('/', '.')}")
    else:
        found, name = (RecallConfig() if path[0].islower() and not path.startswith("errors.") else PUBLIC), path
    for part in name.split("."):
        kept = dataclasses.fields(found) if inspect.isclass(found) and dataclasses.is_dataclass(found) else ()
        held = found.get(part, _MISSING) if isinstance(found, dict) else getattr(found, part, _MISSING)
        if held is _MISSING and part in {field.name for field in kept}:
            return None
        if held is _MISSING:
            raise LookupError(path)
        found = held
    return found


PUBLIC: dict[str, Any] = {**vars(result), **vars(recall_integrations.types), **vars(recall_integrations)}
PUBLIC["errors"] = errors


@functools.cache
def routes() -> frozenset[str]:
    with MemoryStore.open() as store:
        paths = create_app(Served(store=store, optimizer=QueryOptimizer(store))).openapi()["paths"]
    return frozenset(f"{method.upper()} {path}" for path, methods in paths.items() for method in methods)


@functools.cache
def metrics() -> frozenset[str]:
    return frozenset(row["name"] for part in ("counted", "computed") for row in _TABLE[part].values())


def wrong(span: str) -> str:
    """What is wrong with what the column *here* says; empty = nothing."""
    said, _, given = span.partition(" = ")
    if span in SAID or span in REASONS:
        return ""
    if said.startswith(("GET /", "POST /")):
        return "" if said in routes() else "no such route"
    if said.startswith("RECALL_"):
        return "" if said in OTHERS else "no such variable"
    if said.startswith(("recall_", "l4_")):
        return "" if said in metrics() else "no such metric"
    if said.startswith("recall."):
        return "" if f'"{said[len("recall.") :]}"' in inspect.getsource(logs) else "no such attribute"
    if "/" in said and "::" not in said:
        return "" if (ROOT / said).exists() or (PACKAGE / said).exists() else "no such file"
    try:
        value = value_of(said)
    except (LookupError, ImportError) as e:
        return f"there is none ({e!r})"
    return "" if not given or value == ast.literal_eval(given) else f"it is {value!r}"


@pytest.mark.usefixtures("shipped_budgets")
@each_row("row", ROWS)
def test_what_a_row_names_is_there(row: tuple[str, ...]) -> None:
    source, verdict, here = row
    assert source and verdict in VERDICTS
    found = {span: why for span in _SPAN.findall(here) if (why := wrong(span))}
    assert not found
    links = [page for page, _ in _LINK.findall(here)]
    assert all((DOCS / page).exists() for page in links), links
    if verdict == "is":
        assert links or _SPAN.search(here), "says not where"
    else:
        assert len(re.findall(r"\w+", _SPAN.sub("", here))) >= 3, "says not why"


def test_wrong_rows_would_be_seen() -> None:
    """Each kind of cell, once with a mistake."""
    for span in (
        "planner.precise_threshold = 0.9",
        "planner.precise_treshold",
        "query/features.py::ROUNDING = 4",
        "query/features.py::rounding",
        "query/no_such.py::X",
        "ParsedQuery.rewritten",
        "recall.rewriteCause",
        "skip.long_query",
        "recall_plans",
        "GET /experience",
        "RECALL_TIMEOUT",
        "rewriting/alternative.txt",
        "errors.NoSuch",
    ):
        assert wrong(span), span
    assert len(ROWS) > 130 and {row[1] for row in ROWS} == set(VERDICTS)
