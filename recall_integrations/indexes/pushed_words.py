"""BM25 of a scope that no node reads whole: PostgreSQL finds the best memories in its postings.

The formula, its constants and the rounding of lengths are those of `indexes.bm25`, and so are the numbers that enter
it: frequencies, number and mean length of the scope's living memories. So the scores are the same, up to the order in
which a sum is made.

    stems, rarest first ─▶ those of few postings: summed ─▶ the limit-th best of these sums, θ
                           the others can add R at most  ─▶ θ ≥ R: only what these sums find can be among the best
                                                        └─▶ θ < R: the next stem is summed as well
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, text

from recall_integrations.records import record
from recall_integrations.text.bm25 import K1, B

MANY = 50_000  # postings that are summed without asking whether fewer would do: some 50 ms
NEAR = 1e-6  # share of a score by which sums in another order, in 64 and in 32 bits, are apart at most
SPARE = 4  # times as many as are wanted are read: those that are as good as the last are among them

_HELD = text("SELECT term, held FROM terms WHERE scope_id = :scope_id AND term = ANY(CAST(:terms AS text[]))")
_GAIN = "q.weight * p.count / (p.count + :k0 * (:k1 + :k2 * (p.length / CAST(:mean AS float8))))"


@record(frozen=True, slots=True, kw_only=True)
class Where:
    """Selection of memories."""

    upto: int  # numbers above it are not shown yet
    sql: str = ""  # a condition on `m`, the row of `memories`; empty = all
    values: Mapping[str, Any] | None = None  # values of its parameters
    gone: Sequence[int] = ()  # numbers of memories that have ended, and are still in the tables


def held(connection: Connection, scope_id: int, terms: Sequence[str]) -> dict[str, int]:
    """Count the memories of a scope that hold each of some stems; stems without a memory are left out."""
    if not terms:
        return {}
    rows = connection.execute(_HELD, {"scope_id": scope_id, "terms": list(dict.fromkeys(terms))})
    return {str(term): int(count) for term, count in rows}


def best(
    connection: Connection,
    scope_id: int,
    weights: Mapping[str, float],
    frequency: Callable[[str], int],
    mean_length: float,
    limit: int,
    where: Where,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the best memories by BM25 and their scores, best first: at least `limit` if possible, with all that share
    the score of the last or, where these are many, the first of them by id.
    """
    rarest = sorted(weights, key=lambda term: (frequency(term), term))
    asked = _Asked(connection, scope_id, weights, mean_length, where)
    first = _few(rarest, frequency)
    while first < len(rarest):
        rest = sum(weights[term] for term in rarest[first:])
        theta = asked.nth(rarest[:first], limit)
        if theta >= rest:
            return asked.best(rarest[:first], rarest[first:], theta - rest, limit)
        first += 1
    return asked.best(rarest, [], 0.0, limit)


def _few(rarest: Sequence[str], frequency: Callable[[str], int]) -> int:
    """Return how many of the stems are summed at once."""
    total = 0
    for place, term in enumerate(rarest):
        total += frequency(term)
        if total > MANY:
            return max(place, 1)
    return len(rarest)


class _Asked:
    """Statements about one query."""

    def __init__(
        self, connection: Connection, scope_id: int, weights: Mapping[str, float], mean: float, where: Where
    ) -> None:
        self._connection, self._weights, self._where = connection, weights, where
        self._values: dict[str, Any] = {
            "scope_id": scope_id,
            "upto": where.upto,
            "gone": list(where.gone),
            "k0": K1,
            "k1": 1 - B,
            "k2": B,
            "mean": mean,
            **(where.values or {}),
        }

    def nth(self, terms: Sequence[str], n: int) -> float:
        """Return the n-th best of the sums over some stems; 0 where there are fewer."""
        sql = f"WITH {self._summed('summed')} SELECT score FROM summed ORDER BY score DESC OFFSET :before LIMIT 1"
        found = self._connection.execute(text(sql), {**self._given("summed", terms), "before": n - 1}).scalar()
        return 0.0 if found is None else float(found)

    def best(
        self, terms: Sequence[str], rest: Sequence[str], least: float, limit: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the best memories by all stems, among those whose sum over `terms` reaches `least`."""
        found = "WITH " + self._summed("summed")
        values = {**self._given("summed", terms), "least": least * (1 - NEAR)}
        if rest:
            found += (
                ", few AS MATERIALIZED (SELECT num, score FROM summed WHERE score >= :least), "
                "q_rest(term, weight) AS (SELECT * FROM unnest(CAST(:terms_rest AS text[]), "
                "CAST(:weights_rest AS float8[]))), "
                f"more AS (SELECT p.num, sum({_GAIN}) AS score FROM few CROSS JOIN q_rest q JOIN postings p "
                "ON p.scope_id = :scope_id AND p.term = q.term AND p.num = few.num GROUP BY p.num), "
                "scored AS (SELECT few.num, few.score + coalesce(more.score, 0) AS score "
                "FROM few LEFT JOIN more ON more.num = few.num)"
            )
            values.update({"terms_rest": list(rest), "weights_rest": [self._weights[term] for term in rest]})
        else:
            found += ", scored AS (SELECT num, score FROM summed)"
        most = SPARE * limit
        rows = self._connection.execute(
            text(f"{found} SELECT num, score FROM scored ORDER BY score DESC, num DESC LIMIT :most"),
            {**values, "most": most},
        ).all()
        if len(rows) > limit and len(rows) == most and rows[-1].score >= rows[limit - 1].score * (1 - NEAR):
            rows = self._first_by_id(found, values, rows, limit)
        kept = rows if len(rows) <= limit else [row for row in rows if row.score >= rows[limit - 1].score * (1 - NEAR)]
        nums = np.asarray([row.num for row in kept], dtype=np.int64)
        return nums, np.asarray([row.score for row in kept], dtype=np.float64)

    def _first_by_id(self, found: str, values: Mapping[str, Any], rows: Sequence[Any], limit: int) -> list[Any]:
        """Return the rows better than the last of the best, and the first by id of those as good as it."""
        level = rows[limit - 1].score
        better = [row for row in rows if row.score > level * (1 + NEAR)]
        sql = (
            f"{found} SELECT scored.num, scored.score FROM scored JOIN memories m "
            "ON m.scope_id = :scope_id AND m.num = scored.num "
            "WHERE scored.score BETWEEN :low AND :high ORDER BY m.id LIMIT :most"
        )
        bounds = {"low": level * (1 - NEAR), "high": level * (1 + NEAR), "most": limit}
        return [*better, *self._connection.execute(text(sql), {**values, **bounds})]

    def _given(self, name: str, terms: Sequence[str]) -> dict[str, Any]:
        weights = [self._weights[term] for term in terms]
        return {**self._values, f"terms_{name}": list(terms), f"weights_{name}": weights}

    def _summed(self, name: str) -> str:
        """Return the SQL of the sum over stems for each memory that holds one of them."""
        joined = f" JOIN memories m ON m.scope_id = p.scope_id AND m.num = p.num AND ({self._where.sql})"
        return (
            f"q_{name}(term, weight) AS (SELECT * FROM unnest(CAST(:terms_{name} AS text[]), "
            f"CAST(:weights_{name} AS float8[]))), "
            f"{name} AS MATERIALIZED (SELECT p.num, sum({_GAIN}) AS score FROM q_{name} q JOIN postings p "
            f"ON p.scope_id = :scope_id AND p.term = q.term{joined if self._where.sql else ''} "
            "WHERE p.num <= :upto AND p.num <> ALL(CAST(:gone AS bigint[])) GROUP BY p.num)"
        )
