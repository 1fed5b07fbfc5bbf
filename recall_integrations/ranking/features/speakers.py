"""Features of who spoke, and who is spoken of."""

from __future__ import annotations

import numpy as np

from recall_integrations.ranking.features.bm25 import Values
from recall_integrations.ranking.features.feature import Feature, Label
from recall_integrations.ranking.features.match import Match


def named(match: Match) -> set[int]:
    """Actors that the query names."""
    return {code for group in match.cast for code in group}


def speaker_named(match: Match) -> Values:
    """Who is asked about said it."""
    columns = match.columns
    is_named = np.zeros(len(columns.actor_names) + 1, dtype=np.float32)  # the last is that of -1, no actor
    is_named[list(named(match))] = 1
    return is_named[columns.actors[match.rows]]


def names_speaker(match: Match) -> Values:
    """Who is asked about is spoken of."""
    me = match.at[0]
    people = [i for i, number in enumerate(match.numbers.tolist()) if number in match.columns.actor_words]
    if not people:
        return np.zeros(len(me), dtype=np.float32)
    spoken_of: Values = (match.tf[people][:, me].sum(0) > 0).astype(np.float32)
    return spoken_of


def cast_present(match: Match) -> Values:
    """In a scene of many, who is asked about takes part. Who was forgotten altogether is nobody."""
    columns = match.columns
    threads = columns.threads
    there = threads[match.rows]
    share, asked = np.zeros(len(there), dtype=np.float32), 0
    for group in match.cast:
        speaks = np.isin(columns.actors, group) & columns.alive
        asked += bool(speaks.any())
        share += np.isin(there, threads[speaks & (threads >= 0)]).astype(np.float32)
    share /= np.float32(max(asked, 1))
    return share


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
