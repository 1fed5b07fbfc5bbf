"""What the processes of one store may have in common: the way to a Redis, and names and seals of values."""

from __future__ import annotations

from recall_integrations.config.shared import SharedConfig
from recall_integrations.records import record
from recall_integrations.sharing.link import Link, linked
from recall_integrations.sharing.sealed import Sealing


@record(frozen=True, slots=True, kw_only=True, eq=False)
class Shared:
    """Of one optimizer.

    Args:
        link: the way to the Redis.
        sealing: names and seals of the store.
    """

    link: Link
    sealing: Sealing


def shared_by(settings: SharedConfig, secret: bytes, place: str) -> Shared | None:
    """What the settings say is shared; `None` = nothing is.

    Args:
        settings: which Redis.
        secret: the key of the store.
        place: what tells the store from copies of it.

    Raises:
        MissingExtra: redis-py is not installed.
    """
    link = linked(settings)
    return None if link is None else Shared(link=link, sealing=Sealing(secret, place, settings.prefix))
