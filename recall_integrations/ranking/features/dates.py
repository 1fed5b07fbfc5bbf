"""Features of the time that is asked for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.scope_view import WORTH
from recall_integrations.indexes.times import to_micros
from recall_integrations.ranking.features.bm25 import Values
from recall_integrations.ranking.features.feature import Feature
from recall_integrations.ranking.features.given import FeatureInput
from recall_integrations.ranking.features.match import Match

AFTER_WINDOW = 0.6  # worth of a memory just after the window: people tell of things later
AFTER_DAYS = (3.0, 30.0)  # shortest and longest time in which that fades
DAY = 86_400_000_000


def date_match(match: Match) -> Values:
    """Rate how far each candidate lies in the window that is asked for, or is told after it."""
    given = match.given
    window = given.query.window
    if window is None or given.at is None:
        return match.nothing
    at = given.at[given.rows].astype(np.float64)
    start = -np.inf if window.start is None else to_micros(window.start)
    end = np.inf if window.end is None else to_micros(window.end)
    length = min(max((end - start) / DAY, AFTER_DAYS[0]), AFTER_DAYS[1])
    later = AFTER_WINDOW * np.exp(-np.maximum(at - end, 0) / DAY / length)
    inside = np.where(at < start, 0.0, np.where(at < end, 1.0, later)) * is_dated(given)
    if given.told is not None:
        told = given.told().shares(
            None if window.start is None else to_micros(window.start),
            None if window.end is None else to_micros(window.end),
        )
        inside = np.maximum(inside, WORTH * told.take(given.rows))
    return (window.confidence * inside).astype(np.float32)


def told_asked(match: Match) -> Values:
    """Flag texts that tell a time, which may be the answer where the query asks when something was."""
    given = match.given
    if given.told is None or not given.query.dating or given.query.window is not None:
        return match.nothing
    return given.told().tells().take(given.rows).astype(np.float32)


def date_words_asked(match: Match) -> Values:
    """Return the words of dates where the query asks for a time, else 0: they are no answer then."""
    return match.date_words if match.given.query.when else match.nothing


def is_dated(given: FeatureInput) -> NDArray[np.bool_] | bool:
    """Flag the candidates whose times say when they were."""
    return True if given.dated is None else given.dated.take(given.rows)


DATES = (
    Feature(
        name="date_words",
        formula="date words in the text, at most 3",
        of=lambda match: match.date_words,
        group="date",
        linear=True,
    ),
    Feature(
        name="date_words_asked",
        formula="date_words where the query asks for a time, else 0",
        of=date_words_asked,
        group="date",
        weight={"always": 0.2},
    ),
    Feature(
        name="told_asked",
        formula="1 where the text tells a time, the query asks when it was, and has no window; else 0",
        of=told_asked,
        group="date",
        weight={"always": 0.4},
    ),
    Feature(
        name="date_match",
        formula="window confidence · (1 inside; .6·exp(−days past the end / length of the window) after it; 0 before, "
        "and where no time is known; at least .7 · the share of a time that it tells that lies inside)",
        of=date_match,
        group="date",
        weight={"always": 2.1, "notes": 1.5},
        arm="temporal",
        linear=True,
        rising=True,
        decisive=True,
    ),
)
