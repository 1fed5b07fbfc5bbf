"""Pairs of hits that may be about the same thing, described for the model of `newer.py`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.columns import TextColumns
from recall_integrations.indexes.scope_view import Mask, ScopeView
from recall_integrations.query.asking import asks_state
from recall_integrations.query.occurrences import tense_of
from recall_integrations.ranking.arranging.moves import MOVERS, sums
from recall_integrations.ranking.arranging.pair_words import OF_WORDS, Inputs, Vectors, Words
from recall_integrations.ranking.features.owners import OWNER
from recall_integrations.ranking.features.registry import FEATURES
from recall_integrations.ranking.fusion import Fused
from recall_integrations.records import record
from recall_integrations.types import ParsedQuery

POOL = 10  # best candidates that are compared
ALIKE = 0.28  # half the shared words and half the cosine of two texts, from which they may be about the same thing
WEAK = 0.1  # score below which a hit answers nothing, so that nobody needs to know what came after it
DAY_US = 86_400_000_000
# The inputs of a pair. "upper" and "lower" are places in the ranking; "older" and "newer" are told by time, else by the
# order of writing.
PLAIN = (
    "gap",
    "log_gap",
    "alike",
    "alike²",
    "alike·gap",
    "shared",
    "jaccard",
    "cosine",
    "upper_holds",
    "lower_holds",
    "both_hold",
    "linked",
    "marked",
    "nearer",
    "longer",
    "same_actor",
    "same_thread",
    "upper_place",
    "lower_place",
    "size",
    "people",
    "assistant",
)
TURNED = (
    "1",
    "alike",
    "shared",
    "both_hold",
    "newer_holds",
    "older_holds",
    "numbers",
    "days",
    "dated",
    "size",
    "gap",
    "people",
    "assistant",
)
# The second is 0 but where the query asks for the past.
FACTORS = ("newer", "newer·past")
# That the query asks for more than one time, and how surely for how things are; with the sign of `newer`.
ASKED = ("newer·span", "newer·state")
INPUTS = (*PLAIN, *OF_WORDS, *(f"{factor}·{name}" for factor in FACTORS for name in TURNED), *ASKED)


@record(frozen=True, slots=True, kw_only=True)
class Compared:
    """Pairs of candidates that are alike.

    Args:
        upper, lower: places among the candidates, int64 `(pairs,)`.
        newer: bool `(pairs,)`: whether the lower one is the newer one.
        inputs: float64 `(pairs, len(INPUTS))`.
        alone: float32 `(pairs, 256)`: sum of the vectors of the query's words that the upper one alone holds, each
            times its share of the query's weight.
        told: float32 `(pairs, 256)`: mean vector of the words that the newer one alone says, and not the query; with
            the sign of `turn`, and the other one where the query asks for the past.
    """

    upper: NDArray[np.int64]
    lower: NDArray[np.int64]
    newer: NDArray[np.bool_]
    inputs: Inputs
    alone: Vectors
    told: Vectors

    def column(self, name: str) -> Inputs:
        """Return one of the inputs."""
        found: Inputs = self.inputs[:, INPUTS.index(name)]
        return found


def compared(
    fused: Fused,
    view: ScopeView,
    text: TextColumns,
    query: ParsedQuery,
    unit: float,
    until: int | None = None,
    inside: Mask | None = None,
    *,
    teaching: bool = False,
) -> Compared | None:
    """Describe the pairs of the best candidates that are alike and may change places; `None` = there are none.

    Args:
        fused, view, text, query, unit, until, inside: see `newer_first`.
        teaching: also those that share nothing that makes them one thing, that stand in a list, or of which the newer
            one does not say whose it is: a model learns from them.
    """
    rows = fused.rows[: min(len(fused.rows), POOL)]
    vectors = view.vectors_of(rows) if len(rows) > 1 else None
    if vectors is None:
        return None
    words = Words(text, rows, query)
    tense = tense_of(query.original, query.language)
    pairs = _alike(view, rows, words.whole, vectors, unit)
    if pairs is not None:
        pairs = pairs.where(_may_move(fused, view, pairs, words, tense.past or tense.span, until, inside, teaching))
    if pairs is None:
        return None
    of_query = _held(words, pairs, query)
    every, kind = np.ones(len(pairs.upper)), text.kind
    raw = sums(fused)
    shared = {
        "gap": raw[pairs.upper] - raw[pairs.lower],
        "alike": pairs.alike,
        "shared": pairs.overlap,
        "both_hold": of_query.both,
        "size": every * math.log(max(2, len(fused.rows))),
        "people": every * max(kind.pairs, kind.crowd) * (1 - kind.roles),
        "assistant": every * kind.roles,
    }
    own = words.differences(pairs.places, pairs.turn)
    places = _of_places(pairs, text, rows, _near(fused, unit))
    plain = {**places, **_of_likeness(pairs, words, of_query, shared["gap"]), **own.columns, **shared}
    turned = {**_of_time(pairs, view, rows, of_query), "numbers": _numbers(pairs, words, text), **shared}
    asks = float(tense.past), float(tense.span), asks_state(query.original, query.language)
    return Compared(
        upper=pairs.upper,
        lower=pairs.lower,
        newer=pairs.turn > 0,
        inputs=_stacked(plain, turned, pairs.turn, asks),
        alone=own.alone,
        told=-own.told if tense.past else own.told,
    )


def _may_move(
    fused: Fused,
    view: ScopeView,
    pairs: _Pairs,
    words: Words,
    past: bool,
    until: int | None,
    inside: Mask | None,
    teaching: bool,
) -> NDArray[np.bool_]:
    """Say of which pairs the lower one may move above the upper one, whatever the model says.

    The lower one stays where it is older and no past is asked for, where both say the same words, and where the upper
    one answers nothing. It stays where the upper one alone holds a name, a number or a sign that is asked for, or any
    word that is asked for while both stand in a list. It stays where the two share neither a word of the query nor one
    that no other of the best candidates says ("Broadband is Telmo" and "Quit Telmo, with Fibra since May" share one).
    And it stays where something lifts the upper one more that the query or the caller asks for: an identifier, whose it
    is, what is denied, an arm of the caller's own.
    """
    upper, lower, rows = pairs.upper, pairs.lower, fused.rows
    may = (fused.scores[upper] >= WEAK) & (pairs.jaccard < 1) & ((pairs.turn > 0) | past)
    for source, added in fused.added.items():
        if source not in FEATURES and source not in MOVERS:  # what the query or the caller asks for
            whole = np.broadcast_to(added, (len(rows),))
            lifted = np.where(pairs.turn > 0, np.minimum(whole, 0)[upper], whole[upper])
            # A model learns from "I drive a Skoda", "Sold the Skoda"; whose it was the second does not say.
            may &= whole[lower] >= (lifted if teaching and source == OWNER else whole[upper])
    if until is not None:
        # Where both are later than that, it tells nothing: memories without a time have that of writing.
        may &= (view.at[rows[lower]] <= until) | (view.at[rows[upper]] > until)
    if inside is not None:
        may &= inside[rows[lower]] >= inside[rows[upper]]
    for i in np.flatnonzero(may).tolist():
        a, b = pairs.places[i]
        one = teaching or not words.held[a].isdisjoint(words.held[b]) or words.linked(a, b) > 0
        may[i] = one and not words.named(a, b) and (teaching or not words.listed(a, b))
    return np.asarray(may, dtype=np.bool_)


def _stacked(
    plain: Mapping[str, NDArray[np.generic]],
    turned: Mapping[str, NDArray[np.generic]],
    turn: Inputs,
    asks: tuple[float, float, float],
) -> Inputs:
    """Stack the inputs in their order; those that depend on which one is newer have its sign."""
    past, span, state = asks
    columns = [np.asarray(plain[name], dtype=np.float64) for name in (*PLAIN, *OF_WORDS)]
    for factor in (1.0, past):
        columns += [factor * turn * np.asarray(turned[name], dtype=np.float64) for name in TURNED]
    return np.stack([*columns, span * turn, state * turn], axis=1)


@record(frozen=True, slots=True, kw_only=True)
class _Pairs:
    """Places of candidates that may be about the same thing; `turn` as by `_turn`, the rest is how alike they are."""

    upper: NDArray[np.int64]
    lower: NDArray[np.int64]
    turn: Inputs
    overlap: Inputs
    jaccard: Inputs
    cosine: Inputs

    def where(self, kept: NDArray[np.bool_]) -> _Pairs | None:
        """Return the pairs that are kept; `None` = none is."""
        if not kept.any():
            return None
        return _Pairs(
            upper=self.upper[kept],
            lower=self.lower[kept],
            turn=self.turn[kept],
            overlap=self.overlap[kept],
            jaccard=self.jaccard[kept],
            cosine=self.cosine[kept],
        )

    @property
    def alike(self) -> Inputs:
        """Half the shared words and half the cosine."""
        return (self.overlap + self.cosine) / 2

    @property
    def places(self) -> list[tuple[int, int]]:
        """Places of the upper and the lower one of each pair."""
        return list(zip(self.upper.tolist(), self.lower.tolist(), strict=True))


@record(frozen=True, slots=True, kw_only=True)
class _Held:
    """Shares of the query's words that a candidate, or both of a pair hold; how many of a candidate's are marked."""

    alone: Inputs
    both: Inputs
    marks: Inputs


def _alike(
    view: ScopeView,
    rows: NDArray[np.int64],
    stems: Sequence[AbstractSet[int]],
    vectors: NDArray[np.float32],
    unit: float,
) -> _Pairs | None:
    """Return the pairs that are alike and differ in time."""
    counts = _counts(stems)
    upper, lower = np.triu_indices(len(rows), 1)
    shared = np.asarray([len(stems[a] & stems[b]) for a, b in zip(upper.tolist(), lower.tolist(), strict=True)])
    overlap = shared / np.minimum(counts[upper], counts[lower])
    cosine = _in_unit((vectors @ vectors.T)[upper, lower].astype(np.float64), unit)
    turn = _turn(view, rows, upper, lower)
    jaccard = shared / np.maximum(counts[upper] + counts[lower] - shared, 1)
    every = _Pairs(upper=upper, lower=lower, turn=turn, overlap=overlap, jaccard=jaccard, cosine=cosine)
    return every.where((every.alike >= ALIKE) & (turn != 0))


def _held(words: Words, pairs: _Pairs, query: ParsedQuery) -> _Held:
    own, count = words.held, max(1, len(set(query.terms)))
    return _Held(
        alone=np.asarray([len(stems) for stems in own]) / count,
        both=np.asarray([len(own[a] & own[b]) for a, b in pairs.places]) / count,
        marks=np.asarray([len(stems & words.marked) for stems in own], dtype=np.float64),
    )


def _of_likeness(pairs: _Pairs, words: Words, held: _Held, gap: Inputs) -> dict[str, Inputs]:
    """Compute the inputs that say how alike two texts are, and what of the query each holds."""
    upper, lower, alike, counts = pairs.upper, pairs.lower, pairs.alike, _counts(words.whole)
    return {
        "longer": np.log(counts[lower] / counts[upper]),
        "log_gap": np.log1p(np.maximum(gap, 0)),
        "alike²": alike**2,
        "alike·gap": alike * gap,
        "jaccard": pairs.jaccard,
        "cosine": pairs.cosine,
        "upper_holds": held.alone[upper],
        "lower_holds": held.alone[lower],
        "linked": np.log1p([words.linked(a, b) for a, b in pairs.places]),
        "marked": held.marks[upper] - held.marks[lower],
    }


def _of_places(
    pairs: _Pairs, text: TextColumns, rows: NDArray[np.int64], near: Inputs
) -> dict[str, NDArray[np.generic]]:
    """Compute the inputs that say where two candidates stand, and who said them where."""
    upper, lower, threads, actors = pairs.upper, pairs.lower, text.threads[rows], text.actors[rows]
    return {
        "nearer": near[upper] - near[lower],
        "same_actor": actors[upper] == actors[lower],
        "same_thread": (threads[upper] == threads[lower]) & (threads[upper] >= 0),
        "upper_place": np.log1p(upper),
        "lower_place": np.log1p(lower),
    }


def _of_time(pairs: _Pairs, view: ScopeView, rows: NDArray[np.int64], held: _Held) -> dict[str, NDArray[np.generic]]:
    """Compute the inputs that depend on which one is newer."""
    upper, lower, newer, dated = pairs.upper, pairs.lower, pairs.turn > 0, view.dated[rows]
    return {
        "1": np.ones(len(upper)),
        "newer_holds": held.alone[np.where(newer, lower, upper)],
        "older_holds": held.alone[np.where(newer, upper, lower)],
        "days": np.log1p(np.abs(view.at[rows[upper]] - view.at[rows[lower]]) / DAY_US) * dated[upper],
        "dated": dated[upper],
    }


def _counts(stems: Sequence[AbstractSet[int]]) -> Inputs:
    return np.asarray([max(1, len(own)) for own in stems], dtype=np.float64)


def _turn(view: ScopeView, rows: NDArray[np.int64], upper: NDArray[np.int64], lower: NDArray[np.int64]) -> Inputs:
    """Return 1 where the lower one is newer, −1 where it is older, 0 where nobody can tell."""
    at, dated, nums = view.at[rows], view.dated[rows], view.nums[rows]
    by_time = np.sign(at[lower] - at[upper]) * (dated[lower] & dated[upper])
    by_writing = np.sign(nums[lower] - nums[upper]) * (dated[lower] == dated[upper])
    turn: Inputs = np.where(by_time != 0, by_time, by_writing).astype(np.float64)
    return turn


def _in_unit(cosines: Inputs, unit: float) -> Inputs:
    """Spread cosines of an embedding whose texts are all near each other like those of the bundled one."""
    return cosines if unit >= 0.8 else 1 - (1 - cosines) / unit


def _near(fused: Fused, unit: float) -> Inputs:
    """Return the cosines of the candidates with the query, in tenths; 0 where there are none."""
    found = fused.raw.get("cosine")
    near = np.zeros(len(fused.rows)) if found is None else np.nan_to_num(np.asarray(found, dtype=np.float64))
    return 10 * near / unit


def _numbers(pairs: _Pairs, words: Words, text: TextColumns) -> NDArray[np.bool_]:
    """Say whether each of two texts holds a number that the other lacks."""
    read = text.lexicon.stem_text
    own = [frozenset(stem for stem in stems if any(map(str.isdigit, read(stem)))) for stems in words.whole]
    return np.asarray([bool(own[a] - own[b]) and bool(own[b] - own[a]) for a, b in pairs.places])
