"""Whether what was told later takes the place of what was told earlier, for what a question asks.

"The Rotterdam team has it since Monday" does not say what it answers. Beside the question and the memory that answered
it until then it does: the words of the later text look for their matches in both (`attention`), and those of both in
it. Who only mentions the thing, wishes for another or speaks of somebody else's takes nothing's place. Taught by
`benchmarks.facts.teaching_superseding`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.facts.latest.attention import (
    ASKED,
    FAR,
    JUDGES,
    TOLD,
    Judge,
    Matrix,
    Reader,
    shares,
    texts_of,
)
from recall_integrations.facts.latest.whom import TEXTS
from recall_integrations.records import record

QUERIES = 64  # that were asked last, and of which is kept what was read
EARLIER = 3  # candidates that answer a question best, of which is asked what takes their place
NOTHING = -6.0  # the logit where there is nothing that could; of what could and surely does not it may be lower

# In this order in the columns of evidence.
SUPERSEDED = (
    "supersedes",  # the largest logit of taking the place of one that answers the question
    "supersedes_share",  # its share beside all that may and beside nothing, times how well that one answers it
    "superseded",  # of those that answer it best: the largest logit of another taking its place
    "superseded_share",  # the share of any doing so
    "supersedes_best",  # the logit of taking the place of the one that answers it best
    "supersedes_best_share",  # its share beside all that may and beside nothing
)

_OF_READER = ("turn", "beside", "bias", "key")
_MADE_OF = ("asked", "told", "earlier")
NAMES = (
    *(f"{side}_{name}" for side in ("asked", "told") for name in _OF_READER),
    *(f"{side}_{name}" for side in _MADE_OF for name in ("made", "made_bias")),
    "earlier",
    *JUDGES,
)


@record(frozen=True, slots=True, kw_only=True)
class Told:
    """What was told.

    Args:
        texts: of the candidates.
        at: when each was told, microseconds; `None` = it neither takes a place nor loses its.
        match: how well each answers the question, by `matching`: logits, `(candidates,)`.
    """

    texts: Sequence[str]
    at: Sequence[int | None]
    match: Matrix


class Superseding:
    """Never changed after it is made, so threads share one.

    Args:
        weights: by name (`NAMES`), of any precision. The question and the earlier text are read by the same, and
            `earlier` is added to words of the second.
        length: mean length of the vectors of tokens: a word of this length counts 1.
    """

    def __init__(self, weights: Mapping[str, NDArray[Any]], length: float) -> None:
        self.weights, self.length = weights, length
        own = {name: np.ascontiguousarray(one, dtype=np.float32) for name, one in weights.items()}
        read_by = {side: {name: own[f"{side}_{name}"] for name in _OF_READER} for side in ("asked", "told")}
        made_by = {side: {name: own[f"{side}_{name}"] for name in ("made", "made_bias")} for side in _MADE_OF}
        self._by_asked = Reader(**read_by["asked"], **made_by["asked"], length=length, most=ASKED)
        self._by_earlier = Reader(
            **read_by["asked"], **made_by["earlier"], length=length, most=TOLD, added=own["earlier"]
        )
        self._by_told = Reader(**read_by["told"], **made_by["told"], length=length, most=TOLD)
        self._judge = Judge(**{name: own[name] for name in JUDGES})
        self._asked = lru_cache(maxsize=QUERIES)(self._by_asked.words)
        self._earlier = lru_cache(maxsize=EARLIER * QUERIES)(self._by_earlier.words)
        self._told = lru_cache(maxsize=TEXTS)(self._by_told.words)

    def supersedes(self, question: str, pairs: Sequence[tuple[str, str]]) -> Matrix:
        """How likely the later text of a pair tells anew what the earlier one told: logits, `(pairs,)`.

        Args:
            question: what is asked.
            pairs: earlier and later text, one pair at least.
        """
        asked = texts_of([self._asked(question)] * len(pairs))
        earlier = texts_of([self._earlier(text) for text, _ in pairs])
        told = texts_of([self._told(text) for _, text in pairs])
        size = asked.there.shape[1]
        vectors, keys, there = (
            np.concatenate([getattr(asked, name), getattr(earlier, name)], axis=1)
            for name in ("vectors", "keys", "there")
        )
        alike = keys @ told.keys.transpose(0, 2, 1) * np.float32(keys.shape[2] ** -0.5)
        in_told = shares(np.where(told.there[:, None], alike, FAR)) @ told.vectors
        in_both = shares(np.where(there[:, :, None], alike, FAR).transpose(0, 2, 1)) @ vectors
        seen = [
            self._by_asked.whole(asked.words, asked.begins, in_told[:, :size][asked.there]),
            self._by_told.whole(told.words, told.begins, in_both[told.there]),
            self._by_earlier.whole(earlier.words, earlier.begins, in_told[:, size:][earlier.there]),
        ]
        return self._judge.logits(seen)


def superseded(question: str, told: Told, by: Superseding) -> Matrix:
    """What takes whose place among candidates: the columns `SUPERSEDED`, float32 `(candidates, 6)`.

    Args:
        question: what is asked.
        told: the candidates.
        by: tells what takes whose place.
    """
    found = np.zeros((len(told.texts), len(SUPERSEDED)), dtype=np.float32)
    found[:, 0::2] = NOTHING
    times = {place: at for place, at in enumerate(told.at) if at is not None}
    best = sorted(times, key=lambda place: (-told.match[place], place))[:EARLIER]
    later = [[place for place, at in times.items() if at > times[one]] for one in best]
    pairs = [(told.texts[one], told.texts[place]) for one, own in zip(best, later, strict=True) for place in own]
    if not pairs:
        return found
    logits, begin = by.supersedes(question, pairs), 0
    for number, (one, own) in enumerate(zip(best, later, strict=True)):
        if not own:
            continue
        given, begin = logits[begin : begin + len(own)], begin + len(own)
        most = max(0.0, float(given.max()))
        none, some = np.exp(-most), np.exp(given - most)
        share = some / (none + some.sum())
        answers = 1 / (1 + np.exp(-told.match[one]))
        found[own, 0] = np.maximum(found[own, 0], given)
        found[own, 1] = np.maximum(found[own, 1], answers * share)
        found[one, 2:4] = given.max(), share.sum()
        if number == 0:
            found[own, 4], found[own, 5] = given, share
    return found
