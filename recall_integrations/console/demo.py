"""`recall demo`: six questions of six kinds to a small store that is made for the occasion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from recall_integrations.console import demo_data, rendering
from recall_integrations.console.demo_texts import ENGLISH, DemoTexts, demo_texts
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.recall.runner import Observer
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types.observing import RecallObserver

HITS = 3


@contextmanager
def demo_optimizer(
    language: str = ENGLISH, observers: Sequence[Observer | RecallObserver] = ()
) -> Iterator[QueryOptimizer]:
    """An optimizer over the demonstration's memories, in a temporary store.

    Args:
        language: what the memories are written in, one of `demo_texts.LANGUAGES`.
        observers: of its recalls.

    Raises:
        InvalidArgument: there are none in that language.
    """
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

    Args:
        console: where it is shown.
        language: what memories and questions are written in, one of `demo_texts.LANGUAGES`.

    Raises:
        InvalidArgument: there are none in that language; nothing was shown.
    """
    told = demo_texts(language)
    with demo_optimizer(language) as optimizer:
        console.print(_introduction(told, optimizer.store.count(scope=demo_data.SCOPE)))
        for query in told.queries:  # reads what is read on first use, so that the times below are typical ones
            optimizer.recall(query.text, k=HITS, scope=demo_data.SCOPE)
        for number, query in enumerate(told.queries, start=1):
            console.print()
            title = Text(f" {number} of {len(told.queries)}: {query.shows} ", style="dim")
            console.print(Panel(Text(query.text, style="bold"), title=title, title_align="left", box=box.ROUNDED))
            result = optimizer.recall(query.text, k=HITS, scope=demo_data.SCOPE)
            rendering.show_result(console, result, demo_data.SCOPE, ids=False)
    console.print()
    console.print(
        Text(
            "The store was temporary and is gone. Yours: recall import FILE --format jsonl STORE, then "
            'recall search STORE "…" --explain.'
        )
    )


def _introduction(told: DemoTexts, count: int) -> Text:
    """What there is, and in which language unless that is English."""
    written = "" if told.code == ENGLISH else f" in {told.name}"
    return Text.assemble(
        (f"{count} memories", "bold"),
        f"{written} of an invented engineer; today is {demo_data.NOW:%A, %Y-%m-%d}. "
        f"{len(told.queries)} questions, each of another kind, so each gets another plan.",
    )
