"""Words in which two hits differ, and the query's words among them.

    "what does the cat eat?"    The *cat* eats dry food  /  The *dog* eats canned food    ─▶ other things
    "where is the drill?"       The drill is in the shed /  Moved it to the attic         ─▶ "moved" tells a change

Words are compared by their stems and, in English, by their bundled vectors. The model of `newer.py` judges.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.columns import TextColumns
from recall_integrations.records import record
from recall_integrations.types import ParsedQuery

Inputs = NDArray[np.float64]
Vectors = NDArray[np.float32]
WORDS_MAX = 24  # content words of a text that are compared: what it is about it says first
DIMENSIONS = 256  # of the bundled vectors
LISTED = 5  # candidates that hold what two of them share, from which these stand in a list
BEGIN = 2  # words with which a text begins, of which one mostly says what it is about
# Inputs from the words in which two texts differ, and from the query's words among them.
OF_WORDS = (
    *("upper_alone", "lower_alone", "unanswered", "before", "behind", "upper_own", "lower_own", "own_near"),
    *("same_begin", "upper_begin", "lower_begin", "known"),
)


@record(frozen=True, slots=True, kw_only=True)
class Differences:
    """Pairs by the words that one of two hits holds alone: columns of `OF_WORDS`, and the rest as `pairs.Compared`."""

    columns: dict[str, Inputs]
    alone: Vectors
    told: Vectors


class Words:
    """Words of the candidates, and the words that two of them do not share.

    Args:
        text: text columns of the scope.
        rows: the best candidates.
        query: the query.
    """

    def __init__(self, text: TextColumns, rows: NDArray[np.int64], query: ParsedQuery) -> None:
        self._lexicon, self.known = text.lexicon, known_to_bundled(query.language)
        self._words = [text.words[text.starts.item(row) : text.starts.item(row + 1)] for row in rows.tolist()]
        stems = self._lexicon.stems
        self.whole = [frozenset(stems[own].tolist()) for own in self._words]
        self.said = [stems[own[:WORDS_MAX]].tolist() for own in self._words]
        self.stems = [frozenset(own) for own in self.said]
        every = frozenset[int]().union(*self.whole)
        terms = {number: term for term in query.terms if (number := self._lexicon.stem_of(term)) in every}
        names = _names(query)
        self.marked = {number for number, term in terms.items() if not term.isalpha()}
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

        The same holds where the lower one alone says a word that is asked for with another sign: "-18" for "18".
        """
        if not self._signed.isdisjoint(self.whole[lower] - self.whole[upper] if self._signed else ()):
            return True
        return not (self.held[upper] - self.held[lower]).isdisjoint(self._names)

    def listed(self, upper: int, lower: int) -> bool:
        """Say whether the two stand in a list, and the upper one alone holds a word that is asked for.

        In a list others say what the two share: "The kettle lies on the kettle shelf", "The hammer lies on …".
        """
        if self.held[upper] <= self.held[lower]:
            return False
        shared = self.whole[upper] & self.whole[lower]
        return bool(shared) and sum(shared <= own for own in self.whole) >= LISTED

    def linked(self, upper: int, lower: int) -> int:
        """Count words that both hold and no other of the best candidates, and not the query: what they are about."""
        return len(self._of_two[upper] & self._of_two[lower])

    def differences(self, places: Sequence[tuple[int, int]], turn: Inputs) -> Differences:
        """Describe pairs by the words that one of two candidates holds alone.

        Args:
            places: the upper and the lower one of each pair.
            turn: 1 where the lower one is newer, −1 where it is older.
        """
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


def known_to_bundled(language: str | None) -> bool:
    """Say whether the bundled embedding knows the words of a language."""
    return language in ("en", "", None)


def _names(query: ParsedQuery) -> frozenset[str]:
    """Return the stems of the query's names: words with a capital inside, or at their start behind the first word.

    In German only a capital inside counts, since every noun starts with one.
    """
    said = [(token, query.original[slice(*token.span)]) for token in query.tokens]
    return frozenset(
        token.stem
        for token, text in said
        if (token.span[0] > 0 and text[:1].isupper() and query.language != "de")
        or (text[1:] != text[1:].lower() and text != text.upper())
    )
