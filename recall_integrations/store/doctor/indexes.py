"""The indexes, in the directory or on a server: they are whole, of this history, and hold exactly the living memories.

They are opened in a directory of their own, so that opening changes nothing in the store. Files that may be damaged are
read by a process of its own: python -m recall_integrations.store.doctor.indexes DIRECTORY < samples.json
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
from typing import NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select, union_all

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
    finds_itself,
    home_name,
    of_home,
    torn,
)
from recall_integrations.indexes.words import LexicalIndex, damaged
from recall_integrations.store import homes, index_files, journal
from recall_integrations.store.doctor.contents import Contents, Key
from recall_integrations.store.doctor.findings import Check, counted, notice, ok, problem
from recall_integrations.store.journal import LEXICAL, SEMANTIC
from recall_integrations.store.opening import made_server
from recall_integrations.store.served_collections import foreign

_NEAREST = 4


class Seen(TypedDict):
    """The contents of a copy of the semantic index."""

    nums: dict[str, list[int]]  # of the memories in each collection
    missed: dict[str, int]  # number of samples that a collection does not find


def look(directory: Path, samples: Mapping[str, Mapping[int, list[float]]]) -> Seen:
    """List the memories in the collections, and let the collections find samples of their own vectors."""
    index = SemanticIndex(directory)
    try:
        nums = {name: found.tolist() for name, found in index.nums().items()}
        missed = {}
        for name, vectors in samples.items():
            missed[name] = 0
            for vector in vectors.values() if name in nums else ():
                _, cosines = index.nearest(of_home(name), np.asarray(vector, dtype=np.float32), _NEAREST)
                missed[name] += not finds_itself(cosines)
        return Seen(nums=nums, missed=missed)
    finally:
        index.close()


if __name__ == "__main__":
    print(json.dumps(look(Path(sys.argv[1]), json.load(sys.stdin))))


_SAMPLES = 32  # vectors of a large scope that its index has to find
_MISSED_MAX = _SAMPLES // 8  # of them, as HNSW is approximate
_SECONDS_MAX = 600.0
_REMOVALS = 20
REBUILD = "`--repair` makes it anew from the database."
Nums = NDArray[np.int64]


def check_name(index: str) -> str:
    """Return the name of the check of an index."""
    return f"{index} index"


def examine(connection: Connection, name: str, directory: Path, contents: Contents) -> Check:
    """Check an index."""
    check, behind, lacking = check_name(name), 0, 0
    try:
        wanted = _wanted(connection, name, contents)
        if wanted or directory.exists():
            reached = _reached(connection, name, contents)
            _look_at_files(connection, name, directory, reached, bool(wanted))
            _compare(connection, name, directory, wanted, contents)
        behind = journal.last_seq(connection) - journal.cursors(connection).get(name, 0)
        lacking = _lacking(connection, contents) if name == SEMANTIC else 0
    except IndexUnavailable as e:
        return problem(check, str(e), REBUILD)
    except (OSError, ValueError) as e:
        return problem(check, f"It cannot be read: {e}.", REBUILD)
    held = counted(sum(len(nums) for nums in wanted.values()), "memory", "memories")
    if behind:
        says = f"It holds the {held} that it should, and lacks the last {counted(behind, 'change')}."
        return notice(check, says, "They are applied at the next open or write.")
    if name == SEMANTIC and not contents.homes:
        return ok(check, "No scope needs one: all are scanned exactly.")
    if lacking:
        says = f"It holds the {held} that it should; {lacking:,} more of large scopes are scanned until it has them."
        return ok(check, says)
    return ok(check, f"It holds exactly the {held} that it should.")


def _wanted(connection: Connection, name: str, contents: Contents) -> dict[str, Nums]:
    """Return the nums that an index must hold, by collection: those up to its place. The lexical index has one only."""
    by_home: dict[str, list[int]] = {}
    if name == LEXICAL:
        cursor = journal.cursors(connection).get(name, 0)
        by_home[LEXICAL] = [num for num in contents.living if num <= cursor]
        by_home[LEXICAL] += [num for _, num in contents.unreadable if num <= cursor]
    else:
        v = schema.vectors.c
        for scope_id, (home, until) in contents.homes.items():
            query = select(v.num).where(v.scope_id == scope_id, v.num <= until)
            by_home[home_name(home)] = list(connection.execute(query).scalars())
    return {home: np.unique(np.asarray(nums, dtype=np.int64)) for home, nums in by_home.items() if nums}


def _reached(connection: Connection, name: str, contents: Contents) -> int:
    """Return the last change that an index holds, as the database notes it."""
    if name == LEXICAL:
        return journal.cursors(connection).get(name, 0)
    return max((until for _, until in contents.homes.values()), default=0)


def _lacking(connection: Connection, contents: Contents) -> int:
    """Count the vectors of large scopes that their collections do not hold yet."""
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


def _compare(
    connection: Connection, name: str, directory: Path, wanted: Mapping[str, Nums], contents: Contents
) -> None:
    """Raise `IndexUnavailable` where the index holds wrong memories, or does not find its own vectors."""
    ahead = _ahead(connection, name, contents)
    if name == LEXICAL:
        held, missed = {LEXICAL: _lexical_nums(directory)}, dict[str, int]()
    else:
        held, missed = _semantic_nums(directory, _samples(connection, wanted, contents))
    for home in sorted({*wanted, *held}):
        should, has = (side.get(home, np.empty(0, dtype=np.int64)) for side in (wanted, held))
        where = "" if home == LEXICAL else f" of the collection {home}"
        if name == SEMANTIC and home not in ahead:
            continue  # the scope has no collection any more: it is removed when Chroma is opened
        lacks, strange = np.setdiff1d(should, has), np.setdiff1d(has, should)
        strange = strange[~np.isin(strange, ahead[home].nums)] if ahead[home].known else strange[:0]
        twice = len(has) - len(np.unique(has))
        said = [
            *([f"lacks {counted(len(lacks), 'memory', 'memories')}{where}"] if len(lacks) else []),
            *([f"holds {counted(len(strange), 'memory', 'memories')}{where} that are gone"] if len(strange) else []),
            *([f"holds {counted(twice, 'memory', 'memories')}{where} twice"] if twice else []),
        ]
        if said:
            raise IndexUnavailable(f"It {' and '.join(said)}.")
        if missed.get(home, 0) > _MISSED_MAX:
            raise IndexUnavailable(f"It does not find {missed[home]} of {_SAMPLES} of its own vectors{where}.")


class _Ahead(NamedTuple):
    """Memories that an index may hold or lack beyond the wanted ones."""

    nums: Nums  # of changes after the place of the index: applied or not
    known: bool  # whether these are all; else the index is going to be made anew


def _ahead(connection: Connection, name: str, contents: Contents) -> dict[str, _Ahead]:
    """Return the tolerated nums of each collection."""
    c, v = schema.changes.c, schema.vectors.c
    if name == LEXICAL:
        cursor = journal.cursors(connection).get(name, 0)
        nums = connection.execute(select(c.num).where(c.seq > cursor)).scalars().all()
        return {LEXICAL: _Ahead(np.asarray(nums, dtype=np.int64), True)}
    found = {}
    for scope_id, (home, until) in contents.homes.items():
        changed = select(c.num).where(c.scope_id == scope_id, c.seq > until)
        waiting = select(v.num).where(v.scope_id == scope_id, v.num > until)
        nums = connection.execute(union_all(changed, waiting)).scalars().all()
        found[home_name(home)] = _Ahead(np.asarray(nums, dtype=np.int64), until > 0)
    return found


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


def _samples(
    connection: Connection, wanted: Mapping[str, Nums], contents: Contents
) -> dict[str, dict[int, list[float]]]:
    """Read some vectors of every collection, by num."""
    v = schema.vectors.c
    found: dict[str, dict[int, list[float]]] = {}
    for home, nums in wanted.items():
        chosen = nums[np.linspace(0, len(nums) - 1, min(_SAMPLES, len(nums))).astype(np.int64)].tolist()
        scopes: list[Key] = [(contents.living[num], num) for num in chosen if num in contents.living]
        for scope_id, num in scopes:
            if (scope_id, num) in contents.vectors_wrong:
                continue
            blob = connection.execute(select(v.vector).where(v.scope_id == scope_id, v.num == num)).scalar_one()
            vector = np.frombuffer(blob, dtype="<f2").astype(np.float32)
            if vector.any():
                found.setdefault(home, {})[num] = vector.tolist()
    return found


def _semantic_nums(
    directory: Path, samples: Mapping[str, Mapping[int, list[float]]]
) -> tuple[dict[str, Nums], dict[str, int]]:
    """List the nums in a copy of the collections, and count the samples that each does not find.

    Unsealed files can crash the process that reads them, so another process does.
    """
    with _elsewhere() as made:
        copied = made / "semantic"
        if directory.exists():
            shutil.copytree(directory, copied)
        sealed = (directory / index_files.SEAL).is_file()
        found = look(copied, samples) if sealed else _looked_apart(copied, samples)
    nums = {home: np.asarray(ids, dtype=np.int64) for home, ids in found["nums"].items()}
    return nums, {str(home): int(count) for home, count in found["missed"].items()}


def _looked_apart(directory: Path, samples: Mapping[str, Mapping[int, list[float]]]) -> Seen:
    command = [sys.executable, "-m", __name__, str(directory)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    try:
        done = subprocess.run(
            command,
            input=json.dumps(samples),
            capture_output=True,
            text=True,
            timeout=_SECONDS_MAX,
            check=False,
            env=environment,
        )
        seen: Seen = json.loads(done.stdout.splitlines()[-1]) if not done.returncode else {}  # type: ignore[typeddict-item]
    except (subprocess.TimeoutExpired, ValueError, IndexError) as e:
        raise IndexUnavailable(f"It could not be looked through: {type(e).__name__}.") from e
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        raise IndexUnavailable(f"Reading it ends the process (code {done.returncode}). {last}".strip())
    return seen


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
        if _in_pgvector(connection):
            where, name, remedy = "in pgvector", PGVECTOR, f"Write {PGVECTOR}"
        says = f"{held} {where}, which is not named here: they were not compared."
        return notice(name, says, f"{remedy} in RECALL_VECTORS__ADDRESS, or in the file that RECALL_CONFIG names.")
    name = PGVECTOR if settings.address == PGVECTOR else SERVER
    try:
        server = made_server(settings, _address(connection), makes=False)
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


def _in_pgvector(connection: Connection) -> bool:
    """Say whether the database has collections of pgvector."""
    return connection.dialect.name == "postgresql" and has_catalogue(connection)


def _address(connection: Connection) -> str | None:
    """Return the address of the store of a connection; `None` = it is in a directory."""
    if connection.dialect.name != "postgresql":
        return None
    return connection.engine.url.render_as_string(hide_password=False)


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
