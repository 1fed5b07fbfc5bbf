"""The indexes, in the directory or on a server: they are whole, of this history, and hold exactly the living memories.

They are opened in a directory of their own, so that opening changes nothing in the store. Files of Chroma that no seal
vouches for are read by a process of its own: python -m recall_integrations.store.doctor.indexes DIRECTORY
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from recall_integrations.config import VectorsConfig
from recall_integrations.config.keeping import PGVECTOR
from recall_integrations.database import schema
from recall_integrations.errors import ConfigError, IndexUnavailable, VectorsAway, VectorsRefused
from recall_integrations.indexes.pg_tables import has_catalogue
from recall_integrations.indexes.vectors import (
    CollectionLost,
    CollectionServer,
    SemanticIndex,
    VectorsOver,
    home_name,
    torn,
)
from recall_integrations.indexes.words import LexicalIndex, damaged
from recall_integrations.store import homes, index_files, journal
from recall_integrations.store.doctor.contents import Contents
from recall_integrations.store.doctor.findings import Check, counted, notice, ok, problem
from recall_integrations.store.journal import LEXICAL, SEMANTIC
from recall_integrations.store.opening import made_server
from recall_integrations.store.served_collections import foreign

if __name__ == "__main__":
    held = SemanticIndex(Path(sys.argv[1]))
    print(json.dumps({name: found.tolist() for name, found in held.nums().items()}))
    held.close()

_SECONDS_MAX = 600.0
_REMOVALS = 20
REBUILD = "`--repair` makes it anew from the database."
LATER = "They are applied at the next open or write."
Nums = NDArray[np.int64]


def check_name(index: str) -> str:
    """Return the name of the check of an index."""
    return f"{index} index"


def examine(connection: Connection, name: str, directory: Path, contents: Contents) -> Check:
    """Check an index."""
    try:
        return (_lexical if name == LEXICAL else _semantic)(connection, directory, contents)
    except IndexUnavailable as e:
        return problem(check_name(name), str(e), REBUILD)
    except (OSError, ValueError) as e:
        return problem(check_name(name), f"It cannot be read: {e}.", REBUILD)


def _lexical(connection: Connection, directory: Path, contents: Contents) -> Check:
    check, cursor = check_name(LEXICAL), journal.cursors(connection).get(LEXICAL, 0)
    there = [*contents.living, *(num for _, num in contents.unreadable)]
    wanted = np.unique(np.asarray([num for num in there if num <= cursor], dtype=np.int64))
    if len(wanted) or directory.exists():
        _look_at_files(connection, LEXICAL, directory, cursor, bool(len(wanted)))
        _compare(connection, directory, wanted, cursor)
    held = counted(len(wanted), "memory", "memories")
    if behind := journal.last_seq(connection) - cursor:
        says = f"It holds the {held} that it should, and lacks the last {counted(behind, 'change')}."
        return notice(check, says, LATER)
    return ok(check, f"It holds exactly the {held} that it should.")


def _semantic(connection: Connection, directory: Path, contents: Contents) -> Check:
    check = check_name(SEMANTIC)
    reached = max((until for _, until in contents.homes.values()), default=0)
    if reached or directory.exists():
        _look_at_files(connection, SEMANTIC, directory, reached, bool(reached))
    if reached and not (directory / index_files.SEAL).is_file():
        _look_apart(connection, directory, contents)
    if behind := journal.last_seq(connection) - journal.cursors(connection).get(SEMANTIC, 0):
        return notice(check, f"It lacks the last {counted(behind, 'change')}.", LATER)
    if not contents.homes:
        return ok(check, "No scope needs one: all are scanned exactly.")
    if lacking := _lacking(connection, contents):
        return ok(check, f"It is whole; {lacking:,} more vectors of large scopes are scanned until it has them.")
    return ok(check, "It is whole, and noted to have all vectors of large scopes.")


def _lacking(connection: Connection, contents: Contents) -> int:
    v, found = schema.vectors.c, 0
    for scope_id, (_, until) in contents.homes.items():
        query = select(func.count()).where(v.scope_id == scope_id, v.num > until)
        found += connection.execute(query).scalar_one()
    return found


def _look_at_files(connection: Connection, name: str, directory: Path, reached: int, needed: bool) -> None:
    """Raise `IndexUnavailable` for damage that shows without opening the index."""
    if needed and not directory.is_dir():
        raise IndexUnavailable("It is missing.")
    broken, _ = index_files.broken_seal(directory)
    if broken is None and needed:
        broken = torn(directory) if name == SEMANTIC else damaged(directory)
    if broken is not None:
        raise IndexUnavailable(f"It is damaged: {broken}.")
    noted = journal.noted_point(directory)
    foreign = journal.foreign(connection, reached, noted)
    if foreign is not None:
        last = journal.last_seq(connection)
        more = noted.seq - last if noted is not None else 0
        lost = f" The index knows of {counted(more, 'change')} that the database does not have." if more > 0 else ""
        raise IndexUnavailable(f"It is of another history: {foreign}.{lost}")


def _compare(connection: Connection, directory: Path, should: Nums, cursor: int) -> None:
    """Raise `IndexUnavailable` where the lexical index holds wrong memories."""
    c = schema.changes.c
    ahead = connection.execute(select(c.num).where(c.seq > cursor)).scalars().all()  # applied or not
    has = _lexical_nums(directory)
    lacks, strange = np.setdiff1d(should, has), np.setdiff1d(np.setdiff1d(has, should), ahead)
    twice = len(has) - len(np.unique(has))
    said = [
        *([f"lacks {counted(len(lacks), 'memory', 'memories')}"] if len(lacks) else []),
        *([f"holds {counted(len(strange), 'memory', 'memories')} that are gone"] if len(strange) else []),
        *([f"holds {counted(twice, 'memory', 'memories')} twice"] if twice else []),
    ]
    if said:
        raise IndexUnavailable(f"It {' and '.join(said)}.")


def _look_apart(connection: Connection, directory: Path, contents: Contents) -> None:
    """Raise `IndexUnavailable` where another process cannot read a copy of Chroma's files, or they lack vectors."""
    with _elsewhere() as made:
        copied = shutil.copytree(directory, made / "semantic")
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        command = [sys.executable, "-m", __name__, str(copied)]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_SECONDS_MAX, check=False, env=environment
            )
        except subprocess.TimeoutExpired as e:
            raise IndexUnavailable("It could not be looked through in time.") from e
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        raise IndexUnavailable(f"Reading it ends the process (code {done.returncode}). {last}".strip())
    held, v = json.loads(done.stdout.splitlines()[-1]), schema.vectors.c
    for scope_id, (home, until) in contents.homes.items():
        wanted = connection.execute(select(v.num).where(v.scope_id == scope_id, v.num <= until)).scalars().all()
        if lacks := set(wanted) - set(held.get(home_name(home), ())):
            raise IndexUnavailable(f"It lacks {counted(len(lacks), 'vector')} of the collection {home}.")


def _lexical_nums(directory: Path) -> Nums:
    """List the nums in tantivy. Its files are linked into another directory, where it may make its locks."""
    with _elsewhere() as made:
        for file in directory.iterdir():
            if file.is_file() and not file.name.endswith(".lock"):
                (made / file.name).symlink_to(file.absolute())
        return LexicalIndex(made).nums()


@contextmanager
def _elsewhere() -> Iterator[Path]:
    """Yield a temporary directory; it is removed at the end, though a closing index may still make a lock in it."""
    made = Path(tempfile.mkdtemp(prefix="recall-doctor-"))
    try:
        yield made
    finally:
        for _ in range(_REMOVALS):
            shutil.rmtree(made, ignore_errors=True)
            if not made.exists():
                break


SERVER = "chroma server"  # what the check of one is called
UNNAMED = "server of vectors"  # what the check of one is called that no setting names: which it is is not known
Served = Mapping[int, tuple[str, int]]
_ANEW = "`--repair` gives each of these scopes another collection, which is filled when the store is open."
_LATER = "It is filled while the store is open; what it lacks is scanned."


def examine_served(
    connection: Connection, served: Served, settings: VectorsConfig, remedy: str = _ANEW
) -> Check | None:
    """Compare the collections with the record; `None` = the store has nothing on a server. It may be in use."""
    left = homes.left(connection)
    if not served and not left:
        return None
    held = counted(len(served), "large scope has its vectors", "large scopes have their vectors")
    if not settings.address:
        where, name, remedy = "on a server", UNNAMED, "Name it"
        if connection.dialect.name == "postgresql" and has_catalogue(connection):
            where, name, remedy = "in pgvector", PGVECTOR, f"Write {PGVECTOR}"
        says = f"{held} {where}, which is not named here: they were not compared."
        return notice(name, says, f"{remedy} in RECALL_VECTORS__ADDRESS, or in the file that RECALL_CONFIG names.")
    name = PGVECTOR if settings.address == PGVECTOR else SERVER
    try:
        in_database = connection.dialect.name == "postgresql"
        address = connection.engine.url.render_as_string(hide_password=False) if in_database else None
        server = made_server(settings, address, makes=False)
    except ConfigError as e:
        return problem(name, str(e), "See to that, and look again.")
    try:
        server.check()
        wrong, lacking = _compared(connection, served, server)
    except ConfigError as e:
        return notice(name, str(e), "Look as the owner of the tables.")
    except VectorsAway as e:
        return notice(name, f"{held} on a server that was not compared: {e}", "Look again when it is back.")
    except VectorsOver as e:
        return problem(name, str(e), "See to that, and look again.")
    except VectorsRefused as e:
        return problem(
            name, str(e), "See to its address, token, tenant and database." if name == SERVER else "See to that."
        )
    finally:
        server.close()
    if wrong:
        return problem(name, f"{counted(len(wrong), 'collection')} of it cannot be used.", remedy, wrong)
    if left:
        says = f"{counted(len(left), 'collection')} that nobody needs any more may still be there."
        return notice(name, says, "They are removed while the store is open.", left)
    if lacking:
        return ok(name, f"{held} there; {counted(lacking, 'vector')} are not there yet. {_LATER}")
    return ok(name, f"{held} there, exactly those that it should.")


def _compared(connection: Connection, served: Served, server: CollectionServer) -> tuple[list[str], int]:
    """List the faults, a sentence for each collection, and count the vectors that are not there yet."""
    wrong, lacking = [], 0
    for scope_id, (home, until) in sorted(served.items()):
        before = _nums(connection, scope_id)
        lacking += int((before > until).sum())
        if not until:
            continue  # not in use yet
        try:
            said = foreign(connection, until, server.look(home))
            held = server.nums(home)
        except CollectionLost as e:
            wrong.append(f"scope {scope_id}: {e}")
            continue
        after = _nums(connection, scope_id)  # others may have written meanwhile
        lacks = np.setdiff1d(np.intersect1d(before, after), held)
        lacks = lacks[lacks <= until]
        strange = np.setdiff1d(held, np.concatenate([before, after, _changed(connection, scope_id, until)]))
        if said is not None:
            wrong.append(f"scope {scope_id}: {home} is of another history: {said}")
        elif len(lacks) or len(strange):
            said = f"lacks {len(lacks):,} and holds {len(strange):,} that are gone"
            wrong.append(f"scope {scope_id}: {home} {said}")
    return wrong, lacking


def _nums(connection: Connection, scope_id: int) -> NDArray[np.int64]:
    v = schema.vectors.c
    return np.asarray(connection.execute(select(v.num).where(v.scope_id == scope_id)).scalars().all(), dtype=np.int64)


def _changed(connection: Connection, scope_id: int, until: int) -> NDArray[np.int64]:
    """List the nums that the collection may hold or lack, since the journal went on."""
    c = schema.changes.c
    found = connection.execute(select(c.num).where(c.scope_id == scope_id, c.seq > until)).scalars().all()
    return np.asarray(found, dtype=np.int64)
