"""Open a store: hold its directory, make its tables, catch its indexes up; and release all of it."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from recall_integrations.config import RecallConfig, VectorsConfig
from recall_integrations.config.sections import PGVECTOR
from recall_integrations.database import schema
from recall_integrations.database.schema import get_meta
from recall_integrations.embeddings.base import Embedding
from recall_integrations.errors import ConfigError, EmbeddingMismatch, InvalidArgument, StoreError, VectorsAway
from recall_integrations.indexes.vector_server import ChromaServer
from recall_integrations.privacy.door import told
from recall_integrations.store import entities, following, journal, languages, renewal
from recall_integrations.store.asking import AskedEmbedding, Vectors, measure_all
from recall_integrations.store.chroma_files import ChromaFiles
from recall_integrations.store.collections import Collections
from recall_integrations.store.directory import Held, hold
from recall_integrations.store.entities import Extractor
from recall_integrations.store.homes import WITH_IDS, RecordLabels
from recall_integrations.store.indexes import Note
from recall_integrations.store.parts import Made, StoreParts
from recall_integrations.types import Clock

if TYPE_CHECKING:
    from recall_integrations.indexes.vectors import CollectionServer

logger = logging.getLogger("recall_integrations")


CHECK_S = 2.0  # that a server of vectors is waited for when a store is opened
MOVING = "moving"  # key in `meta`: how far a move to this place is; gone when it is whole
SCHEMES = ("postgresql://", "postgres://", "postgresql+psycopg://")


def is_address(path: str) -> bool:
    """Say whether the path is the address of a database, and no directory."""
    return path.startswith(SCHEMES)


def open_parts(
    path: str | os.PathLike[str] | None,
    embedding: Embedding,
    config: RecallConfig,
    *,
    local: str | os.PathLike[str] | None = None,
    reindex: bool,
    clock: Clock,
    new_id: Callable[[], str],
    extractor: Extractor | None,
) -> tuple[StoreParts, Iterable[str]]:
    """Open the parts of a store, ready for use; return them, and the languages in which its memories are written.

    A failure releases the directory again. Arguments and errors are those of `MemoryStore.open`.
    """
    collections = _collections_of(config, path)  # before anything is held: others can write meanwhile
    if isinstance(path, str) and is_address(path):
        from recall_integrations.store.nodes import join

        directory: Held = join(path, local, config.postgres)
    elif local is not None:
        raise InvalidArgument("directory is for a store in a database; one in a directory keeps all of it there.")
    else:
        directory = hold(path)
    parts: StoreParts | None = None
    try:
        if config.vectors.address and directory.tenant is not None:
            raise ConfigError(
                f"{directory.name} is opened as the role of a tenant, and no server of vectors knows such roles: leave "
                "out `vectors.address`."
            )
        parts = StoreParts(
            directory, embedding, config, clock=clock, new_id=new_id, extractor=extractor, collections=collections
        )
        with parts.errors():
            directory.make_ready()
            _check_whole(directory)  # before missing parts are made
            parts.catalog.key = entities.store_key(parts.engine)
            written_in = _start(parts, reindex)
        following.connect(parts)
        if config.query.spelling:
            parts.spellers.prepare()
    except BaseException:
        if parts is not None:
            parts.indexes.close(sealed=False)
        directory.release()
        raise
    finally:
        directory.turn.release()
    return parts, written_in


def _check_whole(directory: Held) -> None:
    with directory.engine.connect() as connection:
        moving = get_meta(connection, MOVING) is not None
    if moving:
        raise StoreError(
            f"A store is being moved to {directory.name}, which is not whole yet. Ask `recall move` for it again: it "
            "goes on where it was."
        )


def _collections_of(config: RecallConfig, path: str | os.PathLike[str] | None) -> Made:
    """Return a maker of the collections: on the server of the settings, or in files where they name none."""
    server, away, labelled = None, "", config.vectors.all_in_chroma
    if config.vectors.address:
        server = _made_server(config.vectors, path, failures_max=config.breakers.failures_max)
        try:
            server.check(CHECK_S)
        except VectorsAway as e:
            away = str(e)
        except BaseException:
            server.close()
            raise
    elif labelled and isinstance(path, str) and is_address(path):
        raise ConfigError(
            "vectors.index 'chroma' is for a store in a directory, or for one in PostgreSQL with a Chroma server: give "
            "its address as `vectors.address`."
        )

    def made(held: Held, asking: AskedEmbedding, scan_max: Callable[[], int], note: Note) -> Collections:
        there = server or ChromaFiles(held.engine, held.path)
        if labelled and isinstance(there, ChromaServer):
            there.labels = RecordLabels(held.engine)
        most = {"scan": lambda: sys.maxsize, "chroma": lambda: 0}.get(config.vectors.index, scan_max)
        return Collections(
            held,
            there,
            scan_max=most,
            note=note,
            fingerprint=lambda: asking.fingerprint + (WITH_IDS if labelled else ""),
            problem=away,
        )

    return made


def _made_server(
    settings: VectorsConfig, path: str | os.PathLike[str] | None, *, failures_max: int
) -> CollectionServer:
    """Make the server of the settings, without asking it yet: Chroma's, or pgvector in the store's database."""
    if settings.address != PGVECTOR:
        from recall_integrations.indexes.vector_server import VectorServer

        return VectorServer(settings, failures_max=failures_max)
    if not (isinstance(path, str) and is_address(path)):
        raise ConfigError(
            f"vectors.address: {PGVECTOR} is for a store in PostgreSQL, and this one is in a directory, which keeps "
            "the vectors of large scopes in its own files. Leave it out, or give the address of a Chroma server."
        )
    from recall_integrations.indexes.pg_vectors import PgVectors

    return PgVectors(path, settings, failures_max=failures_max)


def release(pid: int, directory: Held, closing: Iterable[Callable[[], None]]) -> None:
    """Close what is open, in this order, and release the directory, in the process `pid` that opened it.

    It takes methods of parts, not `StoreParts`: a user's object (a clock, say) may hold the store, and keep it open.
    """
    if os.getpid() != pid:
        return  # a forked child that ends must not unlock, or remove, what its parent uses
    try:
        for close in closing:
            close()
    finally:
        directory.release(noted=True)


def _start(parts: StoreParts, reindex: bool) -> Iterable[str]:
    """Read the store's notes about itself, and repair what a crash or another version left."""
    half_way, changed = _read_notes(parts, reindex)
    if changed or half_way is not None:
        parts.directory.check_alone("to make its vectors anew")
        renewal.reembed(parts, None, changing=True)
    down = parts.asking.down  # the embedding is asked again at the next write
    parts.indexes.open(None if down is None else Vectors(error=down))
    renewal.recut(parts)
    renewal.retell(parts)
    with parts.engine.begin() as connection:
        if parts.directory.keeps() or parts.directory.own_indexes:
            if (
                not parts.directory.own_indexes and not parts.directory.others()
            ):  # no other process has columns that follow the journal
                journal.prune_applied(connection)
            parts.column_files.sweep(connection)
        written_in = languages.kept_in(connection)
    if parts.stamped and down is None and not parts.embedding.remote:
        _measure_late(parts)
    return written_in


def _read_notes(parts: StoreParts, reindex: bool) -> tuple[str | None, bool]:
    """Return the embedding of an unfinished rebuild of vectors, and whether another embedding made the store."""
    with parts.engine.connect() as connection:
        _, parts.followed.semantic = following.read_scopes(parts, connection)
        made_by = get_meta(connection, "embedding")
        half_way = get_meta(connection, renewal.REEMBEDDING)
        parts.worth.load(connection, made_by)
        vector = connection.execute(select(schema.vectors.c.vector).limit(1)).scalar()
    length = len(vector) // 2 if isinstance(vector, bytes) else None
    named = made_by if made_by is None else parts.asking.identify(made_by, length)  # may call the embedding
    changed = named != made_by
    if changed and not reindex and half_way != named:
        raise EmbeddingMismatch(
            f"This store was made with the embedding {made_by!r} and is opened with "
            f"{named!r}. Open it with the one that made it, or pass `reindex=True` "
            "(`recall reindex STORE`) to make every vector anew."
        )
    return half_way, changed


def _measure_late(parts: StoreParts) -> None:
    """Measure the worth of cosines for a store that lacks it, and may only be read.

    Embeddings over a network are not measured here: the next write does that.
    """
    if not measure_all(parts):
        return
    try:
        with parts.engine.begin() as connection:
            measured = parts.worth.note(connection)
        parts.worth.noted(measured)
    except SQLAlchemyError as e:  # a full disk or read-only file: known to this process only
        logger.warning("What the embedding is worth to the ranking could not be noted: %s", told(e))
