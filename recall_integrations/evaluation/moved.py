"""Comparison of a moved store with its source: the rows are compared, and the same questions asked at both ends."""

from __future__ import annotations

import random
from contextlib import closing
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, select

from recall_integrations.config import RecallConfig, VectorsConfig, checked_config
from recall_integrations.config.keeping import PGVECTOR
from recall_integrations.database import schema
from recall_integrations.errors import EmbeddingError, EmbeddingMismatch, InvalidArgument
from recall_integrations.observability.progress import Told, telling
from recall_integrations.records import record
from recall_integrations.store.moving import Place, digest, held, identity

SAMPLE = 20
QUERY_WORDS = 8
BY_RECALLS = schema.judged  # written by who only asks: it may have grown since
DIGITS = 4  # of scores: sums are taken in another order by columns that were read in other parts


@record(frozen=True, slots=True, kw_only=True)
class Verified:
    """The result of a comparison.

    Args:
        scopes, rows: that are the same at both ends.
        written: scopes that were written to at one end since, and were left out.
        recalls: that gave the same memories with the same scores.
        differences: what is not the same, in words; empty = nothing.
        not_asked: why no questions were asked; empty = they were.
    """

    scopes: int
    rows: int
    written: int
    recalls: int
    differences: tuple[str, ...]
    not_asked: str = ""


def verify(
    source: Place,
    target: Place,
    *,
    sample: int = SAMPLE,
    embedding: Any = None,
    config: RecallConfig | None = None,
    progress: bool | Told = False,
) -> Verified:
    """Compare two places of a store. Nothing is changed, but that indexes of a directory may be made.

    Args:
        source, target: directories, or addresses of databases.
        sample: how many questions are asked at both, made of words of memories.
        embedding: as for `MemoryStore.open`, of which rows need nothing.
        config: by which questions are answered, at both without pgvector.
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
        asked = _questions(left, same, sample, random.Random(0))
        names = {scope_id: name for scope_id, (_, name) in mine.items()}
    gone = len(mine.keys() ^ theirs.keys()) - len(lost)
    if not same and (mine or theirs):
        differences.append("no scope has the same version at both places, so nothing could be compared")
    recalls, not_asked = 0, ""
    try:
        recalls = _asked(source, target, [(names[s], q) for s, q in asked], embedding, config, differences)
    except (EmbeddingMismatch, EmbeddingError) as e:
        not_asked = str(e)
    return Verified(
        scopes=len(same),
        rows=count,
        written=len(mine.keys() & theirs.keys()) - len(same) + gone,
        recalls=recalls,
        differences=tuple(differences),
        not_asked=not_asked,
    )


def _rows(left: Connection, right: Connection, scopes: list[int], tell: Told, differences: list[str]) -> int:
    """Count the rows of scopes, and add differences between the two ends to `differences`."""
    count = 0
    for done, scope_id in enumerate(scopes):
        tell("Comparing rows", done, len(scopes))
        for table in schema.OF_SCOPES:
            mine, theirs = digest(left, table, scope_id), digest(right, table, scope_id)
            count += mine.rows
            if mine != theirs and table is not BY_RECALLS:
                rows = f"{mine.rows:,} rows and {theirs.rows:,}"
                differences.append(f"{table.name} of scope {scope_id}: {rows}, not the same")
    return count


def _versions(connection: Connection) -> dict[int, tuple[int, tuple[str, str, str]]]:
    s = schema.scopes.c
    query = select(s.scope_id, s.version, s.user_id, s.agent_id, s.namespace)
    return {int(i): (int(version), (user, agent, name)) for i, version, user, agent, name in connection.execute(query)}


def _questions(connection: Connection, scopes: list[int], sample: int, chosen: random.Random) -> list[tuple[int, str]]:
    m, found = schema.memories.c, []
    for scope_id in chosen.sample(scopes, min(sample, len(scopes))) if scopes else ():
        texts = connection.execute(select(m.text).where(m.scope_id == scope_id).order_by(m.num).limit(100)).scalars()
        given = [text.split() for text in texts if text.split()]
        picked = chosen.sample(given, min(max(1, sample // len(scopes)), len(given)))
        found += [(scope_id, " ".join(words[:QUERY_WORDS])) for words in picked]
    return found[:sample]


def _asked(
    source: Place,
    target: Place,
    questions: list[tuple[tuple[str, str, str], str]],
    embedding: Any,
    config: RecallConfig | None,
    differences: list[str],
) -> int:
    from recall_integrations.optimizer import QueryOptimizer
    from recall_integrations.store.memory_store import MemoryStore
    from recall_integrations.types import Scope

    same, settings = 0, checked_config(config)
    if settings.vectors.address == PGVECTOR:
        # A directory has no pgvector, another server may lack it, and what it finds is only nearly what is nearest. A
        # Chroma server stays: a directory that is opened without its own takes the collections of large scopes from it.
        settings = replace(settings, vectors=VectorsConfig())
    with (
        MemoryStore.open(source, embedding=embedding, config=settings) as one,
        MemoryStore.open(target, embedding=embedding, config=settings) as other,
        closing(QueryOptimizer(one, config=settings)) as here,
        closing(QueryOptimizer(other, config=settings)) as there,
    ):
        now = one.clock()
        for scope, query in questions:
            answers = []
            for optimizer in (here, there):
                result = optimizer.recall(query, scope=Scope(*scope), now=now, time_budget_ms=60_000)
                answers.append([(hit.memory.id, round(hit.score, DIGITS)) for hit in result.hits])
            if answers[0] == answers[1]:
                same += 1
            else:
                differences.append(f"a recall in scope {'/'.join(scope)} gives other memories or scores")
    return same
