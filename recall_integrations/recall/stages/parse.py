"""`parse`: the query as understood, with what the scope knows."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from zoneinfo import ZoneInfo

from recall_integrations.config import RecallConfig
from recall_integrations.indexes import lexicon
from recall_integrations.indexes.bm25 import frequency_of
from recall_integrations.query.entities.fallback import EntityFallback
from recall_integrations.query.entities.implicit import implicit_user
from recall_integrations.query.knowledge import ScopeKnowledge, Settled
from recall_integrations.query.parser import QueryParser
from recall_integrations.query.spans import Spans
from recall_integrations.recall.runner import Stage, Turn
from recall_integrations.recall.state import RecallState
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import EntityRef, ParsedQuery, Scope
from recall_integrations.types.request import Window
from recall_integrations.types.roles import Role

SHARE_BEFORE_ARMS = 0.6  # of the time left, for what may be slow before the arms are asked; the rest is theirs


class Parse(Stage):
    """Reads the query.

    Args:
        store: where the memories are.
        config: all settings.
        llm: validates corrections of the spelling; `None` = nobody does.
        unsure: asks the LLM about names that nothing else resolved; `None` = it is not asked.
    """

    name = "parse"
    share = SHARE_BEFORE_ARMS
    essential = True

    def __init__(
        self,
        store: MemoryStore,
        config: RecallConfig,
        llm: Callable[[str], str] | None = None,
        unsure: EntityFallback | None = None,
    ) -> None:
        self._store, self._config, self._llm, self._unsure = store, config, llm, unsure
        self._parser = QueryParser(config)

    def applies(self, _state: RecallState) -> bool:
        """Always."""
        return True

    def run(self, state: RecallState, turn: Turn) -> RecallState:
        """`parsed` and `frequency`."""
        request = state.request
        known = self._knowledge(request.scope, turn.deadline)
        parsed, problems = self._parser.parse(
            request.text, request.now, known, window=request.window, zone=request.zone
        )
        return replace(state, parsed=parsed, frequency=known.frequency).degraded_by(*problems)

    def read(self, text: str, now: datetime, scope: Scope, window: Window, zone: ZoneInfo | None) -> ParsedQuery:
        """A query by itself, without a recall and without a time limit."""
        return self._parser.parse(text, now, self._knowledge(scope), window=window, zone=zone)[0]

    def _knowledge(self, scope: Scope, deadline: Deadline | None = None) -> ScopeKnowledge:
        scope_id = self._store.scope_id(scope)
        if scope_id is None:
            return ScopeKnowledge(user=implicit_user(scope))
        index, settings = self._store.entities(scope_id).index, self._config.query
        fallback = self._unsure

        def unsure(text: str, refs: tuple[EntityRef, ...], reserved: Spans) -> Settled:
            if fallback is None:
                return refs, ()
            return fallback.resolve(
                text,
                refs,
                index,
                scope_id=scope_id,
                threshold=self._config.planner.entity_confidence_min,
                deadline=Deadline.after(None) if deadline is None else deadline,
                reserved=reserved,
            )

        view = self._store.view(scope_id)
        users, assistants = view.speakers(Role.USER), view.speakers(Role.ASSISTANT)
        return ScopeKnowledge(
            entities=index,
            frequency=functools.cache(frequency_of(view, lambda: self._store.lexical)),
            memories=view.count,
            speller=self._store.speller(scope_id, validate=self._llm) if settings.spelling else None,
            user=implicit_user(scope, index, users),
            assistant=bool(assistants),
            alike=lexicon.shared().alike,
            spoken=self._store.languages(scope_id),
            unsure=None if fallback is None else unsure,
        )
