"""`facts`: finds the memories that answer a query for how things are, were, or changed."""

from __future__ import annotations

from recall_integrations.facts.deciding import Decided, decide
from recall_integrations.facts.question import THEN, state_asked
from recall_integrations.facts.said import ME, USER, name_key, subject_key
from recall_integrations.facts.slots import Slots
from recall_integrations.indexes.scope_view import ScopeView
from recall_integrations.indexes.times import from_micros
from recall_integrations.privacy.door import Door
from recall_integrations.recall.other_times import other_time
from recall_integrations.recall.runner import Stage, Turn
from recall_integrations.recall.state import RecallState
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import ParsedQuery
from recall_integrations.types.making import changed
from recall_integrations.types.result import Decision
from recall_integrations.types.roles import Role


class Facts(Stage):
    """Decides which memories the arms' candidates get in addition, and which come first; without it, none do.

    Args:
        store: the store of the memories and of what they say of slots.
        slots: the schema; `None` = no facts are kept.
    """

    name = "facts"

    def __init__(self, store: MemoryStore, slots: Slots | None) -> None:
        self._store, self._slots = store, slots

    def applies(self, state: RecallState) -> bool:
        """Say whether facts are kept."""
        return self._slots is not None and state.view is not None

    def run(self, state: RecallState, _turn: Turn) -> RecallState:
        """Return the state with `held`."""
        assert self._slots is not None
        parsed, view = state.query, state.scope
        facts = self._store.facts_in(view)
        if facts is None or not facts:  # then nothing need be read from the query
            return state
        window = other_time(state)
        named = (0, 0) if parsed.temporal_window is None else parsed.temporal_window.span
        asked = state_asked(parsed.original, self._slots, windowed=window is not None, named=named)
        if asked is None:
            return state
        now = state.request.as_of or state.request.now
        span = None if window is None or asked.mode != THEN else (window.start, window.end)
        subjects = self._subjects(asked.subject, parsed, view)
        decided = decide(asked, facts, subjects, now, span)
        return state if decided is None else changed(state, held=decided)

    def _subjects(self, subject: str, parsed: ParsedQuery, view: ScopeView) -> list[str]:
        """Return the keys of whom is asked: as written, then the entity's other names. Empty for a name of several."""
        if subject == ME:
            return [USER, *map(name_key, view.speakers(Role.USER))]
        key = subject_key(subject)
        if key is None:
            return []
        found = [key]
        owner, of, rest = key.partition("'s ")
        refs = [ref for ref in parsed.entity_refs if ref.entity_id and name_key(ref.mention) in (owner, key)]
        ids = list(dict.fromkeys(ref.entity_id for ref in refs))
        if len(ids) > 1:
            return []  # two people have this name: what is said of it may be of either
        if ids:
            names = self._store.entities(view.scope_id).index.names(ids[0])
            found += [f"{name_key(name)}{of}{rest}" for name in names]
        if any(name_key(name) == owner for name in view.speakers(Role.USER)):
            found.append(f"{USER}{of}{rest}")
        return found


def decision(held: Decided, view: ScopeView, door: Door) -> Decision:
    """Return what was decided, as a result carries it: without names that privacy withholds."""
    subject, slot = held.key
    return Decision(
        subject=door.said(subject),
        slot=door.said(slot),
        mode=held.mode,
        at=from_micros(held.at),
        first=tuple(view.ids[row] for row in view.rows_of(held.first).tolist()),
        beneath=tuple(view.ids[row] for row in view.rows_of(sorted(held.beneath)).tolist()),
        confidence=held.confidence,
    )
