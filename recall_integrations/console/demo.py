"""`recall demo`: six questions of six kinds to a small temporary store, and three to a few notes.

Everything happens before `NOW`, a fixed Monday, so that the demonstration is the same on every day. `demo.yaml` has the
memories and the questions.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib import resources
from typing import Any

import yaml
from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from recall_integrations.console import rendering
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Memory, Relation, Scope

NOW = datetime(2026, 4, 20, 9, 0, tzinfo=timezone.utc)
SCOPE = Scope(user_id="demo")
HITS = 3
SCORE_MIN = 0.3  # probability below which no note is shown


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoQuery:
    """A question of the demonstration."""

    text: str
    shows: str  # what it is an example of, in a few words
    plan: str  # the plan it is expected to get
    first: tuple[str, ...]  # ids of the memories of which one must come first; empty = no memory answers


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoTexts:
    """The demonstration."""

    aliases: Mapping[str, tuple[str, ...]]  # names declared before anything is remembered, with other ways to say them
    memories: tuple[Memory, ...]  # in order of arrival
    queries: tuple[DemoQuery, ...]


@functools.cache
def _content() -> Mapping[str, Any]:
    file = resources.files(__package__) / "demo.yaml"
    content: Mapping[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return content


@functools.cache
def demo_texts() -> DemoTexts:
    """Return the demonstration."""
    aliases = {name: tuple(more) for name, more in _content()["aliases"].items()}
    memories = tuple(map(_memory, _content()["memories"]))
    return DemoTexts(aliases=aliases, memories=memories, queries=_queries("queries"))


def _queries(kind: str) -> tuple[DemoQuery, ...]:
    return tuple(DemoQuery(**{**row, "first": tuple(row["first"])}) for row in _content()[kind])


def _memory(row: Mapping[str, Any]) -> Memory:
    fields = {name: value for name, value in row.items() if name not in ("at", "dated")}
    recorded = {"created_at": _at(row["at"])} if "at" in row else {}
    happened = _at(row.get("event_at", row.get("at"))) if row.get("dated", True) else None
    fields["relations"] = tuple(Relation(*one) for one in row.get("relations", ()))
    return Memory(**{**fields, **recorded, "event_at": happened})


def _at(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}:00+00:00")


QUERIES, CHANGES = _queries("queries"), _queries("changes")  # the second are asked of the notes


def notes() -> tuple[Memory, ...]:
    """Return three notes of a store of their own; the last tells anew what the first told."""
    return tuple(map(_memory, _content()["notes"]))


@contextmanager
def demo_optimizer(told: DemoTexts | None = None) -> Iterator[QueryOptimizer]:
    """Yield an optimizer over the demonstration's memories, in a temporary store."""
    told = told or demo_texts()
    with notes_optimizer(()) as optimizer:
        for name, aliases in told.aliases.items():
            optimizer.store.add_entity(name, aliases=aliases, scope=SCOPE)
        optimizer.store.remember_many(told.memories, scope=SCOPE)
        yield optimizer


@contextmanager
def notes_optimizer(memories: Sequence[Memory] | None = None) -> Iterator[QueryOptimizer]:
    """Yield an optimizer over memories, by default the notes of the demonstration, in a temporary store."""
    with MemoryStore.open(clock=lambda: NOW) as store:
        store.remember_many(notes() if memories is None else memories)
        with closing(QueryOptimizer(store, clock=lambda: NOW)) as optimizer:
            yield optimizer


def run_demo(console: Console) -> None:
    """Ask every question and show the plan, why it was chosen, the time it took, and the best memories.

    Questions to a few notes follow: what changed, and what nobody has told.
    """
    told = demo_texts()
    with demo_optimizer() as optimizer:
        console.print(
            Text.assemble(
                (f"{optimizer.store.count(scope=SCOPE)} memories", "bold"),
                f" of an invented engineer; today is {NOW:%A, %Y-%m-%d}. "
                f"{len(told.queries)} questions, each of another kind, so each gets another plan.",
            )
        )
        for query in told.queries:  # reads what is read on first use, so that the times below are typical ones
            optimizer.recall(query.text, k=HITS, scope=SCOPE)
        for number, query in enumerate(told.queries, start=1):
            _show_question(console, query, f"{number} of {len(told.queries)}: {query.shows}")
            rendering.show_result(console, optimizer.recall(query.text, k=HITS, scope=SCOPE), SCOPE, ids=False)
    _show_changes(console)
    console.print()
    console.print(
        Text('The store was temporary and is gone. Yours: recall import FILE STORE, then recall explain STORE "…".')
    )


def _show_changes(console: Console) -> None:
    """Show that the newer of two notes comes first, and that a question without an answer gets none."""
    with notes_optimizer() as optimizer:
        console.print()
        console.print(
            Text.assemble(
                (f"{optimizer.store.count()} notes", "bold"),
                f" in a store of their own. score_min={SCORE_MIN:g} leaves out what is less likely to answer.",
            )
        )
        for query in CHANGES:
            optimizer.recall(query.text, k=HITS)
        for query in CHANGES:
            _show_question(console, query, query.shows)
            rendering.show_result(console, optimizer.recall(query.text, k=HITS, score_min=SCORE_MIN), Scope(), ids=True)


def _show_question(console: Console, query: DemoQuery, title: str) -> None:
    console.print()
    shown = Text(f" {title} ", style="dim")
    console.print(Panel(Text(query.text, style="bold"), title=shown, title_align="left", box=box.ROUNDED))
