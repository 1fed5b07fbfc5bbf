"""Hard filters as a mask over a scope's columns: types and times from the columns, the rest by one SQL query."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from sqlalchemy import Engine, Text, select, type_coerce
from sqlalchemy.exc import DatabaseError

from recall_integrations.database import schema
from recall_integrations.indexes.damage import UNREADABLE
from recall_integrations.indexes.scope_view import Mask, ScopeView, of_types
from recall_integrations.indexes.windows import window_mask
from recall_integrations.store.entity_catalog import EntityCatalog
from recall_integrations.types import Filters
from recall_integrations.types.roles import ROLE_CODES, Role, role_of

_EXACT_MAX = 2**53  # whole numbers that a float holds exactly


def filter_mask(
    engine: Engine, view: ScopeView, filters: Filters, now: datetime, catalog: EntityCatalog
) -> Mask | None:
    """Rows that meet every condition, or `None` if there are none."""
    if not filters:
        return None
    mask = window_mask(view, filters.after, filters.before)
    if filters.recency_days is not None:
        with suppress(OverflowError):  # longer ago than dates go: everything is recent enough
            mask &= window_mask(view, now - timedelta(days=filters.recency_days), None)
    if filters.types:
        mask &= of_types(view, filters.types)
    if filters.roles:
        mask &= _by_roles(engine, view, filters.roles)
    if filters.actors or filters.channels or filters.threads or filters.metadata:
        mask &= _by_columns(engine, view, filters)
    if filters.entities:
        mask &= _by_entities(engine, view, filters, catalog)
    return mask


def _by_columns(engine: Engine, view: ScopeView, filters: Filters) -> Mask:
    try:
        return _by_statement(engine, view, filters)
    except (DatabaseError, *UNREADABLE):
        if not filters.metadata:
            raise
    # The metadata of some memory is no JSON, on which the statement fails as a whole: read one by one.
    m = schema.memories
    without = _by_statement(engine, view, replace(filters, metadata={}))
    with engine.connect() as connection:
        query = select(m.c.num, type_coerce(m.c.metadata, Text)).where(m.c.scope_id == view.scope_id)
        return without & _mask(view, [num for num, raw in connection.execute(query) if _meets(raw, filters.metadata)])


def _meets(raw: Any, conditions: Mapping[str, Any]) -> bool:
    try:
        metadata = json.loads(raw)
        return all(_same(metadata.get(key), value) for key, value in conditions.items())
    except UNREADABLE:
        return False


def _by_statement(engine: Engine, view: ScopeView, filters: Filters) -> Mask:
    m = schema.memories
    query = select(m.c.num).where(m.c.scope_id == view.scope_id)
    for column, values in ((m.c.actor, filters.actors), (m.c.channel, filters.channels), (m.c.thread, filters.threads)):
        if values:
            query = query.where(column.in_(values))
    if filters.metadata:
        query = query.add_columns(m.c.metadata)
    for key, value in filters.metadata.items():
        if not key.isascii() or '"' in key or "\\" in key:  # SQLite's JSON paths cannot name it: `_same` decides alone
            continue
        path = m.c.metadata[key]
        if isinstance(value, bool):
            query = query.where(path.as_boolean() == value)
        elif isinstance(value, str):
            query = query.where(path.as_string() == value)
        elif abs(value) <= _EXACT_MAX:
            query = query.where(path.as_float() == float(value))
    with engine.connect() as connection:
        rows = connection.execute(query)
        return _mask(view, [r[0] for r in rows if all(_same(r[1].get(k), v) for k, v in filters.metadata.items())])


def _by_roles(engine: Engine, view: ScopeView, roles: Sequence[Role]) -> Mask:
    """Rows of these roles, from the columns; where the texts are not at hand, by name and actor from the store."""
    if view.text is not None:
        return np.isin(view.text.roles, [ROLE_CODES[r] for r in roles])
    m = schema.memories
    with engine.connect() as connection:
        rows = connection.execute(select(m.c.num, m.c.role, m.c.actor).where(m.c.scope_id == view.scope_id))
        return _mask(view, [r.num for r in rows if (role_of(r.actor) if r.role is None else r.role) in roles])


def _same(found: Any, wanted: Any) -> bool:
    """Equal, and of one kind: SQL's casts take 1, true and "1" for the same."""
    return isinstance(found, bool) == isinstance(wanted, bool) and bool(found == wanted)


def _by_entities(engine: Engine, view: ScopeView, filters: Filters, catalog: EntityCatalog) -> Mask:
    known = catalog.of(view.scope_id)
    found = [known.ent_of.get(i) for name in filters.entities for i in known.index.lookup(name)]
    ents = [ent for ent in found if ent is not None]
    n = schema.mentions
    if not ents:
        return np.zeros(view.size, dtype=np.bool_)
    with engine.connect() as connection:
        query = select(n.c.num).where(n.c.scope_id == view.scope_id, n.c.ent.in_(ents))
        return _mask(view, [row[0] for row in connection.execute(query)])


def _mask(view: ScopeView, nums: list[int]) -> Mask:
    mask = np.zeros(view.size, dtype=np.bool_)
    mask[view.rows_of(nums)] = True
    return mask
