"""Making derived data anew from the memories: their words, their vectors, both indexes."""

from __future__ import annotations

import logging

from sqlalchemy import Connection, delete, func, select

from recall_integrations.database import schema
from recall_integrations.database.meta import get_meta, put_meta
from recall_integrations.errors import IndexUnavailable
from recall_integrations.facts import by_llm
from recall_integrations.facts import rows as facts
from recall_integrations.indexes import word_rows as words
from recall_integrations.observability.progress import counted
from recall_integrations.privacy.logs import told
from recall_integrations.store import languages
from recall_integrations.store.collections_base import Progress
from recall_integrations.store.journal import LEXICAL, SEMANTIC
from recall_integrations.store.parts import StoreParts
from recall_integrations.text import ANALYSER_VERSION

logger = logging.getLogger("recall_integrations")
REEMBEDDING = "reembedding"  # key in `meta`: the embedding that vectors are being made anew with
FACTS = "facts"  # key in `meta`: what made the rows of facts; empty = they are not kept
ANALYSER = "analyser"  # key in `meta`: the version of the analyser that cut all words
RECUT_SHOWN = 5_000  # memories from which cutting their words anew shows a bar: a second or two


def reindex(parts: StoreParts, progress: Progress | None) -> None:
    """Make both indexes and all words anew, and every vector with the embedding of the open store."""
    with parts.write_lock, parts.errors(), parts.revisions.writing(None):
        parts.directory.check_alone("to make its indexes anew")
        parts.column_files.remove()
        with parts.engine.begin() as connection:
            languages.recount(connection)
            words.refill(connection)
            parts.pushing.anew(connection)
            _tell_anew(parts, connection)
        parts.pushing.again()
        parts.indexes.rebuild(LEXICAL, progress=progress)
        try:
            reembed(parts, progress, changing=False)
        finally:
            parts.views.drop()


def reembed(parts: StoreParts, progress: Progress | None, *, changing: bool) -> None:
    """Make every vector anew; with another embedding, a mark says until the end that they may be of two kinds."""
    parts.column_files.remove()
    if changing:
        with parts.engine.begin() as connection:
            put_meta(connection, REEMBEDDING, parts.asking.fingerprint)
    parts.indexes.rebuild(SEMANTIC, embed=True, progress=progress)
    parts.worth.anew()
    measured = parts.worth.measured()
    with parts.engine.begin() as connection:
        put_meta(connection, "embedding", parts.asking.fingerprint)
        parts.worth.note(connection, measured)
        connection.execute(delete(schema.meta).where(schema.meta.c.key == REEMBEDDING))
    parts.stamped = True


def recut(parts: StoreParts) -> None:
    """Cut all words anew where another analyser cut them. The version is noted last, so a crash costs only time."""
    with parts.engine.connect() as connection:
        made_by = get_meta(connection, ANALYSER)
        count = connection.execute(select(func.coalesce(func.sum(schema.scopes.c.memories), 0))).scalar_one()
    if made_by == str(ANALYSER_VERSION):
        return
    if count:
        parts.directory.check_alone("to read its words anew, as this version does,")
        logger.info("The words of %d memories are cut anew: this version reads them by their language.", count)
        if not _cut(parts, count):
            return
    with parts.engine.begin() as connection:
        put_meta(connection, ANALYSER, str(ANALYSER_VERSION))


def retell(parts: StoreParts) -> None:
    """Read facts and times anew from the memories, where other rules or another schema read them."""
    made_by = "" if parts.slots is None else facts.fingerprint(parts.slots)
    with parts.engine.connect() as connection:
        if (get_meta(connection, FACTS) or "") == made_by:
            return
    parts.directory.check_alone("to read facts anew, by other settings of `facts` than it was written with,")
    with parts.engine.begin() as connection:
        _tell_anew(parts, connection)


def _tell_anew(parts: StoreParts, connection: Connection) -> None:
    counting = select(func.coalesce(func.sum(schema.scopes.c.memories), 0))
    count = connection.execute(counting).scalar_one()
    if parts.slots is None:
        facts.clear(connection)
    else:
        with counted("Reading facts", count, count >= RECUT_SHOWN) as advance:
            facts.refill(connection, parts.slots, advance)
        by_llm.give_way(connection)
    put_meta(connection, FACTS, "" if parts.slots is None else facts.fingerprint(parts.slots))


def _cut(parts: StoreParts, count: int) -> bool:
    """Cut the words of `count` memories and index them; say whether the index could be made."""
    parts.column_files.remove()
    with counted("Reading words", 2 * count, count >= RECUT_SHOWN) as advance:
        with parts.engine.begin() as connection:
            languages.recount(connection)
            words.refill(connection, advance)
            parts.pushing.anew(connection)
        parts.pushing.again()
        done = 0

        def indexed(_what: str, at: int, _total: int) -> None:
            nonlocal done
            advance(at - done)
            done = at

        try:
            parts.indexes.rebuild(LEXICAL, progress=indexed)
        except (IndexUnavailable, OSError) as e:  # no space, say: the store opens, and tries again next time
            logger.warning("The lexical index could not be made anew: %s", told(e))
            return False
    return True
