"""Hard filters as a condition of SQL, for scopes that no node reads whole; `store/filtering.py` does this with columns.

Keys of the metadata are read for the whole scope when a filter first asks for one, and cached, as they are there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from recall_integrations.indexes.metadata import folded
from recall_integrations.indexes.pushed_words import Where
from recall_integrations.indexes.times import to_micros
from recall_integrations.store.filtering import whole
from recall_integrations.store.metadata import Columns, MetadataIndex, of_key
from recall_integrations.store.outlines import Outline
from recall_integrations.types import Filters, MemoryType
from recall_integrations.types.conditions import Condition, Every, Opposite, Test, keys_of
from recall_integrations.types.roles import ROLE_CODES, role_of

AT = "coalesce(m.event_at, m.created_at)"
DATED = f"(m.event_at IS NOT NULL OR m.type <> '{MemoryType.CHUNK.value}')"


class Conditions:
    """Makes conditions on `m`, a row of `memories`, one after the other."""

    def __init__(self, outline: Outline, parts: Sequence[str] = (), values: dict[str, Any] | None = None) -> None:
        self._outline = outline
        self.parts = list(parts)
        self.values: dict[str, Any] = {} if values is None else dict(values)

    def also(self, sql: str, **values: Any) -> Conditions:
        """Return the conditions with one more; names in braces stand for parameters."""
        names = {name: f"c{len(self.values) + place}" for place, name in enumerate(values)}
        written = sql.format(**{name: f":{given}" for name, given in names.items()})
        given = {names[name]: value for name, value in values.items()}
        return Conditions(self._outline, [*self.parts, written], {**self.values, **given})

    @property
    def plain(self) -> bool:
        """True if there is no condition, so that every memory meets them."""
        return not self.parts

    def where(self) -> Where:
        """Return the conditions for `pushed_words`."""
        sql = " AND ".join(f"({part})" for part in self.parts)
        return Where(upto=self._outline.upto, sql=sql, values=self.values, gone=self._outline.gone)

    def sql(self) -> str:
        """Return the conditions in SQL, with the one for visible memories of the scope."""
        shown = "m.scope_id = :scope_id AND m.num <= :upto AND (m.expires_at IS NULL OR m.expires_at > :ended)"
        return " AND ".join([shown, *(f"({part})" for part in self.parts)])

    def given(self) -> dict[str, Any]:
        """Return the values of the parameters."""
        outline = self._outline
        return {"scope_id": outline.scope_id, "upto": outline.upto, "ended": outline.ended, **self.values}


def conditions(
    outline: Outline,
    filters: Filters,
    now: datetime,
    index: MetadataIndex,
    entities: Callable[[Sequence[str]], Sequence[int]],
    past: Callable[[datetime], Sequence[int]],
) -> Conditions:
    """Make the conditions of filters."""
    found = Conditions(outline)
    if not filters:
        return found
    after = filters.after
    if filters.recency_days is not None:
        with suppress(OverflowError):
            since = now - timedelta(days=filters.recency_days)
            after = since if after is None else max(after, since)
    if after is not None:
        found = found.also(f"{AT} >= {{after}}", after=to_micros(after))
    if filters.before is not None:
        found = found.also(f"{AT} < {{before}}", before=to_micros(filters.before))
    if filters.types:
        found = found.also("m.type = ANY(CAST({types} AS text[]))", types=[one.value for one in filters.types])
    if filters.actors:
        found = said_by(found, outline, filters.actors)
    if filters.roles:
        found = of_roles(found, outline, [ROLE_CODES[role] for role in filters.roles])
    for column, wanted in (("channel", filters.channels), ("thread", filters.threads)):
        if wanted:
            found = found.also(f"m.{column} = ANY(CAST({{names}} AS text[]))", names=list(wanted))
    if filters.entities:
        mentioned = "SELECT n.num FROM mentions n WHERE n.scope_id = :scope_id AND n.ent = ANY(CAST({ents} AS int[]))"
        found = found.also(f"m.num IN ({mentioned})", ents=list(entities(filters.entities)))
    if filters.condition is not None:
        with index.of(whole(outline.scope_id, outline.upto), list(map(of_key, keys_of(filters.condition)))) as columns:
            found = _meeting(found, filters.condition, columns)
    if filters.current_only:
        found = found.also("m.num <> ALL(CAST({past} AS bigint[]))", past=list(past(now)))
    return found


def said_by(found: Conditions, outline: Outline, names: Sequence[str]) -> Conditions:
    """Add the condition for these actors, in any case of letters."""
    wanted = set(map(folded, names))
    actors = [actor for actor in outline.actors if folded(actor) in wanted]
    return found.also("m.actor = ANY(CAST({actors} AS text[]))", actors=actors)


def of_roles(found: Conditions, outline: Outline, codes: Sequence[int]) -> Conditions:
    """Add the condition for these roles: as given, or else that of the actor's name."""
    text = outline.view.text
    assert text is not None
    named = [text.actor_names[code] for role in codes for code in text.role_actors.get(role, ())]
    given = [role.value for role, code in ROLE_CODES.items() if role is not None and code in codes]
    by_name = [name for name in named if ROLE_CODES[role_of(name)] in codes]
    return found.also(
        "m.role = ANY(CAST({given} AS text[])) OR (m.role IS NULL AND m.actor = ANY(CAST({named} AS text[])))",
        given=given,
        named=by_name,
    )


def _meeting(found: Conditions, condition: Condition, columns: Columns) -> Conditions:
    """Add the condition on metadata."""
    values: dict[str, Any] = {}

    def written(one: Condition) -> str:
        if isinstance(one, Test):
            name = f"held{len(values)}"
            values[name] = columns[of_key(one.key)].holding(one).tolist()
            return f"m.num = ANY(CAST({{{name}}} AS bigint[]))"
        if isinstance(one, Opposite):
            return f"NOT ({written(one.part)})"
        joined = [f"({written(part)})" for part in one.parts]
        return (" AND " if isinstance(one, Every) else " OR ").join(joined) or str(isinstance(one, Every)).lower()

    return found.also(written(condition), **values)
