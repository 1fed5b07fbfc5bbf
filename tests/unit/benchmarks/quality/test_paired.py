from __future__ import annotations

import pytest

from benchmarks.quality import paired as metrics
from recall_integrations.errors import InvalidArgument


def row(value: float) -> dict[str, float]:
    return dict.fromkeys(metrics.METRICS, value)


def test_a_paired_difference_is_signed_certain_when_constant_and_reproducible() -> None:
    ours, theirs = {str(i): row(0.6) for i in range(9)}, {str(i): row(0.4) for i in range(9)}
    gap = metrics.paired_difference(ours, theirs, "ndcg@10")
    assert (gap.mean, gap.low, gap.high) == pytest.approx((0.2, 0.2, 0.2))
    mixed = {str(i): row(float(i % 2)) for i in range(9)}
    first = metrics.paired_difference(mixed, theirs, "recall@5", seed=3)
    assert first == metrics.paired_difference(mixed, theirs, "recall@5", seed=3)
    assert first.low < first.mean < first.high
    with pytest.raises(InvalidArgument, match="same questions"):
        metrics.paired_difference(ours, {}, "ndcg@10")
    with pytest.raises(InvalidArgument, match="Unknown metric"):
        metrics.paired_difference(ours, theirs, "accuracy")
