"""The words of each memory, cut once at writing: the table `words`, and the rows of `TextColumns` from it.

Words are joined by line feeds: the normal form of a few letters holds a space (U+FDFA), none a line feed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, FromClause, and_, delete, exists, select

from recall_integrations.database import schema
from recall_integrations.database.sending import in_parts, insert_rows
from recall_integrations.indexes.columns import WORDS_MAX, asked_words, is_question
from recall_integrations.indexes.columns_builder import TextBlock
from recall_integrations.indexes.lexicon import Ids, Lexicon
from recall_integrations.text import content, language_of, length_in_words

BATCH = 2_000
Cut = Mapping[str, Any]  # what `cut_row` makes of a memory

# Read with the columns of a view, in this order, and given to `text_block`.
COLUMNS: tuple[ColumnElement[Any], ...] = (
    schema.memories.c.actor,
    schema.memories.c.role,
    schema.memories.c.thread,
    schema.memories.c.position,
    schema.words.c.words,
    schema.words.c.more,
    schema.words.c.length,
    schema.words.c.asks,
    schema.words.c.asked,
)


@lru_cache(maxsize=1_024)
def _of_name(actor: str, language: str | None) -> tuple[str, ...]:
    return tuple(content(actor, language))  # in the language of what was said


def cut_row(text: str, actor: str | None = None) -> Cut:
    """Return the values for one insert into `words`, without scope and number."""
    language = language_of(text)
    found = content(text, language)
    more = [*(_of_name(actor, language) if actor else ()), *found[WORDS_MAX:]]
    return {
        "words": "\n".join(found[:WORDS_MAX]),
        "length": len(found) if text.isascii() else length_in_words(found),
        "more": "\n".join(more) or None,
        "stems": len(found[:WORDS_MAX]) + len(more),
        "asks": int(is_question(text)),
        "asked": packed(asked_words(text)[:WORDS_MAX]) if is_question(text) else None,
    }


def to_row(scope_id: int, num: int, text: str, actor: str | None = None) -> dict[str, Any]:
    """Return the values for one insert into `words`."""
    return {"scope_id": scope_id, "num": num, **cut_row(text, actor)}


def packed(flags: Sequence[bool]) -> bytes | None:
    """Pack flags as bits, first the highest; `None` where none is set."""
    return np.packbits(np.asarray(flags, dtype=np.bool_)).tobytes() if any(flags) else None


def unpacked(kept: Sequence[bytes | None], counts: Sequence[int]) -> NDArray[np.bool_]:
    """Unpack the flags of several rows behind each other, `counts` of each; missing ones are not set."""
    out = np.zeros(sum(counts), dtype=np.bool_)
    begin = 0
    for bits, count in zip(kept, counts, strict=True):
        if bits:
            flags = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), count=min(count, 8 * len(bits)))
            out[begin : begin + len(flags)] = flags
        begin += count
    return out


def write(connection: Connection, scope_id: int, cuts: Iterable[tuple[int, Cut]]) -> None:
    """Store the words of memories, given as num and cut row, in the caller's transaction."""
    insert_rows(connection, schema.words, [{"scope_id": scope_id, "num": num, **cut} for num, cut in cuts])


def fill(connection: Connection, advance: Callable[[int], None] = lambda _n: None) -> None:
    """Store the words of all memories that have none yet, in the caller's transaction."""
    m, w = schema.memories, schema.words
    present = exists().where(w.c.scope_id == m.c.scope_id, w.c.num == m.c.num)
    for scope_id in connection.execute(select(schema.scopes.c.scope_id).order_by(schema.scopes.c.scope_id)).scalars():
        last = 0
        query = select(m.c.num, m.c.text, m.c.actor).where(m.c.scope_id == scope_id, ~present)
        query = query.order_by(m.c.num).limit(BATCH)
        while texts := connection.execute(query.where(m.c.num > last)).all():
            write(connection, scope_id, ((num, cut_row(text, actor)) for num, text, actor in texts))
            last = texts[-1].num
            advance(len(texts))


def refill(connection: Connection, advance: Callable[[int], None] = lambda _n: None) -> None:
    """Cut all memories anew, in the caller's transaction; `advance` as for `fill`."""
    connection.execute(delete(schema.words))
    fill(connection, advance)


def joined(source: FromClause) -> FromClause:
    """Join the words to a selection over `memories`."""
    m, w = schema.memories, schema.words
    return source.outerjoin(w, and_(w.c.scope_id == m.c.scope_id, w.c.num == m.c.num))


def text_block(
    connection: Connection, scope_id: int, nums: Sequence[int], fields: Sequence[Sequence[Any]], lexicon: Lexicon
) -> TextBlock:
    """Collect memories for the text columns."""
    actors, roles, threads, positions, words, more, lengths, asks, asked = (list(values) for values in fields)
    missing = [i for i, found in enumerate(words) if found is None]
    for i, row in zip(missing, cut_anew(connection, scope_id, [nums[i] for i in missing]), strict=True):
        words[i], more[i], lengths[i] = row["words"], row["more"], row["length"]
        asks[i], asked[i] = row["asks"], row["asked"]
    ids, counts = _numbered(words, lexicon)
    others, other_counts = _numbered(more, lexicon)
    return TextBlock(
        nums=nums,
        words=ids,
        counts=counts,
        lengths=lengths,
        asks=asks,
        actors=actors,
        roles=roles,
        threads=threads,
        positions=positions,
        asked=unpacked(asked, counts),
        more=others,
        more_counts=other_counts,
    )


def lengths(connection: Connection, scope_id: int, nums: Sequence[int], kept: Sequence[int | None]) -> list[int]:
    """Return the `stems` count of memories: the kept ones, and for each `None` a new count."""
    out = [found or 0 for found in kept]
    missing = [i for i, found in enumerate(kept) if found is None]
    for i, row in zip(missing, cut_anew(connection, scope_id, [nums[i] for i in missing]), strict=True):
        out[i] = row["stems"]
    return out


def _joined(*parts: str | None) -> str:
    return "\n".join(part for part in parts if part)


def _numbered(joined: Sequence[str | None], lexicon: Lexicon) -> tuple[Ids, list[int]]:
    """Return the ids of words that are joined by line feeds, and the number of words of each string."""
    # One string and one split: a list per memory would double the time.
    whole = _joined(*joined)
    ids = lexicon.ids_of(whole.split("\n") if whole else ())
    return ids, [found.count("\n") + 1 if found else 0 for found in joined]


def cut_anew(connection: Connection, scope_id: int, nums: Sequence[int]) -> list[dict[str, Any]]:
    """Cut memories that the table lacks and return their rows."""
    m = schema.memories
    found: dict[int, tuple[str, str | None]] = {}
    for part in in_parts(nums):
        query = select(m.c.num, m.c.text, m.c.actor).where(m.c.scope_id == scope_id, m.c.num.in_(part))
        found.update((num, (text, actor)) for num, text, actor in connection.execute(query))
    return [to_row(scope_id, num, *found.get(num, ("", None))) for num in nums]
