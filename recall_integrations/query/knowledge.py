"""What the parser may ask about the scope that a query is read for."""

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
    """For a scope never seen: nothing is known.

    Args:
        entities: names and aliases.
        frequency: number of memories that hold a stem.
        memories: number of memories.
        speller: second readings of unknown words; `None` while its vocabulary is being read, and where it is off.
        user: the user as an entity, who is in every query.
        assistant: whether one of its actors has the role of the assistant: then "you" in a query is the assistant.
        alike: stems that differ from one by accents alone, of whatever scope.
        spoken: the languages that its memories are in.
        unsure: asks a language model about references that are not sure, leaving out the given spans; see
            `entities.fallback`.
        validate: answers a prompt (a language model): the speller asks it whether its corrections are right. It sees
            words one by one, where nothing tells any more whether they belong to a password or an address.
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
