"""Apply the writes to the source during a move to the target, by the source's journal."""

from __future__ import annotations

from collections import defaultdict

from sqlalchemy import delete, func, select

from recall_integrations.database import schema
from recall_integrations.database.inserting import insert_rows
from recall_integrations.errors import StoreError
from recall_integrations.store import journal
from recall_integrations.store.journal import TOUCH
from recall_integrations.store.moving import tables
from recall_integrations.store.moving.way import Way

# What may be written anew of memories that are there: with an entry of the journal that names the scope only.
_TOUCHED = (schema.facts, schema.facts_read, schema.mentions, schema.edges, *tables.OF_SCOPES)


def behind(way: Way) -> int:
    """Count the entries of the source's journal beyond the target."""
    with way.source.engine.connect() as source:
        return max(journal.last_seq(source) - way.at, 0)


def follow(way: Way, *, told: bool = True) -> int:
    """Apply the new entries of the source's journal; return how many."""
    count = 0
    with way.source.engine.connect() as source:
        upto = journal.last_seq(source)
    while way.at < upto:
        way.stopped()
        done = _some(way)
        if not done:
            break
        count += done
        if told:
            way.tell("Following what is written meanwhile", count, None)
    return count


def _some(way: Way) -> int:
    c = schema.changes.c
    with way.source.engine.connect() as source, way.target.engine.begin() as target:
        query = select(c.seq, c.scope_id, c.op, c.num).where(c.seq > way.at).order_by(c.seq)
        changes = source.execute(query.limit(tables.AT_ONCE)).all()
        if journal.pruned(source).seq > way.at:
            raise StoreError(
                f"So much was written to {way.source.name} that its journal no longer tells all of it. Ask "
                "for the same again: it begins anew."
            )
        if not changes:
            return 0
        puts: dict[int, list[int]] = defaultdict(list)
        gone: dict[int, list[int]] = defaultdict(list)
        touched = set()
        for _, scope_id, op, num in changes:
            if op == TOUCH:
                touched.add(scope_id)
            else:
                (puts if op == "put" else gone)[scope_id].append(num)
        for scope_id, nums in gone.items():
            tables.remove(target, scope_id, nums)
        for scope_id, nums in puts.items():  # memories that are gone by now have no rows
            tables.put(source, target, scope_id, nums)
        for scope_id in sorted(touched):  # names or facts of existing memories were written
            for table in _TOUCHED:
                tables.bring(source, target, table, table.c.scope_id == scope_id)
        way.note(target, {**way.noted, "at": changes[-1].seq})
    return len(changes)


def bring_journal(way: Way) -> None:
    """Copy the journal itself up to its end, so that little of it is left for the end of the move."""
    c = schema.changes.c
    with way.source.engine.connect() as source, way.target.engine.begin() as target:
        known = target.execute(select(func.max(c.seq))).scalar() or 0
        pruned = journal.pruned(source).seq
        target.execute(delete(schema.changes).where(c.seq <= pruned))
        for part in tables.read(source, schema.changes, c.seq > known):
            way.stopped()
            insert_rows(target, schema.changes, part)
