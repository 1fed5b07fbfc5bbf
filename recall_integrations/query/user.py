"""The user of a scope as an entity."""

from __future__ import annotations

from collections.abc import Sequence

from recall_integrations.query.entities.index import EntityIndex
from recall_integrations.query.entities.state import entity_id_of
from recall_integrations.query.features import IMPLICIT
from recall_integrations.types import EntityRef, Scope

SPEAKERS_MAX = 16  # actors with the role of the user; of more, none is looked at
USER = "user"  # name of the user in a scope without a user id, and in chat logs


def implicit_user(
    scope: Scope, index: EntityIndex | None = None, speakers: Sequence[str] = (), key: bytes = b""
) -> EntityRef:
    """Return the scope's user: the one entity with the user id as a name, the one actor with that role, or a new one.

    The name may be an e-mail address: a result under `redact` or `block` must not show it, nor the id.
    """
    name = scope.user_id or USER
    entity_id = entity_id_of(name, key)
    known = index.lookup(name) if index is not None else ()
    if entity_id not in known and len(known) == 1:
        entity_id = known[0]
    elif entity_id not in known and index is not None and len(speakers) <= SPEAKERS_MAX:
        speaking = {found[0] for s in speakers if len(found := index.lookup(s)) == 1}
        if len(speaking) == 1:
            known = tuple(speaking)
            entity_id = known[0]
    entity = index.state.entities.get(entity_id) if index is not None and entity_id in known else None
    return EntityRef(
        entity_id=entity_id,
        name=name if entity is None else entity.name,
        mention="",
        span=(0, 0),
        confidence=1.0,
        stage=IMPLICIT,
    )
