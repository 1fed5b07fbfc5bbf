"""How recalls answer questions about facts that change, and the tables of it.

Protocol. The histories are made (`histories.rooms`), each room is written to a scope of its own in one temporary store,
in the order of its memories, and asked at its own time with `k = 5`. A question is right first if the first hit is one
of the memories that make hold, or repeat, what holds at the time that is asked for; superseded first if it is one that
says what holds no longer (or was wrong); right in the first 5 if every value that holds is among them, and for a
history every value that ever held; in order if, of a history, they come in the order of time. Where facts can be
switched off, the same is asked without them.
"""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.facts.generator.histories import CELLS, SPLITS, Asked, FactHistory, Room, rooms
from benchmarks.facts.generator.phrasings import CHANGE, HISTORY, KINDS, NOW, SUBJECTS, THEN
from benchmarks.facts.generator.slots import DEV
from benchmarks.facts.generator.timeline import Gold
from benchmarks.shared.reports import environment, write_report
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.metrics import CONFIDENCE_Z, Interval
from recall_integrations.evaluation.reports import checked_output, compact_table

if TYPE_CHECKING:
    from rich.console import Console

    from recall_integrations import MemoryStore, QueryOptimizer, RecallConfig

K = 5
FACTS, PLAIN = "recall", "without facts"
RIGHT, STALE, IN_FIRST, ORDERED = "right first", "superseded first", f"right in first {K}", "in order"
MEASURES = (RIGHT, STALE, IN_FIRST, ORDERED)
SHORT = {RIGHT: "right first", STALE: "superseded", IN_FIRST: f"in first {K}", ORDERED: "in order"}  # on a terminal
WIDE = 15  # characters of a name beside which four measures do not fit eighty columns
LAST = ("is", "new", "back", "again", "was", "fix", "no")  # of `FactHistory.told`
DEV_CELL = SPLITS[DEV][0]
Told = Callable[[str, int, int | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How one question was answered.

    Args:
        asked: the question.
        history: what it is about.
        system: who answered.
        ids: of the hits, in order.
        ms: of the recall.
    """

    asked: Asked
    history: FactHistory
    system: str
    ids: tuple[str, ...]
    ms: float

    def measures(self) -> dict[str, bool]:
        """Each measure that applies to the question."""
        gold, first = self.asked.gold, self.ids[0] if self.ids else ""
        found = {RIGHT: first in gold.first, IN_FIRST: all(any(i in n for i in self.ids) for n in gold.needed)}
        if self.asked.kind in (NOW, THEN):
            found[STALE] = first in gold.stale
        if gold.ordered:
            found[ORDERED] = in_order(self.ids, gold)
        return found


def in_order(ids: Sequence[str], gold: Gold) -> bool:
    """Whether the hits hold what is needed in the order of time; one hit may hold two values of it."""
    place = 0
    for needed in gold.needed:
        later = [i for i in range(place, len(ids)) if ids[i] in needed]
        if not later:
            return False
        place = later[0]
    return True


def wilson(hits: int, count: int) -> Interval:
    """A share and its 95 % interval (Wilson, 1927): it does not shrink to nothing at 0 and 1, as a bootstrap does.

    Questions are taken as independent; those about one history are not quite.
    """
    if not count:
        return Interval(mean=0.0, low=0.0, high=1.0)
    z, share = CONFIDENCE_Z, hits / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return Interval(mean=share, low=max(0.0, middle - half), high=min(1.0, middle + half))


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was measured.

    Args:
        answers: to every question, of every system.
        histories: how many were told.
        memories: how many were written.
        lost: how many of them are not there any more.
        write_ms: of each memory: the call that wrote it, by the number it wrote.
    """

    answers: tuple[Answer, ...]
    histories: int
    memories: int
    lost: int
    write_ms: tuple[float, ...]


def run(
    console: Console,
    *,
    histories: int = 2_000,
    split: str = "all",
    seed: int = 0,
    json_path: str | Path | None = None,
    failures: int = 0,
    config: RecallConfig | None = None,
    embedding: Any = None,
    told: Told | None = None,
) -> Report:
    """Make the histories, ask, print the tables, and write the report if asked.

    Args:
        console: where the tables go.
        histories: how many.
        split: `dev`, `test` or `all`.
        seed: of the histories.
        json_path: file for the report.
        failures: print so many questions that were not right first, of the dev half only.
        config: settings.
        embedding: of the store; `None` = the bundled one.
        told: is told how far it is.

    Raises:
        InvalidArgument: a number under 1, no such split, or a report that could not be written.
    """
    if histories < 1:
        raise InvalidArgument("There must be at least 1 history.")
    if split not in SPLITS:
        raise InvalidArgument(f"No split is called {split!r}. Use one of: {', '.join(SPLITS)}.")
    output = checked_output(json_path)
    texts: dict[str, str] = {}
    report = measure(_counted(rooms(histories, split=split, seed=seed), texts, told, histories), config, embedding)
    show(report, console)
    if failures:
        show_failures(report, texts, failures, console)
    write_report(output, {**summary(report), "split": split, "seed": seed, "environment": environment()}, console)
    return report


def _counted(made: Iterable[Room], texts: dict[str, str], told: Told | None, total: int) -> Iterator[Room]:
    done = 0
    for room in made:
        texts.update((m.id or "", m.text) for m in room.memories)
        yield room
        done += len(room.histories)
        if told is not None:
            told("histories", done, total)


def measure(made: Iterable[Room], config: RecallConfig | None = None, embedding: Any = None) -> Report:
    """Write and ask each room."""
    from recall_integrations import MemoryStore, QueryOptimizer, RecallConfig

    wanted = config or RecallConfig()
    answers: list[Answer] = []
    writes: list[float] = []
    histories = memories = lost = 0
    with MemoryStore.open(config=wanted, embedding=embedding) as store:
        systems = {FACTS: QueryOptimizer(store, config=wanted)}
        plain = without_facts(wanted)
        if plain is not None:
            systems[PLAIN] = QueryOptimizer(store, config=plain)
        for room in made:
            began = time.perf_counter()
            store.remember_many(room.memories, scope=room.scope)
            writes += [(time.perf_counter() - began) * 1e3 / len(room.memories)] * len(room.memories)
            histories, memories = histories + len(room.histories), memories + len(room.memories)
            answers += _answers(room, systems)
            lost += _lost(store, room)
        for optimizer in systems.values():
            optimizer.close()
    return Report(answers=tuple(answers), histories=histories, memories=memories, lost=lost, write_ms=tuple(writes))


def without_facts(config: RecallConfig) -> RecallConfig | None:
    """The settings with the reading of facts switched off; `None` = there is no such switch."""
    facts: Any = getattr(config, "facts", None)
    if facts is None or not hasattr(facts, "read"):
        return None
    changed: dict[str, Any] = {"facts": dataclasses.replace(facts, read=False)}
    return dataclasses.replace(config, **changed)


def _answers(room: Room, systems: dict[str, QueryOptimizer]) -> Iterator[Answer]:
    for history in room.histories:
        for asked in history.questions:
            for name, optimizer in systems.items():
                began = time.perf_counter()
                result = optimizer.recall(asked.text, k=K, scope=room.scope, now=room.now)
                ms = (time.perf_counter() - began) * 1e3
                ids = tuple(hit.memory.id or "" for hit in result.hits)
                yield Answer(asked=asked, history=history, system=name, ids=ids, ms=ms)


def _lost(store: MemoryStore, room: Room) -> int:
    """How many memories of the room cannot be had by their id, or are missing from the count."""
    missing = sum(store.get(m.id or "", scope=room.scope) is None for m in room.memories)
    return max(missing, abs(len(room.memories) - store.count(scope=room.scope)))


# -- figures and tables ------------------------------------------------------------------------------------------------


def shares(answers: Iterable[Answer]) -> dict[str, Interval]:
    """Each measure over the answers that it applies to; those that apply to none are left out."""
    counts: dict[str, list[int]] = {}
    for answer in answers:
        for name, met in answer.measures().items():
            count = counts.setdefault(name, [0, 0])
            count[0] += met
            count[1] += 1
    return {name: wilson(*counts[name]) for name in MEASURES if name in counts}


def groups(answers: Sequence[Answer]) -> dict[str, dict[str, list[Answer]]]:
    """The answers by kind of question, by cell, by whether the schema has the slot, and by whom they are about."""
    now = [a for a in answers if a.asked.kind == NOW]
    return {
        "kind of question": {kind: [a for a in answers if a.asked.kind == kind] for kind in KINDS},
        "all kinds": _parts(answers),
        "now": _parts(now),
        "now and then": _parts([a for a in answers if a.asked.kind in (NOW, THEN)]),
        "history and change": _parts([a for a in answers if a.asked.kind in (HISTORY, CHANGE)]),
        "now, slots of the schema": _cells([a for a in now if a.history.slot.schema]),
        "now, slots that it lacks": _cells([a for a in now if not a.history.slot.schema]),
        "now, of whom": {kind: [a for a in now if a.history.subject.kind == kind] for kind in SUBJECTS},
        "now, by what was told last": {op: [a for a in now if a.history.told[-1] == op] for op in LAST},
    }


def _parts(answers: Sequence[Answer]) -> dict[str, list[Answer]]:
    return {
        **_cells(answers),
        "slots of the schema": [a for a in answers if a.history.slot.schema],
        "slots that it lacks": [a for a in answers if not a.history.slot.schema],
        "all": list(answers),
    }


def _cells(answers: Sequence[Answer]) -> dict[str, list[Answer]]:
    return {cell: [a for a in answers if a.history.cell == cell] for cell in CELLS}


def show(report: Report, console: Console) -> None:
    """Print the tables."""
    for system in dict.fromkeys(answer.system for answer in report.answers):
        answers = [answer for answer in report.answers if answer.system == system]
        for title, parts in groups(answers).items():
            figures = {name: (len(part), shares(part)) for name, part in parts.items() if part}
            if not figures:
                continue
            measures = [each for each in MEASURES if any(each in found for _, found in figures.values())]
            if len(max(figures, key=len)) > WIDE:  # the report has all of them
                measures = measures[:3]
            table = compact_table(f"{system}: {title}")
            table.add_column("", no_wrap=True)
            for column in ("asked", *(SHORT[each] for each in measures)):
                table.add_column(column, justify="right", no_wrap=True)
            for name, (count, found) in figures.items():
                table.add_row(name, f"{count:,}", *(figure(found.get(each)) for each in measures))
            console.print(table)
        times = [answer.ms for answer in answers]
        console.print(f"a recall, {system}: median {np.median(times):.2f} ms, p95 {np.percentile(times, 95):.2f}")
    console.print(
        f"{report.histories:,} histories, {report.memories:,} memories, {report.lost:,} lost; "
        f"a memory is written in {np.mean(report.write_ms):.2f} ms (median {np.median(report.write_ms):.2f})"
    )


def figure(found: Interval | None) -> str:
    """A share with its interval, in twelve characters."""
    return "-" if found is None else f"{_short(found.mean, 3)} {_short(found.low)}-{_short(found.high)}"


def _short(share: float, digits: int = 2) -> str:
    text = f"{share:.{digits}f}"
    return text.removeprefix("0") if share < 1 and text[0] == "0" else text[: digits + 1]


def show_failures(report: Report, texts: dict[str, str], count: int, console: Console) -> None:
    """Print questions that were not right first, evenly spread, of the dev half only.

    The others judge: who has read their failures fits on them.
    """
    missed = [a for a in report.answers if a.system == FACTS and a.history.cell == DEV_CELL and not _good(a)]
    shown = missed[:: max(1, len(missed) // count)][:count]
    console.print(f"{len(shown)} of {len(missed):,} questions that were not right first ({DEV_CELL})")
    for answer in shown:
        asked, history = answer.asked, answer.history
        lines = [f"{asked.id} {asked.kind}, {history.slot.name}: {asked.text}"]
        lines += [f"  right  {texts[one]}" for one in sorted(asked.gold.first)]
        mark = "stale" if answer.ids[:1] and answer.ids[0] in asked.gold.stale else "first"
        lines += [f"  {mark if n == 0 else n + 1}  {texts[one]}" for n, one in enumerate(answer.ids)]
        for line in lines:
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def _good(answer: Answer) -> bool:
    found = answer.measures()
    return found[RIGHT] and found.get(ORDERED, True)


def summary(report: Report) -> dict[str, Any]:
    """The report as one object; keys are only ever added."""
    systems: dict[str, Any] = {}
    for system in dict.fromkeys(answer.system for answer in report.answers):
        answers = [answer for answer in report.answers if answer.system == system]
        times = [answer.ms for answer in answers]
        systems[system] = {
            "figures": {
                title: {
                    name: {
                        "questions": len(part),
                        **{m: dataclasses.asdict(v) for m, v in shares(part).items()},
                    }
                    for name, part in parts.items()
                    if part
                }
                for title, parts in groups(answers).items()
            },
            "recall_ms": {"median": float(np.median(times)), "p95": float(np.percentile(times, 95))},
        }
    return {
        "format": 1,
        "k": K,
        "histories": report.histories,
        "memories": report.memories,
        "lost": report.lost,
        "write_ms": {"mean": float(np.mean(report.write_ms)), "median": float(np.median(report.write_ms))},
        "systems": systems,
    }
