"""Withholds what a result says besides its hits, under the privacy modes: the query, the plan, and the problems."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from recall_integrations.privacy.door import SAID_MIN, WORD, Door, Seen
from recall_integrations.query.entities.implicit import USER
from recall_integrations.query.features import IMPLICIT
from recall_integrations.types import EntityRef, ParsedQuery, RetrievalPlan, TemporalWindow
from recall_integrations.types.readings import Identifier, SessionRef


def withheld(parsed: ParsedQuery, plan: RetrievalPlan, door: Door) -> tuple[ParsedQuery, RetrievalPlan]:
    """Return the query and its plan as the door lets them through.

    Under `redact` the query is redacted, and everything that was read from it speaks of the redacted one: spans are
    places in it, and words, stems and names that are hidden in it are nowhere else. What comes from memories and not
    from the query (corrections, words of other forms) is left out. Under `block` no words are left, only counts
    and decisions.
    """
    if door.open:
        return parsed, plan
    if door.blocked:
        return _counted(parsed), _decided(plan)
    door.query(parsed.original)
    names = {r.name: _name(r, door) for r in parsed.entity_refs if r.stage != IMPLICIT}
    query = seen_query(parsed, door)

    def said(text: str) -> str:
        for name in sorted(names, key=lambda n: (-len(n), n)):
            text = text.replace(name, names[name])
        return text

    if plainly(parsed, door):
        return query, plan
    texts = [plan.reason, parsed.router.reason, parsed.conversational.because, *(c.because for c in plan.checks)]
    reason, router, verdict, *because = door.said_each([said(text) for text in texts])
    checks = tuple(
        check if text == check.because else replace(check, because=text)
        for check, text in zip(plan.checks, because, strict=True)
    )
    return (
        replace(
            query,
            router=replace(query.router, reason=router),
            conversational=replace(query.conversational, because=verdict),
        ),
        replace(plan, reason=reason, checks=checks),
    )


def seen_query(parsed: ParsedQuery, door: Door) -> ParsedQuery:
    """Return the query under `redact`; from here on the door says nothing that is hidden in it."""
    found = door.query(parsed.original)
    for token in parsed.tokens:
        if found.hides(token.span):
            door.hide({token.stem} if len(token.stem) >= SAID_MIN else ())
    return _redacted(parsed, found, door)


def plainly(parsed: ParsedQuery, door: Door) -> bool:
    """Say whether nothing of the query or its names is hidden: then our words about them need no second look."""
    if door.query(parsed.original).text != parsed.original:
        return False
    return all(_name(ref, door) == ref.name for ref in parsed.entity_refs if ref.stage != IMPLICIT)


def _name(ref: EntityRef, door: Door) -> str:
    return USER if ref.stage == IMPLICIT else door.said(ref.name)


def _redacted(parsed: ParsedQuery, found: Seen, door: Door) -> ParsedQuery:
    """Return the parsed query with everything that was read from it, as far as it may be seen."""
    tokens = parsed.tokens
    if found.text != parsed.original:
        tokens = tuple(replace(t, span=found.span(t.span)) for t in tokens if not found.hides(t.span))
    stems = {token.stem for token in tokens}
    words = {m[0].casefold() for m in WORD.finditer(found.text)}
    verdict = parsed.conversational
    return replace(
        parsed,
        original=found.text,
        rewrites=tuple(map(door.said, parsed.rewrites)),
        entity_refs=tuple(_entity(r, found, door) for r in parsed.entity_refs),
        temporal_window=_window(parsed.temporal_window, found),
        negations=tuple(n for n in parsed.negations if _seen(n, words) and door.said(n) == n),
        terms=tuple(t for t in parsed.terms if t in stems),
        stems=tuple((word, root) for word, root in parsed.stems if root in stems),
        weaker_terms=(),
        corrections=(),  # corrections come from the memories
        corrected_query=None,
        tokens=tokens,
        identifiers=tuple(_identifier(i, found) for i in parsed.identifiers if not found.hides(i.span)),
        conversational=replace(verdict, rare=tuple(r for r in verdict.rare if r in stems)),
        session=_session(parsed.session, found, door),
    )


def _seen(text: str, words: Iterable[str]) -> bool:
    """Say whether all words of a text are among these."""
    return {m[0].casefold() for m in WORD.finditer(text)} <= set(words)


def _entity(ref: EntityRef, found: Seen, door: Door) -> EntityRef:
    """Return an entity as it may be seen: a hidden name takes its id along; the mention is what the query shows now."""
    name, span = _name(ref, door), found.span(ref.span)
    entity_id = ref.entity_id if name == ref.name else ""
    return replace(ref, name=name, entity_id=entity_id, mention=found.text[slice(*span)], span=span)


def _identifier(identifier: Identifier, found: Seen) -> Identifier:
    span = found.span(identifier.span)
    return replace(identifier, text=found.text[slice(*span)], span=span)


def _window(window: TemporalWindow | None, found: Seen) -> TemporalWindow | None:
    """Return the window with its new span; `None` where the date is hidden, as the window would say it."""
    if window is None or found.hides(window.span):
        return None
    return replace(window, span=found.span(window.span))


def _session(session: SessionRef | None, found: Seen, door: Door) -> SessionRef | None:
    if session is None or found.hides(session.span):
        return None
    span = found.span(session.span)
    return replace(session, span=span, found=door.said(session.found), because=door.said(session.because))


# -- block -------------------------------------------------------------------------------------------------------------


def _counted(parsed: ParsedQuery) -> ParsedQuery:
    """Return decisions and counts, without a word: nothing that is not named here is shown."""
    window, session = parsed.temporal_window, parsed.session
    return ParsedQuery(
        original="",
        temporal_window=None if window is None else replace(window, span=(0, 0)),
        type_hints=parsed.type_hints,
        specificity=parsed.specificity,
        features=parsed.features,
        type_cues=parsed.type_cues,
        type_filters=parsed.type_filters,
        router=replace(parsed.router, reason=""),
        conversational=replace(parsed.conversational, rare=(), because=""),
        now=parsed.now,
        asked_role=parsed.asked_role,
        asked_role_strength=parsed.asked_role_strength,
        session=None if session is None else replace(session, span=(0, 0), found="", because=""),
        talk=parsed.talk,
        language=parsed.language,
        unread=parsed.unread,
        memories_in=parsed.memories_in,
    )


def _decided(plan: RetrievalPlan) -> RetrievalPlan:
    return replace(plan, reason="", checks=tuple(replace(check, because="") for check in plan.checks))
