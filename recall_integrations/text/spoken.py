"""Count the languages of a scope: the memories detected in each, and the evidence of those that tell none.

A single terse note tells no language, many of them together do. So a scope has a leading language where

- more than half of its memories are told to be in it, or
- all evidence together (told memories count 1, others what `leanings` gives them) is a fifth of the memories at least,
  comes from a handful of them, and is well above what speaks for English and for the next language.

A query that cannot be told alone is one more piece of that evidence: in five notes of which two speak for Spanish,
"moto ayer" makes it three.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property
from typing import NamedTuple

from recall_integrations.records import record
from recall_integrations.text.detection import detect_language
from recall_integrations.text.leanings import WHOLE, leanings

ENGLISH = "en"
UNTOLD = ""  # stands for the memories that tell no language
LANGUAGES_MAX = 4  # of a scope, the commonest, in which an unknown word is looked for
DOMINANT = 0.5  # share of a scope's memories above which its language is that of a query that tells none
STRAY = 0.02  # share of a scope's memories in a language up to which that is not one it is kept in
HANDFUL = 3  # memories that speak for a language, the query among them, before it leads by evidence
EVIDENCE_SHARE = 0.2  # of the memories, in whole votes
OVER_ENGLISH = 1.75  # times the evidence for English
OVER_NEXT = 1.3  # times that for the next language


class Count(NamedTuple):
    """Counts of memories for one language; sums of them do not depend on any order.

    Args:
        told: memories that are in it; for `UNTOLD`, memories that tell no language.
        hints: memories that tell none, and for which it is the likeliest, or as likely as another but English.
        votes: votes for it by memories that tell none, in parts of `WHOLE` a memory.
    """

    told: int = 0
    hints: int = 0
    votes: int = 0

    def plus(self, other: Count) -> Count:
        """Add two counts."""
        return Count(self.told + other.told, self.hints + other.hints, self.votes + other.votes)


def counted(texts: Iterable[str]) -> dict[str, Count]:
    """Count the languages of texts. Texts detected as English are left out: they are all the others."""
    found: dict[str, Count] = {}
    for text in texts:
        code = detect_language(text).code
        if code == ENGLISH:
            continue
        said = untold(text) if code is None else {code: Count(told=1)}
        for language, count in said.items():
            found[language] = found.get(language, Count()).plus(count)
    return found


def untold(text: str) -> dict[str, Count]:
    """Count the evidence of a text that tells no language."""
    votes = leanings(text)
    most = max(votes.values(), default=0)
    return {
        UNTOLD: Count(told=1),
        **{c: Count(hints=int(share == most > votes.get(ENGLISH, 0)), votes=share) for c, share in votes.items()},
    }


@record(frozen=True)
class Spoken:
    """The languages of a scope.

    Args:
        memories: number of memories in the scope.
        counts: counts by language, as `counted` returns them.
    """

    memories: int = 0
    counts: Mapping[str, Count] = field(default_factory=dict)

    @cached_property
    def told(self) -> Mapping[str, int]:
        """Number of memories detected in each language besides English, where there are any."""
        return {c: n.told for c, n in self.counts.items() if n.told > 0 and c not in (UNTOLD, ENGLISH)}

    @cached_property
    def english(self) -> int:
        """Number of memories in English: all that neither another language nor `UNTOLD` counts."""
        return max(0, self.memories - sum(self.told.values()) - self._of(UNTOLD).told)

    @cached_property
    def leading(self) -> str | None:
        """Language of the scope, if it is not English and needs no query to be told."""
        return self.leading_with("")

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """Languages of the memories besides English, the leading one and then the commonest first; at most four."""
        told, first = self.told, self.leading
        known = set(told) if first is None else {first, *told}
        return tuple(sorted(known, key=lambda c: (c != first, -told.get(c, 0), c))[:LANGUAGES_MAX])

    @cached_property
    def kept_in(self) -> tuple[str, ...]:
        """Languages of more than a stray memory, and the leading one."""
        return tuple(c for c in self.languages if c == self.leading or self.told[c] > STRAY * self.memories)

    def memories_in(self, language: str) -> int:
        """Count the memories in a language; those that tell none are in the leading one, else in English."""
        if language == ENGLISH:
            return self.english + (self._of(UNTOLD).told if self.leading is None else 0)
        return self.told.get(language, 0) + (self._of(UNTOLD).told if language == self.leading else 0)

    def leading_with(self, query: str) -> str | None:
        """Return the leading language; if the memories alone do not tell it, the query adds its evidence.

        Args:
            query: read only where the memories leave room for another language than English.
        """
        if not self._doubtful:
            return None
        most = min(self.told, key=lambda c: (-self.told[c], c), default=None)
        if most is not None and self.told[most] > DOMINANT * self.memories:
            return most
        asked = counted([query]) if query.strip() else {}
        evidence = {code: self._evidence(code, asked) for code in {*self.counts, *asked} - {UNTOLD, ENGLISH}}
        if not evidence:
            return None
        english = self._evidence(ENGLISH, asked)
        first, *others = sorted(evidence, key=lambda c: (-evidence[c], c))
        count = self._of(first).plus(asked.get(first, Count()))
        enough = evidence[first] >= max(EVIDENCE_SHARE * self.memories, HANDFUL / 2) * WHOLE
        ahead = evidence[first] >= max(
            OVER_ENGLISH * english, OVER_NEXT * max((evidence[c] for c in others), default=0)
        )
        return first if enough and ahead and count.told + count.hints >= HANDFUL else None

    @cached_property
    def _doubtful(self) -> bool:
        """True if a language other than English may lead. A scope in English needs only this check."""
        held = self.english * WHOLE + self._of(ENGLISH).votes
        return any(
            code not in (UNTOLD, ENGLISH) and (count.told + 1) * WHOLE + count.votes >= held
            for code, count in self.counts.items()
        )

    def _of(self, code: str) -> Count:
        return self.counts.get(code, Count())

    def _evidence(self, code: str, asked: Mapping[str, Count]) -> int:
        told = self.english if code == ENGLISH else self._of(code).told
        return told * WHOLE + self._of(code).votes + asked.get(code, Count()).votes


NOTHING = Spoken()
"""Of a scope of which nothing is known."""
