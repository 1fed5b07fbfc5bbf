from __future__ import annotations

from collections.abc import Callable

import pytest

from recall_integrations.arms.base import ArmRequest, ArmResult
from recall_integrations.arms.retrievers import TypeFilterRetriever
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Filters, Memory, MemoryType

Ask = Callable[..., ArmRequest]
Ids = Callable[[ArmRequest, ArmResult], list[str]]


@pytest.fixture
def typed(store: MemoryStore) -> MemoryStore:
    store.remember_many([Memory(f"a {t.value}", id=t.value, type=t, actor="Sam") for t in MemoryType])
    return store


def test_hinted_types_only(typed: MemoryStore, ask: Ask, ids: Ids) -> None:
    request = ask(typed, "x", types=[MemoryType.FACT, MemoryType.SKILL])
    result = TypeFilterRetriever().search(request)
    assert set(ids(request, result)) == {"fact", "skill"}
    assert result.note == "2 of type fact, skill"


def test_similar_ones_first(typed: MemoryStore, ask: Ask, ids: Ids) -> None:
    request = ask(typed, "Sam: a skill", types=list(MemoryType))
    result = TypeFilterRetriever().search(request)
    assert ids(request, result)[0] == "skill"
    assert result.scores.min() >= 0.5 and result.scores[0] == pytest.approx(1.0, abs=2e-3)


def test_no_hint_no_candidates(typed: MemoryStore, ask: Ask, ids: Ids) -> None:
    request = ask(typed, "x")
    assert ids(request, TypeFilterRetriever().search(request)) == []


def test_filters_and_forgotten(typed: MemoryStore, ask: Ask, ids: Ids) -> None:
    typed.forget("skill")
    request = ask(typed, "x", types=[MemoryType.SKILL])
    assert ids(request, TypeFilterRetriever().search(request)) == []
    request = ask(typed, "x", types=[MemoryType.FACT], filters=Filters(actors=("Priya",)))
    assert ids(request, TypeFilterRetriever().search(request)) == []
