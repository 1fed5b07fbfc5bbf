"""A store of ours that follows a user's vector store: it is read once in pages, then kept in step by ids and digests.

    their ids ─ pages ─▶ rows ─ fields ─▶ memories ─ remember_many ─▶ words, names, times, threads, vectors of theirs
    refresh   ids that are new, digests that differ, ids that are gone
    a recall  names an id that we do not know ─▶ that one document is read

The vector store is only read. Each memory keeps the digest of its document in its metadata, so that a copy is
consistent after any crash: missing documents are read again.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import logging
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
from sqlalchemy import Text, select, type_coerce

from recall_integrations.adapters.shapes import DIGEST, own
from recall_integrations.adapters.sources import Row, Source, in_pages
from recall_integrations.database import schema
from recall_integrations.database.schema import get_meta, put_meta
from recall_integrations.database.sending import in_parts
from recall_integrations.errors import InvalidArgument, InvalidMemory, StorePathError
from recall_integrations.observability.progress import counted
from recall_integrations.ontop.arm import Borrowed, Vector, unit
from recall_integrations.records import record
from recall_integrations.resilience.failures import failures
from recall_integrations.store.given import BATCH
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Memory, MemoryType, Scope
from recall_integrations.types.memory import indexed_text
from recall_integrations.types.messages import moment
from recall_integrations.types.roles import role_of

NOTED = "on top of "  # key in `meta`, before the scope
SAMPLE = 1_000  # documents that the fields are guessed from
SHOWN_FROM = 5_000  # documents that take long enough to say how far it is
logger = logging.getLogger("recall_integrations")


@record(frozen=True, slots=True, kw_only=True)
class Refreshed:
    """The changes that brought a copy in step, in numbers of documents."""

    added: int = 0
    replaced: int = 0
    forgotten: int = 0
    left_out: int = 0  # without a text that can be kept

    def __str__(self) -> str:
        said = f"{self.added:,} added, {self.replaced:,} replaced, {self.forgotten:,} forgotten"
        return f"{said}, {self.left_out:,} left out" if self.left_out else said


class Following:
    """The memories of a scope, kept in step with a source. Threads share it."""

    def __init__(self, store: MemoryStore, source: Source, borrowed: Borrowed, scope: Scope, fields: Any) -> None:
        self.store, self.source, self.scope = store, source, scope
        self._borrowed, self._said = borrowed, checked_fields(fields)
        self._zone = ZoneInfo(store.config.timezone)
        self.fields: dict[str, str | None] = dict.fromkeys(FIELDS)
        self.noticed = 0  # grows when a recall names what we do not know
        self._unknown: set[str] = set()
        self._refused: set[str] = set()
        self._lock, self._noting = threading.Lock(), threading.Lock()

    # -- opening ---------------------------------------------------------------------------------------------------

    def start(self, progress: bool | None) -> Refreshed | None:
        """Read documents that are not kept yet. `None` where ids cannot be listed: the copy stays as it is."""
        noted, kept = self._noted(), self.store.count(scope=self.scope)
        if noted is None and kept:
            raise StorePathError(
                f"{self.store.path} holds memories that are not from {self.source.name}. Give another path."
            )
        if noted is None:
            return self.refresh(progress=progress)
        if noted["of"] != self.source.name:
            raise StorePathError(
                f"{self.store.path} holds a copy of {noted['of']}, not of {self.source.name}. Give another path."
            )
        self.fields = noted["fields"]
        others = any(self.fields.get(name) != key for name, key in self._said.items())
        whole = others or not noted["done"]
        if kept and not whole and not self.source.listed:
            return None
        with self._lock:
            return self._in_step(progress, whole=whole, settled=not others)

    def _key(self) -> str:
        return NOTED + json.dumps([self.scope.user_id, self.scope.agent_id, self.scope.namespace])

    def _noted(self) -> dict[str, Any] | None:
        with self.store.engine.connect() as connection:
            text = get_meta(connection, self._key())
        return None if text is None else json.loads(text)

    def _note(self, *, done: bool) -> None:
        noted = {"of": self.source.name, "fields": self.fields, "done": done}
        with self.store.engine.begin() as connection:
            put_meta(connection, self._key(), json.dumps(noted))

    @property
    def started(self) -> bool:
        return self.store.scope_id(self.scope) is not None

    def begin(self) -> None:
        """Read the source if it was empty so far: no arm is asked over an empty scope, so new documents show here."""
        if not self.started and self.source.listed and self.source.count():
            self.refresh(progress=False)

    # -- in step ---------------------------------------------------------------------------------------------------

    def refresh(self, *, progress: bool | None = None, documents: Iterable[Any] | None = None) -> Refreshed:
        with self._lock:
            if documents is not None:
                self.source.take(documents)
            return self._in_step(progress, whole=True)

    def _in_step(self, progress: bool | None, *, whole: bool, settled: bool = True) -> Refreshed:
        """Bring the copy in step, by ids and digests (`whole`) or by ids alone; settled fields stay."""
        ids = [str(i) for i in self.source.ids()]
        known = self._digests()
        if not known or not settled:
            self._settle_fields(ids)
        self._note(done=False)  # before the first is written: it says whose they are
        self._refused.clear()
        wanted = ids if whole else [i for i in ids if i not in known]
        counts = {"added": 0, "replaced": 0}
        self._write(self._changed(wanted, known, counts), len(wanted), progress)
        there = set(ids) if len(wanted) < BATCH else set(map(str, self.source.ids()))  # as it is now
        gone = [i for i in known if i not in there]
        if gone:
            self.store.forget(gone, scope=self.scope)
        self.source.let_go()
        if sum(counts.values()) >= BATCH:  # so many are not brought into memory in the time of a recall
            self.store.warm(scope=self.scope)
        self._note(done=True)
        if self._refused:
            logger.warning("%d documents have no text that can be kept, and were left out.", len(self._refused))
        return Refreshed(**counts, forgotten=len(gone), left_out=len(self._refused))

    def learn(self, wait_s: float) -> bool:
        """Read the documents that recalls have named and we lack; say whether they are there now."""
        done: list[bool] = []

        def read_them() -> None:
            try:
                done.append(self._learn())
            except failures() as e:  # the next recall that names them tries again
                logger.warning("What %s has named could not be read: %s", self.source.name, e)

        thread = threading.Thread(target=read_them, name="recall-reading", daemon=True)
        thread.start()
        thread.join(max(wait_s, 0.0))
        return any(done)

    def _learn(self) -> bool:
        with self._lock:
            with self._noting:
                wanted, self._unknown = sorted(self._unknown), set()
            if not wanted:  # another one has read it
                return True
            if not self.store.count(scope=self.scope):
                self._settle_fields(wanted)
                self._note(done=True)
            before = self.store.count(scope=self.scope)
            self._write(self._changed(wanted, {}, {"added": 0, "replaced": 0}), len(wanted), False)
            there = self._digests(wanted)
            self._refused.update(i for i in wanted if i not in there)
            return self.store.count(scope=self.scope) > before

    def unknown(self, ids: Sequence[str]) -> None:
        """Note ids that a recall was given and we lack."""
        with self._noting:
            new = [i for i in ids if i not in self._refused]
            if new:
                self._unknown.update(new)
                self.noticed += 1

    # -- reading and writing ---------------------------------------------------------------------------------------

    def _settle_fields(self, ids: Sequence[str]) -> None:
        step = max(1, len(ids) // SAMPLE)
        half = SAMPLE // 2
        spread = dict.fromkeys([*ids[:half], *ids[::step][:half]])  # together, for threads; and from everywhere
        self.fields = settled_fields(self._said, self.source.read(list(spread)), self._zone)

    def _digests(self, ids: Sequence[str] | None = None) -> dict[str, str]:
        scope_id = self.store.scope_id(self.scope)
        if scope_id is None:
            return {}
        m = schema.memories
        # Read here: a database that looks into JSON refuses all of it for one value that it cannot hold.
        query = select(m.c.id, type_coerce(m.c.metadata, Text)).where(m.c.scope_id == scope_id)
        queries = [query] if ids is None else [query.where(m.c.id.in_(part)) for part in in_parts(ids)]
        with self.store.engine.connect() as connection:
            return {
                memory_id: _digest_in(metadata) for part in queries for memory_id, metadata in connection.execute(part)
            }

    def _changed(
        self, wanted: Sequence[str], known: Mapping[str, str], counts: dict[str, int]
    ) -> Iterator[tuple[int, Sequence[Memory]]]:
        """Yield, for each page of ids, its size and the memories that are new or differ from ours."""
        for page in in_pages(wanted, BATCH):
            memories = []
            for row in self.source.read(page):
                digest = digest_of(row, self.fields)
                if known.get(row.id) == digest:
                    continue
                memory = self._memory(row, digest)
                if memory is None:
                    self._refused.add(row.id)
                    continue
                memories.append(memory)
                counts["replaced" if row.id in known else "added"] += 1
            yield len(page), memories

    def _memory(self, row: Row, digest: str) -> Memory | None:
        if not row.text.strip():
            return None
        metadata = {**own(row.metadata), **row.besides, DIGEST: digest}
        about = {"thread": row.document, **read_fields(row, self.fields, self._zone)}
        try:
            return Memory(row.text, id=row.id, type=MemoryType.CHUNK, metadata=metadata, **about)
        except InvalidMemory as e:
            logger.warning("A document cannot be kept: %s", e)
            return None

    def _write(self, pages: Iterator[tuple[int, Sequence[Memory]]], total: int, progress: bool | None) -> None:
        shown = sys.stderr.isatty() and total >= SHOWN_FROM if progress is None else progress
        with (
            counted(f"Reading {self.source.name}", total, shown) as advance,
            self._borrowed.lending() as lent,
        ):
            self.store.remember_many(self._lent(pages, lent, advance), scope=self.scope)

    def _lent(
        self, pages: Iterator[tuple[int, Sequence[Memory]]], lent: dict[str, Vector], advance: Callable[[int], None]
    ) -> Iterator[Memory]:
        """Yield memories one by one; the vectors of a batch's texts are lent before it is embedded."""
        nothing = np.zeros(self._borrowed.dimensions, dtype=np.float32)  # of what has no vector there
        for size, memories in pages:
            texts = {memory.id or "": indexed_text(memory.text, memory.actor) for memory in memories}
            vectors = self.source.vectors(list(texts)) if self.source.readable else {}
            for memory_id, text in texts.items():
                found = vectors.get(memory_id)
                lent.pop(text, None)
                lent[text] = nothing if found is None else unit(found)
            for text in list(lent)[: -2 * BATCH]:  # a batch may be made of many pages, and ends within one
                del lent[text]
            yield from memories
            advance(size)


def digest_of(row: Row, fields: Mapping[str, str | None]) -> str:
    """Return the digest of a memory's document: text, metadata, other fields of a node, and the keys of fields."""
    made_of = [row.text, row.metadata, row.besides, row.document, sorted(fields.items())]
    text = json.dumps(made_of, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _digest_in(metadata: str) -> str:
    """Return the digest in a copy's metadata, given as text; empty where they hold none, or are damaged."""
    try:
        return str(json.loads(metadata)[DIGEST])
    except (KeyError, TypeError, ValueError):
        return ""


def stored_dimensions(source: Source) -> int | None:
    """Return the length of the vectors of a source; `None` where it has none, or they cannot be read."""
    if not source.readable or not source.count():
        return None
    first = source.ids()[:1]
    found = source.vectors(first)
    if not found:
        raise InvalidArgument(f"{source.title} has no vectors for its documents.")
    return len(next(iter(found.values())))


# -- fields ------------------------------------------------------------------------------------------------------------

# The keys of a user's metadata that hold them are guessed by name and checked against their values, or given. Names are
# compared without case, `_` and `-`.
ACTOR, ROLE, WHEN, THREAD, POSITION = FIELDS = ("actor", "role", "event_at", "thread", "position")
DOCUMENT = "ref_doc_id"  # the document of a LlamaIndex node, which is no key of its metadata
Fields = Mapping[str, str | None]

NAMES: Mapping[str, tuple[str, ...]] = {
    ACTOR: ("actor", "speaker", "author", "sender", "said_by", "user_name", "username", "from", "user", "role"),
    ROLE: ("role", "message_role", "sender_type"),
    WHEN: (
        *"event_at event_time event_date timestamp datetime date_time date sent_at time ts".split(),
        *("created_at", "created", "creation_date", "published_at", "published", "publication_date", "date_published"),
        *("updated_at", "last_modified", "last_modified_date", "modified"),
    ),
    THREAD: (
        *("thread", "thread_id", "session_id", "session", "conversation_id", "conversation", "chat_id", "dialog_id"),
        *("ref_doc_id", "document_id", "doc_id", "parent_id", "file_path", "file_name", "filename", "source", "url"),
    ),
    POSITION: (
        *("position", "turn", "turn_index", "turn_id", "message_index", "seq", "sequence", "order", "index", "idx"),
        *("chunk_index", "chunk", "chunk_id", "start_index", "page", "page_number"),
    ),
}
_PLACES = frozenset({"filepath", "filename", "source", "url"})  # of documents, and of kinds of documents, too
_PLACE = re.compile(r"[/\\]|\.\w{1,8}$")
_MOST = 0.9  # of the values that are there have to fit
_OFTEN = 0.5  # of the documents have to have one
_ACTOR_CHARS = 64
_ID = re.compile(r"[0-9a-fA-F-]{16,}|\d+")
_SHORT = 1_024


def guessed(rows: Sequence[Row], zone: tzinfo) -> dict[str, str | None]:
    """Guess the key of each field; `None` where no key fits."""
    found: dict[str, str | None] = dict.fromkeys(FIELDS)
    keys = list(dict.fromkeys(key for row in rows for key in row.metadata))
    for name in FIELDS:
        for key in _named(name, keys):
            if name == ROLE and key == found[ACTOR]:
                continue  # a name that is a role says it by itself
            if name == THREAD and _flat(key) in _PLACES and _documented(rows):
                continue
            if _fits(name, key, rows, found, zone):
                found[name] = key
                break
    if found[THREAD] is None and _documented(rows):
        found[THREAD] = DOCUMENT
    if found[POSITION] is not None and found[THREAD] is None:
        found[POSITION] = None
    return found


def settled_fields(given: object, rows: Sequence[Row], zone: tzinfo) -> dict[str, str | None]:
    """Return the keys that were given for fields, and guess the rest."""
    told = checked_fields(given)
    found = {**guessed(rows, zone), **told}
    for name, key in told.items():
        if key is None or not rows:
            continue
        if key == DOCUMENT and name == THREAD and _documented(rows):
            continue
        values = [row.metadata[key] for row in rows if row.metadata.get(key) is not None]
        if not values:
            keys = sorted({key for row in rows for key in row.metadata})
            raise InvalidArgument(f"fields says that {name} is {key!r}, which no document has.{_hint(key, keys)}")
        if not any(READS[name](value, zone) is not None for value in values):
            wanted = {WHEN: "a time", POSITION: "a whole number", ROLE: "a role"}.get(name, "a short text")
            raise InvalidArgument(
                f"fields says that {name} is {key!r}, but what stands there is not {wanted}: {str(values[0])[:60]!r}. "
                f"Name another key, or leave it out with {name!r}: None."
            )
    return found


def checked_fields(given: object) -> dict[str, str | None]:
    """Check the keys that were given for fields, as far as possible without documents."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InvalidArgument(f"fields must be a mapping such as {{'actor': 'speaker'}}, not {type(given).__name__}.")
    for name, key in given.items():
        if name not in FIELDS:
            raise InvalidArgument(f"fields has no {name!r}.{_hint(str(name), FIELDS)}")
        if key is not None and not isinstance(key, str):
            raise InvalidArgument(f"fields[{name!r}] must be a key of the metadata or None, not {type(key).__name__}.")
    return dict(given)


def _hint(key: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(key, known, n=1)
    there = f" There are: {', '.join(known[:20])}." if known else " Their metadata is empty."
    return f" Did you mean {near[0]!r}?{there}" if near else there


def _flat(key: str) -> str:
    return re.sub(r"[\W_]+", "", str(key)).lower()


def _named(name: str, keys: Sequence[str]) -> list[str]:
    known = [_flat(key) for key in NAMES[name]]
    return sorted((key for key in keys if _flat(key) in known), key=lambda key: known.index(_flat(key)))


def _documented(rows: Sequence[Row]) -> bool:
    return any(row.document is not None for row in rows)


def _fits(name: str, key: str, rows: Sequence[Row], found: Fields, zone: tzinfo) -> bool:
    having = [row for row in rows if row.metadata.get(key) not in (None, "")]
    read = [READS[name](row.metadata[key], zone) for row in having]
    values = [value for value in read if value is not None]
    if len(having) < _OFTEN * len(rows) or not values or len(values) < _MOST * len(having):
        return False
    different = len(set(values))
    if name == ACTOR:
        wide = len(values) >= 4 and different > 0.5 * len(values)
        return not wide and (different > 1 or _flat(key) in ("actor", "speaker", "author", "sender"))
    if name == THREAD:
        if _flat(key) in _PLACES and sum(bool(_PLACE.search(str(v))) for v in values) < _MOST * len(values):
            return False
        return different < len(values) or len(values) == 1
    if name == POSITION:
        thread = found[THREAD]
        places = {(_thread_of(row, thread), READS[name](row.metadata[key], zone)) for row in having}
        return len(places) >= _MOST * len(having)
    return True


def _thread_of(row: Row, key: str | None) -> Any:
    return None if key is None else str(row.document if key == DOCUMENT else row.metadata.get(key))


def _name(value: Any, _zone: tzinfo) -> str | None:
    text = value.strip() if isinstance(value, str) else ""
    if not text or len(text) > _ACTOR_CHARS or not text.isprintable() or _ID.fullmatch(text):
        return None
    return text


def _role(value: Any, _zone: tzinfo) -> str | None:
    role = role_of(value) if isinstance(value, str) else None
    return None if role is None else role.value


def _conversation(value: Any, _zone: tzinfo) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    text = str(value).strip()
    return text if text and len(text) <= _SHORT and text.isprintable() else None


def _place(value: Any, _zone: tzinfo) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"\d{1,12}", value.strip()):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


READS: Mapping[str, Callable[[Any, tzinfo], Any]] = {
    ACTOR: _name, ROLE: _role, WHEN: moment, THREAD: _conversation, POSITION: _place
}  # fmt: skip


def read_fields(row: Row, fields: Fields, zone: tzinfo) -> dict[str, Any]:
    """Read the fields of a memory from a document; values that cannot be read are left out."""
    found: dict[str, Any] = {}
    for name, key in fields.items():
        if key is None:
            continue
        value = row.document if key == DOCUMENT and key not in row.metadata else row.metadata.get(key)
        if value is not None and (known := READS[name](value, zone)) is not None:
            found[name] = known
    return found
