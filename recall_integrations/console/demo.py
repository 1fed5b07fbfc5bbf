"""`recall demo`: six questions of six kinds to a small temporary store, and three to a few notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from recall_integrations.console import demo_data, rendering
from recall_integrations.console.demo_data import DemoQuery
from recall_integrations.console.demo_texts import ENGLISH, DemoTexts, demo_texts
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.recall.runner import Observer
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Scope
from recall_integrations.types.observing import RecallObserver

HITS = 3


@contextmanager
def demo_optimizer(
    language: str = ENGLISH, observers: Sequence[Observer | RecallObserver] = ()
) -> Iterator[QueryOptimizer]:
    """Yield an optimizer over the demonstration's memories, in a temporary store."""
    told = demo_texts(language)
    with MemoryStore.open(clock=lambda: demo_data.NOW) as store:
        for name, aliases in told.aliases.items():
            store.add_entity(name, aliases=aliases, scope=demo_data.SCOPE)
        store.remember_many(told.memories, scope=demo_data.SCOPE)
        optimizer = QueryOptimizer(store, clock=lambda: demo_data.NOW, observers=observers)
        try:
            yield optimizer
        finally:
            optimizer.close()


def run_demo(console: Console, language: str = ENGLISH) -> None:
    """Ask every question and show the plan, why it was chosen, the time it took, and the best memories.

    In English, questions to a few notes follow: what changed, and what nobody has told.
    """
    told = demo_texts(language)
    with demo_optimizer(language) as optimizer:
        console.print(_introduction(told, optimizer.store.count(scope=demo_data.SCOPE)))
        for query in told.queries:  # reads what is read on first use, so that the times below are typical ones
            optimizer.recall(query.text, k=HITS, scope=demo_data.SCOPE)
        for number, query in enumerate(told.queries, start=1):
            _show_question(console, query, f"{number} of {len(told.queries)}: {query.shows}")
            result = optimizer.recall(query.text, k=HITS, scope=demo_data.SCOPE)
            rendering.show_result(console, result, demo_data.SCOPE, ids=False)
    if told.code == ENGLISH:
        _show_changes(console)
    console.print()
    console.print(
        Text(
            "The store was temporary and is gone. Yours: recall import FILE --format jsonl STORE, then "
            'recall search STORE "…" --explain.'
        )
    )


@contextmanager
def notes_optimizer() -> Iterator[QueryOptimizer]:
    """Yield an optimizer over the notes of the demonstration, in a temporary store."""
    with MemoryStore.open(clock=lambda: demo_data.NOW) as store:
        store.remember_many(demo_data.notes())
        optimizer = QueryOptimizer(store, clock=lambda: demo_data.NOW)
        try:
            yield optimizer
        finally:
            optimizer.close()


def _show_changes(console: Console) -> None:
    """Show that the newer of two notes comes first, and that a question without an answer gets none."""
    with notes_optimizer() as optimizer:
        console.print()
        console.print(
            Text.assemble(
                (f"{optimizer.store.count()} notes", "bold"),
                " in a store of their own. score_min=",
                f"{demo_data.SCORE_MIN:g} leaves out what is less likely to answer.",
            )
        )
        for query in demo_data.CHANGES:
            optimizer.recall(query.text, k=HITS)
        for query in demo_data.CHANGES:
            _show_question(console, query, query.shows)
            result = optimizer.recall(query.text, k=HITS, score_min=demo_data.SCORE_MIN)
            rendering.show_result(console, result, Scope(), ids=True)


def _show_question(console: Console, query: DemoQuery, title: str) -> None:
    """Show a question in a box."""
    console.print()
    shown = Text(f" {title} ", style="dim")
    console.print(Panel(Text(query.text, style="bold"), title=shown, title_align="left", box=box.ROUNDED))


def _introduction(told: DemoTexts, count: int) -> Text:
    """Return the introduction, with the language unless that is English."""
    written = "" if told.code == ENGLISH else f" in {told.name}"
    return Text.assemble(
        (f"{count} memories", "bold"),
        f"{written} of an invented engineer; today is {demo_data.NOW:%A, %Y-%m-%d}. "
        f"{len(told.queries)} questions, each of another kind, so each gets another plan.",
    )
