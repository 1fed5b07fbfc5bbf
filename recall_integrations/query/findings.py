"""What the parser knows of a scope, the words of a query in its language, and the findings of the parse so far.

A stem that no memory holds is looked for in other forms of the word: those of English, of the scope's languages, and
without accents. The first form held takes its place, others count less (`weaker`). English asked of English has none.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from operator import attrgetter
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from recall_integrations.errors import RecallError
from recall_integrations.languages.phrases import blanked
from recall_integrations.query.by_table.negation import Negation
from recall_integrations.query.by_table.person import NOBODY, AskedRole
from recall_integrations.query.entities import EntityIndex
from recall_integrations.query.entities.state import entity_id_of
from recall_integrations.query.features import IMPLICIT
from recall_integrations.query.spelling import Speller
from recall_integrations.records import record
from recall_integrations.text import STOP_WORDS, Token, stem, stop_words
from recall_integrations.text.analyser import Span, Spans, inside, signs
from recall_integrations.text.by_language import LOOK, says_nothing, spoken
from recall_integrations.text.detection import NO_LANGUAGES, OTHER_SCRIPT, STRAY, Spoken, detect_language
from recall_integrations.types import Degradation, EntityRef, Scope, TemporalWindow
from recall_integrations.types.query import Correction, Identifier, SessionRef

SPEAKERS_MAX = 16  # actors with the role of the user; of more, none is looked at
USER = "user"  # name of the user in a scope without a user id, and in chat logs


def implicit_user(
    scope: Scope, index: EntityIndex | None = None, speakers: Sequence[str] = (), key: bytes = b""
) -> EntityRef:
    """Return the scope's user: the one entity with the user id as a name, the one actor with that role, or a new one.

    The name may be an e-mail address: a result under `redact` or `block` must not show it, nor the id.
    """
    name = scope.user_id or USER
    entity_id = entity_id_of(name, key)
    known = index.lookup(name) if index is not None else ()
    if entity_id not in known and len(known) == 1:
        entity_id = known[0]
    elif entity_id not in known and index is not None and len(speakers) <= SPEAKERS_MAX:
        speaking = {found[0] for s in speakers if len(found := index.lookup(s)) == 1}
        if len(speaking) == 1:
            known = tuple(speaking)
            entity_id = known[0]
    entity = index.state.entities.get(entity_id) if index is not None and entity_id in known else None
    return EntityRef(
        entity_id=entity_id,
        name=name if entity is None else entity.name,
        mention="",
        span=(0, 0),
        confidence=1.0,
        stage=IMPLICIT,
    )


Settled = tuple[tuple[EntityRef, ...], tuple[Degradation, ...]]
Unsure = Callable[[str, tuple[EntityRef, ...], Spans], Settled]


@record(frozen=True, slots=True, kw_only=True)
class ScopeKnowledge:
    """Knowledge of a scope; the defaults are those of a scope never seen."""

    entities: EntityIndex | None = None  # names and aliases
    frequency: Callable[[str], int] = lambda _stem: 0  # number of memories that hold a stem
    # the memories that hold a stem, by their rows; `None` = nobody may or can tell
    rows: Callable[[str], NDArray[np.int32]] | None = None
    memories: int = 0
    # Asked for a query with a word that nobody knows; `None` while a vocabulary is being read, and if it is off.
    speller: Callable[[], Speller | None] = lambda: None
    user: EntityRef | None = None  # who is in every query
    assistant: bool = False  # whether one of its actors is the assistant: then "you" in a query is the assistant
    alike: Callable[[str], Sequence[str]] = lambda _stem: ()  # stems, of any scope, that differ by accents only
    spoken: Spoken = NO_LANGUAGES  # languages of its memories
    unsure: Unsure | None = None  # asks a language model about references, leaving out the spans: `entities.fallback`


SHORT = 4  # words of a query below which its own language is hardly told
SURE = 0.7  # confidence from which a query is in a language that no memory is in
MEMORIES_MIN = 10  # of a scope, before it is said to be in another language than the query


class QueryWords:
    """The reading of the words of one query."""

    def __init__(self, text: str, known: ScopeKnowledge, language: str | None = LOOK) -> None:
        self._deaf = False  # whether the index has failed to answer
        self._known, self._scope, self._memories = known, known.spoken, known.memories
        self._told: str | None = None if language == LOOK else language  # by the query itself
        self.language = self._language(text) if language == LOOK else None if language == "en" else language
        self.tokens: list[Token] = spoken(text, self.language)
        self.signs = signs(text)
        self._stops = stop_words(self.language)
        self.stopped = self._stopped()
        self._plain = self.language is None and not self._scope.languages  # English, asked of English
        self._stems: dict[str, str] = {}
        self._weaker: dict[str, tuple[str, ...]] = {}

    def stem(self, word: str) -> str:
        """Return the stem that a normal form is looked for by."""
        found = self._stems.get(word)
        if found is None:  # kept by no function of its own: what holds itself lives until a collection, and its view
            found = self._stems[word] = self._look(word)
        return found

    def _stopped(self) -> frozenset[str]:
        """Return the words of the text that are not looked for."""
        said = frozenset([word for word, _, _ in (*self.tokens, *self.signs)])
        stops = said & self._stops
        if self.language is None:
            return stops
        english = STOP_WORDS if not any(c.isascii() for c in self._stops) else frozenset()
        return stops | {w for w in said if (w.isascii() and w in english) or says_nothing(w, self.language)}

    def weaker(self, word: str) -> tuple[str, ...]:
        """Return stems of other forms of a word that memories hold."""
        self.stem(word)
        return self._weaker.get(word, ())

    def is_settled(self, word: str) -> bool:
        """Say whether a memory has the word in a form that the rules of English do not lead to."""
        own = self.stem(word)
        return (self.language is not None or own != stem(word)) and self._frequency(own) > 0

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of the scope's memories, besides English: the leading one, then the commonest first."""
        return self._scope.languages

    @cached_property
    def memories_in(self) -> str | None:
        """Language of most memories, if hardly any is in that of the query; else `None`."""
        if self._told is None or self._memories < MEMORIES_MIN:
            return None
        counts = {code: self._scope.memories_in(code) for code in (*self.languages, "en")}
        if counts.get(self._told, 0) > STRAY * self._memories:
            return None
        return min(counts, key=lambda code: (-counts[code], code))

    def _frequency(self, term: str) -> int:
        if self._deaf:
            return 0
        try:
            return self._known.frequency(term)
        except Exception:  # noqa: BLE001 - the words are then read without the scope; who needs the count is told
            self._deaf = True
            return 0

    def _language(self, text: str) -> str | None:
        code, confidence = detect_language(text)
        main = self._scope.leading_with(text)
        short = len(text.split()) < SHORT and not OTHER_SCRIPT.search(text)
        if self._memories and code not in (None, "en", main, *self.languages) and (short or confidence < SURE):
            code = None  # "cat food" may be Romanian, "Hace dos cafés" Portuguese, but not where nobody writes it
        elif code == "en" and short and main is not None:
            code = None  # "hotel sin patio"
        self._told = code
        if code is None:
            code = main
        return None if code == "en" else code

    def _look(self, word: str) -> str:
        own = stem(word, self.language)
        if self._plain and not self._known.alike(own):  # nearly every word of a query in English
            return own
        others: dict[str, None] = {} if self.language is None else {stem(word): None}
        asked = bool(self.languages) and not word.isdigit()
        if not asked and not others and not self._known.alike(own):
            return own
        held = self._frequency(own) > 0
        if held and not others and not self._known.alike(own):
            return own
        if asked and not held:
            others.update((stem(word, code), None) for code in self.languages)
        for form in (own, *others):
            others.update(dict.fromkeys(self._known.alike(form)))
        others.pop(own, None)
        there = tuple(form for form in others if self._frequency(form) > 0)
        best = own if held or not there else there[0]
        self._weaker[word] = there if best == own else there[1:]
        return best


T = TypeVar("T")


@record(slots=True)
class Findings:
    """The findings in a query so far, and the steps that failed. Steps of the parse extend them."""

    text: str
    known: ScopeKnowledge
    words: QueryWords
    language: str
    window: TemporalWindow | None = None
    session: SessionRef | None = None
    negations: tuple[Negation, ...] = ()
    denied: list[Span] = field(default_factory=list)  # dates and sessions that the query leaves out
    refs: tuple[EntityRef, ...] = ()
    identifiers: tuple[Identifier, ...] = ()
    corrections: tuple[Correction, ...] = ()
    asked: AskedRole = NOBODY
    kept: list[Token] = field(default_factory=list)  # words outside of the excluded spans
    content: list[Token] = field(default_factory=list)  # those that are looked for
    asides: tuple[Span, ...] = ()  # what is beside the point: framings, courtesies, sentences of what the asker does
    plain: list[Token] = field(default_factory=list)  # content words that neither say when nor ask nicely
    rarities: Mapping[str, float] = field(default_factory=dict)  # by stem, for stems that a memory holds
    degraded: list[Degradation] = field(default_factory=list)

    @property
    def tokens(self) -> list[Token]:
        """All words."""
        return self.words.tokens

    def within(self, spans: Spans) -> list[Token]:
        """Return the words that begin in places that are in order and apart."""
        at = attrgetter("start")
        cuts = [(bisect_left(self.tokens, s, key=at), bisect_left(self.tokens, e, key=at)) for s, e in spans]
        return [token for first, last in cuts for token in self.tokens[first:last]]

    @property
    def asking(self) -> list[Token]:
        """Words that are not beside the point."""
        return [t for t in self.tokens if not inside(t, self.asides)] if self.asides else self.tokens

    @property
    def negated(self) -> list[Span]:
        """Spans of the excluded terms, dates and sessions."""
        return [*(n.span for n in self.negations), *self.denied]

    @property
    def point(self) -> str:
        """The text with blanks in place of its asides."""
        return blanked(self.text, self.asides, " ") if self.asides else self.text

    @property
    def wanted(self) -> str:
        """The text with blanks in place of the excluded spans."""
        return blanked(self.text, self.negated, " ")

    @property
    def dated(self) -> list[Span]:
        """Span of the date; empty if the time is only implied, or was given beside the text."""
        return [self.window.span] if self.window is not None and self.window.span != (0, 0) else []

    @property
    def placed(self) -> list[Span]:
        """Spans of the words that say when: the date and the session."""
        return self.dated if self.session is None else [*self.dated, self.session.span]

    def guard(self, stage: str, step: Callable[[], T], fallback: T) -> T:
        """Run a step and return its result; if it fails, return `fallback` and note a degradation that names it."""
        try:
            return step()
        except Exception as e:  # noqa: BLE001 - named in the result; a recall must not fail for one reading of its text
            code = e.code.lower() if isinstance(e, RecallError) else "error"
            self.degraded.append(Degradation(stage=stage, reason=code, detail=f"{type(e).__name__}: {e}"))
            return fallback
