"""The knowledge of a scope that the parser may use to read a query."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from recall_integrations.query.entities import EntityIndex
from recall_integrations.query.spans import Spans
from recall_integrations.query.spelling import Speller, Validate
from recall_integrations.records import record
from recall_integrations.text.spoken import NOTHING as NO_LANGUAGES
from recall_integrations.text.spoken import Spoken
from recall_integrations.types import Degradation, EntityRef

Settled = tuple[tuple[EntityRef, ...], tuple[Degradation, ...]]
Unsure = Callable[[str, tuple[EntityRef, ...], Spans], Settled]


@record(frozen=True, slots=True, kw_only=True)
class ScopeKnowledge:
    """Knowledge of a scope; the defaults are those of a scope never seen.

    Args:
        entities: names and aliases.
        frequency: function that returns the number of memories that hold a stem.
        memories: number of memories.
        speller: corrects unknown words; `None` while its vocabulary is being read, and if it is off.
        user: the user as an entity, who is in every query.
        assistant: whether one of its actors has the role of the assistant: then "you" in a query is the assistant.
        alike: function that returns the stems, of any scope, that differ from a stem by accents only.
        spoken: languages of its memories.
        unsure: asks a language model about references that are not sure, leaving out the given spans; see
            `entities.fallback`.
        validate: answers a prompt (a language model): the speller asks it whether its corrections are right. The model
            sees single words, which do not show whether they belong to a password or an address.
    """

    entities: EntityIndex | None = None
    frequency: Callable[[str], int] = lambda _stem: 0
    memories: int = 0
    speller: Speller | None = None
    user: EntityRef | None = None
    assistant: bool = False
    alike: Callable[[str], Sequence[str]] = lambda _stem: ()
    spoken: Spoken = NO_LANGUAGES
    unsure: Unsure | None = None
    validate: Validate | None = None
