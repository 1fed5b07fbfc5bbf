"""The table of judged recalls: their judgements and replays. Bounded, and removed with its scope."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from recall_integrations.config import LearnedConfig
from recall_integrations.database import schema
from recall_integrations.indexes.times import to_micros
from recall_integrations.store.parts import StoreParts
from recall_integrations.types import Scope
from recall_integrations.types.judged import GAINS_MAX, Gain, Judged, Replay, gains_of, gains_to_text, packed, unpacked

logger = logging.getLogger("recall_integrations")
KEEP_MAX = 10_000  # judged recalls of a scope that are kept; the oldest leaves
PRUNED_EVERY = 64  # judged recalls, after which the oldest leave
ROWS_AT_ONCE = 500
_j = schema.judged.c


class Judgements:
    """The judgements of recalls of a store. Threads share it."""

    def __init__(self, parts: StoreParts) -> None:
        self._parts = parts

    def put(self, scope: Scope, judged: Judged, *, settings: LearnedConfig) -> tuple[int, ...]:
        """Store a judgement, joined with an earlier one of the same recall, which counts where it is surer of a memory.

        Durable on return.
        """
        with self._writing(scope) as (connection, scope_id):
            if scope_id is None:
                return ()
            kept = self._put(connection, scope_id, judged)
            count = connection.execute(select(func.count()).where(_j.scope_id == scope_id)).scalar_one()
            if count % PRUNED_EVERY == 0 or count > KEEP_MAX:
                self._prune(connection, scope_id, settings)
        return tuple(gain.num for gain in kept)

    def replayed(self, scope: Scope, result_id: str, replay: Replay) -> None:
        """Store the result of a replay; nothing where the scope or the judgement is gone."""
        with self._writing(scope) as (connection, scope_id):
            where = (_j.scope_id == scope_id, _j.result_id == result_id)
            connection.execute(update(schema.judged).where(*where).values(replay=packed(replay)))

    @contextmanager
    def while_there(self, scope: Scope) -> Iterator[bool]:
        """Keep the scope from being forgotten inside the block; yield whether it has judged recalls."""
        parts = self._parts
        with parts.write_lock, parts.errors():
            parts.check_open()
            scope_id = parts.scopes.get(scope)
            with parts.engine.connect() as connection:
                found = connection.execute(select(_j.result_id).where(_j.scope_id == scope_id).limit(1)).first()
            yield found is not None

    @contextmanager
    def _writing(self, scope: Scope | None = None) -> Iterator[tuple[Connection, int | None]]:
        """Open a transaction in a turn to write; yield it, and the number of the scope, if it is there."""
        parts = self._parts
        with parts.write_lock, parts.errors():
            parts.check_open()
            with parts.engine.begin() as connection:
                yield connection, None if scope is None else parts.scopes.get(scope)

    def of(self, scope: Scope, since: int = 0) -> tuple[Judged, ...]:
        """Return the judged recalls of a scope, oldest first. Damaged rows are left out."""
        parts = self._parts
        scope_id = parts.scopes.get(scope)
        if scope_id is None:
            return ()
        return tuple(self._rows(scope_id, since))

    def counts(self) -> dict[Scope, int]:
        parts = self._parts
        with parts.errors():
            parts.check_open()
            with parts.engine.connect() as connection:
                query = select(_j.scope_id, func.count()).group_by(_j.scope_id)
                found = {int(scope_id): int(count) for scope_id, count in connection.execute(query)}
        return {scope: found[i] for scope, i in sorted(parts.scopes.items(), key=lambda one: one[1]) if i in found}

    def prune(self, settings: LearnedConfig) -> int:
        """Remove judged recalls that are too old; return how many."""
        with self._writing() as (connection, _):
            gone = delete(schema.judged).where(_j.at < self._oldest(settings))
            return int(connection.execute(gone).rowcount)

    def _rows(self, scope_id: int, since: int) -> Iterator[Judged]:
        parts, after, damaged = self._parts, (since - 1, ""), 0
        while True:
            with parts.errors():
                parts.check_open()
                with parts.engine.connect() as connection:
                    at, result_id = after
                    query = select(schema.judged).where(
                        _j.scope_id == scope_id, (_j.at > at) | ((_j.at == at) & (_j.result_id > result_id))
                    )
                    rows = connection.execute(query.order_by(_j.at, _j.result_id).limit(ROWS_AT_ONCE)).all()
            for row in rows:
                judged = _judged(row)
                damaged += judged is None
                if judged is not None:
                    yield judged
            if len(rows) < ROWS_AT_ONCE:
                break
            after = (rows[-1].at, rows[-1].result_id)
        if damaged:
            logger.warning("%d judged recalls cannot be read and are left out.", damaged)

    def _put(self, connection: Connection, scope_id: int, judged: Judged) -> tuple[Gain, ...]:
        """Write a judgement; return what is kept of it and of those before of the same recall."""
        where = (_j.scope_id == scope_id, _j.result_id == judged.result_id)
        found = connection.execute(select(schema.judged).where(*where)).first()
        values: dict[str, Any] = {
            "at": judged.at,
            "signature": judged.signature,
            "version": judged.version,
            "gains": gains_to_text(judged.gains),
        }
        if found is None:
            own = {"scope_id": scope_id, "result_id": judged.result_id}
            connection.execute(insert(schema.judged).values(**own, **values))
            return judged.gains
        before, kept = _judged(found), judged.gains
        if before is not None:
            kept = joined(before.gains, judged.gains)
            values = {"gains": gains_to_text(kept)}
        connection.execute(update(schema.judged).where(*where).values(**values))
        return kept

    def _prune(self, connection: Connection, scope_id: int, settings: LearnedConfig) -> None:
        connection.execute(delete(schema.judged).where(_j.scope_id == scope_id, _j.at < self._oldest(settings)))
        newest = (
            select(_j.result_id).where(_j.scope_id == scope_id).order_by(_j.at.desc(), _j.result_id).limit(KEEP_MAX)
        )
        connection.execute(delete(schema.judged).where(_j.scope_id == scope_id, _j.result_id.not_in(newest)))

    def _oldest(self, settings: LearnedConfig) -> int:
        return to_micros(self._parts.clock() - timedelta(days=settings.keep_days))


def joined(before: tuple[Gain, ...], new: tuple[Gain, ...]) -> tuple[Gain, ...]:
    """Join two judgements of a recall: the surer gain of each memory, else the newer; the surest `GAINS_MAX` stay."""
    kept = {one.num: one for one in before}
    later = {one.num: one for one in new if one.num not in kept or one.sure >= kept[one.num].sure}
    both = [*later.values(), *(one for one in before if one.num not in later)]
    return tuple(sorted(sorted(both, key=lambda one: -one.sure)[:GAINS_MAX], key=lambda one: one.num))


def _judged(row: Row[Any]) -> Judged | None:
    """Convert a row; `None` where it is damaged. A damaged replay counts as none."""
    try:
        gains = gains_of(row.gains)
        at = int(row.at)
    except (ValueError, TypeError, RecursionError):
        return None
    replay: Replay | None = None
    if row.replay is not None:
        try:
            replay = unpacked(bytes(row.replay))
        except (ValueError, TypeError):
            replay = None
    return Judged(
        result_id=str(row.result_id),
        at=at,
        signature=str(row.signature),
        version=str(row.version),
        gains=gains,
        replay=replay,
    )
