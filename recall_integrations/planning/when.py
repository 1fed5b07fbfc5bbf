"""Settle which session or time of a scope a query asks for, and what it decides there.

    ParsedQuery ─ settled ─▶ ParsedQuery whose session is "session 3 of 19" ─ plan ─▶ RetrievalPlan ─ asked_for ─▶ Asked

If it decides (`plan.time_filter`), the arms look only at its memories if there are `k` of them; else those come first
and others fill up the result. If no memory lies in it, it decides nothing, the plan's reason says so, and every other
hit is less probably the right one (`Decided.trust`).
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np

from recall_integrations.indexes.scope_view import Mask, Rows, ScopeView
from recall_integrations.indexes.windows import Settled, asked_mask, in_order, settle
from recall_integrations.planning.planner import WITHOUT, filters
from recall_integrations.query.features import IMPLICIT
from recall_integrations.records import record
from recall_integrations.types import ParsedQuery, RetrievalPlan, TemporalWindow
from recall_integrations.types.readings import ABOUT, ALL
from recall_integrations.types.roles import ROLE_CODES

DAY = timedelta(hours=25)  # with the hour that comes twice in autumn
ROLE_PLAIN = 0.5  # strength from which a role's words are asked for; "my last session" is .4
# Share of the answers that lie elsewhere if no memory lies in the asked time: people mistake days. Set by hand.
MISTAKEN = 0.2


@record(frozen=True, slots=True, kw_only=True)
class Decided:
    """The decision that the asked time or session makes.

    Args:
        plan: the plan to carry out.
        asked: the rows that decide; `None` = none do.
        trust: factor in (0, 1] of all probabilities, below 1 if no memory lies in the asked time or session.
    """

    plan: RetrievalPlan
    asked: Asked | None = None
    trust: float = 1.0


@record(frozen=True, slots=True, kw_only=True)
class Asked:
    """Rows of the time or the session that decides.

    Args:
        mask: bool `(n,)`: the rows, living and allowed; at least one.
        count: number of these rows.
        order: the first of these rows, in the order of the conversation if the plan asks for it; else `None`.
        confidence: confidence of the reading, in [0, 1].
        words: reason to show with a hit among these rows.
    """

    mask: Mask
    count: int
    order: Rows | None
    confidence: float
    words: str

    def searched(self, k: int) -> Mask | None:
        """Return the rows that the arms look at; `None` = all, because there are fewer than `k` of these."""
        if self.count < k:
            return None
        if self.order is None:
            return self.mask
        first = np.zeros_like(self.mask)
        first[self.order] = True
        return first


def settled(parsed: ParsedQuery, view: ScopeView | None) -> tuple[ParsedQuery, Settled | None]:
    """Return the query with its session as the scope has it, and the rows of that session.

    If the query names somebody who never speaks in the scope, it asks about them, and so for more than the talk.
    """
    found: Settled | None = None
    session = parsed.session
    if session is not None:
        if view is None:
            parsed = replace(parsed, session=replace(session, because="there are no sessions here"))
        elif view.drawn:
            because = "the sessions of a scope that is too large to be read whole are not told apart"
            parsed = replace(parsed, session=replace(session, found="", because=because))
        else:
            window = parsed.temporal_window
            inside = None if window is None else asked_mask(view, window.start, window.end)
            found = settle(session, view, inside)
            parsed = replace(parsed, session=found.session)
    if parsed.talk == ALL and not _speak(parsed, view):
        parsed = replace(parsed, talk=ABOUT)
    return parsed, found


def asked_for(
    parsed: ParsedQuery, plan: RetrievalPlan, found: Settled | None, view: ScopeView, allowed: Mask | None, limit: int
) -> Decided:
    """Decide which rows come first, and how much the probabilities are trusted.

    Args:
        parsed, found: from `settled`.
        plan: the plan made from `parsed`.
        view: the scope.
        allowed: rows that meet the filters; `None` = all.
        limit: largest number of rows that come in order.
    """
    trust = _trust(found.session.confidence) if found is not None and found.absent else 1.0
    if not plan.time_filter:
        return Decided(plan=plan, trust=trust)
    window = parsed.temporal_window
    if found is not None and found.mask is not None:
        mask, confidence = found.mask & view.alive, found.session.confidence
        words = f"in the session{'s' if len(found.threads) > 1 else ''} you asked for"
        name = found.session.found
    else:
        assert window is not None
        found = None
        mask, confidence = asked_mask(view, window.start, window.end) & view.alive, window.confidence
        words = f"{'on the day' if _a_day(window) else 'in the time'} you asked for"
        name = f"{'the day' if _a_day(window) else 'the time'} asked for"
    if allowed is not None:
        mask = mask & allowed
    count = int(mask.sum())
    if not count:
        reason = plan.reason.replace(filters(parsed), f"{name}: nothing lies in it; {WITHOUT}")
        without = replace(plan, time_filter=False, in_order=False, reason=reason)
        return Decided(plan=without, trust=min(trust, _trust(confidence)))
    order = _in_order(parsed, found, view, mask, limit) if plan.in_order else None
    asked = Asked(mask=mask, count=count, order=order, confidence=confidence, words=words)
    return Decided(plan=plan, asked=asked, trust=trust)


def _trust(confidence: float) -> float:
    """Return the factor of probabilities if no memory lies in the time or session, read with this confidence."""
    return 1 - confidence * (1 - MISTAKEN)


def _in_order(parsed: ParsedQuery, found: Settled | None, view: ScopeView, mask: Mask, limit: int) -> Rows:
    """Return the first rows; those said by the person or role that the query names come before the others."""
    said = _said_by_named(parsed, view)
    if said is None:
        said = _said_by_role(parsed, view)
    groups = [mask] if said is None or not (mask & said).any() else [mask & said, mask & ~said]
    rows = np.empty(0, dtype=np.int64)
    for group in groups:
        if found is not None:
            part = in_order(found, view, limit - len(rows), group)
        else:
            inside = np.flatnonzero(group)
            part = inside[np.argsort(view.at[inside], kind="stable")][: limit - len(rows)]
        rows = np.concatenate([rows, part])
    return rows


def _names(parsed: ParsedQuery) -> set[str]:
    return {r.name.casefold() for r in parsed.entity_refs if r.stage != IMPLICIT}


def _speak(parsed: ParsedQuery, view: ScopeView | None) -> bool:
    """Say whether everybody whom the query names says something in the scope."""
    names = _names(parsed)
    if not names or view is None or view.text is None:
        return not names
    text = view.text
    if view.drawn:  # `actor_names` then holds all who speak in the scope, and nobody else
        return names <= {actor.casefold() for actor in text.actor_names}
    codes = [code for code, actor in enumerate(text.actor_names) if actor.casefold() in names]
    speaking = np.unique(text.actors[np.isin(text.actors, codes) & view.alive])
    return names <= {text.actor_names[code].casefold() for code in speaking.tolist()}


def _said_by_named(parsed: ParsedQuery, view: ScopeView) -> Mask | None:
    """Mark the rows that the named people said; `None` if nobody is named."""
    names = _names(parsed)
    if not names or view.text is None:
        return None
    codes = [code for code, actor in enumerate(view.text.actor_names) if actor.casefold() in names]
    return np.isin(view.text.actors, codes)


def _said_by_role(parsed: ParsedQuery, view: ScopeView) -> Mask | None:
    """Mark the rows of the role whose words the query asks for, user or assistant; `None` if that is not plain.

    They go first, and the rows of the other role stay: an answer is read with its question, and `k` hits are due.
    """
    if parsed.asked_role is None or parsed.asked_role_strength < ROLE_PLAIN or view.text is None:
        return None
    said: Mask = view.text.roles == ROLE_CODES[parsed.asked_role]
    return said


def _a_day(window: TemporalWindow) -> bool:
    return window.start is not None and window.end is not None and window.end - window.start <= DAY
