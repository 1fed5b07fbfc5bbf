"""`plan`: decides how the query is answered, and which rows of the scope it is about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from recall_integrations.arms.registry import ArmSpec, with_own
from recall_integrations.config import RecallConfig
from recall_integrations.indexes.scope_view import Mask, ScopeView, of_types
from recall_integrations.learning.serving import BY_RULES, Served
from recall_integrations.learning.version import Version, signature_of
from recall_integrations.planning.planner import make_plan
from recall_integrations.planning.when import asked_for, settled
from recall_integrations.recall.runner import Stage, Turn
from recall_integrations.recall.state import RecallState
from recall_integrations.resilience.bulkhead import Bulkhead, Busy
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.guard import TIMEOUT
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.store.outlines import Outline
from recall_integrations.types import Degradation, Note, ParsedQuery, RetrievalPlan, Scope
from recall_integrations.types.making import changed
from recall_integrations.types.request import RecallRequest

READING = "What the filters look at is still being read into memory. Ask again, or give it more time."
READING_SHARE = 0.6  # share of the time that is left, as for the memories themselves
READ_AT_ONCE = 4
_FIELDS = frozenset({"type", "actor", "role", "channel", "thread"})


class Plan(Stage):
    """Decides about arms, filters and rows.

    Args:
        store: the store of the memories.
        config: all settings.
        arms: the arms that there are.
        waiting: context around a wait.
        draw: reads rows of a scope that is too large to be read whole; `None` = no scope is.
    """

    name = "plan"
    essential = True

    def __init__(
        self,
        store: MemoryStore,
        config: RecallConfig,
        arms: tuple[ArmSpec, ...],
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
        draw: Callable[[RecallState, Outline, RetrievalPlan, Turn], RecallState] | None = None,
    ) -> None:
        self._store, self._config, self._arms, self._waiting = store, config, arms, waiting
        self._draw = draw
        self._threads = Bulkhead("filters", READ_AT_ONCE, hanging_max=0)

    def applies(self, _state: RecallState) -> bool:
        """Return true: every recall has a plan."""
        return True

    def made(self, parsed: ParsedQuery, served: Served = BY_RULES) -> RetrievalPlan:
        """Return the plan of a parsed query. Pure.

        Args:
            parsed: the parsed query.
            served: the version learned from use that answers this recall; default: the rules.
        """
        version = served.version
        given = None if version is None or not version.plans else version.plan_for(signature_of(parsed))
        plan = make_plan(parsed, self._config) if given is None else make_plan(parsed, self._config, given=given)
        if version is not None:
            plan = _learned(plan, version, served.label, given)
        return with_own(plan, parsed, self._arms, self._config.planner.arm_limit)

    def run(self, state: RecallState, turn: Turn) -> RecallState:
        """Return the state with `planned`, `view`, `allowed`, `searched`, `wanted`, `asked` and `trust`."""
        request = state.request
        scope_id = self._store.scope_id(request.scope)
        outline = None if scope_id is None or state.loading or self._draw is None else self._store.pushed(scope_id)
        if outline is not None and self._draw is not None:
            state = self._draw(state, outline, self._meant(state, outline), turn)
            if state.view is None:
                return changed(state, planned=self.made(state.query, state.served), loading=True)
            view: ScopeView | None = state.view
        else:
            view = None if scope_id is None or state.loading else self._store.view(scope_id)
        parsed, session = settled(state.query, view)
        plan = self.made(parsed, state.served)
        if parsed.type_hints != plan.type_hints:
            parsed = changed(parsed, type_hints=plan.type_hints)
        if view is None:
            unknown = (_unknown(request.scope),) if scope_id is None else ()
            return changed(state, parsed=parsed, planned=plan, notes=unknown)
        allowed: Mask | None = None
        notes: tuple[Note, ...] = ()
        if request.filters or not view.count:
            if not self.filters_read(view, request, turn.deadline.child(turn.deadline.remaining_ms() * READING_SHARE)):
                late = Degradation(stage="filters", reason=TIMEOUT, detail=READING)
                return changed(state, parsed=parsed, planned=plan, loading=True).degraded_by(late)
            allowed = self._store.filter_mask(view, request.filters, request.now)
            notes = tuple(self._notes(view, allowed, request))
        limit = max(self._config.planner.arm_limit, request.k)
        decided = asked_for(parsed, plan, session, view, allowed, limit)
        searched = None if decided.asked is None else decided.asked.searched(request.k)
        state = changed(
            state,
            parsed=parsed,
            view=view,
            planned=decided.plan,
            allowed=allowed,
            searched=allowed if searched is None else searched,
            asked=decided.asked,
            trust=decided.trust,
            notes=notes,
        )
        return _typed(state).degraded_by(*self._lag(view.scope_id))

    def _meant(self, state: RecallState, outline: Outline) -> RetrievalPlan:
        """Return the plan of a query to a scope that is not read whole, before its rows are there."""
        return self.made(settled(state.query, outline.view)[0], state.served)

    def filters_read(self, view: ScopeView, request: RecallRequest, deadline: Deadline) -> bool:
        """Say whether the columns of the filters are in memory. If not, a thread reads them for a later recall."""
        if self._store.filters_ready(view, request.filters):
            return True
        reading = self._threads.submit(self._store.filter_mask, view, request.filters, request.now)
        with self._waiting():
            if not deadline.wait_for(reading):
                return False
        error = reading.exception()
        if error is not None and not isinstance(error, Busy):
            raise error
        return error is None

    def _notes(self, view: ScopeView, allowed: Mask | None, request: RecallRequest) -> Iterator[Note]:
        """Yield notes that explain why little is found, or nothing."""
        where = request.scope
        if not view.count:
            yield Note(reason="scope.empty", detail=f"Nothing is left in the scope {where}: all of it was forgotten.")
            return
        for key in self._store.absent_keys(view, request.filters):
            hint = f" For the field of a memory there is Filters({key}s=[...])." if key in _FIELDS else ""
            detail = f"No memory in the scope {where} has {key!r} in its metadata.{hint}"
            yield Note(reason="filters.key", detail=detail)
        if allowed is not None and not (allowed & view.alive).any():
            yield Note(reason="filters.nothing", detail=f"No memory in the scope {where} meets the filters.")

    def _lag(self, scope_id: int) -> list[Degradation]:
        return [
            Degradation(stage=name, reason="index.behind", detail=f"{lag} changes not applied yet.")
            for name, lag in self._store.behind(scope_id).items()
        ]


def _learned(plan: RetrievalPlan, version: Version, label: str, given: str | None) -> RetrievalPlan:
    """Return a plan as a version changes it, named in its reason."""
    plan = version.applied(plan)
    if given is None:
        return plan
    return replace(plan, reason=plan.reason.replace(f"{given}: given", f"{given}: learned from use ({label})", 1))


def _unknown(scope: Scope) -> Note:
    return Note(reason="scope.unknown", detail=f"Nothing was ever remembered in the scope {scope}.")


def _typed(state: RecallState) -> RecallState:
    """Search memories of the plan's types alone, if there are k of them; else mark them to be put first."""
    plan, view = state.plan, state.scope
    if not plan.type_filter:
        return state
    wanted = of_types(view, plan.type_hints)
    allowed = wanted if state.searched is None else wanted & state.searched
    count = int((allowed & view.alive).sum())
    if count >= state.request.k:
        return changed(state, searched=allowed)
    return changed(state, wanted=wanted if count else None)
