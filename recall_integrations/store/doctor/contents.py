"""The contents of the tables: every memory is readable, its derived rows are right, the journal agrees with it.

The semantic index in the directory is whole, and of this history. Chroma is not opened: the store compares what a
collection holds when it first asks it, and makes it anew where it lacks vectors.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, Table, and_, exists, func, literal_column, or_, select

from recall_integrations.database import schema
from recall_integrations.database.schema import get_meta
from recall_integrations.errors import IndexUnavailable, RecallError
from recall_integrations.indexes import word_rows as words
from recall_integrations.indexes.damage import UNREADABLE
from recall_integrations.indexes.times import from_micros, to_micros
from recall_integrations.indexes.vectors import torn
from recall_integrations.store import chroma_files, homes, journal
from recall_integrations.store.doctor.findings import Check, counted, notice, ok, problem
from recall_integrations.store.homes import Home, count_after
from recall_integrations.store.journal import SEMANTIC, TOUCH
from recall_integrations.store.renewal import ANALYSER, REEMBEDDING
from recall_integrations.text import ANALYSER_VERSION
from recall_integrations.text.detection import Count
from recall_integrations.text.detection import counted as languages_of
from recall_integrations.types import Memory, Relation, indexed_text

Key = tuple[int, int]  # scope and number of a memory
Tell = Callable[[str, int, int], None]  # what is looked at, how much of it is done, how much there is

BATCH = 2_000
AHEAD = timedelta(days=1)  # of the clock, from which a memory is from the future
_LENGTH_OFF = 0.05  # of a vector's length, 1 or 0: float16 costs less
_AS_THEY_ARE = ("id", "text", "type", "actor", "role", "channel", "importance", "thread", "position")
WHY_MAX = 200  # letters of the reason why a row cannot be read
_MEMORY = tuple(column.name for column in schema.memories.c)
_WORDS = tuple(column.name for column in schema.words.c if not column.primary_key)
# Tables whose rows belong to a scope or, if they have its number, to a memory. Entities go first.
_HANGING = (schema.entities, schema.languages, schema.judged, schema.aliases, schema.words, schema.vectors)
_OF_ENTITIES = {"aliases": ("ent",), "mentions": ("ent",), "edges": ("src", "dst")}  # by table, columns that name one


@dataclass(slots=True)
class Contents:
    """The memories of a store, and the faults in its rows."""

    living: dict[int, int] = field(default_factory=dict)  # the scope of each memory, by num
    unreadable: dict[Key, str] = field(default_factory=dict)  # the reason why a memory cannot be read, by scope and num
    named: dict[Key, str] = field(default_factory=dict)  # the id of each unreadable memory that has one
    ahead: list[Key] = field(default_factory=list)  # memories from the future
    words_wrong: list[Key] = field(default_factory=list)  # memories whose words are absent, or not those of the text
    cut_by_another: bool = False  # whether another version of the analyser cut the words, so that they are not compared
    languages_wrong: list[int] = field(default_factory=list)  # scopes whose noted languages are not their memories'
    # Scopes with a wrong count of memories: noted and found.
    counts_wrong: dict[int, tuple[int, int]] = field(default_factory=dict)
    vectors_missing: list[Key] = field(default_factory=list)  # memories that should be embedded and have no vector
    # The reason why a vector cannot be used, by scope and num.
    vectors_wrong: dict[Key, str] = field(default_factory=dict)
    width: int = 0  # dimensions of a vector; 0 = there is none
    embedding: str | None = None  # fingerprint of the embedding that made the vectors; `None` = nothing was embedded
    changing: str | None = None  # fingerprint of the embedding that is making the vectors anew
    orphans: dict[str, int] = field(default_factory=dict)  # number of rows that belong to nothing, by table
    scopes: frozenset[int] = frozenset()  # their numbers
    # The collection in files of each scope that has one, and the last change that it holds.
    homes: dict[int, Home] = field(default_factory=dict)


def read(connection: Connection, now: datetime, tell: Tell) -> Contents:
    """Check all rows."""
    found = Contents(
        cut_by_another=get_meta(connection, ANALYSER) not in (None, str(ANALYSER_VERSION)),
        embedding=get_meta(connection, "embedding"),
        changing=get_meta(connection, REEMBEDDING),
    )
    s = schema.scopes.c
    query = select(s.scope_id, s.memories)
    noted = {int(row.scope_id): row for row in connection.execute(query)}
    found.scopes = frozenset(noted)
    found.homes = homes.noted(connection, files=True)
    _read_memories(connection, found, now, tell)
    held = Counter(found.living.values())
    held.update(scope_id for scope_id, _ in found.unreadable if scope_id in noted)
    found.counts_wrong = {i: (row.memories, held[i]) for i, row in noted.items() if row.memories != held[i]}
    _read_vectors(connection, found, tell)
    found.orphans = orphans(connection)
    return found


# -- memories and their words ----------------------------------------------------------------------------------------


def _read_memories(connection: Connection, found: Contents, now: datetime, tell: Tell) -> None:
    latest = to_micros(now + AHEAD)
    spoken: defaultdict[int, dict[str, Count]] = defaultdict(dict)
    for row in _memories(connection, tell):
        fields, kept = dict(zip(_MEMORY, row, strict=False)), row[len(_MEMORY) :]
        key = (fields["scope_id"], fields["num"])
        why = unreadable(fields, found.scopes)
        if why is not None:
            found.unreadable[key] = why
            found.named[key] = str(fields["id"])
            continue
        found.living[fields["num"]] = fields["scope_id"]
        if fields["created_at"] > latest:
            found.ahead.append(key)
        if not found.cut_by_another:
            should = words.to_row(*key, fields["text"], fields["actor"])
            if tuple(should[name] for name in _WORDS) != kept:
                found.words_wrong.append(key)
            told = spoken[key[0]]
            for code, count in languages_of([fields["text"]]).items():
                told[code] = told.get(code, Count()).plus(count)
    if not found.cut_by_another:
        found.languages_wrong = _languages_wrong(connection, spoken)


def _memories(connection: Connection, tell: Tell) -> Iterator[tuple[Any, ...]]:
    m, w = schema.memories, schema.words
    total = connection.execute(select(func.count()).select_from(m)).scalar_one()
    joined = m.outerjoin(w, and_(w.c.scope_id == m.c.scope_id, w.c.num == m.c.num))
    raw: list[ColumnElement[Any]] = [literal_column(f"memories.{name}").label(f"m_{name}") for name in _MEMORY]
    raw += [literal_column(f"words.{name}").label(f"w_{name}") for name in _WORDS]
    result, done = connection.execute(select(*raw).select_from(joined)), 0
    while rows := result.fetchmany(BATCH):
        yield from (tuple(row) for row in rows)
        done += len(rows)
        tell("memories", done, total)


def _languages_wrong(connection: Connection, spoken: Mapping[int, Mapping[str, Count]]) -> list[int]:
    t = schema.languages.c
    noted: defaultdict[int, dict[str, Count]] = defaultdict(dict)
    for scope_id, code, *count in connection.execute(select(t.scope_id, t.language, t.told, t.hints, t.votes)):
        noted[scope_id][code] = Count(*count)

    def of(side: Mapping[int, Mapping[str, Count]], scope_id: int) -> dict[str, Count]:
        return {code: count for code, count in side.get(scope_id, {}).items() if count != Count()}

    return sorted(i for i in {*noted, *spoken} if of(noted, i) != of(spoken, i))


def unreadable(fields: Mapping[str, Any], scopes: Set[int]) -> str | None:
    """Say why the row of a memory cannot be read; `None` = it can, and holds what may be written."""
    if fields["scope_id"] not in scopes:
        return f"its scope {fields['scope_id']} is not there"
    values = {name: fields[name] for name in _AS_THEY_ARE}
    try:
        for name in ("event_at", "created_at", "expires_at"):
            values[name] = None if fields[name] is None and name != "created_at" else from_micros(fields[name])
        for name in ("entities", "refs", "metadata"):
            values[name] = json.loads(fields[name])
        values["relations"] = [Relation(*parts) for parts in json.loads(fields["relations"])]
        Memory(**values)
    except (RecallError, *UNREADABLE) as e:
        said = str(e) if isinstance(e, RecallError) else f"{type(e).__name__}: {e}"
        return f"it cannot be read ({said[:WHY_MAX]})"
    return None


# -- vectors ---------------------------------------------------------------------------------------------------------


def _read_vectors(connection: Connection, found: Contents, tell: Tell) -> None:
    v = schema.vectors
    raw: ColumnElement[Any] = literal_column("vectors.vector")
    lengths = connection.execute(select(func.length(raw), func.count()).select_from(v).group_by(func.length(raw))).all()
    found.width = max(((n, size) for size, n in lengths), default=(0, 0))[1] // 2
    total, done = sum(n for _, n in lengths), 0
    embedded: set[Key] = set()
    result = connection.execute(select(v.c.scope_id, v.c.num, raw).select_from(v))
    while rows := result.fetchmany(BATCH):
        good = []
        for scope_id, num, blob in rows:
            embedded.add((scope_id, num))
            if found.width and isinstance(blob, bytes) and len(blob) == 2 * found.width:
                good.append(((scope_id, num), blob))
            else:
                found.vectors_wrong[scope_id, num] = "its shape is another"
        matrix = np.frombuffer(b"".join(blob for _, blob in good), dtype="<f2").astype(np.float32)
        found.vectors_wrong.update(_not_of_length_one([key for key, _ in good], matrix.reshape(len(good), -1)))
        done += len(rows)
        tell("vectors", done, total)
    cursor = journal.cursors(connection).get(journal.SEMANTIC, 0)
    found.vectors_missing = [(s, n) for n, s in found.living.items() if n <= cursor and (s, n) not in embedded]


def _not_of_length_one(keys: list[Key], matrix: np.ndarray[Any, np.dtype[np.float32]]) -> Iterator[tuple[Key, str]]:
    if not keys:
        return
    finite = np.isfinite(matrix).all(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        length = np.linalg.norm(matrix, axis=1)
    for row in np.flatnonzero(~finite).tolist():
        yield keys[row], "it holds what is no number"
    off = finite & (np.abs(length - 1) > _LENGTH_OFF) & (length > 0)
    if off.sum() > len(keys) // 2:  # an embedding whose vectors are not of length 1 or 0 is no damage
        return
    for row in np.flatnonzero(off).tolist():
        yield keys[row], f"its length is {length[row]:.2f}, not 1"


# -- rows that belong to nothing -------------------------------------------------------------------------------------


def orphans(connection: Connection) -> dict[str, int]:
    """Count the rows that belong to no stored memory, entity or scope, by table."""
    counts = {
        table.name: connection.execute(select(func.count()).select_from(table).where(where)).scalar_one()
        for table, where in orphan_conditions()
    }
    return {name: count for name, count in sorted(counts.items()) if count}


def orphan_conditions() -> Iterator[tuple[Table, ColumnElement[bool]]]:
    """Yield each table whose rows belong to something, with the condition of rows that belong to nothing."""
    m, e, s = schema.memories.c, schema.entities.c, schema.scopes.c
    for table in (*_HANGING, schema.mentions, schema.edges):
        if "num" in table.c:
            gone = [~exists().where(m.scope_id == table.c.scope_id, m.num == table.c.num)]
        else:
            gone = [~exists().where(s.scope_id == table.c.scope_id)]
        names = _OF_ENTITIES.get(table.name, ())
        gone += [~exists().where(e.scope_id == table.c.scope_id, e.ent == table.c[name]) for name in names]
        yield table, or_(*gone)


JOURNAL = "journal"
_REMEDY = "`--repair` begins the journal anew with what is there, and makes the semantic index from it."


@dataclass(slots=True)
class _Walk:
    """The findings of a walk through the journal."""

    put: set[int] = field(default_factory=set)
    removed: set[int] = field(default_factory=set)
    broken: list[str] = field(default_factory=list)


def examine_journal(connection: Connection, living: Mapping[int, int]) -> Check:
    """Check the journal."""
    try:
        last, dropped = journal.last_seq(connection), journal.pruned(connection)
    except ValueError as e:
        return problem(JOURNAL, f"The number of its last entry cannot be read ({e}).", _REMEDY)
    walk = _walk(connection, dropped)
    lost = sorted(num for num in walk.put - walk.removed if num not in living)
    unknown = sorted(num for num in living if num > dropped.seq and num not in walk.put)
    back = sorted(num for num in walk.removed if num in living)
    late = sorted(num for num in living if num > last)
    cursors = {name: seq for name, seq in journal.cursors(connection).items() if seq > last}
    said = [
        *(f"Memory {num} was written and never removed, and is not there: it is lost." for num in lost),
        *walk.broken,
        *(f"Memory {num} is there, and no entry says that it was written." for num in unknown),
        *(f"Memory {num} is there, and was removed." for num in back),
        *(f"Memory {num} has a number above the last one that was given ({last})." for num in late),
        *(f"The {name} index is said to have come to {seq}, which is not there." for name, seq in cursors.items()),
    ]
    if not said:
        entries = connection.execute(select(func.count()).select_from(schema.changes)).scalar_one()
        return ok(JOURNAL, f"{counted(entries, 'entry', 'entries')}, the last one is {last:,}; each follows.")
    gone = f" {counted(len(lost), 'memory is', 'memories are')} lost." if lost else ""
    says = f"{counted(len(said), 'thing does', 'things do')} not agree with the memories.{gone}"
    return problem(JOURNAL, says, _REMEDY, said)


def _walk(connection: Connection, dropped: journal.Point) -> _Walk:
    walk, before = _Walk(), dropped.digest
    for seq, scope_id, op, num, digest, content in _entries(connection):
        if op != TOUCH:
            (walk.put if op == "put" else walk.removed).add(num)
        known = op != "put" or content is not None  # the text of a memory that was replaced since is unknown
        if op not in ("put", "del", TOUCH):
            walk.broken.append(f"Entry {seq} is of no known kind.")
        elif known and digest != journal.digest_of(before, seq, scope_id, op, num, content if op == "put" else None):
            what = f", or the text of memory {num} is not the one that was written" if op == "put" else ""
            walk.broken.append(f"Entry {seq} does not follow from the one before it{what}.")
        before = digest
    return walk


def _entries(connection: Connection) -> Iterator[tuple[int, int, str, int, str, str | None]]:
    """Yield the entries, oldest first, each with the indexed text of its memory if that exists."""
    c, m = schema.changes, schema.memories
    joined = c.outerjoin(m, (m.c.scope_id == c.c.scope_id) & (m.c.num == c.c.num))
    raw: list[ColumnElement[Any]] = [
        literal_column(f"{table.name}.{name}") for table, name in ((m, "text"), (m, "actor"))
    ]
    query = select(c.c.seq, c.c.scope_id, c.c.op, c.c.num, c.c.digest, *raw).select_from(joined).order_by(c.c.seq)
    for seq, scope_id, op, num, digest, text, actor in connection.execute(query):
        readable = isinstance(text, str) and (actor is None or isinstance(actor, str))
        yield seq, scope_id, op, num, digest, indexed_text(text, actor) if readable else None


NAME = f"{SEMANTIC} index"  # of the check
REBUILD = "`--repair` makes it anew from the database."
LATER = "They are applied at the next open or write."


def examine(connection: Connection, directory: Path, contents: Contents) -> Check:
    """Check the index."""
    try:
        return _looked_at(connection, directory, contents)
    except IndexUnavailable as e:
        return problem(NAME, str(e), REBUILD)
    except (OSError, ValueError) as e:
        return problem(NAME, f"It cannot be read: {e}.", REBUILD)


def _looked_at(connection: Connection, directory: Path, contents: Contents) -> Check:
    reached = max((until for _, until in contents.homes.values()), default=0)
    if reached or directory.exists():
        _look_at_files(connection, directory, reached)
    if (behind := journal.last_seq(connection) - journal.cursors(connection).get(SEMANTIC, 0)) > 0:
        return notice(NAME, f"It lacks the last {counted(behind, 'change')}.", LATER)
    if not contents.homes:
        return ok(NAME, "No scope needs one: all are scanned exactly.")
    if lacking := sum(count_after(connection, scope_id, until) for scope_id, (_, until) in contents.homes.items()):
        return ok(NAME, f"It is whole; {lacking:,} more vectors of large scopes are scanned until it has them.")
    return ok(NAME, "It is whole, and noted to have all vectors of large scopes.")


def _look_at_files(connection: Connection, directory: Path, reached: int) -> None:
    """Raise `IndexUnavailable` for damage that shows without opening the index."""
    if reached and not directory.is_dir():
        raise IndexUnavailable("It is missing.")
    broken, _ = chroma_files.broken_seal(directory)
    if broken is None and reached:
        broken = torn(directory) or _torn_database(directory)
    if broken is not None:
        raise IndexUnavailable(f"It is damaged: {broken}.")
    noted = journal.noted_point(directory)
    foreign = journal.foreign(connection, reached, noted)
    if foreign is not None:
        last = journal.last_seq(connection)
        more = noted.seq - last if noted is not None else 0
        lost = f" The index knows of {counted(more, 'change')} that the database does not have." if more > 0 else ""
        raise IndexUnavailable(f"It is of another history: {foreign}.{lost}")


def _torn_database(directory: Path) -> str | None:
    """Describe damage to Chroma's database, which is read as a file; `None` if there is none."""
    file = f"{(directory / 'chroma.sqlite3').absolute().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(file, uri=True)) as opened:
            found = [str(row[0]) for row in opened.execute("PRAGMA quick_check(3)")]
    except sqlite3.Error as e:
        return f"Chroma's database cannot be read ({e})"
    return None if found == ["ok"] else f"Chroma's database is damaged ({'; '.join(found)[:300]})"
