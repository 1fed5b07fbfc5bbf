"""What could be learned at best: from the labels of every question, without chance, bias or a gate."""

from __future__ import annotations

import numpy as np

from benchmarks.learning.recorded import Asked, Halves
from benchmarks.learning.using import Numbers, order_by, quality
from recall_integrations.learning.making import LENGTH_MAX, learnable, learned_steps, lists_of, plans_for
from recall_integrations.learning.versions import Version
from recall_integrations.ranking.feature_sum import FixedWeights
from recall_integrations.types.judged import Gain, Judged

LEAST = 30


def labelled(asked: Asked, number: int) -> Judged:
    """A question as if somebody had named all that answers it."""
    gains = tuple(Gain(num=num, gain=min(grade, 1.0)) for num, grade in asked.relevant.items())
    return Judged(
        result_id=f"label-{number}", at=number, signature=asked.signature, gains=gains[:64], replay=asked.replay
    )


def oracle(halves: Halves) -> Version:
    """The version that the labels of the learning half teach."""
    judged = [labelled(asked, number) for number, asked in enumerate(halves.learning)]
    lists = lists_of(judged, learnable())
    steps = learned_steps(lists, length_max=LENGTH_MAX).steps if lists is not None else {}
    plans = plans_for(judged, least=LEAST)
    return Version(id="v1", judged=len(judged), steps=steps, plans=plans, ranker=FixedWeights.version)


def measured(halves: Halves, version: Version | None) -> Numbers:
    """nDCG@5 of each measured question by a version; `None` = by rules."""
    return np.asarray(quality(halves.measured, [order_by(asked, version) for asked in halves.measured]))
