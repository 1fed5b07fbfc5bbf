"""Contributions of each source to the hits of one recall: read off the candidates once, made when asked.

A sheet holds numbers of the hits' own places and no candidates: some kilobytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.scope_view import Rows
from recall_integrations.ranking.fusion import Fused, InOrder
from recall_integrations.types import Contribution, contribution_of

Notes = Mapping[str, Mapping[int, str]]
NONE: Mapping[int, str] = {}
# A source, its scores, what it added and the ranks, each as a list over the hits, and its notes by row.
_Column = tuple[str, list[float], list[float], list[float], Mapping[int, str]]


class Sheet:
    """The sources' values of some candidates. Its values stay the same; threads share it."""

    __slots__ = ("_by_name", "_columns", "_notes", "_reranked", "_rows", "_tables")

    def __init__(
        self, fused: Fused, places: Sequence[int] | Rows, reranked: Mapping[int, Contribution], notes: Notes
    ) -> None:
        at = np.asarray(places, dtype=np.int64)
        self._rows = rows = fused.rows[at].tolist()
        self._reranked = {row: reranked[row] for row in rows if row in reranked}
        self._tables = [_Table(columns, at) for columns in (fused.added, fused.raw, fused.ranks)]
        self._notes = notes
        self._columns: list[_Column] | None = None
        self._by_name: dict[str, _Column] | None = None

    def scores(self, source: str) -> Sequence[float]:
        """Return the scores that a source gives the hits, in their order; empty where it is no source."""
        added, raw, _ = self._tables
        return raw.of(source) or added.of(source)

    def _of_each(self) -> list[_Column]:
        """Return the values of each source, in order of their names; made when the first hit is explained."""
        columns = self._columns
        if columns is None:
            added, raw, ranks = [table.lists() for table in self._tables]
            own, nothing, notes = {**added, **raw}, [0.0] * len(self._rows), self._notes
            columns = self._columns = [
                (n, own[n], added.get(n, nothing), ranks.get(n, nothing), notes.get(n, NONE)) for n in sorted(own)
            ]
        return columns

    def contributions(self, i: int) -> tuple[Contribution, ...]:
        """Return the contributions to the hit at `i`, largest first."""
        judged = self._reranked.get(self._rows[i])
        parts = [] if judged is None else [judged]
        for column in self._of_each():
            if judged is None or column[0] != judged.source:
                part = self._part(i, column)
                if part is not None:
                    parts.append(part)
        parts.sort(key=_most_first)
        return tuple(parts)

    def by_source(self, i: int) -> BySource:
        """Return the contributions to the hit at `i` by their sources, each made when it is asked for."""
        return BySource(self, i)

    def contribution(self, i: int, source: str) -> Contribution | None:
        """Return the contribution of one source to the hit at `i`; `None` = the source has not seen it."""
        judged = self._reranked.get(self._rows[i])
        if judged is not None and source == judged.source:
            return judged
        columns = self._by_name
        if columns is None:
            columns = self._by_name = {column[0]: column for column in self._of_each()}
        column = columns.get(source)
        return None if column is None else self._part(i, column)

    def sources(self, i: int) -> list[str]:
        """Return the sources of contributions to the hit at `i`, largest first."""
        return [part.source for part in self.contributions(i)]

    def _part(self, i: int, column: _Column) -> Contribution | None:
        source, scores, sums, ranks, noted = column
        score, added, rank = scores[i], sums[i], ranks[i]
        if isnan(score):  # the source has not seen it; where it moved others, that may have cost this one
            score = 0.0
        if not (score or added or rank):
            return None
        return contribution_of((source, int(rank) or None, score, added, noted.get(self._rows[i], "")))


class BySource(Mapping[str, Contribution]):
    """The contributions to a hit by their sources, each made when it is asked for: a reason looks at a few of them."""

    __slots__ = ("_i", "_made", "_sheet")

    def __init__(self, sheet: Sheet, i: int) -> None:
        self._sheet, self._i = sheet, i
        self._made: dict[str, Contribution | None] = {}

    def __getitem__(self, source: str) -> Contribution:
        found: Contribution | None = self.get(source)
        if found is None:
            raise KeyError(source)
        return found

    def get(self, source: str, default: Any = None) -> Any:
        """Return the contribution of a source; `default` where it has not seen the hit."""
        made = self._made
        if source not in made:
            made[source] = self._sheet.contribution(self._i, source)
        found = made[source]
        return default if found is None else found

    def __contains__(self, source: object) -> bool:
        return isinstance(source, str) and self.get(source) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._sheet.sources(self._i))

    def __len__(self) -> int:
        return len(self._sheet.sources(self._i))


class _Table:
    """Values of columns at some places, which rise."""

    __slots__ = ("_names", "_values")

    def __init__(self, columns: Mapping[str, NDArray[Any]], at: Rows) -> None:
        self._names = tuple(columns) if len(at) else ()
        self._values = np.empty((0, len(at)))
        if not self._names:
            return
        if isinstance(columns, InOrder):
            parts = columns.parts(at)
        else:
            first, last = int(at[0]), int(at[-1]) + 1
            # Nearly always they are the first k, and a slice costs a tenth.
            where = slice(first, last) if last - first == len(at) else at
            parts = [column[where] for column in columns.values()]
        self._values = np.concatenate(parts).reshape(len(parts), len(at))

    def of(self, name: str) -> list[float]:
        """Return one column; empty where there is none of that name."""
        found: list[float] = self._values[self._names.index(name)].tolist() if name in self._names else []
        return found

    def lists(self) -> dict[str, list[float]]:
        """Return the columns by name."""
        return dict(zip(self._names, self._values.tolist(), strict=True))


def _most_first(part: Contribution) -> tuple[float, str]:
    return -part.added, part.source
