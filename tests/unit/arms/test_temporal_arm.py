from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import pytest

from recall_integrations.arms import retrievers as temporal
from recall_integrations.arms.base import ArmRequest, ArmResult
from recall_integrations.arms.retrievers import TemporalRetriever
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Filters, Memory, MemoryType, Scope, TemporalWindow

Ask = Callable[..., ArmRequest]
Ids = Callable[[ArmRequest, ArmResult], list[str]]
DAY = datetime(2024, 3, 10, tzinfo=timezone.utc)
TICK = timedelta(microseconds=1)


def window(start: datetime | None, end: datetime | None) -> TemporalWindow:
    return TemporalWindow(start=start, end=end, span=(0, 0), confidence=0.9)


def found(store: MemoryStore, ask: Ask, ids: Ids, given: TemporalWindow | None, **more: object) -> set[str]:
    request = ask(store, "what happened", window=given, **more)
    result = TemporalRetriever(store.engine).search(request)
    assert ((result.scores >= 0) & (result.scores <= 1)).all()
    return set(ids(request, result))


@pytest.fixture
def days(store: MemoryStore) -> MemoryStore:
    moments = {
        "before": DAY - TICK,
        "start": DAY,
        "middle": DAY + timedelta(hours=12),
        "last": DAY + timedelta(days=1) - TICK,
        "end": DAY + timedelta(days=1),
    }
    store.remember_many([Memory(f"it was {name}", id=name, event_at=at) for name, at in moments.items()])
    return store


def test_start_is_inside_and_end_is_not(days: MemoryStore, ask: Ask, ids: Ids) -> None:
    assert found(days, ask, ids, window(DAY, DAY + timedelta(days=1))) == {"start", "middle", "last"}


@pytest.mark.parametrize("column_max", [temporal.COLUMN_MAX, 0])
def test_a_document_is_not_of_the_day_it_was_stored(
    store: MemoryStore, ask: Ask, ids: Ids, monkeypatch: pytest.MonkeyPatch, column_max: int
) -> None:
    monkeypatch.setattr(temporal, "COLUMN_MAX", column_max)
    day = window(DAY, DAY + timedelta(days=1))
    store.remember(Memory("a handbook", id="stored", type="chunk", created_at=DAY))
    assert found(store, ask, ids, day) == set()
    store.remember(Memory("a report", id="told", type="chunk", created_at=DAY, event_at=DAY))
    store.remember(Memory("a fact", id="said", created_at=DAY))
    assert found(store, ask, ids, day) == {"told", "said"}
    whole = Filters(after=DAY, before=DAY + timedelta(days=1))
    scope_id = store.scope_id(Scope())
    assert scope_id is not None
    kept = store.reader.filter_mask(store.view(scope_id), whole, DAY)
    assert kept is not None and kept.all()


def test_open_windows(days: MemoryStore, ask: Ask, ids: Ids) -> None:
    assert found(days, ask, ids, window(DAY + timedelta(days=1), None)) == {"end"}
    assert found(days, ask, ids, window(None, DAY)) == {"before"}
    assert len(found(days, ask, ids, window(None, None))) == 5


def test_other_time_zones(days: MemoryStore, ask: Ask, ids: Ids) -> None:
    tokyo = timezone(timedelta(hours=9))
    start = datetime(2024, 3, 10, 9, tzinfo=tokyo)
    assert found(days, ask, ids, window(start, start + TICK)) == {"start"}


def test_without_event_time_the_time_of_recording_counts(store: MemoryStore, ask: Ask, ids: Ids) -> None:
    store.remember_many(
        [
            Memory("recorded then", id="recorded", created_at=DAY),
            Memory("told later", id="told", event_at=DAY - timedelta(days=9), created_at=DAY),
            Memory("happened then", id="happened", event_at=DAY, created_at=DAY + timedelta(days=9)),
        ]
    )
    assert found(store, ask, ids, window(DAY, DAY + TICK)) == {"recorded", "happened"}


def test_no_window_and_nothing_in_it(days: MemoryStore, ask: Ask, ids: Ids) -> None:
    assert found(days, ask, ids, None) == set()
    assert found(days, ask, ids, window(DAY + timedelta(days=100), None)) == set()


def test_scopes_and_forgotten_memories(days: MemoryStore, ask: Ask, ids: Ids) -> None:
    days.remember(Memory("other", id="other", event_at=DAY), scope=Scope(user_id="u"))
    days.forget("middle")
    assert found(days, ask, ids, window(DAY, DAY + timedelta(days=1))) == {"start", "last"}


def test_similar_ones_come_first(days: MemoryStore, ask: Ask, ids: Ids) -> None:
    request = ask(days, "it was middle", window=window(DAY, None))
    result = TemporalRetriever(days.engine).search(request)
    assert ids(request, result)[0] == "middle"
    assert result.scores[0] == pytest.approx(1.0, abs=2e-3)


def test_without_vectors_the_newest_come_first(days: MemoryStore, ask: Ask, ids: Ids) -> None:
    request = ask(days, "x", window=window(DAY, None), vectors=False)
    result = TemporalRetriever(days.engine).search(request)
    assert ids(request, result) == ["end", "last", "middle", "start"]


def test_filter_reaches_behind_the_newest(
    days: MemoryStore, ask: Ask, ids: Ids, monkeypatch: pytest.MonkeyPatch
) -> None:
    days.remember(Memory("old fact", id="fact", event_at=DAY, type=MemoryType.FACT))
    monkeypatch.setattr(temporal, "SCAN_MAX", 2)
    assert "fact" not in found(days, ask, ids, window(DAY, None))
    assert found(days, ask, ids, window(DAY, None), filters=Filters(types=(MemoryType.FACT,))) == {"fact"}
    observations = Filters(types=(MemoryType.OBSERVATION,))
    assert found(days, ask, ids, window(DAY, None), filters=observations) == {"last", "end"}


@pytest.fixture
def told(store: MemoryStore) -> MemoryStore:
    """Of 10 March 2024, and of later days that tell of it, more or less."""
    later = DAY + timedelta(days=20, hours=9)  # a Saturday
    store.remember_many(
        [
            Memory("it was warm", id="own", event_at=DAY + timedelta(hours=5)),
            Memory("it was warm on 10 March", id="day", event_at=later),
            Memory("it was warm three weeks ago", id="week", event_at=later),
            Memory("it is warm this month", id="month", event_at=later),
            Memory("it was warm yesterday", id="other", event_at=later),
            Memory("it will be warm tomorrow", id="plan", event_at=DAY - timedelta(days=1)),
        ]
    )
    return store


@pytest.mark.parametrize("column_max", [temporal.COLUMN_MAX, 0])
def test_what_tells_of_the_window_is_found_after_what_is_of_it(
    told: MemoryStore, ask: Ask, ids: Ids, monkeypatch: pytest.MonkeyPatch, column_max: int
) -> None:
    monkeypatch.setattr(temporal, "COLUMN_MAX", column_max)
    request = ask(told, "what happened", window=window(DAY, DAY + timedelta(days=1)))
    result = TemporalRetriever(told.engine).search(request)
    assert set(ids(request, result)) == {"own", "day", "week", "plan"}
    scores = dict(zip(ids(request, result), result.scores.tolist(), strict=True))
    assert scores["week"] < min(scores["day"], scores["own"], scores["plan"])
    assert result.note == "4 in the window, 3 by what they tell"


def test_what_tells_of_the_window_has_to_meet_the_filters(told: MemoryStore, ask: Ask, ids: Ids) -> None:
    day = window(DAY, DAY + timedelta(days=1))
    assert found(told, ask, ids, day, filters=Filters(after=DAY + timedelta(days=2))) == {"day", "week"}


def test_a_plan_is_found_by_the_time_that_it_is_for(store: MemoryStore, ask: Ask, ids: Ids) -> None:
    store.remember(Memory("we fly to Lisbon next month", id="plan", event_at=DAY))
    april = window(datetime(2024, 4, 1, tzinfo=timezone.utc), datetime(2024, 5, 1, tzinfo=timezone.utc))
    assert found(store, ask, ids, april) == {"plan"}
