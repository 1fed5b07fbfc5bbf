"""Features of who speaks to whom: the question before a text, the role that said it, the texts beside it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recall_integrations.ranking.features.bm25 import Values, weighted
from recall_integrations.ranking.features.feature import Feature, Label
from recall_integrations.ranking.features.match import Match
from recall_integrations.ranking.features.speakers import askers, one_of
from recall_integrations.types.roles import ROLE_CODES, Role


def asked_before(match: Match) -> Values:
    """Match the query with the sentences before it that ask, by another actor."""
    asked = match.near_asked
    if asked is None:
        return match.nothing
    actors = match.actors_at
    answers: NDArray[np.bool_] = (actors[0] >= 0) & (actors[1] >= 0) & (actors[0] != actors[1])
    return weighted(match.share, asked[:, match.at[1]]) * answers


def same_actor(match: Match) -> NDArray[np.bool_]:
    """Flag the neighbours by the actor of the candidate, `(5, candidates)`."""
    same: NDArray[np.bool_] = (match.actors_at[0] >= 0) & (match.actors_at == match.actors_at[0])
    return same


def asked_by_another(match: Match) -> Values:
    """Return 1 where the text before is a question of another actor."""
    actors = match.actors_at
    asked: Values = match.asks[match.at[1]] * ((actors[0] >= 0) & (actors[1] >= 0) & ~same_actor(match)[1])
    return asked


def speaker_prior_match(match: Match) -> Values:
    """Match the query with the actor's texts before: an answer in several texts names its subject in the first."""
    at, same = match.at, same_actor(match)
    best: Values = np.maximum(match.near_match[at[1]] * same[1], match.near_match[at[3]] * same[3])
    return best


def exchange_match(match: Match) -> Values:
    """Match the query with an answer together with its question."""
    at, near = match.at, match.near
    asked, same = asked_by_another(match), same_actor(match)
    return weighted(
        match.share, np.maximum(near[:, at[0]], np.maximum(near[:, at[1]] * asked, near[:, at[3]] * same[3]))
    )


def asking_share(match: Match) -> Values:
    """Return the share of a text that asks, for a text that asks does not answer."""
    return match.asking_share


def by_user(match: Match) -> Values:
    """Return 1 for texts of the user, who says what is known about them."""
    if not match.columns.kind.roles:
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


EXCHANGE = (
    Feature(
        name="asked_before",
        formula="near_match of the sentences that ask in the text before it, where that is by another actor",
        of=asked_before,
        group="question",
        weight={"people": 11.0},
        arm="lexical",
        label=Label("answers a question close to yours", ruled=True),
        rising=True,
    ),
    Feature(
        name="speaker_prior_match",
        formula="the better near_match of the two texts before it that are by the same actor",
        of=speaker_prior_match,
        group="neighbour",
        weight={"people": 1.0},
        arm="lexical",
        linear=True,
        rising=True,
    ),
    Feature(
        name="previous_question_match",
        formula="near_match of the text before it, where that is a question of another actor",
        of=lambda match: match.near_match[match.at[1]] * asked_by_another(match),
        group="question",
        arm="lexical",
        linear=True,
        rising=True,
    ),
    Feature(
        name="exchange_match",
        formula="Σ share · the best near of the text, of another's question before it, and of the actor's text two "
        "before",
        of=exchange_match,
        group="question",
        floor=0.08,
        arm="lexical",
        linear=True,
        rising=True,
    ),
    Feature(
        name="is_question",
        formula="1 where the text asks something",
        of=lambda match: match.asks[: len(match.rows)],
        group="question",
        weight={"people": -1.9},
        linear=True,
    ),
    Feature(
        name="asking_share",
        formula="share of the text's words that stand in sentences that ask",
        of=asking_share,
        group="question",
        weight={"people": -4.4},
    ),
    Feature(
        name="previous_is_question",
        formula="1 where the text before it asks something",
        of=lambda match: match.asks[match.at[1]],
        group="question",
    ),
    Feature(
        name="next_is_question",
        formula="1 where the text after it asks something",
        of=lambda match: match.asks[match.at[2]],
        group="question",
        detail=True,
    ),
    Feature(
        name="by_user",
        formula="1 where the user of an assistant said it",
        of=by_user,
        group="speaker",
        weight={"roles": 3.0},
        label=Label("the user said it", ruled=True),
    ),
    Feature(
        name="by_asked_role",
        formula="strength · 1 where it was said by the role whose words the query asks for",
        of=by_asked_role,
        group="speaker",
        weight={"roles": 5.8},
        rising=True,
        decisive=True,
    ),
    Feature(
        name="exchange_bm25",
        formula="the best bm25_counted among the candidates of the thread",
        of=lambda match: match.best_of_thread(match.bm25_counted),
        group="thread",
        weight={"roles": 1.0},
        floor=0.8,
        arm="lexical",
        label=Label("what is said beside it matches", place=1),
        gated=True,
        rising=True,
    ),
)
