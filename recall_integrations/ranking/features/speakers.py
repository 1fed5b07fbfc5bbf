"""Features of who spoke, and who is spoken of."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.columns import TextColumns
from recall_integrations.ranking.features.bm25 import Values
from recall_integrations.ranking.features.feature import Feature, Label
from recall_integrations.ranking.features.match import Match

SCENES_MAX = 256  # groups of actors whose threads are kept for a snapshot
FEW = 4  # actors that are compared one by one, which is faster than looking them up


def named(match: Match) -> set[int]:
    """Return the actors that the query names."""
    return {code for group in match.cast for code in group}


def askers(match: Match) -> set[int]:
    """Return the actors that are the asker, where the query speaks in the first person."""
    numbers = map(match.columns.lexicon.stem_of, match.given.query.asker)
    return {code for number in numbers for code in match.columns.actor_words.get(number, ())}


def speaker_named(match: Match) -> Values:
    """Return 1 for texts of an actor whom the query names."""
    if not match.cast:
        return match.nothing
    return speakers(match.columns, frozenset(named(match))).take(match.columns.actors.take(match.rows))


def names_speaker(match: Match) -> Values:
    """Return 1 for texts that name an actor whom the query names."""
    people = [i for i, number in enumerate(match.numbers) if number in match.columns.actor_words]
    if not people:
        return match.nothing
    spoken_of: Values = (match.tf_own[people].sum(0) > 0).astype(np.float32)
    return spoken_of


def cast_present(match: Match) -> Values:
    """Return the share of the named actors who speak in its thread; actors without a living memory count as nobody."""
    present = [there for group in match.cast if (there := scenes(match.columns, tuple(group))) is not None]
    if not present:
        return match.nothing
    share = np.zeros(len(match.rows), dtype=np.float32)
    for there in present:
        share += there.take(match.threads, mode="wrap")
    share /= np.float32(len(present))
    return share


def speakers(columns: TextColumns, actors: frozenset[int]) -> Values:
    """Mark some actors with 1, by code, and 0 at the end, where -1, no actor, leads. Cached with the snapshot."""
    kept: dict[frozenset[int], Values] = columns.memo.setdefault("speakers", {})
    found = kept.get(actors)
    if found is None:
        found = np.zeros(len(columns.actor_names) + 1, dtype=np.float32)
        found[list(actors)] = 1
        if len(kept) < SCENES_MAX:
            kept[actors] = found
    return found


def scenes(columns: TextColumns, actors: tuple[int, ...]) -> NDArray[np.bool_] | None:
    """Flag the threads in which some actors speak, by code, and false at the end, where -1, no thread, leads; `None` if
    in no living memory. Cached with the snapshot: people ask of the same people again and again.
    """
    kept: dict[tuple[int, ...], NDArray[np.bool_] | None] = columns.memo.setdefault("scenes", {})
    if actors in kept:
        return kept[actors]
    found: NDArray[np.bool_] | None
    if columns.spoken_in is not None:
        found = _spoken(columns, actors)
    else:
        speaks = (one_of(columns.actors, actors) & columns.alive).nonzero()[0]
        there = np.zeros(len(columns.thread_names) + 1, dtype=np.bool_)
        there[columns.threads[speaks]] = True
        there[-1] = False
        found = there if len(speaks) else None
    if len(kept) < SCENES_MAX:
        kept[actors] = found
    return found


def _spoken(columns: TextColumns, actors: tuple[int, ...]) -> NDArray[np.bool_]:
    """Flag threads for a scope with only some rows in memory: every actor that it names speaks somewhere."""
    assert columns.spoken_in is not None
    names = [columns.actor_names[code] for code in actors]
    inside = columns.spoken_in(names, columns.thread_names)
    return np.asarray([*(thread in inside for thread in columns.thread_names), False], dtype=np.bool_)


def one_of(actors: NDArray[np.int32], codes: Collection[int]) -> NDArray[np.bool_]:
    """Flag the actors that are among `codes`."""
    found = np.zeros(len(actors), dtype=np.bool_)
    if len(codes) > FEW:
        known = np.zeros(max(*codes, int(actors.max(initial=-1))) + 2, dtype=np.bool_)
        known[list(codes)] = True  # the last is that of -1, no actor
        return known.take(actors, out=found, mode="wrap")
    for code in codes:
        found |= actors == code
    return found


SPEAKERS = (
    Feature(
        name="speaker_named",
        formula="1 where the query names the actor, or speaks in the first person and the actor is who asks",
        of=speaker_named,
        group="speaker",
        weight={"always": 2.5},
        linear=True,
    ),
    Feature(
        name="names_speaker",
        formula="1 where the text names an actor whom the query names",
        of=names_speaker,
        group="speaker",
    ),
    Feature(
        name="cast_present",
        formula="share of the actors named in the query who speak in its thread",
        of=cast_present,
        group="thread",
        weight={"crowd": 1.1},
        floor=0.1,
        label=Label("who is asked about takes part in the conversation", ruled=True),
        gated=True,
        rising=True,
    ),
    Feature(
        name="query_speakers",
        formula="actors that the query names",
        of=lambda match: np.full(len(match.rows), len(named(match)), dtype=np.float32),
        group="speaker",
        detail=True,
    ),
)
