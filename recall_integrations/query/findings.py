"""The findings of a parse so far. A step may fail without failing the parse: only its own findings are left out."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
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
from recall_integrations.query.words import QueryWords, Span, Spans, inside
from recall_integrations.records import record
from recall_integrations.text import Token
from recall_integrations.text.detection import NO_LANGUAGES, Spoken
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


T = TypeVar("T")
Observer = Callable[[str, float, bool], None]

_OBSERVER: ContextVar[Observer | None] = ContextVar("recall_parse_observer", default=None)


@contextmanager
def observed(observer: Observer) -> Iterator[None]:
    """Report each step of the parses inside to `observer`: its name, seconds, whether it failed.

    It holds for the running context (thread or task), and for tasks started with a copy of it. Of two observers only
    the inner one is called; an error that it raises ends the parse.
    """
    token = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(token)


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
    observer: Observer | None = field(default_factory=_OBSERVER.get)

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
        begin, found, failed = time.perf_counter(), fallback, False
        try:
            found = step()
        except Exception as e:  # noqa: BLE001 - named in the result; a recall must not fail for one reading of its text
            code, failed = e.code.lower() if isinstance(e, RecallError) else "error", True
            self.degraded.append(Degradation(stage=stage, reason=code, detail=f"{type(e).__name__}: {e}"))
        if self.observer is not None:
            self.observer(stage, time.perf_counter() - begin, failed)
        return found
