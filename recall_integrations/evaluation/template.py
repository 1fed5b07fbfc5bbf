"""The beginning of a file of labelled questions, to be finished by hand: `recall eval STORE --make FILE`.

Without a log of queries: memories drawn from the store, for each of which somebody writes a question that it answers.
With one: its queries, each with what several ways of searching found, so that somebody marks which of it is right. The
ways are pooled and stand in the order of their ids, so that nobody is led to agree with the one that is measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from recall_integrations.adapters.scopes import find_scope, scope_text
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.evaluation import Progress, recalled, silent
from recall_integrations.evaluation.questions import Question, lines, placed, question_of
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Memory, Scope

COUNT = 50
POOLED = 10  # hits of each way
WORDS_MIN = 5  # of a memory that somebody can ask for
WAYS: tuple[tuple[str, ...], ...] = ((), ("semantic",), ("lexical",))  # arms that are asked; () = as configured


def template(
    store: MemoryStore,
    *,
    log: str | Path | None = None,
    scope: str | None = None,
    count: int = COUNT,
    now: datetime,
    seed: int = 0,
    progress: Progress = silent,
) -> list[dict[str, Any]]:
    """Return the lines of such a file."""
    if log is None:
        return list(_drawn(store, scope, count, seed))
    return list(
        _pooled(store, placed(store, _chosen(log, count, seed), scope, labelled=False).questions, now, progress)
    )


def write_template(rows: Iterable[dict[str, Any]], path: Path) -> None:
    """Write the lines to a new file."""
    try:
        with path.open("x", encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    except OSError as e:
        raise InvalidArgument(f"Cannot write {path}: {e.strerror or e}.") from e


# -- memories that somebody asks for -----------------------------------------------------------------------------------


def _drawn(store: MemoryStore, scope: str | None, count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Draw as many memories of each scope and type as there can be, so that the many do not hide the few."""
    known = store.scopes()
    scopes = [find_scope(scope, known)] if scope is not None or not known else [s for s, _ in known]
    rng = np.random.default_rng(seed)
    kinds: dict[tuple[str, str], list[tuple[Scope, Memory]]] = {}
    seen: dict[tuple[str, str], int] = {}
    for where in scopes:
        for memory in store.iterate(scope=where):
            if len(memory.text.split()) < WORDS_MIN:
                continue
            kind = scope_text(where), memory.type.value
            kept, seen[kind] = kinds.setdefault(kind, []), seen.get(kind, 0) + 1
            if len(kept) < count:
                kept.append((where, memory))
            elif (place := int(rng.integers(seen[kind]))) < count:
                kept[place] = where, memory
    if not kinds:
        raise InvalidArgument(f"No memory has {WORDS_MIN} words or more. Give a log of queries instead.")
    shuffled = [[own[i] for i in rng.permutation(len(own)).tolist()] for _, own in sorted(kinds.items())]
    turns = (own[turn] for turn in range(count) for own in shuffled if turn < len(own))
    for _, (where, memory) in zip(range(count), turns, strict=False):
        yield {
            "query": "",
            "relevant": [memory.id],
            "scope": scope_text(where),
            "group": memory.type.value,
            "memory": _shown(memory),
        }


def _shown(memory: Memory) -> dict[str, Any]:
    when = memory.event_at or memory.created_at
    said = {"text": memory.text, "actor": memory.actor, "when": when.isoformat() if when else None}
    return {name: value for name, value in said.items() if value}


# -- queries that somebody judges --------------------------------------------------------------------------------------


def _chosen(log: str | Path, count: int, seed: int) -> list[Question]:
    """Choose different queries of a log, drawn where there are too many, in the order of the log."""
    queries: dict[tuple[str, Scope], Question] = {}
    for number, line in enumerate(lines(Path(log)), start=1):
        if not line.strip():
            continue
        where = f"{log}, line {number}"
        row: object = {"query": line.strip()}
        if line.lstrip().startswith("{"):
            try:
                row = json.loads(line)
            except (json.JSONDecodeError, RecursionError) as e:
                raise InvalidArgument(f"{where} begins as JSON and is none: {e}") from e
        question = question_of(row, str(number), where)
        if question.text:
            queries.setdefault((question.text.casefold(), question.scope), replace(question, relevant=()))
    found = list(queries.values())
    if not found:
        raise InvalidArgument(f"{log} holds no queries. Write one a line.")
    if len(found) > count:
        drawn = np.random.default_rng(seed).choice(len(found), count, replace=False)
        found = [found[i] for i in sorted(drawn.tolist())]
    return found


def _pooled(
    store: MemoryStore, asked: Sequence[Question], now: datetime, progress: Progress
) -> Iterator[dict[str, Any]]:
    planner = store.config.planner
    configs = [replace(store.config, planner=replace(planner, arms=arms or planner.arms)) for arms in WAYS]
    with ExitStack() as stack:
        ways = [stack.enter_context(closing(QueryOptimizer(store, config=config))) for config in configs]
        for done, question in enumerate(asked, start=1):
            found = {
                hit.memory.id or "": _shown(hit.memory)
                for way in ways
                for hit in recalled(way, question, POOLED, now)[0].hits
            }
            progress("Searching", done, len(asked))
            row: dict[str, Any] = {"query": question.text, "relevant": [], "scope": scope_text(question.scope)}
            if question.asked_at is not None:
                row["now"] = question.asked_at.isoformat()
            yield row | {"found": dict(sorted(found.items()))}
