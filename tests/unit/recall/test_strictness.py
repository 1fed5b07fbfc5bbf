"""Which error a result that is not whole becomes, and what is in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallResult
from recall_integrations.arms.retrievers import ArmSpec
from recall_integrations.delivery.showing import OPTIONS, complaint
from recall_integrations.errors import (
    DegradationFailed,
    IndexUnavailable,
    PrivacyViolation,
    RecallError,
    RecallTimeout,
)
from recall_integrations.types import Degradation
from tests.rows import each_row


@pytest.fixture(scope="module")
def optimizer() -> Iterator[QueryOptimizer]:
    with MemoryStore.open() as store:
        store.remember_many([Memory("Priya likes tea", id="a"), Memory("Sam likes coffee", id="b")])
        yield QueryOptimizer(store)


@pytest.fixture(scope="module")
def whole(optimizer: QueryOptimizer) -> RecallResult:
    return optimizer.recall("who likes tea")


@each_row(
    ("problems", "kind"),
    [
        ([], None),
        ([("deliver", "abstain"), ("deliver", "score_min"), ("pack", "budget.tokens")], None),
        ([("lexical", "timeout")], RecallTimeout),
        ([("admission", "reduced_top_k"), ("rank", "skip.budget")], RecallTimeout),
        ([("rerank", "partial")], RecallTimeout),
        ([("lexical", "index_unavailable"), ("rewrite", "timeout")], IndexUnavailable),
        ([("semantic", "error")], IndexUnavailable),
        ([("lexical", "index.behind")], IndexUnavailable),
        ([("rewrite", "llm_error")], DegradationFailed),
        ([("rerank", "skip.breaker"), ("graph", "timeout")], DegradationFailed),
        ([("privacy", "timeout"), ("semantic", "error")], PrivacyViolation),
    ],
)
def test_the_worst_that_happened_decides(
    whole: RecallResult, problems: list[tuple[str, str]], kind: type[RecallError] | None
) -> None:
    degraded = tuple(Degradation(stage=stage, reason=reason, detail="why") for stage, reason in problems)
    error = complaint(replace(whole, degraded=degraded), 150.0)
    assert (None if error is None else type(error)) is kind
    if error is not None:
        assert error.code in ("TIMEOUT", "DEGRADATION_FAILED", "INDEX_UNAVAILABLE", "PRIVACY_VIOLATION")
        assert error.details["effective_timeout_ms"] == 150.0 and error.details["retry_suggestions"]
        assert error.options == OPTIONS
        assert error.stats["partial_results"] == len(whole.hits) and error.stats["time_elapsed_ms"] > 0
        assert error.result.hits == whole.hits
        assert all(f"{stage}: {reason}" in str(error) for stage, reason in problems)


def test_the_steps_that_were_applied_are_named(whole: RecallResult) -> None:
    degraded = tuple(Degradation(stage="admission", reason=r) for r in ("reduced_top_k", "simplified_scoring"))
    pressed = replace(whole, degraded=degraded)
    assert pressed.degradation_steps == ("reduced_top_k", "simplified_scoring")
    error = complaint(pressed, 8.0)
    assert error is not None
    assert error.details["degradation_steps_applied"] == ["reduced_top_k", "simplified_scoring"]


def test_other_errors_have_none_of_it() -> None:
    error = RecallTimeout("late")
    assert (error.details, error.options, error.stats, error.result) == ({}, (), {}, None)


def test_strict_raises_where_the_default_degrades(optimizer: QueryOptimizer) -> None:
    class Broken:
        name = "broken"

        def search(self, _request: object) -> None:
            raise ValueError("no")

    broken = ArmSpec(name="broken", make=lambda _store, _config: Broken)  # type: ignore[arg-type,return-value]
    own = QueryOptimizer(optimizer.store, arms=[broken])
    assert [h.memory.id for h in own.recall("who likes tea", k=1).hits] == ["a"]
    with pytest.raises(DegradationFailed, match="broken: error") as raised:
        own.recall("who likes tea", k=1, strict=True)
    assert [h.memory.id for h in raised.value.result.hits] == ["a"]
    assert optimizer.recall("who likes tea", k=1, strict=True).degraded == ()
