"""The knowledge of a scope that the parser may use to read a query."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from recall_integrations.query.entities import EntityIndex
from recall_integrations.query.spans import Spans
from recall_integrations.query.spelling import Speller
from recall_integrations.records import record
from recall_integrations.text.spoken import NOTHING as NO_LANGUAGES
from recall_integrations.text.spoken import Spoken
from recall_integrations.types import Degradation, EntityRef

Settled = tuple[tuple[EntityRef, ...], tuple[Degradation, ...]]
Unsure = Callable[[str, tuple[EntityRef, ...], Spans], Settled]


@record(frozen=True, slots=True, kw_only=True)
class ScopeKnowledge:
    """Knowledge of a scope; the defaults are those of a scope never seen."""

    entities: EntityIndex | None = None  # names and aliases
    frequency: Callable[[str], int] = lambda _stem: 0  # number of memories that hold a stem
    # the memories that hold a stem, by their rows; `None` = nobody may or can tell
    rows: Callable[[str], NDArray[np.int32]] | None = None
    memories: int = 0
    # Asked for a query with a word that nobody knows; `None` while a vocabulary is being read, and if it is off.
    speller: Callable[[], Speller | None] = lambda: None
    user: EntityRef | None = None  # who is in every query
    assistant: bool = False  # whether one of its actors is the assistant: then "you" in a query is the assistant
    alike: Callable[[str], Sequence[str]] = lambda _stem: ()  # stems, of any scope, that differ by accents only
    spoken: Spoken = NO_LANGUAGES  # languages of its memories
    unsure: Unsure | None = None  # asks a language model about references, leaving out the spans: `entities.fallback`
