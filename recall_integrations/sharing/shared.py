"""Shared parts of the processes of one store: the way to a Redis, and names and seals of values."""

from __future__ import annotations

from recall_integrations.config.shared import SharedConfig
from recall_integrations.records import record
from recall_integrations.sharing.link import Link, linked
from recall_integrations.sharing.sealed import Sealing


@record(frozen=True, slots=True, kw_only=True, eq=False)
class Shared:
    """The shared parts of one optimizer.

    Args:
        link: the way to the Redis.
        sealing: names and seals of the store.
    """

    link: Link
    sealing: Sealing


def shared_by(settings: SharedConfig, secret: bytes, place: str) -> Shared | None:
    """Return the shared parts by the settings; `None` = nothing is shared.

    Args:
        settings: names the Redis.
        secret: the key of the store.
        place: of the store, which tells it from copies.

    Raises:
        MissingExtra: redis-py is not installed.
    """
    link = linked(settings)
    return None if link is None else Shared(link=link, sealing=Sealing(secret, place, settings.prefix))
