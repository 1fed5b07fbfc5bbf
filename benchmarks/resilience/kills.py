"""A writing process is killed (`SIGKILL`) again and again; every memory it acknowledged must be there, once.

One store goes through all of the kills. After each it is opened, and every memory that stands is asked for through each
arm by itself. An operation that was announced and not confirmed has happened or not, but not by half.
"""

from __future__ import annotations

import functools
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.resilience import writer
from benchmarks.resilience.doctor import with_packages
from benchmarks.resilience.matrix import Told, silent
from recall_integrations.config import ARMS
from recall_integrations.errors import InvalidArgument
from recall_integrations.types import TemporalWindow

if TYPE_CHECKING:
    from recall_integrations import MemoryStore, RecallResult

LINES = (2, 60)  # so many lines are read before the kill …
PAUSE_S = 0.03  # … and so much later at most, it comes
WHILE_OPENING = 5  # every fifth is killed at any moment since its start
OPENING_S = 3.0
PATIENCE_S = 120.0
BUDGET_MS = 60_000.0
NEAR = 5  # what a memory is asked for by is its own, so it is among the first

Known = dict[int, int]  # number → version that was acknowledged


@dataclass(slots=True)
class Kills:
    """What came of them.

    Args:
        kills: processes that were killed.
        acknowledged: operations they confirmed.
        memories: that stood at the checks, summed over all of these.
        lost: acknowledged memories that were not there, by where they were missing: `store`, or an arm.
        doubled: ids that came twice in an answer, or memories too many.
        returned: versions that had been replaced or forgotten, and came back.
        halves: batches of which a part was there.
        notices: what opening the store had to say.
    """

    kills: int = 0
    acknowledged: int = 0
    memories: int = 0
    lost: dict[str, int] = field(default_factory=dict)
    doubled: int = 0
    returned: int = 0
    halves: int = 0
    notices: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether nothing was lost, doubled, returned or halved."""
        return not (any(self.lost.values()) or self.doubled or self.returned or self.halves)


def measure(folder: Path, count: int, seed: int = 0, told: Told = silent) -> Kills:
    """Kill `count` times.

    Raises:
        InvalidArgument: this system has no `SIGKILL`, or a child ended by itself.
    """
    if not hasattr(signal, "SIGKILL"):
        raise InvalidArgument("Killing needs SIGKILL, which this system has not. Leave --kills out.")
    rng, path, stand, found = random.Random(seed), folder / "kills", Known(), Kills()
    for run in range(1, count + 1):
        told("kills", run - 1, count)
        lines = _killed(path, run, rng)
        pending = _acknowledged(lines, stand, found)
        found.kills += 1
        if path.exists():
            look(path, stand, pending, found)
    told("kills", count, count)
    return found


def _killed(path: Path, run: int, rng: random.Random) -> list[dict[str, Any]]:
    """What a child said until it was killed."""
    command = [sys.executable, "-m", writer.__name__, str(path), str(run)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=with_packages(), cwd=path.parent
    )
    assert process.stdout is not None
    said: list[str] = []
    if run % WHILE_OPENING == 0:
        time.sleep(rng.random() * OPENING_S)
    else:
        said += _first(process.stdout, rng.randint(*LINES))
        time.sleep(rng.random() * PAUSE_S)
    process.kill()
    said += process.stdout.read().splitlines()
    process.stdout.close()
    if process.wait(timeout=PATIENCE_S) != -signal.SIGKILL:
        raise InvalidArgument(f"The writing process ended by itself: {' '.join(said)[-1000:]}")
    return [json.loads(line) for line in said if line.startswith("{") and line.rstrip().endswith("}")]


def _first(stream: Any, count: int) -> Iterator[str]:
    for _ in range(count):
        line = stream.readline()
        if not line:
            return
        yield line


def _acknowledged(lines: Sequence[dict[str, Any]], stand: Known, found: Kills) -> dict[str, Any] | None:
    """Brings `stand` up to date; gives the operation that nobody confirmed."""
    announced: dict[str, Any] | None = None
    for line in lines:
        if "do" in line:
            announced = line
        elif "done" in line and announced is not None:
            found.acknowledged += 1
            _applied(announced, stand)
            announced = None
    return announced


def _applied(operation: dict[str, Any], stand: Known) -> None:
    for number in operation["ids"]:
        if operation["do"] == "put":
            stand[number] = operation["version"]
        else:
            stand.pop(number, None)


# -- looking ---------------------------------------------------------------------------------------------------------


def look(path: Path, stand: Known, pending: dict[str, Any] | None, found: Kills) -> None:
    """Open the store and count what is wrong. `stand` gets what nobody confirmed and has happened."""
    from recall_integrations import MemoryStore

    with MemoryStore.open(path, embedding=writer.Hashed(), config=writer.config()) as store:
        _settled(store, stand, pending, found)
        found.memories += len(stand)
        found.notices += [notice for notice in store.stats()["notices"] if "could not" in notice]
        found.doubled += max(0, store.count(scope=writer.SCOPE) - len(stand))
        for number in range(writer.POOL):
            _in_store(store, number, stand, found)
        if stand:
            for arm in ARMS:
                with _alone(store, arm) as recall:
                    through_arm(arm, recall, stand, found)


def _settled(store: MemoryStore, stand: Known, pending: dict[str, Any] | None, found: Kills) -> None:
    """Whether the unconfirmed operation has happened."""
    if pending is None:
        return
    happened = set()
    for number in pending["ids"]:
        memory = store.get(f"m{number}", scope=writer.SCOPE)
        if pending["do"] == "forget":
            happened.add(memory is None)
        else:
            happened.add(memory is not None and memory.text == writer.memory_of(number, pending["version"]).text)
    found.halves += len(happened) > 1
    if happened == {True}:
        _applied(pending, stand)


def _in_store(store: MemoryStore, number: int, stand: Known, found: Kills) -> None:
    memory = store.get(f"m{number}", scope=writer.SCOPE)
    if number in stand and (memory is None or memory.text != writer.memory_of(number, stand[number]).text):
        found.lost["store"] = found.lost.get("store", 0) + 1
    if number not in stand and memory is not None:
        found.returned += 1


@contextmanager
def _alone(store: MemoryStore, arm: str) -> Iterator[Callable[..., RecallResult]]:
    """A recall through one arm of a store, in that arm's order, with all the time it needs."""
    from recall_integrations import QueryOptimizer

    # A ranker may think little of vectors that are hashes.
    defaults = writer.config().with_settings([("ranking.strategy", "rrf")])
    optimizer = QueryOptimizer(store, config=replace(defaults, planner=replace(defaults.planner, arms=(arm,))))
    try:
        yield functools.partial(optimizer.recall, scope=writer.SCOPE, now=writer.BEGIN, time_budget_ms=BUDGET_MS)
    finally:
        optimizer.close()


def through_arm(arm: str, recall: Callable[..., RecallResult], stand: Known, found: Kills) -> None:
    """Ask for everything that stands, as this arm finds it."""
    if arm == "type_filter":
        result = recall("what are my preferences?", k=2 * writer.POOL)
        _compared(arm, result, set(stand), stand, found)
        return
    for number, version in stand.items():
        query, given = _query(arm, number, version)
        _compared(arm, recall(query, k=NEAR, **given), {number}, stand, found)


def _query(arm: str, number: int, version: int) -> tuple[str, dict[str, Any]]:
    if arm == "lexical":
        return writer.word_of(number, version), {}
    if arm == "semantic":
        text = f"{writer.person_of(number)}: {writer.memory_of(number, version).text}"
        return "something", {"query_vector": writer.Hashed().embed_query(text)}
    if arm == "graph":
        return f"What did {writer.person_of(number)} say?", {}
    day = writer.day_of(number)
    return "what happened?", {
        "window": TemporalWindow(start=day, end=day.replace(hour=23), span=(0, 0), confidence=1.0)
    }


def _compared(arm: str, result: RecallResult, wanted: set[int], stand: Known, found: Kills) -> None:
    ids = [hit.memory.id for hit in result.hits]
    found.doubled += len(ids) - len(set(ids))
    missing = sum(f"m{number}" not in ids for number in wanted)
    if missing:
        found.lost[arm] = found.lost.get(arm, 0) + missing
    right = {f"m{number}": writer.memory_of(number, version).text for number, version in stand.items()}
    found.returned += sum(right.get(str(hit.memory.id)) != hit.memory.text for hit in result.hits)


def as_json(found: Kills) -> dict[str, Any]:
    """For the report."""
    return {**asdict(found), "clean": found.clean}
