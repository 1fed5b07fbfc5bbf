"""What an extractor takes and gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from recall_integrations.types import Memory, Relation

# Kinds that are worth a node in the graph. Dates are not: the temporal index has them, and as nodes they join all.
GRAPH_KINDS = frozenset({"person", "organisation", "project", "product", "place", "event", "identifier", "name"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedEntity:
    """One name of a text; a name that occurs several times is given once.

    Args:
        name: as it should be stored: without title and possessive.
        kind: `person`, `organisation`, `project`, `product`, `place`, `event`, `identifier`, `date`, or `name` where
            nothing tells. Other extractors may give others.
        span: characters of its first occurrence, `(start, end)`; `(0, 0)` for a name that is not in the text as such.
        confidence: how sure the extractor is that this is a name, in (0, 1].
    """

    name: str
    kind: str
    span: tuple[int, int]
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """What was found in one memory, beyond what it declares.

    Args:
        entities: in order of their span.
        relations: in order of appearance; both ends are declared names or names of `entities`.
    """

    entities: tuple[ExtractedEntity, ...] = ()
    relations: tuple[Relation, ...] = ()


@runtime_checkable
class Extractor(Protocol):
    """Finds names and relations in a memory. Must be safe to call from several threads."""

    def extract(self, memory: Memory) -> Extracted:
        """What `memory.text` names, without what the memory declares."""
        ...


@dataclass(slots=True, kw_only=True)
class Candidate:
    """A place that may be a name, on its way through the stages.

    Args:
        first: its first word.
        stop: the word after its last.
        start: its first character.
        end: the character after its last.
        name: under which it is stored; changed where a longer or a declared name means the same.
        kind: see `ExtractedEntity`.
        confidence: in [0, 1].
        declared: whether the memory declares it.
        team: whether it is the name of a team.
    """

    first: int
    stop: int
    start: int
    end: int
    name: str
    kind: str
    confidence: float
    declared: bool = False
    team: bool = False
