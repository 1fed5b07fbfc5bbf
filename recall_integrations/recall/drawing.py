"""Draws from a scope that no node reads whole the rows that arms, facts and ranking may look at.

    query, plan, filters ─▶ PostgreSQL: best by BM25 · nearest · in the window · of the types · mentioned · told
                        ─▶ their rows, with what stands around them in their threads ─▶ a view as any other

The later stages compute on that view what they would on the whole scope: each arm finds there what it would find
among all memories, since its best were drawn, and the statistics are those of the whole scope (`store.outlines`). With
vectors on a server the nearest are as near as the server says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from recall_integrations.arms.base import ArmRequest
from recall_integrations.arms.graph import RECENT_MENTIONS, SIMILARITY_SHARE, GraphRetriever
from recall_integrations.arms.retrievers import SCAN_MAX
from recall_integrations.errors import RecallError, RecallTimeout
from recall_integrations.indexes.bm25 import Bm25, best_pushed
from recall_integrations.indexes.scope_view import SHARE_LEAST, ScopeView
from recall_integrations.indexes.times import to_micros
from recall_integrations.query.features import IMPLICIT
from recall_integrations.ranking.rank import REPLIES_FROM
from recall_integrations.recall.plan import Facts
from recall_integrations.recall.runner import Turn
from recall_integrations.recall.search import TOLD_MAX, Embed
from recall_integrations.recall.state import RecallState
from recall_integrations.records import changed
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.guard import TIMEOUT
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.store.outlines import Outline
from recall_integrations.store.where import AT, DATED, Conditions, Nearest, Server, of_roles, said_by
from recall_integrations.types import Degradation, RetrievalPlan
from recall_integrations.types.roles import ROLE_CODES

if TYPE_CHECKING:
    from recall_integrations.config import RecallConfig


Vectors = NDArray[np.float32]
_TOLD = (
    "SELECT m.num, max(CAST(least(t.stop, :told_stop) - greatest(t.start, :told_start) AS float8) "
    "/ greatest(t.stop - t.start, 1)) AS share FROM told_times t "
    "JOIN memories m ON m.scope_id = t.scope_id AND m.num = t.num "
    "WHERE t.scope_id = :scope_id AND t.start < :told_stop AND t.stop > :told_start AND {sql} "
    "GROUP BY m.num ORDER BY share DESC, m.num DESC LIMIT :most"
)
_PAST, _FUTURE = -(2**62), 2**62


DRAW_SHARE = 0.6  # share of the time that is left; the rest is for ranking
LATE = "The database has not found the memories of this scope in time. Ask again, or give it more time."


class Drawing:
    """Draws the rows of recalls for `plan`. Threads may share one."""

    def __init__(
        self,
        store: MemoryStore,
        config: RecallConfig,
        graph: GraphRetriever | None,
        coarse: Callable[
            [int, int], int
        ],  # how many candidates an arm is asked for, of (hits wanted, limit of the plan)
        embed: Embed,  # makes the vectors, which are needed before the rows
        facts: Facts | None,
    ) -> None:
        self._store, self._config, self._graph, self._coarse = store, config, graph, coarse
        self._embed, self._facts = embed, facts

    def __call__(self, state: RecallState, outline: Outline, plan: RetrievalPlan, turn: Turn) -> RecallState:
        """Return the state with `view` and `vectors`; without a view where there was no time."""
        before = changed(state, view=outline.view, planned=plan)
        if self._embed.applies(before):
            before = self._embed.run(before, turn)
        nums: list[int] = []
        if self._facts is not None and self._facts.applies(before):
            held = self._facts.run(before, turn).held
            nums = [] if held is None else [*held.first, *sorted(held.beneath)[-TOLD_MAX:]]
        deadline = turn.deadline.child(turn.deadline.remaining_ms() * DRAW_SHARE)
        try:
            view, without = self._drawn(before, outline, nums, deadline)
        except RecallError as e:
            if not deadline.over and not isinstance(e, RecallTimeout):
                raise
            late = Degradation(stage="load", reason=TIMEOUT, detail=LATE)
            return changed(state, view=None).degraded_by(*before.degraded[len(state.degraded) :], late)
        found = changed(before, view=view, planned=None)
        if without is not None:
            found = found.degraded_by(Degradation(stage="semantic", reason=without[0], detail=without[1]))
        return found

    def _drawn(
        self, state: RecallState, outline: Outline, nums: list[int], deadline: Deadline
    ) -> tuple[ScopeView, tuple[str, str] | None]:
        """Return the rows of a scope that a recall looks at, and what it had to do without, as reason and detail."""
        store, request = self._store, state.request
        asked = store.conditions(outline, request.filters, request.now)
        limit = max([request.k, *(self._coarse(request.k, arm.limit) for arm in state.plan.arms)])
        with store.connected(deadline.remaining_ms()) as connection:
            draw = _Draw(connection, outline, state, asked, limit, self._server(outline, deadline), deadline)
            draw.by_words()
            draw.by_vectors()
            draw.by_time()
            draw.newest()
            draw.add(nums)
            if self._graph is not None:
                draw.by_names(self._graph)
            view = store.outlines.drawn(connection, outline, sorted(draw.nums), request.context, sorted(draw.first))
        return view, draw.nearest.without if draw.nearest is not None else None

    def _server(self, outline: Outline, deadline: Deadline) -> Server | None:
        indexes, scope_id = self._store.indexes, outline.scope_id
        until = indexes.home_until(scope_id)
        if not until or not self._config.vectors.address:
            return None
        return Server(
            index=lambda: indexes.neighbours,
            home=indexes.home_of(scope_id),
            until=until,
            seconds=lambda: deadline.remaining() / 2,
        )


class _Draw:
    """The draw of one recall."""

    def __init__(
        self,
        connection: Connection,
        outline: Outline,
        state: RecallState,
        asked: Conditions,
        limit: int,
        server: Server | None,
        deadline: Deadline,
    ) -> None:
        self._connection, self._outline, self._state, self._deadline = connection, outline, state, deadline
        self._asked, self._limit = asked, limit
        self.nums: set[int] = set()
        self.first: set[int] = set()  # the best memories by BM25
        self.nearest: Nearest | None = None
        if state.vectors is not None and len(state.vectors):
            self.nearest = Nearest(connection, outline, state.vectors, server, lambda: deadline.over)
        window = state.query.temporal_window
        self._start = None if window is None or window.start is None else to_micros(window.start)
        self._stop = None if window is None or window.end is None else to_micros(window.end)
        self._typed = [one.value for one in state.plan.type_hints] or None

    def add(self, nums: Iterable[Any]) -> None:
        """Add memories to the draw."""
        self.nums.update(int(num) for num in nums)

    def by_words(self) -> None:
        """Add the best memories by BM25."""
        state, own = self._state, self._outline.view
        terms = state.query.terms
        if not terms:
            return
        bm25 = Bm25(own, terms, state.query.weaker_terms, state.frequency, _none)
        for asked in self._parts():
            if bm25.weights:
                nums, _ = best_pushed(
                    self._connection,
                    own.scope_id,
                    bm25.weights,
                    state.frequency,
                    own.mean_length,
                    self._limit,
                    asked.where(),
                )
                self.add(nums)
                self.first.update(nums[:REPLIES_FROM].tolist())

    def by_vectors(self) -> None:
        """Add the nearest memories, of all and of the types that the query asks for."""
        if self.nearest is None:
            return
        parts = self._parts()
        if self._typed is not None:
            parts.append(self._of_types(self._asked))
        for asked in parts:
            self.add(self.nearest.best(asked, self._limit))

    def by_time(self) -> None:
        """Add memories that lie in the window or tell of it, in the order of the temporal arm."""
        if self._state.query.temporal_window is None:
            return
        inside = self._in_window(self._asked)
        newest = self._select(inside, f"ORDER BY {AT} DESC, m.num DESC", SCAN_MAX)
        shares = dict.fromkeys(newest, 1.0)
        told = self._asked.also(DATED)
        given = {
            **told.given(),
            "told_start": _PAST if self._start is None else self._start,
            "told_stop": _FUTURE if self._stop is None else self._stop,
            "most": SCAN_MAX,
        }
        for num, share in self._connection.execute(text(_TOLD.format(sql=told.sql())), given):
            if share >= SHARE_LEAST:
                shares.setdefault(int(num), float(share))
        self.add(self._best_of(shares))
        if self._state.plan.in_order:
            for group in (inside, *self._said(inside)):
                self.add(self._select(group, f"ORDER BY {AT}, m.num", self._limit))

    def newest(self) -> None:
        """Add the newest memories, which are left where nothing else is known of any."""
        most = max(self._limit, RECENT_MENTIONS if self._state.plan.name == "exploratory" else 0)
        self.add(self._select(self._asked, "ORDER BY m.num DESC", most))
        if self._typed is not None:
            self.add(self._select(self._of_types(self._asked), f"ORDER BY {AT} DESC, m.num DESC", self._limit))

    def by_names(self, graph: GraphRetriever) -> None:
        """Add the memories that the graph arm reaches: the highest first, then the nearest."""
        state = self._state
        if state.plan.arm("graph") is None:
            return
        newest = sorted(self._select(Conditions(self._outline), "ORDER BY m.num DESC", RECENT_MENTIONS))
        request = ArmRequest(
            parsed=state.query,
            plan=state.plan,
            view=self._outline.view,
            vectors=None,
            similarities=None,
            terms=state.query.terms,
            allowed=None,
            limit=self._limit,
            deadline=self._deadline,
        )
        found = graph.numbers(request, newest)
        if len(found.nums):
            among = self._asked.also("m.num = ANY(CAST({reached} AS bigint[]))", reached=found.nums.tolist())
            found = found.among(np.isin(found.nums, np.asarray(self._select(among, "", None), dtype=np.int64)))
        if len(found.nums) > SCAN_MAX:  # first those that state an edge, then the highest, of equal ones the newest
            found = found.among(np.sort(np.lexsort((found.nums, found.values, found.stated))[-SCAN_MAX:]))
        top = max(float(found.values.max(initial=0)), found.whole, 1e-9)  # as the graph arm computes it
        worth = dict(zip(found.nums[::-1].tolist(), (found.values[::-1] / top).tolist(), strict=True))
        self.add(found.nums[found.stated][-4 * self._limit :].tolist())
        self.add(self._best_of(worth, (1 - SIMILARITY_SHARE, SIMILARITY_SHARE)))

    def _best_of(self, worth: dict[int, float], weights: tuple[float, float] = (0.5, 0.5)) -> list[int]:
        """Return the best memories by worth and nearness; without vectors, the first of the best by worth."""
        if len(worth) <= self._limit or self.nearest is None:
            return sorted(worth, key=lambda num: -worth[num])[: max(self._limit, 1)]
        nums, near = self.nearest.of(list(worth))
        cosine = dict(zip(nums.tolist(), np.clip(near, 0, 1).tolist(), strict=True))
        own, share = weights
        scored = {num: own * value + share * cosine.get(num, 0.0) for num, value in worth.items()}
        bound = sorted(scored.values())[-self._limit] - 1e-6
        return [num for num, score in scored.items() if score >= bound][: 4 * self._limit]

    def _parts(self) -> list[Conditions]:
        """Return the conditions that arms may ask for: everything, and where the plan filters, what it lets through."""
        plan, parts = self._state.plan, [self._asked]
        if self._state.query.temporal_window is not None and (plan.time_filter or plan.window_filter):
            parts.append(self._in_window(self._asked))
        if plan.type_filter and self._typed is not None:
            parts += [self._of_types(part) for part in parts]
        return parts

    def _in_window(self, asked: Conditions) -> Conditions:
        found = asked.also(DATED)
        if self._start is not None:
            found = found.also(f"{AT} >= {{start}}", start=self._start)
        if self._stop is not None:
            found = found.also(f"{AT} < {{stop}}", stop=self._stop)
        return found

    def _of_types(self, asked: Conditions) -> Conditions:
        return asked.also("m.type = ANY(CAST({types} AS text[]))", types=self._typed)

    def _said(self, asked: Conditions) -> list[Conditions]:
        """Return conditions for words said by the people named, and for words of the role that is asked for."""
        parsed, found = self._state.query, []
        names = [ref.name for ref in parsed.entity_refs if ref.stage != IMPLICIT]
        if names:
            found.append(said_by(asked, self._outline, names))
        if parsed.asked_role is not None:
            found.append(of_roles(asked, self._outline, [ROLE_CODES[parsed.asked_role]]))
        return found

    def _select(self, asked: Conditions, order: str, most: int | None) -> list[int]:
        limit = "" if most is None else f" LIMIT {most}"
        sql = f"SELECT m.num FROM memories m WHERE {asked.sql()} {order}{limit}"
        return [int(num) for num in self._connection.execute(text(sql), asked.given()).scalars()]


def _none() -> Any:
    raise AssertionError("the words of a pushed scope are asked of its postings")
