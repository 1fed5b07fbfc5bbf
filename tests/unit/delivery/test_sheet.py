"""What a sheet says of a hit source by source is what it says of it at once."""

from __future__ import annotations

import numpy as np

from recall_integrations.delivery.explanation import Sheet
from recall_integrations.ranking.fusion import Fused
from recall_integrations.types import Contribution

NAN = float("nan")
FUSED = Fused(
    rows=np.asarray([7, 3, 5]),
    scores=np.asarray([0.9, 0.5, 0.1], dtype=np.float32),
    added={"lexical": np.asarray([0.5, 0, 0], dtype=np.float32), "rerank": np.asarray([1, 0, 0], dtype=np.float32)},
    raw={"lexical": np.asarray([2.5, 0, 1], dtype=np.float32), "semantic": np.asarray([0.25, NAN, 0.5], np.float32)},
    ranks={"lexical": np.asarray([1, 0, 2], dtype=np.int32)},
)
JUDGED = Contribution(source="rerank", rank=1, score=0.75)
SHEET = Sheet(FUSED, [0, 1, 2], {7: JUDGED}, {"lexical": {5: "noted"}})


def test_contributions_are_largest_first_and_those_that_there_are() -> None:
    assert SHEET.contributions(0) == (
        Contribution(source="lexical", rank=1, score=2.5, added=0.5),
        JUDGED,
        Contribution(source="semantic", score=0.25),
    )
    assert SHEET.contributions(1) == ()
    assert SHEET.contributions(2)[0] == Contribution(source="lexical", rank=2, score=1.0, note="noted")


def test_scores_are_those_of_the_source_itself() -> None:
    assert SHEET.scores("semantic")[::2] == [0.25, 0.5]
    assert SHEET.scores("rerank") == [1, 0, 0]
    assert SHEET.scores("graph") == []
