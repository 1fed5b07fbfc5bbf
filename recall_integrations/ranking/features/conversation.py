"""Features of who spoke, who is spoken of, and what was asked or said before."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.columns import SHORT, Rows, TextColumns
from recall_integrations.indexes.kernels import Values, weighted
from recall_integrations.ranking.features.feature import Of
from recall_integrations.ranking.features.match import Match
from recall_integrations.types.roles import ROLE_CODES, Role

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
    speaks = (one_of(columns.actors, actors) & columns.alive).nonzero()[0]
    there = np.zeros(len(columns.thread_names) + 1, dtype=np.bool_)
    there[columns.threads[speaks]] = True
    there[-1] = False
    found = there if len(speaks) else None
    if len(kept) < SCENES_MAX:
        kept[actors] = found
    return found


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


def asked_before(match: Match) -> Values:
    """Match the query with the sentences before it that ask, by another actor."""
    actors = match.actors_at
    answers: NDArray[np.bool_] = (actors[0] >= 0) & (actors[1] >= 0) & (actors[0] != actors[1])
    asked = match.near_asked if answers.any() else None
    if asked is None:
        return match.nothing
    return weighted(match.share, asked[:, match.at[1]]) * answers


def same_actor(match: Match) -> NDArray[np.bool_]:
    """Flag the neighbours by the actor of the candidate, `(5, candidates)`."""
    same: NDArray[np.bool_] = (match.actors_at[0] >= 0) & (match.actors_at == match.actors_at[0])
    return same


def speaker_prior_match(match: Match) -> Values:
    """Match the query with the actor's texts before: an answer in several texts names its subject in the first."""
    at, same = match.at, same_actor(match)
    best: Values = np.maximum(match.near_match[at[1]] * same[1], match.near_match[at[3]] * same[3])
    return best


def by_user(match: Match) -> Values:
    """Return 1 for texts of the user, who says what is known about them."""
    if not match.columns.kind.spoken:
        return match.nothing
    said_by: Values = (match.roles == ROLE_CODES[Role.USER]).astype(np.float32)
    return said_by


def by_asked_role(match: Match) -> Values:
    """Rate texts of the role asked for: "What did you recommend" asks for what the assistant said."""
    query = match.given.query
    if query.role is None or not query.strength:
        return match.nothing
    said_by: Values = (match.roles == ROLE_CODES[query.role]).astype(np.float32)
    if query.role is Role.USER and (own := askers(match)):  # called by name, and nobody said that it is the user
        np.maximum(said_by, one_of(match.actors_at[0], own), out=said_by)
    said_by *= np.float32(query.strength)
    return said_by


DECAY = 0.8  # of what was said, for each turn more that lies between
EACH_MAX = 64  # words looked at of a turn that is no neighbour of a candidate
# Of the turns three and four before a candidate, which are no neighbours of it.
FAR = np.asarray((DECAY**2, DECAY**3), dtype=np.float32)


def subject_match(match: Match) -> Values:
    """Match the query with the turn before the question: the question asks "how many?", that turn says of what."""
    actors = match.actors_at
    asked_by = match.asks.take(match.at[1]) * (actors[0] != actors[1])
    some = asked_by.nonzero()[0]
    if not len(some) or not len(match.near):
        return match.nothing
    lengths = match.lengths_at[1, some]
    replies = np.minimum(np.maximum(2 - lengths / np.float32(SHORT), 0), 1)
    replies *= (actors[0, some] >= 0) & (actors[1, some] >= 0)
    replies *= 1 - match.asking_share.take(some)  # who asks back does not answer
    short = replies.nonzero()[0]
    if not len(short):
        return match.nothing
    some, replies = some[short], replies[short]
    said = match.near.take(some, axis=1)
    asked = match.near_asked
    if asked is not None:
        said = np.maximum(said, asked.take(match.at[1, some], axis=1))  # that is `asked_before`
    about = match.near.take(match.at[3, some], axis=1)
    about *= np.float32(DECAY)
    np.maximum(about, said, out=about)
    if match.gates["crowd"]:  # of two people it gains nothing, and is half of the work
        _from_afar(match, about, some)
    about -= said
    found: Values = match.nothing.copy()
    found[some] = replies * weighted(match.share, about)
    return found


def _from_afar(match: Match, about: Values, some: Rows) -> None:
    """Add to `about` the query's stems that the turns three and four before some candidates hold.

    Stems only: nearness in meaning would have to be compared word by word, for turns that are no neighbours.
    """
    columns, step = match.columns, match.at[3, some]
    there = (step < len(match.pool)).nonzero()[0]
    third = columns.previous(match.pool[step[there]])
    both = np.concatenate([third, columns.previous(third)])
    kept = (both >= 0).nonzero()[0]
    at = both[kept]
    if not len(at):
        return
    starts = columns.starts.take(at)
    counts = np.minimum(columns.starts.take(at + 1) - starts, EACH_MAX)
    ends = counts.cumsum()
    words = columns.words.take(np.arange(int(ends[-1])) + (starts - ends + counts).repeat(counts))
    same = columns.lexicon.stems.take(words) == np.asarray(match.numbers, dtype=np.int32)[:, None]
    stem, place = same.nonzero()
    if not len(place):
        return
    text = kept[ends.searchsorted(place, side="right")]
    decays = FAR.take((text >= len(there)).astype(np.int64))
    np.maximum.at(about, (stem, there[text % len(there)]), decays)


OF_CONVERSATION: Mapping[str, Of] = {
    "speaker_named": speaker_named,
    "cast_present": cast_present,
    "asked_before": asked_before,
    "speaker_prior_match": speaker_prior_match,
    "is_question": lambda match: match.asks[: len(match.rows)],
    "asking_share": lambda match: match.asking_share,
    "by_user": by_user,
    "by_asked_role": by_asked_role,
    "exchange_bm25": lambda match: match.best_of_thread(match.bm25_counted),
    "subject_match": subject_match,
}
