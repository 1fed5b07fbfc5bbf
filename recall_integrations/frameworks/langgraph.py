"""`RecallStore`: LangGraph's `BaseStore` over a `MemoryStore`, with the optimizer behind `search(query=…)`.

All items of a `RecallStore` are memories of one scope, and a namespace is their channel. A search below a prefix is
then one recall with a filter, however many namespaces lie below it; a scope for each of a thousand namespaces would be
a thousand recalls whose scores come from a thousand statistics. Users who must not share statistics get a `RecallStore`
each: `RecallStore(memories, scope=Scope(user_id="u1"))`.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from recall_integrations.delivery.showing import checked
from recall_integrations.errors import InvalidArgument, InvalidMemory, extra
from recall_integrations.frameworks.given import optimizer_of
from recall_integrations.frameworks.items import (
    NOT_INDEXED,
    Catalogue,
    Entry,
    Kept,
    Namespace,
    catalogue_of,
    channel_of,
    check_operators,
    described,
    kept_of,
    later,
    matches,
    meets,
    memory_id,
    memory_of,
    narrowing,
    version_of,
)
from recall_integrations.indexes.times import from_micros, to_micros
from recall_integrations.store.given import BATCH
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Filters, Memory, Scope, checked_scope, utc_now
from recall_integrations.types.numbers import is_number, shown

with extra("langgraph", "RecallStore"):
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        InvalidNamespaceError,
        Item,
        ListNamespacesOp,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        ensure_embeddings,
        get_text_at_path,
        tokenize_path,
    )

WHOLE = "$"
PAGED = 32  # hits that are asked for at least, else twice that, and so on: pages are parts of one answer
READ_AT_ONCE = 500
MANY, MANY_MS = 1_000, 60_000.0  # so many hits at once may take that long: better late than without what meets a filter
CHANNELS_MAX = 5_000  # in one filter; below more namespaces, hits of others are left out afterwards
MINUTES_MAX = 100 * 366 * 24 * 60  # a hundred years: beyond lies what is no date
REFRESH_SHARE = 0.01  # of its time to live that an item may have lost before a read is written down

Place = tuple[Namespace, str]


class RecallStore(BaseStore):
    """A LangGraph store whose items are memories: durable, and found by their content.

    Args:
        store: a `MemoryStore`, or a `QueryOptimizer` over one (with its LLM, reranker and settings).
        scope: of the items. It should hold nothing else; other memories in it are neither shown nor changed.
        index: fields that queries search, as in LangGraph: `{"fields": ["text", "author.name"]}`; default all of it,
            `False` nothing. The embedding is that of the store: `dims` must be its length, `embed` is for `open`.
        ttl: `{"default_ttl": minutes, "refresh_on_read": True}`. An item that has expired is gone.
        clock: for `created_at`, `updated_at` and the end of a time to live; that of the store.

    Raises:
        InvalidArgument: an argument cannot be used.
    """

    supports_ttl = True

    def __init__(
        self,
        store: Any,
        *,
        scope: Scope | None = None,
        index: Mapping[str, Any] | bool | None = None,
        ttl: TTLConfig | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.optimizer = optimizer_of(store)
        self.memories: MemoryStore = self.optimizer.store
        self.scope = checked_scope(scope)
        self.ttl_config = ttl
        _check_lives(ttl)
        self._fields = _fields(index, self.memories)
        self._clock = clock
        self._catalogue = catalogue_of(self.memories, self.scope)
        self._owned, self._made_optimizer = False, self.optimizer is not store

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        scope: Scope | None = None,
        index: Mapping[str, Any] | bool | None = None,
        ttl: TTLConfig | None = None,
        clock: Callable[[], datetime] = utc_now,
        **opening: Any,
    ) -> RecallStore:
        """Return a `RecallStore` over the store in a directory, made if absent; `close` closes it.

        Args:
            path: the directory; `None` = a temporary one.
            scope, ttl, clock: as above.
            index: as above; its `embed` becomes the embedding of the store.
            opening: further arguments of `MemoryStore.open`.
        """
        if isinstance(index, Mapping) and "embed" in index:
            opening.setdefault("embedding", _embedding(index["embed"]))
            index = {key: value for key, value in index.items() if key != "embed"}
        _check_lives(ttl)
        _paths(index)
        memories = MemoryStore.open(path, clock=clock, **opening)
        try:
            made = cls(memories, scope=scope, index=index, ttl=ttl, clock=clock)
        except BaseException:
            memories.close()
            raise
        made._owned = True
        return made

    def close(self) -> None:
        """Close the optimizer unless it was given, and the store if `open` opened it."""
        if self._made_optimizer:
            self.optimizer.close()
        if self._owned:
            self.memories.close()

    def __enter__(self) -> RecallStore:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # -- LangGraph's two -------------------------------------------------------------------------------------------

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations: reads see the state before, then the last write to each key is done, as in `InMemoryStore`.

        Raises:
            InvalidMemory: a value is no mapping, or no JSON; nothing was changed.
            InvalidNamespaceError: a label of a namespace is no text; nothing was changed.
            InvalidQuery: a query is too long, or no text.
        """
        results: list[Result] = []
        puts: dict[Place, PutOp] = {}
        for op in ops:
            if isinstance(op, PutOp):
                puts[_checked(op.namespace), op.key] = op
                results.append(None)
            elif isinstance(op, GetOp):
                results.append(self._get(op))
            elif isinstance(op, SearchOp):
                results.append(self._search(op))
            elif isinstance(op, ListNamespacesOp):
                results.append(self._namespaces(op))
            else:
                raise ValueError(f"Unknown operation type: {type(op)}")
        if puts:
            self._put(puts)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run `batch` in a thread: the event loop goes on."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Remove expired items, which were invisible already; return their number."""
        now = to_micros(self._clock())
        with self._catalogue.lock:
            self._catalogue.follow(self.memories, self.scope)
            over = [
                (namespace, key)
                for namespace, keys in self._catalogue.keys.items()
                for key, entry in keys.items()
                if entry.expires is not None and entry.expires <= now
            ]
            self._put({(namespace, key): PutOp(namespace, key, None) for namespace, key in over})
        return len(over)

    def forget(self, namespace_prefix: Sequence[str]) -> int:
        """Remove all items below a prefix, such as all of one user; return their number.

        `memories.compact()` then removes the last traces of them from the files of the store.

        Raises:
            InvalidNamespaceError: the prefix is empty, or no tuple of texts; nothing was changed.
        """
        prefix = _checked(namespace_prefix)
        if not prefix:
            raise InvalidNamespaceError("The prefix is empty. All there is: memories.forget(scope=store.scope).")
        with self._catalogue.lock:
            self._catalogue.follow(self.memories, self.scope)
            keys = self._catalogue.keys
            places = [(namespace, key) for namespace in self._catalogue.under(prefix) for key in keys[namespace]]
            self._put({place: PutOp(*place, None) for place in places})
        return len(places)

    # -- writing ---------------------------------------------------------------------------------------------------

    def _put(self, puts: Mapping[Place, PutOp]) -> None:
        with self._catalogue.lock:
            self._catalogue.follow(self.memories, self.scope)
            made = self._made(puts)
            self._write(made, [place for place, op in puts.items() if op.value is None])

    def _write(self, made: Sequence[tuple[Kept, Memory]], gone: Sequence[Place]) -> None:
        """Store items, remove others, and note both in the catalogue, whose lock is held."""
        catalogue, memories = self._catalogue, self.memories
        known = [memory_id(*place) for place in gone if _at(catalogue, place) is not None]
        before = version_of(memories, self.scope)
        try:
            if made:
                memories.remember_many([memory for _, memory in made], scope=self.scope)
            if known:
                memories.forget(known, scope=self.scope)
        except BaseException:
            catalogue.doubt()
            raise
        for item, memory in made:
            catalogue.put(item, memory.channel != NOT_INDEXED)
        for place in gone:
            catalogue.remove(*place)
        writes = sum(-(-len(part) // BATCH) for part in (made, known))  # transactions
        catalogue.settle(memories, self.scope, before, writes)

    def _made(self, puts: Mapping[Place, PutOp]) -> list[tuple[Kept, Memory]]:
        """Make the items to store; a value that cannot be stored raises before anything is stored."""
        catalogue, now = self._catalogue, self._clock()
        born, last = dict(catalogue.born), catalogue.last
        made: list[tuple[Kept, Memory]] = []
        for (namespace, key), op in puts.items():
            if op.value is None:
                continue
            value: Any = op.value
            if not isinstance(value, Mapping):
                kind = type(value).__name__
                raise InvalidMemory(f"The item {key!r} of {namespace!r}: its value must be a mapping, not {kind}.")
            _check_ttl(op.ttl)
            there = _at(catalogue, (namespace, key), to_micros(now))
            created = later(now, last) if there is None else from_micros(there.created)
            last = max(last, to_micros(created))
            item = Kept(
                namespace=namespace,
                key=key,
                value=dict(value),
                created_at=created,
                updated_at=max(now, created),
                born=born.setdefault(namespace, to_micros(created)),
                ttl=op.ttl,
                expires_at=None if op.ttl is None else now + timedelta(minutes=op.ttl),
            )
            made.append((item, memory_of(item, self._text(item.value, op.index))))
        return made

    def _text(self, value: Mapping[str, Any], index: Any) -> str | None:
        if not (index is None or isinstance(index, bool | list | tuple)):
            raise InvalidArgument(f"index is {shown(index)}. Give a list of paths such as ['text'], or False.")
        paths = self._fields if index is None or index is True else tuple(index or ())
        if not self._fields:  # the store has no index: what is asked for one item has no effect
            return None
        texts = (
            described(value) if path == WHOLE else "\n".join(get_text_at_path(value, tokenize_path(path)))
            for path in paths
        )
        return "\n".join(text for text in texts if text.strip()) or None

    # -- reading ---------------------------------------------------------------------------------------------------

    def _get(self, op: GetOp) -> Item | None:
        namespace = _checked(op.namespace)
        found = self._read([(namespace, op.key)])
        if not found:
            return None
        if op.refresh_ttl:
            self._refresh(found)
        shown = ("value", "key", "namespace", "created_at", "updated_at")
        return Item(**{name: getattr(found[0], name) for name in shown})

    def _search(self, op: SearchOp) -> list[SearchItem]:
        check_operators(op.filter)
        op = op._replace(namespace_prefix=_checked(op.namespace_prefix))
        with self._catalogue.lock:
            self._catalogue.follow(self.memories, self.scope)
        asks = bool(self._fields and op.query and not (isinstance(op.query, str) and op.query.isspace()))
        scored = self._ranked(op) if asks else self._listed(op)
        if op.refresh_ttl:
            self._refresh([item for item, _ in scored])
        return [
            SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at, score)
            for item, score in scored
        ]

    def _listed(self, op: SearchOp) -> list[tuple[Kept, float | None]]:
        living = self._catalogue.living(op.namespace_prefix, self._clock())
        places = ((namespace, key) for namespace, key, _ in living)
        end = None if min(op.limit, op.offset) < 0 else op.offset + op.limit  # negative ones count from the end
        if not op.filter:
            wanted = list(itertools.islice(places, end))[op.offset : op.offset + op.limit]
            return [(item, None) for item in self._read(wanted)]
        found = (item for item in self._in_turn(places) if meets(item.value, op.filter))
        return [(item, None) for item in list(itertools.islice(found, end))[op.offset : op.offset + op.limit]]

    def _ranked(self, op: SearchOp) -> list[tuple[Kept, float | None]]:
        """Return items in the order of the optimizer; behind them, where there is room, items that are not indexed."""
        hits = self._hits(op)
        kept: list[tuple[Kept, float | None]] = list(hits[op.offset : op.offset + op.limit])
        room = op.limit - len(kept)
        if room > 0:
            living = self._catalogue.living(op.namespace_prefix, self._clock())
            others = ((namespace, key) for namespace, key, entry in living if not entry.indexed)
            found = (item for item in self._in_turn(others) if meets(item.value, op.filter))
            kept += [(item, None) for item in itertools.islice(found, room)]
        return kept

    def _hits(self, op: SearchOp) -> list[tuple[Kept, float]]:
        """Return the hits that meet the filter, best first; look through more where too few of them do."""
        catalogue, prefix = self._catalogue, op.namespace_prefix
        namespaces = catalogue.under(prefix)
        there = sum(len(catalogue.keys.get(namespace, ())) for namespace in namespaces)
        count = self.memories.count(scope=self.scope)
        narrow = there < count and len(namespaces) <= CHANNELS_MAX
        channels = list(map(channel_of, namespaces)) if narrow else []
        filters = Filters(channels=channels, metadata=narrowing(op.filter))
        wanted = there if min(op.limit, op.offset) < 0 else min(op.offset + op.limit, there)
        k = PAGED
        while k < wanted:
            k *= 2
        while there and wanted:
            budget: dict[str, Any] = {} if k < MANY else {"time_budget_ms": MANY_MS}
            result = self.optimizer.recall(op.query or "", k=k, scope=self.scope, filters=filters or None, **budget)
            found = checked(result)
            fit = [
                (item, hit.score)
                for hit in found.hits
                if (item := kept_of(hit.memory)) is not None
                and item.namespace[: len(prefix)] == prefix
                and hit.memory.channel != NOT_INDEXED
                and meets(item.value, op.filter)
            ]
            if len(fit) >= wanted or len(found.hits) < k or k >= count:
                return fit
            k *= 4
        return []

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        with self._catalogue.lock:
            self._catalogue.follow(self.memories, self.scope)
            known = dict.fromkeys(namespace for namespace, _, _ in self._catalogue.living((), self._clock()))
        conditions = op.match_conditions or ()
        found = [ns for ns in known if all(matches(c.match_type, c.path, ns) for c in conditions)]
        if op.max_depth is not None:
            found = list({namespace[: op.max_depth] for namespace in found})
        return sorted(found)[op.offset : op.offset + op.limit]

    def _in_turn(self, places: Iterable[Place]) -> Iterator[Kept]:
        left = iter(places)
        while part := list(itertools.islice(left, READ_AT_ONCE)):
            yield from self._read(part)

    def _read(self, places: Sequence[Place]) -> list[Kept]:
        """Read items by their place, in order; items that are gone are left out."""
        scope_id = self.memories.scope_id(self.scope)
        if scope_id is None or not places:
            return []
        now = self._clock()
        found = self.memories.reader.fetch_ids(scope_id, [memory_id(*place) for place in places])
        items = (kept_of(m) for place in places if (m := found.get(memory_id(*place))) is not None)
        return [i for i in items if i is not None and (i.expires_at is None or i.expires_at > now)]

    def _refresh(self, items: Sequence[Kept]) -> None:
        """Renew the time to live of items that were read; write it down where it makes a difference."""
        now, memories = self._clock(), self.memories
        ids = [memory_id(item.namespace, item.key) for item in items if _prolongable(item, now)]
        if not ids:
            return
        with self._catalogue.lock:
            self._catalogue.follow(memories, self.scope)
            scope_id = memories.scope_id(self.scope)
            found = {} if scope_id is None else memories.reader.fetch_ids(scope_id, ids)
            anew: list[tuple[Kept, Memory]] = []
            for memory in found.values():
                item = kept_of(memory)
                if item is not None and item.ttl is not None and _prolongable(item, now):
                    expires = now + timedelta(minutes=item.ttl)
                    anew.append((replace(item, expires_at=expires), replace(memory, expires_at=expires)))
            self._write(anew, [])


def _prolongable(item: Kept, now: datetime) -> bool:
    """Say whether an item lives, and a read makes it live noticeably longer."""
    if item.ttl is None or item.expires_at is None or item.expires_at <= now:
        return False
    return now + timedelta(minutes=item.ttl * (1 - REFRESH_SHARE)) >= item.expires_at


def _at(catalogue: Catalogue, place: Place, now: int | None = None) -> Entry | None:
    entry = catalogue.keys.get(place[0], {}).get(place[1])
    over = entry is not None and now is not None and entry.expires is not None and entry.expires <= now
    return None if over else entry


def _checked(namespace: Sequence[str]) -> Namespace:
    """Check a namespace: LangGraph's methods check more, but its `batch` nothing."""
    if not isinstance(namespace, list | tuple) or not all(isinstance(label, str) for label in namespace):
        raise InvalidNamespaceError(f"A namespace is a tuple of texts, not {namespace!r}.")
    return tuple(namespace)


def _check_ttl(minutes: object) -> None:
    if minutes is not None and not (is_number(minutes) and 0 < minutes <= MINUTES_MAX):
        raise InvalidArgument(
            f"A time to live is a number of minutes above 0, up to {MINUTES_MAX:,}, not {shown(minutes)}."
        )


def _check_lives(ttl: object) -> None:
    """Check the time to live: a setting that is not understood would keep items for ever."""
    if ttl is None:
        return
    if not isinstance(ttl, Mapping):
        raise InvalidArgument(f"ttl is {shown(ttl)}. Give {{'default_ttl': minutes}}.")
    unknown = sorted(str(key) for key in set(ttl) - set(TTLConfig.__annotations__))
    if unknown:
        known = ", ".join(TTLConfig.__annotations__)
        raise InvalidArgument(f"ttl has unknown keys {', '.join(unknown)}. It takes {known}.")
    _check_ttl(ttl.get("default_ttl"))


def _embedding(given: Any) -> Any:
    """Return an embedding; a name such as "openai:text-embedding-3-small" is LangGraph's, and is resolved by it."""
    named = isinstance(given, str) and ":" in given and not Path(given).exists()
    return ensure_embeddings(given) if named else given


def _fields(index: Mapping[str, Any] | bool | None, memories: MemoryStore) -> tuple[str, ...]:
    """Return the paths that queries search; none where nothing is indexed."""
    paths = _paths(index)
    given = index if isinstance(index, Mapping) else {}
    dims = given.get("dims")
    if dims is not None and dims != memories.dimensions:
        raise InvalidArgument(
            f"index has dims={dims!r}, but the store's vectors have {memories.dimensions}. Leave dims out, or open the "
            "store with that embedding."
        )
    if "embed" in given:
        raise InvalidArgument(
            "index has an embedding, but the store that is open has its own. Give it when the store is opened: "
            "RecallStore.open(path, index={'embed': …}) or MemoryStore.open(path, embedding=…)."
        )
    return paths


def _paths(index: object) -> tuple[str, ...]:
    """Return the paths of an index, checked as far as possible without a store."""
    if index is False:
        return ()
    if index is not None and index is not True and not isinstance(index, Mapping):
        raise InvalidArgument(f"index must be a mapping such as {{'fields': ['text']}}, or False, not {shown(index)}.")
    given = index if isinstance(index, Mapping) else {}
    fields = given.get("fields")
    unknown = sorted(str(k) for k in given if k not in ("dims", "embed", "fields") and not str(k).startswith("__"))
    listed = fields is None or (isinstance(fields, list | tuple) and all(isinstance(path, str) for path in fields))
    if unknown or not listed:
        said = f"unknown keys {', '.join(unknown)}" if unknown else f"fields={fields!r}"
        raise InvalidArgument(f"index has {said}. It takes fields, a list of paths such as 'author.name', and dims.")
    return tuple(fields or (WHOLE,))
