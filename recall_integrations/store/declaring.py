"""Declaring an entity: its names, and the earlier memories in which one of them occurs."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

from sqlalchemy import insert, select

from recall_integrations.database import schema
from recall_integrations.database.portable import in_parts
from recall_integrations.indexes.bm25 import Bm25
from recall_integrations.query.entities import EntityIndex
from recall_integrations.store import rows
from recall_integrations.store.parts import StoreParts
from recall_integrations.store.reader import Reader
from recall_integrations.store.removing import Removing, Touched
from recall_integrations.text import stems
from recall_integrations.types import Scope

BACKFILL_MAX = 1_000  # earlier memories that a newly declared name is looked up in
ASKED = "What about {} today?"  # how a query may say a name
NEVER_MEANT = (
    "A query that says {!r} will not find the entity {!r}: it is a word of every sentence, or too many entities are "
    "called so. Give the entity another name or alias, of two words, say."
)


class Declarations:
    """Declares entities. Writes like `Writer`, under the store's write lock."""

    def __init__(self, parts: StoreParts, reader: Reader) -> None:
        self._parts = parts
        self._reader = reader
        self._touching = Removing(parts)

    def declare(self, name: str, aliases: Sequence[str], scope: Scope) -> str:
        """Write an entity and its aliases, link earlier memories to it, and return its id.

        Warns of names by which no query can mean the entity.
        """
        entity_id = self._parts.retried(lambda: self._declare(name, aliases, scope), twice=True)
        index = self._parts.catalog.of(self._parts.scopes[scope]).index
        for said in dict.fromkeys((name, *aliases)):
            if all(ref.entity_id != entity_id for ref in index.resolve(ASKED.format(said))):
                # Not logged: logs quote no memories, and the caller has to know.
                warnings.warn(NEVER_MEANT.format(said, name), UserWarning, stacklevel=3)
        return entity_id

    def _declare(self, name: str, aliases: Sequence[str], scope: Scope) -> str:
        parts = self._parts
        with parts.write_lock, parts.errors(), parts.revisions.writing(scope):
            scope_id = parts.scopes.get(scope)
            try:
                with parts.engine.begin() as connection:
                    if scope_id is None:
                        scope_id = rows.add_scope(connection, scope)
                    ent, _ = parts.catalog.declare(connection, scope_id, name, aliases)
                    touched = self._touching.touch(connection, scope_id)
            finally:
                if scope_id is not None:
                    parts.catalog.drop(scope_id)
            parts.scopes[scope] = scope_id
            try:
                touched = self._link_earlier(scope_id, ent, [name, *aliases]) or touched
            finally:
                self._touching.touched(scope_id, touched)
                parts.catalog.drop(scope_id)  # mentions that were read meanwhile are out of date
            return parts.catalog.of(scope_id).id_of[ent]

    def _link_earlier(self, scope_id: int, ent: int, names: Sequence[str]) -> Touched | None:
        """Link earlier memories that say one of an entity's names; `None` where none does."""
        count = self._reader.count_of(scope_id)
        if not count:
            return None
        nums: set[int] = set()
        for name in names:
            nums.update(self._saying(scope_id, name, count))
        gazetteer = EntityIndex()
        gazetteer.add("it", names[0], tuple(names[1:]), declared=True)
        n, m = schema.mentions, schema.memories
        some = False
        with self._parts.engine.begin() as connection:
            for part in in_parts(sorted(nums)):
                said = connection.execute(
                    select(m.c.num, m.c.text).where(m.c.scope_id == scope_id, m.c.num.in_(part))
                ).all()
                linked = set(
                    connection.execute(
                        select(n.c.num).where(n.c.scope_id == scope_id, n.c.ent == ent, n.c.num.in_(part))
                    ).scalars()
                )
                fresh = [num for num, text in said if num not in linked and gazetteer.mentions(text)]
                if fresh:
                    some = True
                    connection.execute(
                        insert(n), [{"scope_id": scope_id, "ent": ent, "num": num, "role": "text"} for num in fresh]
                    )
            return self._touching.touch(connection, scope_id) if some else None

    def _saying(self, scope_id: int, name: str, count: int) -> list[int]:
        """Find nums of memories that may say a name: by their words, else by the text."""
        words, parts = stems(name), self._parts
        if words and not parts.indexes.behind(scope_id):
            view = parts.views.get(scope_id)
            bm25 = Bm25(view, words, (), view.text.frequency)
            best, _ = view.top(*bm25.search(min(count, BACKFILL_MAX)), BACKFILL_MAX)
            found: list[int] = view.nums[best].tolist()
            return found
        m = schema.memories
        query = select(m.c.num).where(m.c.scope_id == scope_id, m.c.text.icontains(name, autoescape=True))
        with self._parts.engine.connect() as connection:
            return list(connection.execute(query.order_by(m.c.num.desc()).limit(BACKFILL_MAX)).scalars())
