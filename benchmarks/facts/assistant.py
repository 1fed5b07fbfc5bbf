"""What changed, and what contradicts itself, in long chats with an assistant.

The data set has ten questions for each chat, and its file no longer says of what kind they are. They stand in the order
of its kinds, two of each: contradictions (both statements are labelled), updates (the old value and the new one are),
times, single facts, several sessions. So the first two of a chat are taken for contradictions and the next two for
updates; the other six are measured beside them, as what must not move. Reading the questions bears that out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.datasets.data import Collection
from benchmarks.facts.measuring import FACTS, PLAIN, K, figure, wilson, without_facts
from benchmarks.shared.reports import environment, write_report
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.metrics import interval
from recall_integrations.evaluation.reports import checked_output, compact_table

if TYPE_CHECKING:
    from rich.console import Console

    from recall_integrations import QueryOptimizer, RecallConfig

CONTRADICTION, UPDATE, OTHER = "contradictions", "updates", "the others"
KINDS = (CONTRADICTION, UPDATE, OTHER)
MEASURED = ("right", "newest", "older")  # of `Found`
EACH, PAIR = 10, 2  # questions of a chat; of a kind in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """How one question was answered.

    Args:
        question: its id.
        kind: one of `KINDS`.
        system: who answered.
        right: whether a labelled memory is first.
        newest: whether it is the newest of them; `None` = only one is labelled.
        older: whether it is one of the others; `None` = only one is labelled.
        recall: share of the labelled ones in the first 5.
    """

    question: str
    kind: str
    system: str
    right: bool
    newest: bool | None
    older: bool | None
    recall: float


def kind_of(number: int) -> str:
    """Of the question at this place of its chat, counted from 0."""
    return KINDS[min(number // PAIR, len(KINDS) - 1)]


def run(
    path: str | Path,
    console: Console,
    *,
    json_path: str | Path | None = None,
    config: RecallConfig | None = None,
    embedding: Any = None,
) -> tuple[Found, ...]:
    """Ask the questions of the data set, print the table, and write the report if asked.

    Args:
        path: the folder `assistant`, or one that holds it.
        console: where the table goes.
        json_path: file for the report: figures and ids, no texts.
        config: settings.
        embedding: of the store; `None` = the bundled one.

    Raises:
        InvalidArgument: not that data set, or a report that could not be written.
    """
    from benchmarks.datasets.loading import load

    output = checked_output(json_path)
    data = load(path, "assistant")
    if any(len(each.questions) != EACH for each in data.collections):
        raise InvalidArgument(f"{path} does not have {EACH} questions for each chat: their kinds cannot be told.")
    found = tuple(measure(data.collections, config, embedding))
    show(found, console)
    write_report(
        output, {"format": 1, "k": K, "found": [asdict(f) for f in found], "environment": environment()}, console
    )
    return found


def measure(
    collections: Sequence[Collection], config: RecallConfig | None = None, embedding: Any = None
) -> Iterator[Found]:
    """Write and ask each chat."""
    from recall_integrations import MemoryStore, QueryOptimizer, RecallConfig

    wanted = config or RecallConfig()
    with MemoryStore.open(config=wanted, embedding=embedding) as store:
        systems = {FACTS: QueryOptimizer(store, config=wanted)}
        plain = without_facts(wanted)
        if plain is not None:
            systems[PLAIN] = QueryOptimizer(store, config=plain)
        for collection in collections:
            store.remember_many(collection.memories, scope=collection.scope)
            yield from _asked(collection, systems)
        for optimizer in systems.values():
            optimizer.close()


def _asked(collection: Collection, systems: dict[str, QueryOptimizer]) -> Iterator[Found]:
    order = {m.id or "": (m.event_at.timestamp() if m.event_at else 0.0, n) for n, m in enumerate(collection.memories)}
    for number, question in enumerate(collection.questions):
        relevant = sorted(question.relevant, key=order.__getitem__)
        several = len(relevant) > 1
        for name, optimizer in systems.items():
            result = optimizer.recall(question.text, k=K, scope=collection.scope, now=question.asked_at)
            ids = [hit.memory.id or "" for hit in result.hits]
            first = ids[0] if ids else ""
            yield Found(
                question=question.id,
                kind=kind_of(number),
                system=name,
                right=first in relevant,
                newest=first == relevant[-1] if several else None,
                older=first in relevant[:-1] if several else None,
                recall=sum(one in ids for one in relevant) / len(relevant),
            )


def show(found: Sequence[Found], console: Console) -> None:
    """Print the table."""
    table = compact_table("Chats with an assistant: of several labelled turns, which is first")
    table.add_column("", no_wrap=True)
    for column in ("asked", "right first", "newest", "older", f"recall@{K}"):
        table.add_column(column, justify="right", no_wrap=True)
    for system in dict.fromkeys(each.system for each in found):
        for kind in KINDS:
            part = [each for each in found if each.kind == kind and each.system == system]
            shares = [[value for each in part if (value := getattr(each, name)) is not None] for name in MEASURED]
            figures = [wilson(sum(each), len(each)) if each else None for each in shares]
            name = kind if system == FACTS else f"{kind}, {system}"
            table.add_row(name, str(len(part)), *map(figure, figures), figure(interval([each.recall for each in part])))
    console.print(table)
