"""What feedback leaves in a store: judged recalls with their replays, and the weights that were learned from them.

Judged recalls are a table, bounded, and removed with their scope. Weights are texts, notes of the store
(`learned/<name>/<text>` in `meta`), so that all processes and nodes see them, and a process that is killed leaves them
whole. The name is a keyed digest: it does not tell whose it is.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, select, update

from recall_integrations.config import LearnedConfig
from recall_integrations.database import schema
from recall_integrations.database.connections import translated
from recall_integrations.database.schema import get_meta, put_meta
from recall_integrations.database.sending import streamed, writing
from recall_integrations.errors import StoreError
from recall_integrations.indexes.times import to_micros
from recall_integrations.store.parts import StoreParts
from recall_integrations.types import Scope
from recall_integrations.types.judged import GAINS_MAX, Gain, Judged, Replay, gains_of, gains_to_text, packed, unpacked

if TYPE_CHECKING:
    from recall_integrations.store.directory import Held

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
            with writing(parts.engine) as connection:
                yield connection, None if scope is None else parts.scopes.get(scope)

    def of(self, scope: Scope) -> tuple[Judged, ...]:
        """Return the judged recalls of a scope, oldest first. Damaged rows are left out."""
        parts = self._parts
        scope_id = parts.scopes.get(scope)
        if scope_id is None:
            return ()
        query = select(schema.judged).where(_j.scope_id == scope_id).order_by(_j.at, _j.result_id)
        with parts.errors():
            parts.check_open()
            with parts.engine.connect() as connection:
                read = [_judged(row) for row in connection.execute(streamed(query, ROWS_AT_ONCE))]
        found = tuple(judged for judged in read if judged is not None)
        if len(found) < len(read):
            logger.warning("%d judged recalls cannot be read and are left out.", len(read) - len(found))
        return found

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


LEARNED = "learned/"  # of keys
_DIGEST_BYTES = 12


def name_of(scope: Scope, key: bytes) -> str:
    """Return the name under which the texts of a scope are kept, by the store's key."""
    said = json.dumps([scope.user_id, scope.agent_id, scope.namespace], ensure_ascii=False)
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES, key=key[:64]).hexdigest()


class LearnedRows:
    """Texts of scopes. Methods raise `StoreError` where a text cannot be read, written or removed."""

    def __init__(self, held: Held) -> None:
        self._held = held
        self._alone = 0  # the thread that learns or switches weights

    @contextmanager
    def alone(self, wait_s: float) -> Iterator[None]:
        """Keep others from learning and from switching weights inside the block. Reentrant."""
        me = threading.get_ident()
        if self._alone == me:
            yield
            return
        with self._held.learns(wait_s):
            self._alone = me
            try:
                yield
            finally:
                self._alone = 0

    def sign(self, name: str, of: str) -> object | None:
        """Return a digest of the text; `None` where there is none."""
        text = self.read(name, of)
        return None if text is None else hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest()

    def read(self, name: str, of: str) -> str | None:
        with translated(self._held.mapped), self._held.engine.connect() as connection:
            return get_meta(connection, f"{LEARNED}{name}/{of}")

    def put(self, name: str, of: str, text: str) -> None:
        if self._held.tenant is not None:
            raise StoreError(
                f"The role {self._held.tenant!r} is a tenant's: what is learned is kept by the owner of the tables. "
                "Run `recall learn` as that user."
            )
        # In a turn: SQLite ends the transaction of a writer that has read what another one changes.
        with self._held.turn, self._writing() as connection:
            put_meta(connection, f"{LEARNED}{name}/{of}", text)

    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(key.split("/")[1] for key in self._keys(LEARNED)))

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(key.split("/", 2)[2] for key in self._keys(f"{LEARNED}{name}/"))

    def remove(self, name: str) -> None:
        with self._held.turn, self._writing() as connection:
            connection.execute(delete(schema.meta).where(_under(f"{LEARNED}{name}/")))

    def shown(self, name: str, of: str) -> str:
        return f"{self._held.name}, {LEARNED}{name}/{of}"

    def _keys(self, before: str) -> list[str]:
        key = schema.meta.c.key
        with translated(self._held.mapped), self._held.engine.connect() as connection:
            return list(connection.execute(select(key).where(_under(before)).order_by(key)).scalars())

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with translated(self._held.mapped), writing(self._held.engine) as connection:
            yield connection


def _under(before: str) -> ColumnElement[bool]:
    return schema.meta.c.key.startswith(before, autoescape=True)
