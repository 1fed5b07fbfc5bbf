"""Learns from judged recalls, scope by scope, and moves versions along: tried, promoted, rolled back.

    judged recalls ─▶ a version (steps, arms, plans), better than rules on a held-out quarter ─▶ a share of the recalls
        ─▶ whole recalls of both compared, a week or 600 judged recalls long ─▶ promoted, or rolled back

Every step is written before the next scope is looked at, so a process that is killed goes on where it was. A scope that
was looked at within `learned.update_cadence` is not looked at again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace
from datetime import timedelta
from typing import Any

from recall_integrations.config import RecallConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.indexes.times import to_micros
from recall_integrations.learning.making import Made, made, pooled
from recall_integrations.learning.measuring import (
    EXTENDED,
    PROMOTED,
    ROLLED_BACK,
    Verdict,
    decided,
    decided_shared,
    mean_ndcg,
    regressed,
)
from recall_integrations.learning.serving import label_of
from recall_integrations.learning.shelf import SHARED, Event, Shelf, State
from recall_integrations.learning.version import Version
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
        scope: the tenant; `None` = the version that all share.
        step: `started`, `promoted`, `rolled_back`, `extended`, `nothing` (nothing better was learned), or `skipped`.
        version: id of its version; empty = none.
        because: reason in words, with the figures.
        judged: number of recalls that were judged there.
        took_ms: milliseconds that it took.
        ndcg_by_plan: plan that the rules chose → nDCG@5 of the rules by the judgements, and the number of recalls.
    """

    scope: Scope | None
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
        scope: the tenant; `None` = the version that all share.
        state: the versions that serve and are tried, and the last steps.
        judged: number of recalls that were judged.
        helpful: number of these with a memory that helped.
        replayed: number of these that can be learned from.
        signatures: signature → number of judged recalls that can be learned from.
        ndcg_by_plan: plan that the rules chose → nDCG@5 by the judgements.
        ndcg: label of the rules, or of a version that was replayed → nDCG@5 and the number of recalls.
        versions: ids of the versions, oldest first.
    """

    scope: Scope | None
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
        timer: monotonic seconds.
        shelf: the shelf of versions; default the store's.
    """

    def __init__(
        self,
        store: MemoryStore,
        config: RecallConfig | None = None,
        *,
        told: Callable[[Step], None] | None = None,
        timer: Callable[[], float] = time.monotonic,
        shelf: Shelf | None = None,
    ) -> None:
        self.store = store
        self._config = store.config if config is None else config
        self._told, self._timer = told, timer
        self.shelf = Shelf(store.learned, store.entity_key) if shelf is None else shelf

    @property
    def _settings(self) -> Any:
        return self._config.learned

    # -- runs --------------------------------------------------------------------------------------------------------

    def run(
        self,
        scope: Scope | None = None,
        *,
        force: bool = False,
        progress: Callable[[Scope | None, int, int], None] | None = None,
    ) -> tuple[Step, ...]:
        """Look at every scope with judged recalls, then at what they share.

        Args:
            scope: only this one.
            force: look at a scope though its time has not come, and decide on its trial as if its time were over.
            progress: called before each scope with it, its place and the number of scopes.

        Raises:
            StoreLocked: another process learns in it at the moment; nothing was done.
            StoreError, StoreClosed: the run stopped; what was done stays.
        """
        with self.shelf.alone():
            return self._run(scope, force=force, progress=progress)

    def _run(
        self,
        scope: Scope | None,
        *,
        force: bool,
        progress: Callable[[Scope | None, int, int], None] | None,
    ) -> tuple[Step, ...]:
        self.store.judgements.prune(self._settings)
        counts = self.store.judgements.counts()
        scopes = list(counts) if scope is None else [scope]
        steps = []
        total = len(scopes) + (scope is None and self._settings.shared)
        for place, one in enumerate(scopes):
            if progress is not None:
                progress(one, place, total)
            steps.append(self._tell(self._scope(one, counts.get(one, 0), force=force)))
        if scope is None and self._settings.shared:
            if progress is not None:
                progress(None, total - 1, total)
            steps.append(self._tell(self._shared(scopes, force=force)))
        return tuple(steps)

    def due(self, now: int | None = None) -> bool:
        """Say whether a run would look at any scope."""
        moment = self._now() if now is None else now
        counts = {self.shelf.name_of(scope): count for scope, count in self.store.judgements.counts().items()}
        return any(self._due(self.shelf.state(name, fresh=True), moment, count) for name, count in counts.items())

    def _tell(self, step: Step) -> Step:
        if self._told is not None and step.step != SKIPPED:
            self._told(step)
        return step

    def _scope(self, scope: Scope, count: int, *, force: bool) -> Step:
        began, now, name = self._timer(), self._now(), self.shelf.name_of(scope)
        state = self.shelf.state(name, fresh=True)
        if not force and not self._due(state, now, count):
            return Step(scope=scope, step=SKIPPED, because="its time has not come")
        judged = self.store.judgements.of(scope)
        before = state.serving if state.serving != RULES else self._shared_label()

        def verdict() -> Verdict:
            own = [one for one in judged if one.at >= state.since]
            over, windows = self._over(state, now, force=force)
            return decided(
                own,
                state.candidate,
                before,
                position_bias=self._settings.position_bias,
                over=over,
                windows=windows,
            )

        def make(version_id: str) -> Made:
            return made(
                judged,
                version_id=version_id,
                now=now,
                parent=self.shelf.version(name, state.serving),
                least=self._settings.min_queries_per_signature,
                position_bias=self._settings.position_bias,
                steps=self._config.strategy == "fixed_weights",
            )

        def floor() -> Verdict | None:
            if state.serving == RULES or not self._settings.rollback_on_ndcg_regression:
                return None
            since = [one for one in judged if one.at >= state.since]
            return regressed(since, state.serving, position_bias=self._settings.position_bias)

        step = self._moved(
            name, state, now, verdict, make, floor, count, lambda: self.store.judgements.while_there(scope)
        )
        by_plan = counted_by_plan(judged, self._settings.position_bias)
        took_ms = round((self._timer() - began) * 1e3, 1)
        return replace(step, scope=scope, judged=len(judged), took_ms=took_ms, ndcg_by_plan=by_plan)

    def _shared(self, scopes: Sequence[Scope], *, force: bool) -> Step:
        began, now = self._timer(), self._now()
        state = self.shelf.state(SHARED, fresh=True)
        if not force and not self._due(state, now):
            return Step(scope=None, step=SKIPPED, because="its time has not come")
        judged = {self.shelf.name_of(scope): self.store.judgements.of(scope) for scope in scopes}
        bias = self._settings.position_bias

        def verdict() -> Verdict:
            over, windows = self._over(state, now, force=force)
            own = {name: [one for one in rows if one.at >= state.since] for name, rows in judged.items()}
            tried, before = f"{SHARED} {state.candidate}", self._shared_label()
            return decided_shared(own, tried, before, position_bias=bias, over=over, windows=windows)

        def make(version_id: str) -> Made:
            return pooled(
                judged,
                version_id=version_id,
                now=now,
                parent=self.shelf.version(SHARED, state.serving),
                least=self._settings.min_queries_per_signature,
                position_bias=bias,
            )

        def floor() -> Verdict | None:
            if state.serving == RULES or not self._settings.rollback_on_ndcg_regression:
                return None
            own = [one for rows in judged.values() for one in rows if one.at >= state.since]
            return regressed(own, self._shared_label(), position_bias=bias)

        step = self._moved(SHARED, state, now, verdict, make, floor)
        count = sum(map(len, judged.values()))
        return replace(step, judged=count, took_ms=round((self._timer() - began) * 1e3, 1))

    def _moved(
        self,
        name: str,
        state: State,
        now: int,
        verdict: Callable[[], Verdict],
        make: Callable[[str], Made],
        floor: Callable[[], Verdict | None],
        judged: int = 0,
        there: Callable[[], AbstractContextManager[bool]] = lambda: nullcontext(True),
    ) -> Step:
        """Decide first on what is tried, check next what serves, then make something."""
        if state.candidate:
            found = verdict()
            if found.step:
                self._apply(name, found, state.candidate, now)
            step, version = found.step or SKIPPED, state.candidate
            return Step(scope=None, step=step, version=version, because=found.because)
        worse = floor()
        if worse is not None and worse.step == ROLLED_BACK:
            self._apply(name, worse, state.serving, now)
            return Step(scope=None, step=ROLLED_BACK, version=state.serving, because=worse.because)
        if state.held_back:
            return Step(scope=None, step=SKIPPED, because="it was rolled back by hand; promote a version to go on")
        found_version = make(f"v{state.made + 1}")
        event = Event(at=now, step=NOTHING, version="", because=found_version.because)
        if found_version.too_few:  # the scope is looked at again as soon as there is more
            return Step(scope=None, step=SKIPPED, because=found_version.because)
        if found_version.version is None:
            self.shelf.change(name, lambda old: old.after(event, learned_at=now, learned_from=judged))
            return Step(scope=None, step=NOTHING, because=found_version.because)
        new = found_version.version
        event = replace(event, step=STARTED, version=new.id)

        def started(old: State) -> State:
            fields = {"since": now, "learned_at": now, "learned_from": judged}
            return old.after(event, candidate=new.id, made=old.made + 1, **fields)

        with there() as still:
            if not still:
                return Step(scope=None, step=SKIPPED, because="it was forgotten meanwhile")
            self.shelf.put(name, new)
            self.shelf.change(name, started)
        return Step(scope=None, step=STARTED, version=new.id, because=found_version.because)

    def _apply(self, name: str, verdict: Verdict, version: str, now: int, *, by_hand: bool = False) -> State:
        event = Event(at=now, step=verdict.step, version=version, because=verdict.because)
        parent = self.shelf.version(name, version)
        back = RULES if parent is None else parent.parent

        def change(old: State) -> State:
            if verdict.step == PROMOTED:
                return old.after(event, serving=version, candidate="", since=now, held_back=False)
            if verdict.step == EXTENDED:
                return old.after(event)
            if old.candidate == version:
                return old.after(event, candidate="", since=now, held_back=by_hand)
            # The floor is rules: a version that served before may be as bad by now.
            return old.after(event, serving=back if by_hand else RULES, candidate="", since=now, held_back=by_hand)

        return self.shelf.change(name, change)

    def _over(self, state: State, now: int, *, force: bool) -> tuple[bool, int]:
        """Say whether the time of what is tried is over, and how often it was extended."""
        windows = sum(1 for e in state.events if e.step == EXTENDED and e.version == state.candidate)
        return force or now - state.since >= self._cadence * (windows + 1), windows

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

    def _shared_label(self) -> str:
        """Return the label of what serves where no version of a scope's own does."""
        serving = self.shelf.state(SHARED, fresh=True).serving if self._settings.shared else RULES
        return label_of(self.shelf.version(SHARED, serving), own=False)

    # -- by hand -----------------------------------------------------------------------------------------------------

    def status(self, scope: Scope | None = None) -> tuple[Status, ...]:
        """Return the status of each scope with judged recalls, then of what is shared; or of `scope` alone."""
        scopes = self.store.judgements.counts() if scope is None else [scope]
        found = [self._status(one, self.shelf.name_of(one), self.store.judgements.of(one)) for one in scopes]
        if scope is None:
            found.append(self._status(None, SHARED, ()))
        return tuple(found)

    def _status(self, scope: Scope | None, name: str, judged: Sequence[Judged]) -> Status:
        usable = [one for one in judged if one.replay is not None and one.positive()]
        signatures: dict[str, int] = {}
        for one in usable:
            signatures[one.signature] = signatures.get(one.signature, 0) + 1
        orders = sorted({key for one in usable if one.replay is not None for key in one.replay.orders})
        bias = self._settings.position_bias
        by_label = {key.removeprefix("version:"): key for key in orders if key == RULES or key.startswith("version:")}
        return Status(
            scope=scope,
            state=self.shelf.state(name, fresh=True),
            judged=len(judged),
            helpful=sum(one.positive() for one in judged),
            replayed=len(usable),
            signatures=dict(sorted(signatures.items(), key=lambda item: (-item[1], item[0]))),
            ndcg_by_plan=ndcg_by_plan(usable, bias),
            ndcg={label: mean_ndcg(usable, key, bias) for label, key in by_label.items()},
            versions=self.shelf.versions(name),
        )

    def promote(self, version: str, scope: Scope | None = None) -> State:
        """Let a version serve all recalls of a scope (`None` = what is shared) from now on.

        Raises:
            InvalidArgument: there is no such version, or its file is damaged; nothing was changed.
        """
        name = self._name(scope)
        self.shelf.read(name, version)
        return self._by_hand(scope, PROMOTED, version)

    def rollback(self, scope: Scope | None = None) -> State:
        """Take back what is tried, else what serves: its parent serves again, and nothing is learned until somebody
        promotes a version.

        Raises:
            InvalidArgument: rules serve already.
        """
        state = self.shelf.state(self._name(scope), fresh=True)
        version = state.candidate or state.serving
        if version == RULES:
            raise InvalidArgument("Rules serve already: there is nothing to take back.")
        return self._by_hand(scope, ROLLED_BACK, version)

    def _by_hand(self, scope: Scope | None, step: str, version: str) -> State:
        verdict = Verdict(step=step, because=BY_HAND)
        state = self._apply(self._name(scope), verdict, version, self._now(), by_hand=True)
        self._tell(Step(scope=scope, step=step, version=version, because=BY_HAND))
        return state

    def version(self, version: str, scope: Scope | None = None) -> Version:
        """Return a version of a scope; `rules` is an empty one.

        Raises:
            InvalidArgument: there is no such version.
        """
        return Version(id="v0") if version == RULES else self.shelf.read(self._name(scope), version)

    def diff(self, old: str, new: str, scope: Scope | None = None) -> tuple[tuple[str, object, object], ...]:
        """Return the differences between two versions: (what, before, after), steps by size first.

        Raises:
            InvalidArgument: there is no such version.
        """
        return difference(self.version(old, scope), self.version(new, scope))

    def _name(self, scope: Scope | None) -> str:
        return SHARED if scope is None else self.shelf.name_of(scope)


def difference(old: Version, new: Version) -> tuple[tuple[str, object, object], ...]:
    """Return the differences between two versions, steps by size first."""
    rows: list[tuple[float, str, object, object]] = []
    for part, plain in (("steps", 0.0), ("arms", 1.0)):
        before, after = getattr(old, part), getattr(new, part)
        for key in {**before, **after}:
            first, second = before.get(key, plain), after.get(key, plain)
            if first != second:
                rows.append((-abs(second - first) if part == "steps" else 1.0, f"{part}.{key}", first, second))
    for signature in {**old.plans, **new.plans}:
        one, other = old.plans.get(signature, RULES), new.plans.get(signature, RULES)
        if one != other:
            rows.append((2.0, f"plans.{signature}", one, other))
    return tuple((what, first, second) for _, what, first, second in sorted(rows, key=lambda row: (row[0], row[1])))


def ndcg_by_plan(judged: Sequence[Judged], position_bias: float) -> dict[str, float]:
    """Return plan that the rules chose → nDCG@5 of the rules, by the judgements."""
    return {plan: value for plan, (value, _) in counted_by_plan(judged, position_bias).items()}


def counted_by_plan(judged: Sequence[Judged], position_bias: float) -> dict[str, tuple[float, int]]:
    """Return `ndcg_by_plan` with the number of recalls in which something helped; plans without any are left out."""
    groups: dict[str, list[Judged]] = {}
    for one in judged:
        if one.replay is not None:
            groups.setdefault(one.replay.plan, []).append(one)
    found = {plan: mean_ndcg(own, RULES, position_bias) for plan, own in sorted(groups.items())}
    return {plan: (round(value, 4), count) for plan, (value, count) in found.items() if count}
