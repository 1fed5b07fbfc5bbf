"""Pairs of hits that may be about the same thing, described for the model of `newer.py`.

    "what does the cat eat?"    The *cat* eats dry food  /  The *dog* eats canned food    ─▶ other things
    "where is the drill?"       The drill is in the shed /  Moved it to the attic         ─▶ "moved" tells a change

Words are compared by their stems and, in English, by their bundled vectors.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.columns import TextColumns
from recall_integrations.indexes.kind import MANY
from recall_integrations.indexes.scope_view import Mask, ScopeView
from recall_integrations.patterns import regex
from recall_integrations.query.asking import asks_state
from recall_integrations.query.by_table.cues import behind_before, tense_of
from recall_integrations.ranking.arranging.moves import MOVERS, sums
from recall_integrations.ranking.features.compute import FEATURES
from recall_integrations.ranking.features.reading import OWNER
from recall_integrations.ranking.fusion import Fused
from recall_integrations.records import record
from recall_integrations.types import ParsedQuery

Inputs = NDArray[np.float64]
Vectors = NDArray[np.float32]
WORDS_MAX = 24  # content words of a text that are compared: what it is about it says first
DIMENSIONS = 256  # of the bundled vectors
LISTED = 4  # candidates that hold what two of them share, from which these stand in a list
_YEAR = regex(r"(?:19|20)[0-9]{2}")
BEGIN = 2  # words with which a text begins, of which one mostly says what it is about
# Inputs from the words in which two texts differ, and from the query's words among them.
OF_WORDS = (
    *("upper_alone", "lower_alone", "unanswered", "before", "behind", "upper_own", "lower_own", "own_near"),
    *("same_begin", "upper_begin", "lower_begin", "other_before", "known"),
)


@record(frozen=True, slots=True, kw_only=True)
class Differences:
    """Pairs by the words that one of two hits holds alone: columns of `OF_WORDS`, and the rest as `pairs.Compared`."""

    columns: dict[str, Inputs]
    alone: Vectors
    told: Vectors


class Words:
    """Words of the candidates, and the words that two of them do not share."""

    def __init__(
        self,
        text: TextColumns,
        rows: NDArray[np.int64],
        query: ParsedQuery,
        said: list[frozenset[int]],
        after: frozenset[str] = frozenset(),
    ) -> None:
        self._lexicon, self.known = text.lexicon, known_to_bundled(query.language)
        self._words, stems = _words_of(text, rows), self._lexicon.stems
        self.whole = said
        self.said = [stems[own[:WORDS_MAX]].tolist() for own in self._words]
        self.stems = [frozenset(own) for own in self.said]
        every = frozenset[int]().union(*self.whole)
        self.terms = frozenset(query.terms) - after
        known = {number: term for term in query.terms if (number := self._lexicon.stem_of(term)) in every}
        terms = {number: term for number, term in known.items() if term in self.terms}
        self._after = known.keys() - terms.keys()
        names = names_in(query)
        self.marked = {number for number, term in terms.items() if not term.isalpha()}
        spans = [one.span for one in query.identifiers]
        within = {t.stem for t in query.tokens if any(start <= t.span[0] < end for start, end in spans)}
        self._identified = frozenset(number for number, term in terms.items() if term in within)
        self._names = self.marked | {number for number, term in terms.items() if term in names}
        count = {number: sum(number in own for own in self.whole) for number in terms}
        weight = {number: math.log(1 + (len(rows) + 8) / (n + 0.5)) for number, n in count.items()}
        whole = math.fsum(weight.values()) or 1.0
        self.asked = {number: value / whole for number, value in weight.items()}
        self.held = [own & self.asked.keys() for own in self.whole]
        signed = (self._lexicon.signed(number) for number in terms)
        self._signed = frozenset(stems[word].item() for word in chain.from_iterable(signed)) & every - self.asked.keys()
        holders = Counter(chain.from_iterable(self.whole))
        two = frozenset(number for number, count in holders.items() if count == 2) - self.asked.keys()
        self._of_two = [own & two for own in self.whole]

    def named(self, upper: int, lower: int) -> bool:
        """Say whether the upper one alone holds a name, a number or a sign that is asked for.

        The same holds where the lower one alone says a word that is asked for with another sign: "-18" for "18". Where
        both hold the identifier that is asked for, it says what they are about: "Invoice 2026-018 to Lea: open",
        "Invoice 2026-018: paid".
        """
        if not self._signed.isdisjoint(self.whole[lower] - self.whole[upper] if self._signed else ()):
            return True
        if self._identified and self._identified <= self.held[upper] & self.held[lower]:
            return False
        return not (self.held[upper] - self.held[lower]).isdisjoint(self._names)

    def listed(self, upper: int, lower: int) -> bool:
        """Say whether the two stand in a list, and the upper one alone holds a word that is asked for.

        In a list others say what the two share: "The kettle lies on the kettle shelf", "The hammer lies on …".
        """
        if self.held[upper] <= self.held[lower]:
            return False
        shared = self.whole[upper] & self.whole[lower]
        return bool(shared) and sum(shared <= own for own in self.whole) >= LISTED

    def of_years(self, upper: int, lower: int) -> bool:
        """Say whether two texts differ in years alone: "Notes of the meeting of 2021" and "… of 2023"."""
        return all(map(_YEAR.fullmatch, map(self._lexicon.stem_text, self.whole[upper] ^ self.whole[lower])))

    def behind_before(self, upper: int, lower: int) -> int:
        """Count what the query says came after ("before *Helix*"): 1 if the upper one alone says some of it, −1 if the
        lower one alone does."""
        return bool(self._after & self.whole[upper]) - bool(self._after & self.whole[lower])

    def linked(self, upper: int, lower: int) -> int:
        """Count words that both hold and no other of the best candidates, and not the query: what they are about."""
        return len(self._of_two[upper] & self._of_two[lower])

    def differences(self, places: Sequence[tuple[int, int]], turn: Inputs) -> Differences:
        """Describe pairs by the words that one of two candidates holds alone."""
        place, vectors = self._vectors(sorted({own for pair in places for own in pair}))
        columns = {name: np.zeros(len(places)) for name in OF_WORDS}
        alone = np.zeros((len(places), vectors.shape[1]), dtype=np.float32)
        told = np.zeros_like(alone)
        for i, (a, b) in enumerate(places):
            shared = self.stems[a] & self.stems[b]
            upper, lower = self.stems[a] - shared, self.stems[b] - shared
            of_upper, of_lower = sorted(upper & self.asked.keys()), lower & self.asked.keys()
            own_upper = vectors[sorted(place[n] for n in upper if n not in self.asked)]
            own_lower = vectors[sorted(place[n] for n in lower if n not in self.asked)]
            asked = vectors[[place[n] for n in of_upper]]
            near = (asked @ own_lower.T).max(axis=1, initial=0.0)
            for number, vector, answered in zip(of_upper, asked, near.tolist(), strict=True):
                share = self.asked[number]
                before, behind = self._instead(number, a, b, shared)
                columns["upper_alone"][i] += share
                columns["unanswered"][i] += share * (1 - answered)
                columns["before"][i] += share * before
                columns["behind"][i] += share * behind
                alone[i] += share * vector
            columns["lower_alone"][i] = math.fsum(self.asked[n] for n in of_lower)
            columns["upper_own"][i], columns["lower_own"][i] = math.log1p(len(own_upper)), math.log1p(len(own_lower))
            if len(own_upper) and len(own_lower):
                columns["own_near"][i] = (own_upper @ own_lower.T).max(axis=1, initial=0.0).mean()
            columns["same_begin"][i] = self.said[a][:1] == self.said[b][:1]
            columns["upper_begin"][i], columns["lower_begin"][i] = self._begin(a), self._begin(b)
            columns["other_before"][i] = self._other_before(a, b, shared)
            own_newer = own_lower if turn[i] > 0 else own_upper
            if len(own_newer):
                told[i] = turn[i] * own_newer.mean(axis=0)
        columns["known"][:] = self.known
        return Differences(columns=columns, alone=alone, told=told)

    def _vectors(self, rows: Sequence[int]) -> tuple[dict[int, int], Vectors]:
        """Give the places of the stems of these candidates, and a vector for each; 0 in a language nobody knows."""
        words = np.concatenate([self._words[row][:WORDS_MAX] for row in rows])
        stems, first = np.unique(self._lexicon.stems[words], return_index=True)
        place = {stem: i for i, stem in enumerate(stems.tolist())}
        if not self.known:
            return place, np.zeros((len(stems), DIMENSIONS), dtype=np.float32)
        return place, self._lexicon.vectors(words[first])

    def _begin(self, row: int) -> float:
        return math.fsum(self.asked.get(n, 0.0) for n in sorted(set(self.said[row][:BEGIN])))

    def _other_before(self, upper: int, lower: int, shared: AbstractSet[int]) -> float:
        """Share of the query's words that both hold before which each has one of its own: "*gym* bag", "*bike* bag"."""
        both = [n for n in self.said[upper] if n in shared and n in self.asked]
        others = 0
        for number in both:
            places = [(own, own.index(number) - 1) for own in (self.said[upper], self.said[lower])]
            others += all(at >= 0 and own[at] not in shared for own, at in places)
        return others / max(1, len(both))

    def _instead(self, stem: int, upper: int, lower: int, shared: AbstractSet[int]) -> tuple[bool, bool]:
        """Say whether the lower text has other words in the place of a word of the upper text: before a word of the
        query that both hold ("the *cat* eats", "the *dog* eats"), or behind the last word that both hold."""
        one, other = self.said[upper], self.said[lower]
        at = one.index(stem)
        left = next((n for n in reversed(one[:at]) if n in shared), None)
        right = next((n for n in one[at + 1 :] if n in shared), None)
        begin = 0 if left is None else other.index(left) + 1
        end = len(other) if right is None else other.index(right, begin) if right in other[begin:] else begin
        if not any(n not in self.stems[upper] for n in other[begin:end]):
            return False, False
        return right is not None and right in self.asked, right is None and left is not None


def _words_of(text: TextColumns, rows: NDArray[np.int64]) -> list[NDArray[np.int32]]:
    return [text.words[text.starts.item(row) : text.starts.item(row + 1)] for row in rows.tolist()]


def stems_of(text: TextColumns, rows: NDArray[np.int64]) -> list[frozenset[int]]:
    """Return the stems of the texts of rows."""
    return [frozenset(text.lexicon.stems[own].tolist()) for own in _words_of(text, rows)]


def known_to_bundled(language: str | None) -> bool:
    """Say whether the bundled embedding knows the words of a language."""
    return language in ("en", "", None)


def names_in(query: ParsedQuery) -> frozenset[str]:
    """Return those of the query's terms that are names: known ones, and words with a capital.

    A capital counts inside a word, and at its start behind the first word. In German only one inside counts, since
    every noun starts with one. In a query of capitals none does.
    """
    spans = [ref.span for ref in query.entity_refs]
    shouted, nouns = query.original == query.original.upper(), query.language == "de"
    names = set()
    for place, token in enumerate(query.tokens):
        text = query.original[slice(*token.span)]
        inside = text[1:] != text[1:].lower() and text != text.upper()
        written = inside or (place > 0 and not nouns and text[:1].isupper())
        if (written and not shouted) or any(start <= token.span[0] < end for start, end in spans):
            names.add(token.stem)
    return frozenset(names.intersection(query.terms))


POOL = 10  # best candidates that are compared
ALIKE = 0.28  # half the shared words and half the cosine of two texts, from which they may be about the same thing
# In a large scope where the model has to be surer by `CLOSE_FROM`, pairs that are not `SAME` and less alike or further
# apart in the ranking are not described, nor those of which both hold less than `BOTH_CLOSE` of the query's words: of
# 8,191 pairs of 21 sets none of the first changed places, of 5,197 pairs of 11 sets none of the second.
CLOSE_FROM, ALIKE_CLOSE, GAP_CLOSE, SAME, BOTH_CLOSE = 0.6, 0.42, 4.0, 0.6, 1 / 3
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
    "behind_before",
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
    """Pairs of candidates that are alike."""

    upper: NDArray[np.int64]  # upper, lower: places among the candidates, int64 `(pairs,)`
    lower: NDArray[np.int64]
    newer: NDArray[np.bool_]  # bool `(pairs,)`: whether the lower one is the newer one
    inputs: Inputs  # float64 `(pairs, len(INPUTS))`
    # float32 `(pairs, 256)`: sum of the vectors of the query's words that the upper one alone holds, each times its
    # share of the query's weight
    alone: Vectors
    # float32 `(pairs, 256)`: mean vector of the words that the newer one alone says, and not the query; with the sign
    # of `turn`, and the other one where the query asks for the past
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
    surer: float = 0.0,
    teaching: bool = False,
    texts: Callable[[NDArray[np.int64]], Sequence[str]] | None = None,
) -> Compared | None:
    """Describe the pairs of the best candidates that are alike and may change places; `None` = there are none."""
    rows = fused.rows[: min(len(fused.rows), POOL)]
    vectors = view.vectors_of(rows) if len(rows) > 1 else None
    if vectors is None:
        return None
    stems = stems_of(text, rows)
    raw, close = sums(fused), surer >= CLOSE_FROM and view.count >= MANY
    pairs = _alike(view, rows, stems, vectors, unit, raw, close)
    if pairs is None:
        return None
    words = Words(text, rows, query, stems, behind_before(query, lambda: () if texts is None else texts(rows)))
    tense = tense_of(query.point, query.language)
    least = BOTH_CLOSE * len(words.terms) if close else 0.0
    pairs = pairs.where(_may_move(fused, view, pairs, words, tense.past or tense.span, until, inside, teaching, least))
    if pairs is None:
        return None
    of_query = _held(words, pairs)
    every, kind = np.ones(len(pairs.upper)), text.kind
    shared = {
        "gap": raw[pairs.upper] - raw[pairs.lower],
        "alike": pairs.alike,
        "shared": pairs.overlap,
        "both_hold": of_query.both,
        "size": every * math.log(max(2, len(fused.rows))),
        "people": every * max(kind.pairs, kind.crowd),
        "assistant": every * kind.roles,
    }
    own = words.differences(pairs.places, pairs.turn)
    places = _of_places(pairs, text, rows, _near(fused, unit))
    plain = {**places, **_of_likeness(pairs, words, of_query, shared["gap"]), **own.columns, **shared}
    turned = {**_of_time(pairs, view, rows, of_query), "numbers": _numbers(pairs, words, text), **shared}
    state = asks_state(query.point, query.language)
    asks = float(tense.past), float(tense.span), state
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
    least: float,
) -> NDArray[np.bool_]:
    """Say of which pairs the lower one may move above the upper one, whatever the model says.

    The lower one stays where it is older and no past is asked for, where both say the same words, where both hold fewer
    than `least` of the query's words, and where the upper one answers nothing. It stays where the upper one alone holds
    a name, a number or a sign that is asked for, or any word that is asked for while both stand in a list. It stays
    where they differ in years alone, which tell of two times and not of a change. It stays
    where the two share neither a word of the query nor one that no other of the best candidates says ("Broadband is
    Telmo" and "Quit Telmo, with Fibra since May" share one).
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
        both = len(words.held[a] & words.held[b])
        one = both >= least and (teaching or both > 0 or words.linked(a, b) > 0)
        apart = words.named(a, b) or words.of_years(a, b)
        may[i] = one and not apart and (teaching or not words.listed(a, b))
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
    raw: Inputs,
    close: bool,
) -> _Pairs | None:
    """Return the pairs that are alike and differ in time; with `close` those that are close in the ranking, too."""
    counts = _counts(stems)
    upper, lower = np.triu_indices(len(rows), 1)
    shared = np.asarray([len(stems[a] & stems[b]) for a, b in zip(upper.tolist(), lower.tolist(), strict=True)])
    overlap = shared / np.minimum(counts[upper], counts[lower])
    cosine = _in_unit((vectors @ vectors.T)[upper, lower].astype(np.float64), unit)
    turn = _turn(view, rows, upper, lower)
    jaccard = shared / np.maximum(counts[upper] + counts[lower] - shared, 1)
    every = _Pairs(upper=upper, lower=lower, turn=turn, overlap=overlap, jaccard=jaccard, cosine=cosine)
    alike = every.alike
    kept = (alike >= ALIKE) & (turn != 0)
    if close:
        kept &= (alike >= SAME) | ((alike >= ALIKE_CLOSE) & (raw[upper] - raw[lower] <= GAP_CLOSE))
    return every.where(kept)


def _held(words: Words, pairs: _Pairs) -> _Held:
    own, count = words.held, max(1, len(words.terms))
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
        "behind_before": np.asarray([words.behind_before(a, b) for a, b in pairs.places]),
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
    upper, lower, newer, dated = pairs.upper, pairs.lower, pairs.turn > 0, view.dated[rows] | view.brief
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
    own = {
        at: frozenset(n for n in words.whole[at] if not (said := read(n)).isalpha() and any(map(str.isdigit, said)))
        for at in {at for pair in pairs.places for at in pair}
    }
    return np.asarray([bool(own[a] - own[b]) and bool(own[b] - own[a]) for a, b in pairs.places])
