"""Rows of a time, or of a session, that a query names.

Sessions are threads in the order of their first memories; documents (`chunk`) without an actor are none. A number is
the one in the threads' names where these rise with time (`session_1`, `session_2`, …), else a place in the order.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.columns import TextColumns
from recall_integrations.indexes.scope_view import WORTH, Mask, Rows, ScopeView, Told, of_types
from recall_integrations.indexes.times import to_micros
from recall_integrations.patterns import regex
from recall_integrations.records import record
from recall_integrations.types import MemoryType, TemporalWindow
from recall_integrations.types.query import BEGINNING, END, WHOLE, SessionRef


def window_mask(view: ScopeView, start: datetime | None, end: datetime | None) -> Mask:
    """Flag the rows whose time lies in `[start, end)`; `None` = open."""
    mask = np.ones(view.size, dtype=np.bool_)
    if start is not None:
        mask &= view.at >= to_micros(start)
    if end is not None:
        mask &= view.at < to_micros(end)
    return mask


def in_micros(window: TemporalWindow) -> list[tuple[int | None, int | None]]:
    """Return each time of a window (`TemporalWindow.times`) in microseconds; `None` = open."""
    return [
        (None if start is None else to_micros(start), None if end is None else to_micros(end))
        for start, end in window.times
    ]


def told_shares(told: Told, window: TemporalWindow) -> NDArray[np.float32]:
    """Compute for each row the share of a told time that lies in the window, in [0, 1] (`Told.shares`)."""
    return functools.reduce(np.maximum, [told.shares(*each) for each in in_micros(window)])


def asked_mask(view: ScopeView, window: TemporalWindow) -> Mask:
    """Flag the rows whose own time lies in the window of a query; rows of unknown time (`dated`) lie in none.

    Filters go by `window_mask`: there, the time of storing stands for an unknown one.
    """
    inside = functools.reduce(np.logical_or, [window_mask(view, *each) for each in window.times])
    return inside & view.dated


def asked_shares(view: ScopeView, window: TemporalWindow) -> NDArray[np.float32]:
    """Compute each row's share in a query's window: 1 for a row of that time, `WORTH` or less if it tells of it."""
    told = told_shares(view.told, window)
    told *= np.float32(WORTH)
    told[asked_mask(view, window)] = 1
    return told


PART_SHARE, PART_ROWS_MIN = 3, 10  # the beginning of a thread: a third of it, and ten memories or all
NAMED_SHARE = 0.5  # of the threads that must be numbered alike, for a number to be a name
_NUMBERED = regex(r"(?P<stem>[^\d]*)(?P<number>\d{1,6})")


@record(frozen=True, slots=True, kw_only=True)
class Sessions:
    """The threads of a scope that are conversations, in order."""

    codes: NDArray[np.int64]  # codes of the threads, first to last
    counted: Mask  # bool `(n,)`: rows that belong to one


@record(frozen=True, slots=True, kw_only=True)
class Settled:
    """A reference to sessions, resolved in a scope."""

    session: SessionRef  # the reference, with `found` or with what keeps it from being found in `because`
    mask: Mask | None = None  # bool `(n,)`: living rows of it; `None` where it is not found
    threads: tuple[int, ...] = ()  # their codes, in the order in which they were asked for
    absent: bool = False  # whether the scope has sessions and this is none of them


def sessions_of(view: ScopeView, text: TextColumns, within: Mask | None = None) -> Sessions:
    """Return the sessions of a scope; with `within`, those that have a row there."""
    counted = view.alive & (text.threads >= 0)
    counted &= ~of_types(view, (MemoryType.CHUNK,)) | (text.actors >= 0)
    rows = np.flatnonzero(counted)
    codes = text.threads[rows]
    threads = int(codes.max(initial=-1)) + 1
    began = np.full(threads, np.iinfo(np.int64).max)
    np.minimum.at(began, codes, view.at[rows])
    arrived = np.full(threads, view.size)
    np.minimum.at(arrived, codes, rows)
    there = np.flatnonzero(arrived < view.size)
    if within is not None:
        there = there[np.isin(there, text.threads[rows[within[rows]]])]
    order = np.lexsort((arrived[there], began[there]))
    return Sessions(codes=there[order], counted=counted)


def settle(session: SessionRef, view: ScopeView, window: Mask | None = None) -> Settled:
    """Resolve `session` in the scope."""
    text = view.text
    sessions = sessions_of(view, text)
    if not len(sessions.codes):
        return _missing(session, "there are no sessions here")
    if not session.places:
        return _as_a_whole(session, view, text, sessions)
    if window is not None and not session.numbered:
        inside = _placed(session.places, sessions_of(view, text, window))
        if inside is not None:
            codes, words = inside
            return _found(session, view, text, sessions, codes, f"{words} in that time")
    if session.numbered and (named := _named(session.places, sessions, text)) is not None:
        said = "sessions" if len(named) > 1 else "session"
        words = f"{said} {_listed(list(map(str, session.places)))} by name"
        return _found(session, view, text, sessions, named, words)
    placed = _placed(session.places, sessions)
    if placed is None:
        n = len(sessions.codes)
        because = "there is only 1 session" if n == 1 else f"there are only {n} sessions"
        return replace(_missing(session, because), absent=True)
    return _found(session, view, text, sessions, *placed)


def in_order(settled: Settled, view: ScopeView, limit: int, allowed: Mask | None = None) -> Rows:
    """Return the first `limit` rows of the sessions in thread order; for an end the last ones, last first."""
    text, mask = view.text, settled.mask
    if mask is None:
        return np.empty(0, dtype=np.int64)
    backwards = settled.session.part == END
    wanted = mask if allowed is None else mask & allowed
    found: list[int] = []
    for code in settled.threads:
        rows = np.flatnonzero(view.alive & (text.threads == code))
        links = text.before if backwards else text.after
        first = (text.following if backwards else text.previous)(rows) < 0
        row = int(rows[first][0]) if first.any() else -1
        while row >= 0 and len(found) < limit:
            if wanted[row]:
                found.append(row)
            row = int(links[row])
            row = row if row < text.size else -1  # of a memory that came after this snapshot
    return np.asarray(found, dtype=np.int64)


def _missing(session: SessionRef, because: str) -> Settled:
    return Settled(session=replace(session, found="", because=because))


def _found(
    session: SessionRef, view: ScopeView, text: TextColumns, sessions: Sessions, codes: Sequence[int], words: str
) -> Settled:
    mask = sessions.counted & np.isin(text.threads, codes)
    if session.part != WHOLE:
        mask = _part_of(mask, session.part, codes, view, text)
        words = f"the {session.part} of {words}"
    return Settled(session=replace(session, found=words, because=""), mask=mask, threads=tuple(map(int, codes)))


def _as_a_whole(session: SessionRef, view: ScopeView, text: TextColumns, sessions: Sessions) -> Settled:
    """Resolve a beginning or end: of many sessions the first or last session, of one its first or last part."""
    if len(sessions.codes) == 1:
        return _found(session, view, text, sessions, [int(sessions.codes[0])], "the only session")
    place = 1 if session.part == BEGINNING else -1
    placed = _placed((place,), sessions)
    assert placed is not None
    found = _found(replace(session, part=WHOLE), view, text, sessions, *placed)
    # The whole of the last session, from its end on.
    return found if session.part == BEGINNING else replace(found, session=replace(found.session, part=END))


def _part_of(mask: Mask, part: str, codes: Sequence[int], view: ScopeView, text: TextColumns) -> Mask:
    """Flag the first or the last rows of each thread."""
    kept = np.zeros_like(mask)
    for code in codes:
        count = int((mask & (text.threads == code)).sum())
        n = max(-(-count // PART_SHARE), min(count, PART_ROWS_MIN))
        whole = Settled(session=SessionRef(part=part), mask=mask, threads=(code,))
        kept[in_order(whole, view, n)] = True
    return kept


def _placed(places: Sequence[int], sessions: Sessions) -> tuple[list[int], str] | None:
    """Return the threads at these places, and words for them; `None` where one does not exist."""
    n = len(sessions.codes)
    at = [place - 1 if place > 0 else n + place for place in places]
    if not all(0 <= i < n for i in at):
        return None
    numbers = [str(i + 1) for i in at]
    return [int(sessions.codes[i]) for i in at], f"session{'s' if len(at) > 1 else ''} {_listed(numbers)} of {n}"


def _named(places: Sequence[int], sessions: Sessions, text: TextColumns) -> list[int] | None:
    """Return the threads whose names end in these numbers; `None` unless names count up from 1 with time."""
    names = [text.thread_names[code] for code in sessions.codes.tolist()]
    matches = [_NUMBERED.fullmatch(name) for name in names]
    stems = Counter(m["stem"].casefold() for m in matches if m is not None)
    if not stems:
        return None
    stem, count = stems.most_common(1)[0]
    numbered = {
        int(m["number"]): int(code)
        for m, code in zip(matches, sessions.codes.tolist(), strict=True)
        if m is not None and m["stem"].casefold() == stem
    }
    # "chat-0" is how programs count; nobody asks for session 0, and session 1 is the first then.
    rising = list(numbered) == sorted(numbered) and len(numbered) == count and min(numbered, default=0) >= 1
    if count < 2 or count < NAMED_SHARE * len(names) or not rising or any(p not in numbered for p in places):
        return None
    return [numbered[place] for place in places]


def _listed(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
