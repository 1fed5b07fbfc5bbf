"""The writing side of a store: a batch of memories is one transaction, then the indexes follow. And declared names."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from sqlalchemy import Connection, insert, select

from recall_integrations.database import schema
from recall_integrations.database.postgres_errors import is_lost
from recall_integrations.database.sending import FEW, check_texts, in_parts, writing
from recall_integrations.errors import RecallError
from recall_integrations.indexes.bm25 import Bm25
from recall_integrations.observability.progress import Told, counted
from recall_integrations.privacy.door import told
from recall_integrations.query import warming
from recall_integrations.query.entities import EntityIndex
from recall_integrations.resilience.failures import time_of
from recall_integrations.store import duplicates, rows
from recall_integrations.store.asking import Ahead, look_ahead
from recall_integrations.store.batches import Asked, Batch, Batches, Company, Line
from recall_integrations.store.duplicates import KEEP, Duplicates, Settled
from recall_integrations.store.given import Chat, in_batches
from recall_integrations.store.journal import SEMANTIC
from recall_integrations.store.parts import StoreParts
from recall_integrations.store.reader import Reader
from recall_integrations.store.removing import Removing
from recall_integrations.text import stems
from recall_integrations.types import Memory, Scope, says_the_same

if TYPE_CHECKING:
    from recall_integrations.database.turns import Flush


logger = logging.getLogger("recall_integrations")


class Writer:
    """Stores memories, one batch at a time under the store's write lock.

    The user's components are asked before the lock is taken (`store.asking`).
    """

    def __init__(self, parts: StoreParts, reader: Reader) -> None:
        self._parts = parts
        self._reader = reader
        self._removing = Removing(parts)
        self._duplicates = Duplicates()
        self._batches = Batches(parts, self._removing)
        self._line = Line(self._lead)

    def write_chat(
        self, scope: Scope, thread: str, given: list[Memory], chat: Chat, *, progress: bool | Told, batch_size: int
    ) -> list[str]:
        """Store the messages of a conversation; no other writes to it meanwhile."""
        parts = self._parts
        self._removing.remove_ended()
        with parts.errors():
            named, ids = self._named(scope, thread, given, chat)
            ahead = self._ahead(scope, named, ids)
        with self._turn():  # the write may skip messages that others have just written
            named, ids = self._named(scope, thread, given, chat)  # another writer may have changed the thread
            chat.ids.update(ids)
            written = self.write_all(
                scope, named, chat, progress=progress, batch_size=batch_size, total=len(named), ahead=ahead
            )
        self._caught_up(ahead)
        return written

    def _named(self, scope: Scope, thread: str, given: list[Memory], chat: Chat) -> tuple[list[Memory], set[str]]:
        """Give the messages of a conversation ids; return its memories, and these ids with the known ones."""
        parts = self._parts
        if not any(given[place].id is None for place in chat.places):
            return given, set(chat.ids)
        with parts.engine.connect() as connection:
            given = duplicates.with_ids(connection, parts.scopes.get(scope), thread, given, chat.places)
        return given, {*chat.ids, *(given[place].id or "" for place in chat.places)}

    def write_all(
        self,
        scope: Scope,
        source: Iterable[Memory],
        chat: Chat,
        *,
        progress: bool | Told,
        batch_size: int,
        total: int | None,
        ahead: Ahead | None = None,
    ) -> list[str]:
        """Store memories in batches and return their ids in order; `total` of them, `None` = unknown.

        `ahead`: answers of the user's components, asked before the caller took the write lock; `None` = it has not.
        """
        if ahead is None:
            self._removing.remove_ended()
        ids: list[str] = []
        with counted("Remembering", total, progress) as advance:
            for batch in in_batches(source, batch_size):
                ids.extend(self._write(scope, batch, chat, ahead))
                advance(len(batch))
        return ids

    def _ahead(self, scope: Scope, batch: Sequence[Memory], messages: Set[str], now: datetime | None = None) -> Ahead:
        parts = self._parts
        parts.check_open()
        ids = [m.id for m in batch if m.id is not None]
        scope_id = parts.scopes.get(scope)
        return look_ahead(parts, scope_id, self._unknown(scope_id, batch, ids, messages)[0], now)

    def _write(self, scope: Scope, batch: Sequence[Memory], chat: Chat, ahead: Ahead | None = None) -> list[str]:
        """Store a batch; of messages that have ids, only those that are new or have changed.

        `ahead`: answers of the user's components; `None` = they are asked now, so the write lock may not be held.
        """
        parts = self._parts
        now = time_of(parts.clock)
        check_texts(parts.engine, (memory.text for memory in batch))
        with parts.errors():
            known = self._ahead(scope, batch, chat.ids, now) if ahead is None else ahead
        given = Batch(scope=scope, memories=batch, ids=[], chat=chat, now=now, known=known)
        if ahead is not None:  # the turn is held, and may be lost: its holder decides
            return self._write_in_turn([given], None)[0]
        alone = [parts.write_lock.mine or self._line.has_me]

        def write() -> list[str]:
            if alone[0]:
                return self._write_alone(given)
            try:
                return self._line.ask(given, alone=not self._goes_with_others(given))
            except Company as e:
                alone[0] = True  # this write may be what makes the others fail
                assert e.__cause__ is not None
                raise e.__cause__ from e.__cause__.__cause__

        written = parts.retried(write, twice=chat.on_duplicate == KEEP)
        self._caught_up(known)
        return written

    def _write_alone(self, given: Batch) -> list[str]:
        with self._turn() as later:
            return self._write_in_turn([given], later)[0]

    @contextmanager
    def _turn(self) -> Iterator[Flush | None]:
        """Hold a turn; yield the flush to wait for after it, also for earlier entries, maybe just written by others."""
        parts = self._parts
        with parts.write_lock, parts.errors():
            later = parts.directory.flush_later()
            if later is not None:
                later.upto = parts.followed.head
            yield later
        with parts.errors():
            parts.directory.flush(later)

    def _goes_with_others(self, given: Batch) -> bool:
        """Say whether a batch may share a transaction with others: large ones are copied in."""
        parts, known = self._parts, given.known
        few = len(given.memories) <= FEW and given.chat.on_duplicate == KEEP
        if not few or not parts.stamped or parts.indexes.lag[SEMANTIC]:
            return False  # something has to be made or measured for it
        return known.vectors_of(given.memories) is not None

    def _lead(self, take: Callable[[], Sequence[Asked]]) -> None:
        with self._turn() as later:
            asked = take()
            if len(asked) == 1 or not self._written_together(asked, later):
                self._write_one_by_one(asked, later)

    def _written_together(self, asked: Sequence[Asked], later: Flush | None) -> bool:
        """Write all in one transaction; say whether that worked. A failure leaves nothing of them."""
        self._parts.check_open()
        if not all(self._goes_with_others(one.request) for one in asked):  # not any more
            return False
        try:
            for one, ids in zip(asked, self._write_in_turn([one.request for one in asked], later), strict=True):
                one.answer = ids
        except Exception as e:
            if _lost(e):  # maybe with the turn: each is tried again
                raise
            logger.info("Writes that went together are done one by one: %s", told(e))
            return False
        return True

    def _write_one_by_one(self, asked: Sequence[Asked], later: Flush | None) -> None:
        """Write each in a transaction of its own, with its own error."""
        for one in asked:
            try:
                one.answer = self._write_in_turn([one.request], later)[0]
            except Exception as e:  # noqa: PERF203 - it is its caller's
                one.has_failed(e)
                if _lost(e):
                    raise

    def _write_in_turn(self, given: Sequence[Batch], later: Flush | None) -> list[list[str]]:
        """Store batches in one transaction, without the memories that are stored already; return the ids of each."""
        parts = self._parts
        with parts.write_lock, parts.errors():
            parts.check_open()
            chosen = [self._chosen(one) for one in given]
            if batches := [batch for batch, _ in chosen if batch.memories]:
                # A write that is repeated after an unknown result may wait for the disk later.
                self._commit(batches, later if given[0].chat.on_duplicate == KEEP else None)
        return [answer for _, answer in chosen]

    def _chosen(self, given: Batch) -> tuple[Batch, list[str]]:
        """Return the part of a batch to write, and the ids of its memories afterwards."""
        parts, chat, batch = self._parts, given.chat, given.memories
        scope_id = parts.scopes.get(given.scope)
        # With another wish a memory may get the id of a stored one.
        fresh = not given.ids and chat.on_duplicate == KEEP and all(m.id is None for m in batch)
        if not given.ids:
            given.ids.extend([m.id if m.id is not None else parts.new_id() for m in batch])
        answer = list(given.ids)
        batch, ids = self._unknown(scope_id, batch, answer, chat.ids)
        gone: Sequence[int] = ()
        if chat.on_duplicate != KEEP:
            settled = self._settled(scope_id, batch, ids, chat.on_duplicate)
            renamed = dict(zip(ids, settled.answers, strict=True))
            answer = [renamed.get(one, one) for one in answer]
            batch, ids, gone = settled.batch, settled.ids, settled.gone
        return replace(given, memories=batch, ids=ids, gone=gone, fresh=fresh), answer

    def _commit(self, batches: Sequence[Batch], later: Flush | None) -> None:
        """Store batches in one transaction; then show them, and update the indexes."""
        parts = self._parts
        with ExitStack() as writing:
            for scope in dict.fromkeys(batch.scope for batch in batches):
                writing.enter_context(parts.revisions.writing(scope))
            for written in self._batches.commit(batches, later):
                scope_id = written.scope_id
                shown = (int(written.counted.value()), written.changes[-1].seq)
                if written.appended.followed:
                    parts.shown[scope_id] = shown
                vectors = None if parts.asking.here else batches[0].known.vectors
                try:
                    self._removing.index(scope_id, written.changes, vectors, followed=written.appended.followed)
                finally:  # vectors may be written while indexing: show complete memories only
                    parts.shown[scope_id] = shown
                if not all(map(warming.is_warm, written.spoke)):
                    warming.warm(self._reader.languages(scope_id).kept_in)

    def _settled(self, scope_id: int | None, batch: Sequence[Memory], ids: Sequence[str], wish: str) -> Settled:
        ended = 0 if scope_id is None else self._parts.expiry.ended(scope_id)
        with self._parts.engine.connect() as connection:
            return self._duplicates.settle(connection, scope_id, batch, ids, wish, ended)

    def _caught_up(self, ahead: Ahead) -> None:
        """Embed texts that another write has left without vectors meanwhile, and ours behind them."""
        vectors = None if self._parts.asking.here else ahead.vectors
        if vectors is not None and vectors.error is None and self._parts.indexes.lag[SEMANTIC]:
            with self._parts.errors():
                self._removing.settled()

    def _unknown(
        self, scope_id: int | None, batch: Sequence[Memory], ids: list[str], messages: Set[str]
    ) -> tuple[Sequence[Memory], list[str]]:
        """Return the batch and its ids, without the messages that are stored unchanged."""
        if scope_id is None or not messages:
            return batch, ids
        there = self._reader.fetch_ids(scope_id, [i for i in ids if i in messages])
        kept = [m for m in batch if m.id not in there or not says_the_same(there[m.id], m)]
        if len(kept) == len(ids):
            return kept, ids
        kept_ids = {m.id for m in kept}
        return kept, [i for i in ids if i in kept_ids or i not in there]


def _lost(error: BaseException) -> bool:
    """Say whether the connection is gone, or the server."""
    return is_lost(error.__cause__ if isinstance(error, RecallError) else error)


BACKFILL_MAX = 1_000  # earlier memories that a newly declared name is looked up in
ASKED = "What about {} today?"  # how a query may say a name
NEVER_MEANT = (
    "A query that says {!r} will not find the entity {!r}: it is a word of every sentence, or too many entities are "
    "called so. Give the entity another name or alias, of two words, say."
)


def declare(parts: StoreParts, name: str, aliases: Sequence[str], scope: Scope) -> str:
    """Write an entity and its aliases, link earlier memories to it, and return its id.

    Warns of names by which no query can mean the entity.
    """
    names = list(dict.fromkeys((name, *aliases)))
    entity_id = parts.retried(lambda: _declared(parts, names, scope), twice=True)
    index = parts.catalog.of(parts.scopes[scope]).index
    for said in names:
        if all(ref.entity_id != entity_id for ref in index.resolve(ASKED.format(said))):
            # Not logged: logs quote no memories, and the caller has to know.
            warnings.warn(NEVER_MEANT.format(said, name), UserWarning, stacklevel=3)
    return entity_id


def _declared(parts: StoreParts, names: Sequence[str], scope: Scope) -> str:
    touching = Removing(parts)
    with parts.write_lock, parts.errors(), parts.revisions.writing(scope):
        scope_id = parts.scopes.get(scope)
        earlier = set() if scope_id is None else {num for name in names for num in _saying(parts, scope_id, name)}
        try:
            with writing(parts.engine) as connection:
                scope_id = scope_id or rows.add_scope(connection, scope)
                ent = parts.catalog.declare(connection, scope_id, names[0], names[1:])
                _link(connection, scope_id, ent, names, sorted(earlier))
                touched = touching.touch(connection, scope_id)
        finally:
            if scope_id is not None:
                parts.catalog.drop(scope_id)
        parts.scopes[scope] = scope_id
        touching.touched(scope_id, touched)
        parts.catalog.drop(scope_id)  # mentions that were read meanwhile are out of date
        return parts.catalog.of(scope_id).id_of[ent]


def _link(connection: Connection, scope_id: int, ent: int, names: Sequence[str], nums: Sequence[int]) -> None:
    """Link those of the memories to an entity that say one of its names."""
    gazetteer = EntityIndex()
    gazetteer.add("it", names[0], tuple(names[1:]), declared=True)
    n, m = schema.mentions, schema.memories.c
    for part in in_parts(nums):
        linked = select(n.c.num).where(n.c.scope_id == scope_id, n.c.ent == ent)
        query = select(m.num, m.text).where(m.scope_id == scope_id, m.num.in_(part), m.num.not_in(linked))
        fresh = [num for num, text in connection.execute(query).all() if gazetteer.mentions(text)]
        made = [{"scope_id": scope_id, "ent": ent, "num": num, "role": "text"} for num in fresh]
        if made:
            connection.execute(insert(n), made)


def _saying(parts: StoreParts, scope_id: int, name: str) -> list[int]:
    """Find nums of memories that may say a name: by their words, else by the text."""
    words = stems(name)
    if words and not parts.indexes.behind(scope_id):
        view = parts.views.get(scope_id)
        if not view.count:
            return []
        bm25 = Bm25(view, words, (), view.text.frequency)
        best, _ = view.top(*bm25.search(min(view.count, BACKFILL_MAX)), BACKFILL_MAX)
        found: list[int] = view.nums[best].tolist()
        return found
    m = schema.memories.c
    query = select(m.num).where(m.scope_id == scope_id, m.text.icontains(name, autoescape=True))
    with parts.engine.connect() as connection:
        return list(connection.execute(query.order_by(m.num.desc()).limit(BACKFILL_MAX)).scalars())
