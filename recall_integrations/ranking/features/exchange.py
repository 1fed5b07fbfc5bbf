"""Evidence of who speaks to whom: what was asked before a text, which role said it, who takes part in its thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recall_integrations.ranking.features.bm25 import Values, weighted
from recall_integrations.types.roles import ROLE_CODES, Role

if TYPE_CHECKING:
    from recall_integrations.ranking.features.formulas import Match


def told(match: Match, out: dict[str, Values]) -> None:
    """`asked_before`: what the sentences before it that ask, by another actor, have in common with the query."""
    at = match.at
    actors = np.append(match.columns.actors[match.pool], -1)[at]
    answers = (actors[0] >= 0) & (actors[1] >= 0) & (actors[0] != actors[1])
    near = match.near_asked
    out["asked_before"] = (
        np.zeros(len(at[0]), np.float32) if near is None else weighted(match.share, near[:, at[1]]) * answers
    )


def roles(match: Match, out: dict[str, Values]) -> None:
    """`user`, `role`."""
    said, query = match.columns.roles[match.rows], match.given.query
    out["by_user"] = (said == ROLE_CODES[Role.USER]).astype(np.float32)
    wanted = -1 if query.role is None else ROLE_CODES[query.role]
    out["by_asked_role"] = np.float32(query.strength) * (said == wanted)


def cast(match: Match, out: dict[str, Values]) -> None:
    """`cast_present`: in a scene of many, who is asked about takes part. Who was forgotten altogether is nobody."""
    columns = match.columns
    threads = columns.threads
    there = threads[match.rows]
    share, named = np.zeros(len(there), dtype=np.float32), 0
    for group in match.cast:
        speaks = np.isin(columns.actors, group) & columns.alive
        named += bool(speaks.any())
        share += np.isin(there, threads[speaks & (threads >= 0)]).astype(np.float32)
    out["cast_present"] = share / np.float32(max(named, 1))


def exchange(match: Match, out: dict[str, Values]) -> None:
    """`exchange_bm25`: the best `bm25_counted` of the thread; the same for all where there is one thread."""
    best = np.zeros(len(match.codes), dtype=np.float32)
    np.maximum.at(best, match.session, match.bmq)
    out["exchange_bm25"] = np.where(match.threaded, best[match.session], np.float32(0))
