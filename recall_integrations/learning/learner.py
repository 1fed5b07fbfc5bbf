"""Learns from judged recalls, scope by scope, and moves versions along: tried, promoted, rolled back.

    judged recalls ─▶ a version (steps, arms, plans), better than rules on a held-out quarter ─▶ a share of the recalls
        ─▶ whole recalls of both compared, a week or 600 judged recalls long ─▶ promoted, or rolled back

Every step is written before the next scope is looked at, so a process that is killed goes on where it was. A scope that
was looked at within `learned.update_cadence` is not looked at again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import timedelta

from recall_integrations.config import RecallConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.indexes.times import to_micros
from recall_integrations.learning.making import made
from recall_integrations.learning.measuring import (
    PROMOTED,
    ROLLED_BACK,
    Verdict,
    decided,
    mean_ndcg,
    regressed,
)
from recall_integrations.learning.versions import Event, Shelf, State, Version
from recall_integrations.records import record
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Scope
from recall_integrations.types.judged import RULES, Judged

STARTED, NOTHING, SKIPPED = "started", "nothing", "skipped"
BY_HAND = "by hand"


@record(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of learning in a scope.

    Args:
        scope: the tenant.
        step: `started`, `promoted`, `rolled_back`, `nothing` (nothing better was learned), or `skipped`.
        version: id of its version; empty = none.
        because: reason in words, with the figures.
        judged: number of recalls that were judged there.
        took_ms: milliseconds that it took.
        ndcg_by_plan: plan that the rules chose → nDCG@5 of the rules by the judgements, and the number of recalls.
    """

    scope: Scope
    step: str
    version: str = ""
    because: str = ""
    judged: int = 0
    took_ms: float = 0.0
    ndcg_by_plan: Mapping[str, tuple[float, int]] = field(default_factory=dict)


@record(frozen=True, slots=True, kw_only=True)
class Status:
    """The status of a scope.

    Args:
        scope: the tenant.
        state: the versions that serve and are tried, and the last steps.
        judged: number of recalls that were judged.
        helpful: number of these with a memory that helped.
        replayed: number of these that can be learned from.
        signatures: signature → number of judged recalls that can be learned from.
        ndcg_by_plan: plan that the rules chose → nDCG@5 by the judgements.
        ndcg: label of the rules, or of a version that was replayed → nDCG@5 and the number of recalls.
        versions: ids of the versions, oldest first.
    """

    scope: Scope
    state: State
    judged: int = 0
    helpful: int = 0
    replayed: int = 0
    signatures: Mapping[str, int]
    ndcg_by_plan: Mapping[str, float]
    ndcg: Mapping[str, tuple[float, int]]
    versions: tuple[str, ...] = ()


class Learner:
    """Learns in a store. Threads may share it. One process learns in a store at a time.

    Args:
        store: the store whose recalls were judged.
        config: all settings; default the store's.
        told: called after each step, such as for metrics. An error of it ends the run.
        shelf: the shelf of versions; default the store's.
    """

    def __init__(
        self,
        store: MemoryStore,
        config: RecallConfig | None = None,
        *,
        told: Callable[[Step], None] | None = None,
        shelf: Shelf | None = None,
    ) -> None:
        self.store = store
        self._config = store.config if config is None else config
        self._settings = self._config.learned
        self._told = told
        self.shelf = Shelf(store.learned, store.entity_key) if shelf is None else shelf

    # -- runs --------------------------------------------------------------------------------------------------------

    def run(
        self,
        scope: Scope | None = None,
        *,
        force: bool = False,
        progress: Callable[[Scope, int, int], None] | None = None,
    ) -> tuple[Step, ...]:
        """Look at every scope with judged recalls.

        Args:
            scope: only this one.
            force: look at a scope though its time has not come, and decide on its trial as if its time were over.
            progress: called before each scope with it, its place and the number of scopes.

        Raises:
            StoreLocked: another process learns in it at the moment; nothing was done.
            StoreError, StoreClosed: the run stopped; what was done stays.
        """
        with self.shelf.alone():
            self.store.judgements.prune(self._settings)
            counts = self.store.judgements.counts()
            scopes = list(counts) if scope is None else [scope]
            steps = []
            for place, one in enumerate(scopes):
                if progress is not None:
                    progress(one, place, len(scopes))
                steps.append(self._tell(self._scope(one, counts.get(one, 0), force=force)))
            return tuple(steps)

    def due(self) -> bool:
        """Say whether a run would look at any scope."""
        now = self._now()
        counts = {self.shelf.name_of(scope): count for scope, count in self.store.judgements.counts().items()}
        return any(self._due(self.shelf.state(name, fresh=True), now, count) for name, count in counts.items())

    def _tell(self, step: Step) -> Step:
        if self._told is not None and step.step != SKIPPED:
            self._told(step)
        return step

    def _scope(self, scope: Scope, count: int, *, force: bool) -> Step:
        began, now = time.monotonic(), self._now()
        state = self.shelf.state(self.shelf.name_of(scope), fresh=True)
        if not force and not self._due(state, now, count):
            return Step(scope=scope, step=SKIPPED, because="its time has not come")
        judged = self.store.judgements.of(scope)
        step, version, because = self._moved(scope, state, judged, count, now, force=force)
        return Step(
            scope=scope,
            step=step,
            version=version,
            because=because,
            judged=len(judged),
            took_ms=round((time.monotonic() - began) * 1e3, 1),
            ndcg_by_plan=counted_by_plan(judged),
        )

    def _moved(
        self, scope: Scope, state: State, judged: Sequence[Judged], count: int, now: int, *, force: bool
    ) -> tuple[str, str, str]:
        """Decide on what is tried, else check what serves, else make a version; return step, version and reason."""
        name, settings = self.shelf.name_of(scope), self._settings
        since = [one for one in judged if one.at >= state.since]
        if state.candidate:
            over = force or now - state.since >= self._cadence
            found = decided(since, state.candidate, state.serving, over=over)
            if found.step:
                self._apply(name, found, state.candidate, now)
            return found.step or SKIPPED, state.candidate, found.because
        if state.serving != RULES and settings.rollback_on_ndcg_regression:
            worse = regressed(since, state.serving)
            if worse.step == ROLLED_BACK:
                self._apply(name, worse, state.serving, now)
                return ROLLED_BACK, state.serving, worse.because
        if state.held_back:
            return SKIPPED, "", "it was rolled back by hand; promote a version to go on"
        new = made(
            judged,
            version_id=f"v{state.made + 1}",
            now=now,
            parent=self.shelf.version(name, state.serving),
            least=settings.min_queries_per_signature,
            steps=self._config.ranking.strategy == "fixed_weights",
        )
        if new.too_few:  # the scope is looked at again as soon as there is more
            return SKIPPED, "", new.because
        looked = {"learned_at": now, "learned_from": count}
        if new.version is None:
            event = Event(at=now, step=NOTHING, version="", because=new.because)
            self.shelf.change(name, lambda old: old.after(event, **looked))
            return NOTHING, "", new.because
        version = new.version.id
        event = Event(at=now, step=STARTED, version=version, because=new.because)
        with self.store.judgements.while_there(scope) as still:
            if not still:
                return SKIPPED, "", "it was forgotten meanwhile"
            self.shelf.put(name, new.version)
            self.shelf.change(
                name, lambda old: old.after(event, candidate=version, made=old.made + 1, since=now, **looked)
            )
        return STARTED, version, new.because

    def _apply(self, name: str, verdict: Verdict, version: str, now: int, *, by_hand: bool = False) -> State:
        event = Event(at=now, step=verdict.step, version=version, because=verdict.because)
        parent = self.shelf.version(name, version)
        back = RULES if parent is None else parent.parent

        def change(old: State) -> State:
            if verdict.step == PROMOTED:
                return old.after(event, serving=version, candidate="", since=now, held_back=False)
            if old.candidate == version:
                return old.after(event, candidate="", since=now, held_back=by_hand)
            # The floor is rules: a version that served before may be as bad by now.
            return old.after(event, serving=back if by_hand else RULES, candidate="", since=now, held_back=by_hand)

        return self.shelf.change(name, change)

    def _due(self, state: State, now: int, judged: int = 0) -> bool:
        """Say whether to look at a scope: something is tried, its time has come, or, where rules serve, twice as much
        was judged as when nothing could be learned."""
        twice = state.serving == RULES and 0 < 2 * state.learned_from <= judged
        return bool(state.candidate) or twice or now - state.learned_at >= self._cadence

    @property
    def _cadence(self) -> int:
        return int(timedelta(days=self._settings.cadence_days) / timedelta(microseconds=1))

    def _now(self) -> int:
        return to_micros(self.store.clock())

    # -- by hand -----------------------------------------------------------------------------------------------------

    def status(self, scope: Scope | None = None) -> tuple[Status, ...]:
        """Return the status of each scope with judged recalls; or of `scope` alone."""
        return tuple(self._status(one) for one in (self.store.judgements.counts() if scope is None else [scope]))

    def _status(self, scope: Scope) -> Status:
        name, judged = self.shelf.name_of(scope), self.store.judgements.of(scope)
        usable = [one for one in judged if one.replay is not None and one.positive()]
        signatures: dict[str, int] = {}
        for one in usable:
            signatures[one.signature] = signatures.get(one.signature, 0) + 1
        orders = sorted({key for one in usable if one.replay is not None for key in one.replay.orders})
        by_label = {key.removeprefix("version:"): key for key in orders if key == RULES or key.startswith("version:")}
        return Status(
            scope=scope,
            state=self.shelf.state(name, fresh=True),
            judged=len(judged),
            helpful=sum(one.positive() for one in judged),
            replayed=len(usable),
            signatures=dict(sorted(signatures.items(), key=lambda item: (-item[1], item[0]))),
            ndcg_by_plan={plan: value for plan, (value, _) in counted_by_plan(usable).items()},
            ndcg={label: mean_ndcg(usable, key) for label, key in by_label.items()},
            versions=self.shelf.versions(name),
        )

    def promote(self, version: str, scope: Scope) -> State:
        """Let a version serve all recalls of a scope from now on.

        Raises:
            InvalidArgument: there is no such version, or its file is damaged; nothing was changed.
        """
        self.shelf.read(self.shelf.name_of(scope), version)
        return self._by_hand(scope, PROMOTED, version)

    def rollback(self, scope: Scope) -> State:
        """Take back what is tried, else what serves: its parent serves again, and nothing is learned until somebody
        promotes a version.

        Raises:
            InvalidArgument: rules serve already.
        """
        state = self.shelf.state(self.shelf.name_of(scope), fresh=True)
        version = state.candidate or state.serving
        if version == RULES:
            raise InvalidArgument("Rules serve already: there is nothing to take back.")
        return self._by_hand(scope, ROLLED_BACK, version)

    def _by_hand(self, scope: Scope, step: str, version: str) -> State:
        verdict = Verdict(step=step, because=BY_HAND)
        state = self._apply(self.shelf.name_of(scope), verdict, version, self._now(), by_hand=True)
        self._tell(Step(scope=scope, step=step, version=version, because=BY_HAND))
        return state

    def version(self, version: str, scope: Scope) -> Version:
        """Return a version of a scope; `rules` is an empty one.

        Raises:
            InvalidArgument: there is no such version.
        """
        return Version(id="v0") if version == RULES else self.shelf.read(self.shelf.name_of(scope), version)


def counted_by_plan(judged: Sequence[Judged]) -> dict[str, tuple[float, int]]:
    """Return plan that the rules chose → nDCG@5 of the rules, and the recalls in which something helped, if any."""
    groups: dict[str, list[Judged]] = {}
    for one in judged:
        if one.replay is not None:
            groups.setdefault(one.replay.plan, []).append(one)
    found = {plan: mean_ndcg(own, RULES) for plan, own in sorted(groups.items())}
    return {plan: (round(value, 4), count) for plan, (value, count) in found.items() if count}
