"""Count the languages of a scope: the memories detected in each, and the evidence of those whose language is unclear.

A single terse note tells no language, many together do; the shares are whole numbers, so their order does not matter.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from recall_integrations.patterns import regex
from recall_integrations.records import record
from recall_integrations.text.detection import CHARS_MAX, OTHER_SCRIPT, VOTE, detect_language, votes_of

WHOLE = 16  # the vote of a text whose language is told, and the most that one gives that tells none
_SHAPE_VOTE = VOTE // 2  # of a word by its letters; a function word that one language has gives a whole one
_WORDS_MAX = 24  # of a text that are looked at by their letters

# How words begin and end in few languages. Of one that fits several, each has its share.
_SHAPES: Mapping[str, str] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
_SHAPE = {code: regex(f"(?:{shapes})") for code, shapes in _SHAPES.items()}
_WORD = regex(r"[^\W\d_]{3,24}")


def leanings(text: str) -> dict[str, int]:
    """Return the languages that a text in Latin letters speaks for, with shares of `WHOLE` at most together."""
    sample = text[:CHARS_MAX]
    if not sample.isascii() and OTHER_SCRIPT.search(sample):
        return {}
    found, known = votes_of(sample)
    _add_shapes(sample, known, found)
    total = sum(found.values())
    if total <= 0:
        return {}
    whole = max(total, VOTE)
    shares = ((code, round(WHOLE * votes / whole)) for code, votes in sorted(found.items()))
    return {code: share for code, share in shares if share > 0}


def _add_shapes(sample: str, known: frozenset[str], found: dict[str, int]) -> None:
    """Add the votes of the words that are no function words, by their beginnings and endings."""
    words = dict.fromkeys(_WORD.findall(sample))
    for raw in list(words)[:_WORDS_MAX]:
        word = raw.lower()
        if word in known:
            continue
        codes = [code for code, shape in _SHAPE.items() if shape.fullmatch(word)]
        for code in codes:
            found[code] = found.get(code, 0) + _SHAPE_VOTE // len(codes)


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
    """Counts of memories for one language; sums of them do not depend on any order."""

    told: int = 0  # memories that are in it; for `UNTOLD`, memories that tell no language
    hints: int = 0  # memories that tell none, for which it is the likeliest, or as likely as another but English
    votes: int = 0  # of memories that tell none, in parts of `WHOLE` a memory

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
    """The languages of a scope."""

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
        """Return the leading language; if the memories alone do not tell it, the query adds its evidence."""
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
