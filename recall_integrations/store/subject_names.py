"""The names of subjects in facts: those of one entity, and those of two people."""

from __future__ import annotations

import weakref

from recall_integrations.facts.subjects_of import name_key
from recall_integrations.query.entities import EntityIndex

_OF = "'s "


class SubjectNames:
    """The names of each subject, as the index of a scope had them. Threads may share it.

    It holds no index: callers give it the one that it was made of.
    """

    def __init__(self, index: EntityIndex) -> None:
        self._made_of, self._revision = weakref.ref(index), index.revision
        self._known: dict[str, tuple[str, ...]] = {}

    def is_of(self, index: EntityIndex) -> bool:
        """Say whether the names are still those of the index."""
        return self._made_of() is index and self._revision == index.revision

    def of(self, subject: str, index: EntityIndex) -> tuple[str, ...]:
        """Return all subjects of the same entity, `subject` included, in the order of its names.

        Empty for a name of two entities: the owner of each fact is unknown.
        """
        found = self._known.get(subject)
        if found is None:
            found = self._known[subject] = _together(subject, index)
        return found


def _together(subject: str, index: EntityIndex) -> tuple[str, ...]:
    owner, of, rest = subject.partition(_OF)
    holders = _holders(owner, index)
    if len(holders) > 1:
        return ()
    names = dict.fromkeys(name_key(name) for entity in holders for name in index.names(entity))
    if owner not in names:
        return (subject,)
    return tuple(f"{name}{of}{rest}" for name in names if name == owner or _holders(name, index) == holders)


def _holders(name: str, index: EntityIndex) -> tuple[str, ...]:
    """Return the ids of the entities of a name; a key has no "the" in front, which a name may have."""
    return (index.lookup(name) or index.lookup(f"the {name}")) if name else ()
