"""Comparison of a moved store with its source, row by row; indexes are made from the rows."""

from __future__ import annotations

from sqlalchemy import Connection, select

from recall_integrations.database import schema
from recall_integrations.errors import InvalidArgument
from recall_integrations.observability.progress import Told, telling
from recall_integrations.records import record
from recall_integrations.store.moving import Place, digest, held, identity
from recall_integrations.text.shortening import number_of

BY_RECALLS = schema.judged  # written by who only asks: it may have grown since


@record(frozen=True, slots=True, kw_only=True)
class Verified:
    """The result of a comparison.

    Args:
        scopes, rows: that are the same at both ends.
        written: scopes that were written to at one end since, and were left out.
        differences: what is not the same, in words; empty = nothing.
    """

    scopes: int
    rows: int
    written: int
    differences: tuple[str, ...]


def verify(source: Place, target: Place, *, progress: bool | Told = False) -> Verified:
    """Compare two places of a store. Nothing is changed.

    Args:
        source, target: directories, or addresses of databases.
        progress: whether to show how far it is, or who is told.

    Raises:
        InvalidArgument: they are two stores, or one of them is empty.
        StorePathError: there is no store.
        StoreError: one of them cannot be read.
    """
    differences: list[str] = []
    with (
        held(source, made=False) as one,
        held(target, made=False) as other,
        one.engine.connect() as left,
        other.engine.connect() as right,
        telling(progress) as tell,
    ):
        if identity(left, one.name) != identity(right, other.name):
            raise InvalidArgument(f"{other.name} holds another store than {one.name}: there is nothing to compare.")
        mine, theirs = _versions(left), _versions(right)
        newest = max(theirs, default=0)
        lost = sorted(scope_id for scope_id in mine.keys() - theirs.keys() if scope_id <= newest)
        differences += [f"scope {scope_id} is missing" for scope_id in lost]
        same = sorted(scope_id for scope_id in mine.keys() & theirs.keys() if mine[scope_id] == theirs[scope_id])
        count = _rows(left, right, same, tell, differences)
    gone = len(mine.keys() ^ theirs.keys()) - len(lost)
    if not same and (mine or theirs):
        differences.append("no scope has the same version at both places, so nothing could be compared")
    return Verified(
        scopes=len(same),
        rows=count,
        written=len(mine.keys() & theirs.keys()) - len(same) + gone,
        differences=tuple(differences),
    )


def _rows(left: Connection, right: Connection, scopes: list[int], tell: Told, differences: list[str]) -> int:
    count = 0
    for done, scope_id in enumerate(scopes):
        tell("Comparing rows", done, len(scopes))
        for table in schema.OF_SCOPES:
            mine, theirs = digest(left, table, scope_id), digest(right, table, scope_id)
            count += mine.rows
            if mine != theirs and table is not BY_RECALLS:
                rows = f"{number_of(mine.rows, 'row')} and {theirs.rows:,}"
                differences.append(f"{table.name} of scope {scope_id}: {rows}, not the same")
    return count


def _versions(connection: Connection) -> dict[int, int]:
    query = select(schema.scopes.c.scope_id, schema.scopes.c.version)
    return {int(scope_id): int(version) for scope_id, version in connection.execute(query)}
