"""The resolution cascade: exact name, alias, part of a name, misspelling; each with the probability that it is right.

`scripts/measure_entities.py` set the confidences. One below .15 (.30 if fuzzy) is no reference; several entities share.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from itertools import groupby, islice, product
from typing import NamedTuple

from recall_integrations.query.entities.reading import Reading
from recall_integrations.query.entities.state import (
    GIVEN_WORDS,
    KIND_WORDS,
    NAME_PARTICLES,
    SWAP_WORDS_MAX,
    Entity,
    Phrase,
    State,
    at,
    is_cjk,
    is_ordinary,
    is_owner,
    is_person_like,
    names_behind,
)
from recall_integrations.text import STOP_WORDS
from recall_integrations.types import EntityRef

FEW_WORDS = 2_000  # words in all names of a scope up to which chance resemblance is rare
_SLIP_LETTERS_SURE = 6  # letters from which on a slip alone identifies a word
_SLIP = {4: 0.72, 5: 0.80}
_EDIT = {4: 0.55, 5: 0.66, 6: 0.74, 7: 0.80, 8: 0.83}


class Slip(NamedTuple):
    """A known word that a query word may be meant as."""

    word: str
    edits: int
    mechanical: bool  # a swap or a doubled letter
    front: bool  # the first letter differs
    same: bool = False  # only an accent, or the apostrophe of a possessive, is left out


def slip(typed: str, known: str, edits: int) -> Slip:
    """Describe the difference between a typed and a known word that are `edits` apart."""
    same = plain(typed) == plain(known)
    swapped = len(typed) == len(known) and sorted(typed) == sorted(known) and edits == 1
    mechanical = same or swapped or _undoubled(typed) == _undoubled(known)
    return Slip(known, edits, mechanical, typed[0] != known[0] and not mechanical, same)


def plain(word: str) -> str:
    """Return `word` without accents."""
    if word.isascii():
        return word
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))


def _undoubled(word: str) -> str:
    return "".join(letter for letter, _ in groupby(word))


def word_confidence(found: Slip, known_words: int) -> float:
    """Return the confidence that a lone word is meant as `found.word`; the more words, the more chance resemblance."""
    letters = len(found.word)
    if found.same:
        return 0.92
    if found.edits > 1:
        return 0.6 if letters < 10 or found.front else 0.72
    few = known_words <= FEW_WORDS
    if found.mechanical:
        return 0.88 if letters >= _SLIP_LETTERS_SURE else _SLIP.get(letters, 0.5) + (0.07 if few else 0.0)
    return _EDIT.get(letters, 0.84) + (0.03 if few else 0.0) - (0.15 if found.front else 0.0)


def pair_confidence(slips: list[Slip]) -> float:
    """Return the confidence that neighbouring words name one entity, with the misspelt ones in `slips`."""
    slips = [s for s in slips if not s.same]
    edits = sum(s.edits for s in slips)
    if not slips:
        return 0.93
    if len(slips) == 1 and slips[0].mechanical:
        return 0.92
    if edits == 1:
        only = slips[0]
        return (0.92 if len(only.word) >= 7 else 0.89 if len(only.word) >= 5 else 0.78) - (0.06 if only.front else 0.0)
    if edits == 2:
        return (0.86 if min(len(s.word) for s in slips) >= 6 else 0.78) - (0.1 if any(s.front for s in slips) else 0.0)
    return 0.7


SURE = 0.85  # from here on a reference may anchor a plan (`planner.entity_confidence_min`)
ALIAS_DISCOUNT = 0.04
PHRASES_MAX = 512  # holders of one name that are looked at
RIVALS_MAX = 64  # phrases of one word that are looked at: beyond that it identifies nothing by itself
REFS_PER_MENTION_MAX = 5
CONFIDENCE_MIN = {"exact": 0.15, "alias": 0.15, "fuzzy": 0.3}  # below, a guess among many is not worth a reference
FUZZY_WORDS_MAX = 24  # words of one query that are looked up as misspelt
FREE_WORDS_MAX = 256  # words of one query that are looked at as part of a name
RESPACED_MAX = 2  # words of a text that may be one word of a name
PRODUCT_MAX = 16  # combinations of corrections tried for one window


class Span(NamedTuple):
    """Units `i` to before `j` that read exactly like some phrases."""

    i: int
    j: int
    phrases: Sequence[Phrase]


class NamedSpan(NamedTuple):
    """Units `i` to before `j` mean one of `scores`' entities, with this confidence each."""

    i: int
    j: int
    stage: str
    scores: list[tuple[Entity, float]]


def exact_spans(state: State, words: Sequence[str]) -> list[Span]:
    """Find all places where names and aliases stand, in order of their start, longer ones first. Linear."""
    lengths, phrases = state.lengths, state.phrases
    count = len(words)
    spans: list[Span] = []
    for i, word in enumerate(words):
        for length in lengths.get(word, ()):
            j = i + length
            if j <= count:
                found = at(phrases, word if length == 1 else " ".join(words[i:j]))
                if found:
                    spans.append(Span(i, j, found))
    return spans


def longest_first(spans: list[Span]) -> list[Span]:
    """Sort `spans`, the longest first; of equal ones the leftmost."""
    return sorted(spans, key=lambda s: (s.i - s.j, s.i)) if len(spans) > 1 else spans


def entities_of(phrases: Iterable[Phrase], limit: int = PHRASES_MAX) -> dict[Entity, Phrase]:
    """Map the entities of some phrases to their first phrase each; a name goes before an alias."""
    found: dict[Entity, Phrase] = {}
    for phrase in islice(phrases, limit):
        if phrase.entity not in found or phrase.is_name:
            found[phrase.entity] = phrase
    return found


class Cascade:
    """One query on its way through the stages; made, run and thrown away by `EntityIndex.resolve`."""

    def __init__(self, state: State, reading: Reading) -> None:
        self.state = state
        self.reading = reading
        self.words = reading.words
        self.taken = bytearray(len(self.words))
        self.found: list[NamedSpan] = []
        self.slips: dict[int, list[Slip]] = {}

    def run(self) -> list[NamedSpan]:
        """Run all stages; return the mentions in order."""
        self._exact()
        free = self._free_words()
        if free:
            self._misspelt_words(free)
            self._windows(free)
            for i in free:
                if not self.taken[i]:
                    self._part(i)
        return sorted(self.found, key=lambda f: f.i)

    def _take(self, found: NamedSpan) -> None:
        self.found.append(found)
        self.taken[found.i : found.j] = b"\x01" * (found.j - found.i)

    # stages 1 and 2: exact name, alias

    def _exact(self) -> None:
        for span in longest_first(exact_spans(self.state, self.words)):
            if any(self.taken[span.i : span.j]):
                continue
            scores = self._exact_scores(span)
            if scores:
                stage = "exact" if any(p.is_name for p in entities_of(span.phrases).values()) else "alias"
                self._take(NamedSpan(span.i, span.j, stage, scores))

    def _exact_scores(self, span: Span) -> list[tuple[Entity, float]]:
        holders = entities_of(span.phrases)
        if not holders:
            return []
        first = next(iter(holders.values()))
        likely = self.reading.phrase_as_name(span.i, span.j, first)
        if likely <= 0:
            return []
        names = [e for e, p in holders.items() if p.is_name]
        if span.j - span.i == 1 and not is_cjk(first.words[0]):
            likely = self._unless_longer(span.i, likely, bool(names), holders)
            if not names:
                holders = {**holders, **self._namesakes(span.i, holders)}
        if len(holders) == 1:
            entity = next(iter(holders))
            return [(entity, likely if names else likely - ALIAS_DISCOUNT)]
        if len(names) == 1:  # the name goes before others' aliases
            return [(e, min(likely, 0.88) if e is names[0] else 0.4) for e in holders]
        return shared(holders, likely)

    def _unless_longer(self, i: int, likely: float, is_name: bool, holders: Iterable[Entity]) -> float:
        """Lower `likely` if the next word looks like the family name of somebody else ("Priya Sharma")."""
        after = self.reading.neighbour_is_name(i, 1)
        if not after:
            return likely
        if is_name:
            return min(likely, 0.9)
        starts = any(is_person_like(p) and p.words[0] == self.words[i] for e in holders for p in e.phrases)
        return min(likely, 0.75 if after > 0.5 else 0.9) if starts else likely

    def _namesakes(self, i: int, known: dict[Entity, Phrase]) -> dict[Entity, Phrase]:
        """Return others whose first name is word `i`, without a declared alias that says so."""
        word = self.words[i]
        parts = islice(at(self.state.parts, word), PHRASES_MAX)
        return entities_of(p for p in parts if p.words[0] == word and p.entity not in known and is_person_like(p))

    # the free words

    def _free_words(self) -> list[int]:
        """Return the free units that may be a name, or part of one."""
        taken, parts = self.taken, self.state.parts
        free = []
        for i, word in enumerate(self.words):
            if word and not taken[i] and (word in parts or not is_ordinary(word)):
                free.append(i)
                if len(free) >= FREE_WORDS_MAX:
                    break
        return free

    def _misspelt_words(self, free: list[int]) -> None:
        """Collect the known words that unknown ones may be meant as."""
        state, tried = self.state, 0
        for i in free:
            word = self.words[i]
            if word in state.parts or word in state.phrases or is_cjk(word):
                continue
            if word.endswith("s") and len(word) > 3 and state.knows(word[:-1]) and not is_ordinary(word[:-1]):
                self.slips[i] = [Slip(word[:-1], 1, True, False, same=True)]  # "priyas birthday"
                continue
            behind = names_behind(state, word, self.reading.language)
            if behind:
                self.slips[i] = [Slip(name, 1, True, False, same=True) for name in behind]
                continue
            tried += 1
            if tried > FUZZY_WORDS_MAX:
                return
            near = [slip(word, known, edits) for known, edits in state.trigrams.similar(word) if state.knows(known)]
            if near:
                self.slips[i] = sorted(near, key=lambda s: (not s.same, not s.mechanical, s.edits, s.front, s.word))

    # stage 3: several words

    def _windows(self, free: list[int]) -> None:
        """Find names of two to four words that are misspelt, in another order, or spaced differently."""
        part_of_one = [word in self.state.parts or i in self.slips for i, word in enumerate(self.words)]
        longest = max(RESPACED_MAX, min(SWAP_WORDS_MAX, sum(part_of_one)))
        for length in range(longest, 0, -1):
            for i in self._starts(free, length):
                if length > RESPACED_MAX and not all(part_of_one[i : i + length]):
                    continue  # `_reordered` finds nothing
                if any(self.taken[i : i + length]):
                    continue
                scores = self._respaced(i, length) or (self._reordered(i, length) if length > 1 else [])
                if scores:
                    self._take(NamedSpan(i, i + length, "fuzzy", scores))

    def _starts(self, free: list[int], length: int) -> list[int]:
        starts = {k - back for k in free for back in range(length)}
        return sorted(i for i in starts if 0 <= i <= len(self.words) - length)

    def _respaced(self, i: int, length: int) -> list[tuple[Entity, float]]:
        """Match "inbox 3" with "Inbox3", "ProjectKestrel" with "Project Kestrel"."""
        if length > RESPACED_MAX:
            return []
        text = self.words[i] if length == 1 else self.words[i] + self.words[i + 1]
        phrases = at(self.state.compact if length == 1 else self.state.phrases, text)
        if not phrases or (length == RESPACED_MAX and not self.reading.joined(i, i + 2)):
            return []
        holders = entities_of(phrases)
        if not holders or len(text) < 5 or (is_ordinary(text) and not any(map(str.isdigit, text))):
            return []
        return shared(holders, 0.9)

    def _reordered(self, i: int, length: int) -> list[tuple[Entity, float]]:
        choices = []
        for k in range(i, i + length):
            word = self.words[k]
            if word in self.state.parts:
                choices.append([Slip(word, 0, False, False)])
            elif k in self.slips:
                choices.append(self.slips[k])
            else:
                return []
        if not self.reading.joined(i, i + length, comma=True):
            return []
        best: dict[Entity, float] = {}
        for chosen in islice(product(*choices), PRODUCT_MAX):
            self._try(chosen, best)
        top = max(best.values(), default=0.0)
        close = {e: c for e, c in best.items() if c >= top - 0.1}
        return shared(close, top) if close else []

    def _try(self, chosen: tuple[Slip, ...], best: dict[Entity, float]) -> None:
        words = [s.word for s in chosen]
        errors = [s for s in chosen if s.edits]
        base = pair_confidence(errors) if errors else 0.93
        in_order = at(self.state.phrases, " ".join(words)) if errors else ()
        swapped = at(self.state.bags, " ".join(sorted(words)))
        for holders, likely in ((entities_of(in_order), base), (entities_of(swapped), base - 0.05 * len(errors))):
            for entity, phrase in holders.items():
                if not errors and phrase.words == tuple(words):
                    continue  # stage 1 had reasons not to take it
                if all(map(is_ordinary, phrase.words)):
                    if sum(w not in STOP_WORDS for w in words) < 2:
                        continue
                    best[entity] = max(best.get(entity, 0.0), min(likely, 0.86))
                elif likely > best.get(entity, 0.0):
                    best[entity] = likely

    # a part of a name, or one misspelt word

    def _part(self, i: int) -> None:
        word = self.words[i]
        if word in NAME_PARTICLES or word in KIND_WORDS or is_cjk(word):
            return
        if i not in self.slips:
            scores = self._part_scores(i, word)
            if scores:
                self._take(NamedSpan(i, i + 1, "alias", scores))
            return
        near = self.slips[i]
        nearest = [s for s in near if (s.mechanical, s.edits) == (near[0].mechanical, near[0].edits)]
        scores_by: dict[Entity, float] = {}
        for found in nearest:
            whole = entities_of(at(self.state.phrases, found.word))
            certain = word_confidence(found, len(self.state.trigrams))
            scored = [(e, certain) for e in whole] or [
                (e, min(certain, c) - 0.02 if c >= SURE else certain * c) for e, c in self._part_scores(i, found.word)
            ]
            for entity, confidence in scored:
                scores_by[entity] = max(confidence, scores_by.get(entity, 0.0))
        if not scores_by:
            return
        # A rival that is nearly as near takes its share.
        rivals = len(scores_by) + (0.5 if len(near) > len(nearest) else 0.0)
        top = max(scores_by.values())
        owner = is_owner(word, near[0].word, self.reading.language)
        if rivals == 1 and not owner and self.reading.neighbour_is_name(i, 1) > 0.5:
            rivals = 1.3
        scores = [(e, c / rivals) for e, c in scores_by.items() if c >= top - 0.1]
        self._take(NamedSpan(i, i + 1, "fuzzy", scores))

    def _part_scores(self, i: int, word: str) -> list[tuple[Entity, float]]:
        """Score the entities that the lone word `word`, at unit `i`, names in part."""
        if len(word) < 3 or (is_ordinary(word) and (word != self.words[i] or self.reading.word_as_name(i) < 0.88)):
            return []
        best: dict[Entity, float] = {}
        for phrase in islice(at(self.state.parts, word), RIVALS_MAX):
            confidence = self._part_of(i, word, phrase)
            if confidence > best.get(phrase.entity, 0.0):
                best[phrase.entity] = confidence
        if len(best) < 2:
            return list(best.items())
        top = max(best.values())
        return shared({e: c for e, c in best.items() if c >= top - 0.3}, top)

    def _part_of(self, i: int, word: str, phrase: Phrase) -> float:
        words = phrase.words
        if is_person_like(phrase):
            if words[0] == word:
                return _apart(0.88, self.reading.neighbour_is_name(i, 1))
            if words[-1] == word and (words[0] in GIVEN_WORDS or not is_ordinary(words[0])):  # not "New England"
                return _apart(0.87, self.reading.neighbour_is_name(i, -1))
            return 0.6
        # "Kestrel" is Project Kestrel, whose other word only says what it is; "violin" is not Violin Sonata.
        rest = [w for w in words if w != word]
        if len(rest) <= 2 and all(w in KIND_WORDS or w in STOP_WORDS for w in rest) and not is_ordinary(word):
            near = max(self.reading.neighbour_is_name(i, 1), self.reading.neighbour_is_name(i, -1))
            return _apart(0.87, near)
        return 0.6 if len(words) <= 4 else 0.4


def _apart(confidence: float, neighbour: float) -> float:
    """Lower the confidence in a part of a name if the word beside it looks like a part of another name."""
    return confidence if not neighbour else 0.7 if neighbour < 0.5 else 0.45


def shared(holders: Iterable[Entity], likely: float) -> list[tuple[Entity, float]]:
    """Divide `likely` among the entities that fit; a single entity keeps it."""
    entities = list(holders)
    if len(entities) == 1:
        return [(entities[0], likely)]
    return [(e, round(min(likely, 0.9) / len(entities), 4)) for e in entities]


def references(found: Iterable[NamedSpan], reading: Reading) -> tuple[EntityRef, ...]:
    """Make one reference per entity, from its surest mention, in order of appearance; in a mention surest first."""
    best: dict[str, EntityRef] = {}
    order: dict[str, str] = {}
    for item in found:
        span = reading.span(item.i, item.j)
        ranked = sorted(item.scores, key=lambda pair: (-pair[1], pair[0].order))
        floor = CONFIDENCE_MIN[item.stage]
        for entity, confidence in ranked[:REFS_PER_MENTION_MAX]:
            if confidence < floor:
                break
            known = best.get(entity.id)
            if known is None or confidence > known.confidence:
                order[entity.id] = entity.order
                best[entity.id] = EntityRef(
                    entity_id=entity.id,
                    name=entity.name,
                    mention=reading.text[span[0] : span[1]],
                    span=span,
                    confidence=round(confidence, 4),
                    stage=item.stage,
                )
    return tuple(sorted(best.values(), key=lambda r: (r.span, -r.confidence, order[r.entity_id])))
