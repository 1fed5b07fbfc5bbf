"""`recall demo`: six questions of six kinds to a small store that is made for the occasion."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from recall_integrations.console import demo_data, rendering
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.store.memory_store import MemoryStore

HITS = 3


@contextmanager
def demo_optimizer() -> Iterator[QueryOptimizer]:
    """An optimizer over the demonstration's memories, in a temporary store."""
    with MemoryStore.open(clock=lambda: demo_data.NOW) as store:
        for name, aliases in demo_data.ALIASES.items():
            store.add_entity(name, aliases=aliases, scope=demo_data.SCOPE)
        store.remember_many(demo_data.memories(), scope=demo_data.SCOPE)
        optimizer = QueryOptimizer(store, clock=lambda: demo_data.NOW)
        try:
            yield optimizer
        finally:
            optimizer.close()


def run_demo(console: Console) -> None:
    """Ask every question and show the plan, why it was chosen, the time it took, and the best memories."""
    with demo_optimizer() as optimizer:
        count = optimizer.store.count(scope=demo_data.SCOPE)
        console.print(
            Text.assemble(
                (f"{count} memories", "bold"),
                f" of an invented engineer; today is {demo_data.NOW:%A, %Y-%m-%d}. "
                f"{len(demo_data.QUERIES)} questions, each of another kind, so each gets another plan.",
            )
        )
        for query in demo_data.QUERIES:  # reads what is read on first use, so that the times below are typical ones
            optimizer.recall(query.text, k=HITS, scope=demo_data.SCOPE)
        for number, query in enumerate(demo_data.QUERIES, start=1):
            console.print()
            title = Text(f" {number} of {len(demo_data.QUERIES)}: {query.shows} ", style="dim")
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
