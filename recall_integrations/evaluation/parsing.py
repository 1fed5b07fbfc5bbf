"""How long it takes to understand a query: `QueryOptimizer.parse` and `plan`, without any language model, step by step.

Made-up memories (`evaluation.synthetic`) in one scope; each also mentions somebody or something of a large cast, so
that the scope has as many entities as asked for, with syllables in common, as names have. Queries are of mixed kinds
and all different, so that no cache of answers helps; a first part of them warms up and is not counted. Times are wall
clock, with the garbage collector on but what exists before collected and frozen. Steps are those that the parser
guards; `other` is the rest of the parse (words, features, roles, what the store knows of the scope).

What a fresh process pays for its first parse is measured in one: `python -m recall_integrations.evaluation.parsing
DIRECTORY` prints it as JSON.
"""

from __future__ import annotations

import gc
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from rich.console import Console
from rich.table import Table

from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.probe import SCOPE, TIMEOUT_S
from recall_integrations.evaluation.reports import checked_output, environment, write_json
from recall_integrations.evaluation.synthetic import END, synthetic_memories, synthetic_queries, vocabulary
from recall_integrations.query import parser
from recall_integrations.records import Memory

if TYPE_CHECKING:
    from recall_integrations import QueryOptimizer

T = TypeVar("T")
ALL, PLAN, PARSE, OTHER = "all", "plan", "parse", "other"
STEPS = (
    "temporal",
    "negation",
    "entities",
    "identifiers",
    "spelling",
    "rarity",
    "router",
    "conversational",
    "type_cues",
    "predicates",
    "courtesies",
    "entity_density",
    "entity_llm",
    "terms",
    "reread",
    "tokens",
)
TARGET_MS = (2.0, 4.0)  # p50 and p95 of parse and plan together
_ONSETS = "b br ch d dr f g gr h j k kl l m n p pr r s sh st t tr v w z".split()
_VOWELS = "a e i o u ai ea ia io".split()
_ENDS = "n s ra la ko mi ndt lin rez sen".split()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Milliseconds over `count` queries."""

    count: int
    p50: float
    p95: float
    p99: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseReport:
    """What was measured.

    Args:
        memories: in the scope.
        entities: that the scope's catalogue holds.
        queries: that were timed.
        degraded: parses in which a step failed.
        kinds: kind of query (`all` first) → parse and plan together.
        steps: step → time of it over all queries; with `other`, `parse` (all of them) and `plan`.
        cold: of a fresh process: `import_ms`, `open_ms`, `first_ms` (parse and plan), `second_ms`, `later_ms` (median).
    """

    memories: int
    entities: int
    queries: int
    degraded: int
    kinds: Mapping[str, Timing]
    steps: Mapping[str, Timing]
    cold: Mapping[str, float]


def run(
    console: Console,
    *,
    memories: int = 100_000,
    entities: int = 10_000,
    queries: int = 2_000,
    json_path: str | Path | None = None,
    seed: int = 0,
) -> ParseReport:
    """Fill a temporary store, measure, print the tables, and write the report if asked.

    Args:
        console: where tables and progress go.
        memories: in the scope.
        entities: in its cast; each memory mentions one, so there must be at least as many memories.
        queries: timed ones; a tenth as many warm up.
        json_path: file for the report.
        seed: of memories, names and queries.

    Raises:
        InvalidArgument: a number under 1, more entities than memories, or a report that could not be written.
    """
    for name, value in (("memories", memories), ("entities", entities), ("queries", queries)):
        if value < 1:
            raise InvalidArgument(f"{name} must be at least 1, not {value}.")
    if entities > memories:
        raise InvalidArgument(f"{entities:,} entities need as many memories; there are {memories:,}.")
    output = checked_output(json_path)
    report = measure(console, memories=memories, entities=entities, queries=queries, seed=seed)
    show(report, console)
    if output is not None:
        write_json(output, {**asdict(report), "environment": environment()})
        console.print(f"Report written to {output}")
    return report


def measure(console: Console, *, memories: int, entities: int, queries: int, seed: int) -> ParseReport:
    """Write, parse once in a fresh process, open again, warm up, parse."""
    from recall_integrations import MemoryStore, QueryOptimizer

    names = cast(entities, seed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="recall-bench-"))) / "store"
        with console.status(f"{memories:,} memories: remembering"), MemoryStore.open(folder) as store:
            store.remember_many(populated(memories, names, seed), scope=SCOPE)
        with console.status("a fresh process"):
            cold = _in_fresh_process(folder)
        store = stack.enter_context(MemoryStore.open(folder))
        store.warm(scope=SCOPE)
        optimizer = QueryOptimizer(store)
        stack.callback(optimizer.close)
        known = int(store.stats()["entities"])
        asked = mixed_queries(queries + queries // 10 + 1, names, seed)
        warm_up, timed = asked[: len(asked) - queries], asked[len(asked) - queries :]
        with console.status("parsing"):
            _parse_all(optimizer, warm_up)
            rows = _parse_all(optimizer, timed)
    totals: dict[str, list[float]] = {ALL: []}
    steps: dict[str, list[float]] = {step: [] for step in (*STEPS, OTHER, PARSE, PLAN)}
    for (kind, _text), times in zip(timed, rows, strict=True):
        for group in (ALL, kind):
            totals.setdefault(group, []).append(times[PARSE] + times[PLAN])
        times[OTHER] = times[PARSE] - sum(times.get(step, 0.0) for step in STEPS)
        for step, found in steps.items():
            found.append(times.get(step, 0.0))
    return ParseReport(
        memories=memories,
        entities=known,
        queries=queries,
        degraded=sum(bool(times.get("failed")) for times in rows),
        kinds={kind: _timing(times) for kind, times in totals.items()},
        steps={step: _timing(times) for step, times in steps.items()},
        cold=cold,
    )


def _timing(times: Sequence[float]) -> Timing:
    p50, p95, p99 = (float(v) for v in np.percentile(times, (50, 95, 99)))
    return Timing(count=len(times), p50=p50, p95=p95, p99=p99)


# --- the cast and the queries -----------------------------------------------------------------------------------


def cast(n: int, seed: int = 0) -> list[str]:
    """`n` different names of people, projects and firms; those of a longer list with the same seed begin the same."""
    rng = random.Random(f"cast/{seed}")
    firsts = [_made_up(rng, 2) for _ in range(600)]
    found: dict[str, None] = {}
    while len(found) < n:
        last = _made_up(rng, 3)
        form = rng.random()
        person = f"{rng.choice(firsts)} {last}"
        found.setdefault(person if form < 0.7 else f"Project {last}" if form < 0.9 else f"{last} Labs")
    return list(found)


def _made_up(rng: random.Random, syllables: int) -> str:
    word = "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) for _ in range(syllables))
    return (word + (rng.choice(_ENDS) if rng.random() < 0.5 else "")).capitalize()


def populated(n: int, names: Sequence[str], seed: int = 0) -> Iterator[Memory]:
    """`n` synthetic memories, each with one name of the cast in turn."""
    for i, memory in enumerate(synthetic_memories(n, seed)):
        name = names[i % len(names)]
        yield replace(memory, text=f"{memory.text} {name} was told.", entities=(*memory.entities, name))


def mixed_queries(n: int, names: Sequence[str], seed: int = 0) -> list[tuple[str, str]]:
    """`n` queries with their kinds, all kinds as often, in a mixed order. To be read against `END`."""
    rng = random.Random(f"mixed/{seed}")
    kinds = list(_KINDS.items())
    return [(kind, make(rng, names)) for kind, make in (kinds[i % len(kinds)] for i in range(n))]


def _topic(rng: random.Random) -> str:
    return vocabulary()[min(int(rng.expovariate(1 / 60)), len(vocabulary()) - 1)]


def _mistyped(rng: random.Random, word: str) -> str:
    """The word with two neighbouring letters swapped, or one lost."""
    at = rng.randrange(1, max(2, len(word) - 1))
    return (
        word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :]
        if rng.random() < 0.5
        else word[:at] + word[at + 1 :]
    )


def _synthetic(rng: random.Random, kind: str) -> str:
    return synthetic_queries(kind, 1, seed=rng.randrange(10**9))[0]


def _entity(rng: random.Random, names: Sequence[str]) -> str:
    one, other = rng.choice(names), rng.choice(names)
    return rng.choice(
        (
            f"What did {one} say about the {_topic(rng)}?",
            f"who works with {one.lower()} on {other}",
            f"Where does {one.rpartition(' ')[2]} keep the {_topic(rng)} for {other}?",
            f"Who is {one.partition(' ')[0]}'s manager?",
        )
    )


def _typo(rng: random.Random, names: Sequence[str]) -> str:
    first, _, last = rng.choice(names).partition(" ")
    return rng.choice(
        (
            f"the {_mistyped(rng, _topic(rng))} and the {_mistyped(rng, _topic(rng))} we talked about",
            f"what has {first} {_mistyped(rng, last)} got on the {_topic(rng)}?",
            f"{_mistyped(rng, first)} {last} {_mistyped(rng, _topic(rng))}",
        )
    )


def _date(rng: random.Random, names: Sequence[str]) -> str:
    day, year = rng.randint(1, 27), rng.choice((2024, 2025))
    return rng.choice(
        (
            _synthetic(rng, "temporal"),
            f"What happened with the {_topic(rng)} between {day} March and {day} June {year}?",
            f"Did {rng.choice(names)} finish the {_topic(rng)} before last Christmas?",
            f"{_topic(rng)} on {year}-0{rng.randint(1, 9)}-{day:02d} or the weekend before",
        )
    )


def _negation(rng: random.Random, names: Sequence[str]) -> str:
    return rng.choice(
        (
            f"What did we plan for the {_topic(rng)} that wasn't related to the {_topic(rng)}?",
            f"{_topic(rng)} notes without the {_topic(rng)} or {rng.choice(names)}",
            f"everything about {_topic(rng)} except {_topic(rng)}, not {_topic(rng)}",
        )
    )


def _identifier(rng: random.Random, names: Sequence[str]) -> str:
    number = rng.randint(100, 9_999)
    return rng.choice(
        (
            f"what is the state of {rng.choice('ABCDEF')}PI-{number}?",
            f"who changed src/{_topic(rng)}/{_topic(rng)}.py in #{number}",
            f"ERR_{_topic(rng).upper()}_{number} after the release of v2.{number % 40}.1",
            f"Which {_topic(rng)} did {rng.choice(names)} mean by get_{_topic(rng)}_id()?",
        )
    )


def _vague(rng: random.Random, _names: Sequence[str]) -> str:
    return rng.choice(
        (_synthetic(rng, "exploratory"), f"what are my {_topic(rng)} preferences?", "how is it all going?")
    )


def _long(rng: random.Random, names: Sequence[str]) -> str:
    return (
        f"I was talking to {rng.choice(names)} last week about the {_topic(rng)} and the {_topic(rng)}, and one "
        f"of us said that {rng.choice(names)} had moved the {_topic(rng)} to {rng.choice(names)}; I forget when that "
        f"was, but it was not the {_topic(rng)} from March, so which {_topic(rng)} did we mean by it?"
    )


_KINDS: Mapping[str, Callable[[random.Random, Sequence[str]], str]] = {
    "entity": _entity,
    "typo": _typo,
    "date": _date,
    "negation": _negation,
    "identifier": _identifier,
    "vague": _vague,
    "long": _long,
}


# --- timing -----------------------------------------------------------------------------------------------------


def _parse_all(optimizer: QueryOptimizer, queries: Sequence[tuple[str, str]]) -> list[dict[str, float]]:
    """For each query: step → milliseconds; `failed` where a step did."""
    rows = []
    gc.collect()
    gc.freeze()
    try:
        for _kind, text in queries:
            with stepwise() as times:
                begin = time.perf_counter()
                parsed = optimizer.parse(text, scope=SCOPE, now=END)
                middle = time.perf_counter()
                optimizer.plan(parsed)
                end = time.perf_counter()
            rows.append({**times, PARSE: (middle - begin) * 1e3, PLAN: (end - middle) * 1e3})
    finally:
        gc.unfreeze()
    return rows


@contextmanager
def stepwise() -> Iterator[dict[str, float]]:
    """Times the guarded steps of the parses inside: step → milliseconds. For one thread at a time."""
    times: dict[str, float] = {}
    plain = parser._Reading.guard

    def guard(found: Any, stage: str, step: Callable[[], T], fallback: T) -> T:
        failed = len(found.degraded)
        begin = time.perf_counter()
        value = plain(found, stage, step, fallback)
        name = stage.removeprefix("parse.")
        times[name] = times.get(name, 0.0) + (time.perf_counter() - begin) * 1e3
        if len(found.degraded) > failed:
            times["failed"] = 1.0
        return value

    setattr(parser._Reading, "guard", guard)  # noqa: B010 - mypy knows that methods are not assigned to
    try:
        yield times
    finally:
        setattr(parser._Reading, "guard", plain)  # noqa: B010


def first_parses(directory: str | Path) -> dict[str, float]:
    """Open the store and parse a few queries; see `ParseReport.cold`."""
    start = time.perf_counter()
    from recall_integrations import MemoryStore, QueryOptimizer

    found = {"import_ms": (time.perf_counter() - start) * 1e3}
    start = time.perf_counter()
    with MemoryStore.open(directory) as store:
        found["open_ms"] = (time.perf_counter() - start) * 1e3
        optimizer = QueryOptimizer(store)
        times = []
        for _kind, text in mixed_queries(40, cast(20), seed=-1):
            start = time.perf_counter()
            optimizer.plan(optimizer.parse(text, scope=SCOPE, now=END))
            times.append((time.perf_counter() - start) * 1e3)
        optimizer.close()
    return {**found, "first_ms": times[0], "second_ms": times[1], "later_ms": float(np.median(times[2:]))}


def _in_fresh_process(directory: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "recall_integrations.evaluation.parsing", str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode:
        raise InvalidArgument(f"Could not open {directory} in a fresh process: {done.stderr.strip()[-500:]}")
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


# --- tables -----------------------------------------------------------------------------------------------------


def show(report: ParseReport, console: Console) -> None:
    """Print the tables."""
    title = f"Parse and plan: {report.memories:,} memories, {report.entities:,} entities, ms"
    console.print(_table(title, "queries", report.kinds))
    console.print(_table("Of all queries, by step, ms", "step", report.steps))
    whole = report.kinds[ALL]
    met = whole.p50 <= TARGET_MS[0] and whole.p95 <= TARGET_MS[1]
    console.print(f"Target p50 ≤ {TARGET_MS[0]:g}, p95 ≤ {TARGET_MS[1]:g}: {'met' if met else 'missed'}")
    cold = ", ".join(f"{name.removesuffix('_ms')} {ms:,.1f}" for name, ms in report.cold.items())
    console.print(f"A fresh process, ms: {cold}")
    console.print(f"Parses with a failed step: {report.degraded:,}")


def _table(title: str, what: str, rows: Mapping[str, Timing]) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(what)
    for column in ("count", "p50", "p95", "p99"):
        table.add_column(column, justify="right")
    for name, t in rows.items():
        table.add_row(name, f"{t.count:,}", f"{t.p50:.3f}", f"{t.p95:.3f}", f"{t.p99:.3f}")
    return table


if __name__ == "__main__":
    print(json.dumps(first_parses(sys.argv[1])))
