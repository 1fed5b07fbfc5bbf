"""Whatever fails is named in `degraded`, and costs what it would have added and nothing else.

`TABLE` has every part of a recall and every way in which it can fail. Each case is run: the entries are the expected
ones, and the hits are those of a recall with the part switched off. Where a part cannot fail in a way, the table says
why.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, RecallResult, Relation
from recall_integrations.arms.base import ArmRequest, ArmResult, InMemory
from recall_integrations.arms.retrievers import BUILT_IN, ArmSpec
from recall_integrations.config import (
    BreakerConfig,
    LimitsConfig,
    PlannerConfig,
    QueryConfig,
    RerankConfig,
    RetrievalConfig,
    RewritingConfig,
)
from recall_integrations.embeddings.static import bundled
from recall_integrations.ranking.feature_sum import FixedWeights
from recall_integrations.recall import Stage, StageEvent, read_path
from recall_integrations.recall.runner import RecallState, Turn
from recall_integrations.resilience.guard import RUNS_MIN

NOW = datetime(2024, 5, 15, 12, tzinfo=timezone.utc)
AMPLE_MS, SHORT_MS = 60_000.0, 400.0
TRIES = 20  # recalls at most, until a part that is late was asked
EVERY_ARM = "what preferences about updates did Priya have last week?"
OPEN_NAME = "something about preferences on updates with Preya last week"
VAGUE = "something about updates"
PHRASINGS = "what was updated\nnews and updates"


def _days(count: int) -> datetime:
    return NOW - timedelta(days=count)


MEMORIES = [
    Memory("I prefer short written updates", id="pref", type="preference", actor="Priya Raman", event_at=_days(5)),
    Memory("I prefer calls over updates", id="calls", type="preference", actor="Sam Okafor", event_at=_days(6)),
    Memory(
        "Sam Okafor reports to Priya Raman",
        id="rel",
        actor="Priya Raman",
        event_at=_days(40),
        relations=[Relation("Priya Raman", "manager_of", "Sam Okafor")],
    ),
    Memory(
        "The release of Project Kestrel slipped to June",
        id="slip",
        type="event",
        actor="Sam Okafor",
        entities=["Project Kestrel"],
        event_at=_days(6),
    ),
    Memory("We wrote the notes together", id="notes", type="event", actor="Priya Raman", event_at=_days(7)),
    Memory("The bakery on the corner sells rye bread", id="bread", type="fact", event_at=_days(300)),
    Memory("Updates of the garden club come by letter", id="garden", type="fact", event_at=_days(200)),
    Memory("Project Kestrel has a queue", id="queue", type="fact", entities=["Project Kestrel"], event_at=_days(100)),
]

# -- ways to fail ------------------------------------------------------------------------------------------------------

ABSENT, LATE, RAISING, EMPTY, GARBAGE = "absent", "late", "raising", "empty", "garbage"
CANCELLED, OPEN, OVER = "cancelled", "breaker open", "over budget"
WAYS = (ABSENT, LATE, RAISING, EMPTY, GARBAGE, CANCELLED, OPEN, OVER)


class Failing:
    """A part that fails in one way; `well` is what it gives where it is told to work."""

    def __init__(self, way: str = "") -> None:
        self.way, self.over, self.calls = way, threading.Event(), 0

    def act(self, well: Callable[[], Any], empty: Any = None, garbage: Any = None) -> Any:
        self.calls += 1
        if self.way == LATE:
            self.over.wait(60)
            raise RuntimeError("it came when nobody waited any more")
        if self.way in (RAISING, OPEN):
            raise RuntimeError("boom")
        if self.way == CANCELLED:
            raise asyncio.CancelledError
        return {EMPTY: empty, GARBAGE: garbage}[self.way] if self.way in (EMPTY, GARBAGE) else well()


# -- parts -------------------------------------------------------------------------------------------------------------


class Vectors:
    """The bundled model behind something that may fail for queries."""

    fingerprint, remote = "failing", True

    def __init__(self) -> None:
        self.failing = Failing()

    def __call__(self, texts: list[str]) -> Any:
        wrong = np.ones((len(texts), 3), dtype=np.float32)
        return self.failing.act(lambda: bundled().embed_documents(texts), np.zeros((0, 0)), wrong)


class Around:
    """A built-in arm, or one that finds nothing, behind something that may fail."""

    def __init__(self, name: str, failing: Failing, arm: Any = None) -> None:
        self.name, self._failing, self._arm = name, failing, arm

    def search(self, request: ArmRequest) -> ArmResult:
        nothing = ArmResult.empty(self.name)
        found = self._failing.act(
            lambda: nothing if self._arm is None else self._arm.search(request), nothing, "no result"
        )
        assert isinstance(found, ArmResult | str)
        return found  # type: ignore[return-value]


class Mine(Stage):
    """A stage of one's own, or in the place of `arrange`."""

    def __init__(self, name: str, failing: Failing) -> None:
        self.name, self.after, self._failing = name, "rank", failing

    def run(self, state: RecallState, turn: Turn) -> RecallState:
        return self._failing.act(lambda: state, None, "no state")  # type: ignore[no-any-return]


class Order:
    """A ranker that fails."""

    name = version = "failing"
    detail = False

    def __init__(self, failing: Failing) -> None:
        self._failing = failing

    def score(self, features: Any) -> Any:
        return self._failing.act(lambda: FixedWeights().score(features), None, "no ranking")


def _arm(name: str, failing: Failing, *, here: bool = False) -> ArmSpec:
    built = next(spec for spec in BUILT_IN if spec.name == name)

    def make(store: MemoryStore, config: RecallConfig) -> Callable[[], Any]:
        real = built.make(store, config)

        def made() -> Around:
            return Around(name, failing, real())

        return InMemory(made) if here else made

    return replace(built, make=make)


def _llm(failing: Failing, *, names: bool) -> Callable[[str], str]:
    """Fails where it is asked about names, or else where it is asked for phrasings."""

    def ask(prompt: str) -> str:
        phrasing = prompt.endswith("Phrasings:")
        if names != phrasing:
            return str(failing.act(lambda: PHRASINGS if phrasing else "A: 1", "", "]}{"))
        return PHRASINGS if phrasing else "A: none"

    return ask


def _never(*_: object) -> bool:
    return False


@dataclass(frozen=True)
class Part:
    """A part of a recall.

    Args:
        with_it: what makes an optimizer with the part, failing.
        without: and one with the part switched off.
        query: one that needs it.
        config: of both.
        short: of a part that has a time limit of its own, one that is soon over.
        again: recalls after which it is known to take longer than that.
    """

    with_it: Callable[[Failing], Mapping[str, Any]]
    without: Callable[[], Mapping[str, Any]]
    query: str = EVERY_ARM
    config: RecallConfig = field(default_factory=RecallConfig)
    short: RecallConfig | None = None
    again: int = 3


def _own_arm(failing: Failing) -> dict[str, Any]:
    return {"arms": [ArmSpec(name="own", make=lambda _store, _config: lambda: Around("own", failing))]}


def _observer(failing: Failing) -> Callable[[StageEvent], None]:
    def told(event: StageEvent) -> None:
        if event.stage == "rank":
            failing.act(lambda: None)

    return told


def _an_arm(name: str, *, here: bool = False) -> Part:
    spec = next(s for s in BUILT_IN if s.name == name)
    return Part(
        lambda failing: {"arms": [_arm(name, failing, here=here)]}, lambda: {"arms": [replace(spec, applies=_never)]}
    )


_NAMES = RecallConfig(query=QueryConfig(entity_llm=True))
_REWRITE = RecallConfig(rewriting=RewritingConfig(timeout_ms=AMPLE_MS, mode="full", cache_s=0))
_RERANK = RecallConfig(
    limits=LimitsConfig(rerank_budget_ms=AMPLE_MS),
    planner=PlannerConfig(exploratory_threshold=0.79),
    rerank=RerankConfig(regret_max=0),
)
_NO_SEMANTIC = tuple(arm for arm in PlannerConfig().arms if arm != "semantic")

PARTS: dict[str, Part] = {
    "names by LLM": Part(
        lambda failing: {"llm": _llm(failing, names=True)},
        lambda: {"llm": _llm(Failing(), names=False), "config": RecallConfig()},
        query=OPEN_NAME,
        config=_NAMES,
        short=_NAMES,
        again=6,  # every other one waits for the call that the one before has begun
    ),
    "rewrite": Part(
        lambda failing: {"llm": _llm(failing, names=False)},
        dict,
        config=_REWRITE,
        short=replace(_REWRITE, rewriting=replace(_REWRITE.rewriting, timeout_ms=1)),
    ),
    "embed": Part(lambda _failing: {}, lambda: {"config": RecallConfig(planner=PlannerConfig(arms=_NO_SEMANTIC))}),
    **{spec.name: _an_arm(spec.name) for spec in BUILT_IN},
    "semantic in memory": _an_arm("semantic", here=True),
    "own arm": Part(_own_arm, dict),
    "rank": Part(
        lambda failing: {"ranker": Order(failing)},
        lambda: {"config": RecallConfig().with_settings([("ranking.strategy", "weighted")])},
    ),
    "rerank": Part(
        lambda failing: {
            "reranker": lambda _q, texts: failing.act(lambda: list(range(len(texts))), [], [float("nan")] * len(texts))
        },
        dict,
        query=VAGUE,
        config=_RERANK,
        short=replace(_RERANK, limits=LimitsConfig(rerank_budget_ms=1)),
    ),
    "facts": Part(lambda failing: {"stages": [Mine("facts", failing)]}, lambda: {"stages": [Mine("facts", Failing())]}),
    "arrange": Part(
        lambda failing: {"stages": [Mine("arrange", failing)]}, lambda: {"stages": [Mine("arrange", Failing())]}
    ),
    "own stage": Part(lambda failing: {"stages": [Mine("mine", failing)]}, dict),
    "observer": Part(lambda failing: {"observers": [_observer(failing)]}, dict),
}

# -- what is expected --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Names:
    """Fails, and these `(stage, reason)` are in `degraded`."""

    entries: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Cannot:
    """No such case, and why."""

    why: str


def names(*entries: str) -> Names:
    return Names(tuple((entry.split(":")[0], entry.split(":")[1]) for entry in entries))


HERE = Cannot("it runs in the caller's thread, where nothing can be left behind")
NO_BREAKER = Cannot("it has no breaker: it only computes, and is yours to mend")
NOT_MISSED = Cannot("where it is not, nothing is missing: this is what the others are compared with")
NO_TIME_OF_ITS_OWN = Cannot("it has no time limit of its own; see `test_arms_for_which_no_time_is_left`")
REFUSED = "skip.breaker"

_ASKED_IN_A_THREAD: dict[str, Names | Cannot] = {ABSENT: NOT_MISSED, OVER: NO_TIME_OF_ITS_OWN}


def _arm_row(name: str) -> dict[str, Names | Cannot]:
    return {
        **_ASKED_IN_A_THREAD,
        LATE: names(f"{name}:timeout"),
        RAISING: names(f"{name}:error"),
        EMPTY: names(),  # an arm that finds nothing has not failed
        GARBAGE: names(f"{name}:error"),
        CANCELLED: names(f"{name}:error"),
        OPEN: names(f"{name}:{REFUSED}"),
    }


def _local_row(stage: str, *, empty: Names | Cannot, garbage: Names | Cannot) -> dict[str, Names | Cannot]:
    return {
        ABSENT: NOT_MISSED,
        LATE: HERE,
        RAISING: names(f"{stage}:error"),
        EMPTY: empty,
        GARBAGE: garbage,
        CANCELLED: names(f"{stage}:error"),
        OPEN: NO_BREAKER,
        OVER: HERE,
    }


def _stage_row(stage: str, *, empty: Names, garbage: Names) -> dict[str, Names | Cannot]:
    """Of a stage that holds what a user brought: it runs in a thread that can be left behind."""
    return {
        **_local_row(stage, empty=empty, garbage=garbage),
        LATE: names(f"{stage}:timeout"),
        OPEN: names(f"{stage}:{REFUSED}"),
        OVER: NO_TIME_OF_ITS_OWN,
    }


_NAMES_STAGE = "parse.entities.llm"
_NO_STATE = names("mine:invalid_argument")
TABLE: dict[str, dict[str, Names | Cannot]] = {
    "names by LLM": {
        ABSENT: NOT_MISSED,
        LATE: names(f"{_NAMES_STAGE}:timeout"),
        RAISING: names(f"{_NAMES_STAGE}:error"),
        EMPTY: names(f"{_NAMES_STAGE}:failure.answer"),
        GARBAGE: names(f"{_NAMES_STAGE}:failure.answer"),
        CANCELLED: names(f"{_NAMES_STAGE}:error"),
        OPEN: names(f"{_NAMES_STAGE}:{REFUSED}"),
        OVER: names(f"{_NAMES_STAGE}:skip.budget"),
    },
    "rewrite": {
        ABSENT: NOT_MISSED,
        LATE: names("rewrite:timeout"),
        RAISING: names("rewrite:llm_error"),
        EMPTY: names("rewrite:empty"),
        GARBAGE: names("rewrite:empty"),
        CANCELLED: names("rewrite:llm_error"),
        OPEN: names(f"rewrite:{REFUSED}"),
        OVER: names("rewrite:skip.budget"),
    },
    "embed": {
        ABSENT: Cannot("a store without an embedding has the bundled one, which cannot fail"),
        LATE: names("embed:timeout", "semantic:skip.no_vector"),
        RAISING: names("embed:embedding_error", "semantic:skip.no_vector"),
        EMPTY: names("embed:embedding_error", "semantic:skip.no_vector"),
        GARBAGE: names("embed:embedding_error", "semantic:skip.no_vector"),
        CANCELLED: names("embed:embedding_error", "semantic:skip.no_vector"),
        OPEN: names(f"embed:{REFUSED}", "semantic:skip.no_vector"),
        OVER: NO_TIME_OF_ITS_OWN,
    },
    **{spec.name: _arm_row(spec.name) for spec in BUILT_IN},
    "semantic in memory": {
        **_local_row("semantic", empty=names(), garbage=_arm_row("semantic")[GARBAGE]),
        OPEN: NO_BREAKER,
    },
    "own arm": _arm_row("own"),
    "rank": _stage_row("rank", empty=names("rank:error"), garbage=names("rank:error")),
    "rerank": {
        ABSENT: NOT_MISSED,
        LATE: names("rerank:timeout"),
        RAISING: names("rerank:rerank_error"),
        EMPTY: names("rerank:rerank_error"),
        GARBAGE: names("rerank:rerank_error"),
        CANCELLED: names("rerank:rerank_error"),
        OPEN: names(f"rerank:{REFUSED}"),
        OVER: names("rerank:skip.slow"),
    },
    "facts": _stage_row("facts", empty=names("facts:invalid_argument"), garbage=names("facts:invalid_argument")),
    "arrange": _stage_row(
        "arrange", empty=names("arrange:invalid_argument"), garbage=names("arrange:invalid_argument")
    ),
    "own stage": _stage_row("mine", empty=_NO_STATE, garbage=_NO_STATE),
    "observer": _local_row(
        "observer",
        empty=Cannot("what an observer gives is not looked at"),
        garbage=Cannot("what an observer gives is not looked at"),
    ),
}
WITHOUT_A_ROW = {
    "parse": "essential: without it there is no answer; its steps have names of their own (test_optimizer.py)",
    "plan": "essential: without it there is no answer",
    "deliver": "essential: without it there is no answer",
    "arms": "essential, and only asks the arms, which have a row each",
}


def _cases() -> Iterator[Any]:
    for part, row in TABLE.items():
        for way, expected in row.items():
            if isinstance(expected, Names):
                yield pytest.param(part, way, expected, id=f"{part}, {way}")


# -- the tests ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bundled_store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as opened:
        opened.remember_many(MEMORIES)
        yield opened


@pytest.fixture(scope="module")
def vectors() -> Vectors:
    return Vectors()


@pytest.fixture(scope="module")
def remote_store(vectors: Vectors) -> Iterator[MemoryStore]:
    with MemoryStore.open(embedding=vectors) as opened:
        opened.remember_many(MEMORIES)
        yield opened


@pytest.fixture
def failing(vectors: Vectors) -> Iterator[Failing]:
    """What hangs is let go when the test is over."""
    made = Failing()
    yield made
    made.over.set()
    vectors.failing = Failing()


Ask = Callable[..., RecallResult]


@pytest.fixture
def ask(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Ask]]:
    """Makes optimizers, on a store that knows of no failure, and gives what asks them."""
    monkeypatch.setattr(read_path, "ENTITY_LLM_MS", AMPLE_MS)
    opened: list[QueryOptimizer] = []

    def make(part: str, **given: Any) -> Ask:
        store: MemoryStore = request.getfixturevalue("remote_store" if part == "embed" else "bundled_store")
        Path(store.path / "breakers.json").unlink(missing_ok=True)
        optimizer = QueryOptimizer(store, **given)
        opened.append(optimizer)

        def recall(query: str = PARTS[part].query, ms: float = AMPLE_MS, **more: Any) -> RecallResult:
            return optimizer.recall(query, k=4, now=NOW, time_budget_ms=ms, **more)

        return recall

    yield make
    for optimizer in opened:
        optimizer.close()


def entries(result: RecallResult) -> list[tuple[str, str]]:
    return sorted((d.stage, d.reason) for d in result.degraded)


def test_the_table_is_whole(bundled_store: MemoryStore) -> None:
    assert list(TABLE) == list(PARTS)
    assert all(sorted(row) == sorted(WAYS) for row in TABLE.values())
    optimizer = QueryOptimizer(bundled_store, reranker=lambda _q, texts: [0.0] * len(texts))
    stages = {stage.name for stage in optimizer.stages}
    optimizer.close()
    assert stages == (stages & set(TABLE)) | set(WITHOUT_A_ROW)


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_works_is_not_named(part: str, ask: Callable[..., Ask], failing: Failing, vectors: Vectors) -> None:
    vectors.failing = failing
    made = PARTS[part]
    assert entries(ask(part, config=made.config, **made.with_it(failing))()) == []
    assert failing.calls, "the query does not need the part"


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize(("part", "way", "expected"), list(_cases()))
def test_what_fails_is_named_and_costs_nothing_else(
    part: str,
    way: str,
    expected: Names,
    ask: Callable[..., Ask],
    failing: Failing,
    vectors: Vectors,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = PARTS[part]
    off = ask(part, **{"config": made.config, **made.without()})()
    assert entries(off) == [] and off.hits
    failing.way = LATE if way == OVER else way
    vectors.failing = failing
    config = made.short if way in (LATE, OVER) and made.short is not None else made.config
    if way in (LATE, OVER):
        monkeypatch.setattr(read_path, "ENTITY_LLM_MS", 1.0)
    breakers = BreakerConfig(failures_max=1 if way == OPEN else 1_000)
    recall = ask(part, **made.with_it(failing), config=replace(config, breakers=breakers))
    for done in range({OPEN: 1, OVER: 20}.get(way, 0)):  # what it does before it is left alone
        if way == OVER and done >= made.again and failing.calls >= RUNS_MIN:
            break  # a busy machine may use the time up before the part is asked: that says nothing of the part
        recall()
    calls = failing.calls
    for _ in range(TRIES if way == LATE else 1):
        result = recall(ms=SHORT_MS) if way == LATE and made.short is None else recall()
        if failing.calls > calls:
            break  # else a busy machine used the time up before the part was asked, as above
    assert (failing.calls > calls) == (way not in (OPEN, OVER))
    assert entries(result) == sorted(expected.entries)
    assert [hit.memory.id for hit in result.hits] == [hit.memory.id for hit in off.hits]
    assert [hit.score for hit in result.hits] == pytest.approx([hit.score for hit in off.hits])


def test_arms_for_which_no_time_is_left(ask: Callable[..., Ask], failing: Failing) -> None:
    def spends(event: StageEvent) -> None:
        """Takes all the time that is left, before the arms are asked."""
        if event.stage == "embed":
            threading.Event().wait(SHORT_MS / 1e3)

    recall = ask("own arm", **_own_arm(failing), observers=[spends])
    found = entries(recall(ms=SHORT_MS))
    assert [entry for entry in found if entry[0] in ("lexical", "own")] == [
        ("lexical", "timeout"),  # it runs in the thread of the recall, and looks at the clock
        ("own", "skip.budget"),
    ]
    # The graph is asked there too where all that it needs is in memory, and then has an answer at once.
    assert [reason for stage, reason in found if stage == "graph"] in ([], ["skip.budget"], ["timeout"])
    assert failing.calls == 0


def test_an_embedding_that_fails_does_not_switch_the_semantic_index_off(failing: Failing) -> None:
    """With the vector given by the caller, the embedding is not needed, and the index is sound."""
    vectors, vector = Vectors(), bundled().embed_query(EVERY_ARM)
    config = RecallConfig(retrieval=RetrievalConfig(exact_max=0), breakers=BreakerConfig(failures_max=1))
    with MemoryStore.open(embedding=vectors, config=config) as store:
        store.remember_many(MEMORIES)
        optimizer = QueryOptimizer(store)
        whole = optimizer.recall(EVERY_ARM, now=NOW, time_budget_ms=AMPLE_MS, query_vector=vector)
        vectors.failing, failing.way = failing, RAISING
        optimizer.recall(EVERY_ARM, now=NOW, time_budget_ms=AMPLE_MS)
        result = optimizer.recall(EVERY_ARM, now=NOW, time_budget_ms=AMPLE_MS, query_vector=vector)
        optimizer.close()
    assert entries(whole) == [] and failing.calls
    assert entries(result) == []


async def test_a_caller_who_cancels_gets_no_answer_and_the_next_one_does(
    bundled_store: MemoryStore, failing: Failing
) -> None:
    Path(bundled_store.path / "breakers.json").unlink(missing_ok=True)
    entered = threading.Event()

    class Waiting:
        name = "own"

        def search(self, request: ArmRequest) -> ArmResult:
            entered.set()
            while not request.deadline.wait(60):
                pass
            return ArmResult.empty("own")

    spec = ArmSpec(name="own", make=lambda _store, _config: Waiting, applies=lambda parsed, _: not entered.is_set())
    optimizer = QueryOptimizer(bundled_store, arms=[spec])
    task = asyncio.create_task(optimizer.arecall(EVERY_ARM, k=4, now=NOW, time_budget_ms=AMPLE_MS))
    assert await asyncio.to_thread(entered.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    result = await optimizer.arecall(EVERY_ARM, k=4, now=NOW, time_budget_ms=AMPLE_MS)
    assert entries(result) == [] and result.hits
    optimizer.close()
