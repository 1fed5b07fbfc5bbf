"""The state that the steps of a move share: both ends, the receiver of messages, and the progress."""

from __future__ import annotations

import json
from collections.abc import Callable

from sqlalchemy import Connection

from recall_integrations.database.meta import put_meta
from recall_integrations.observability.progress import Told
from recall_integrations.store.directory import Held
from recall_integrations.store.moving.places import Noted
from recall_integrations.store.opening import MOVING


class Way:
    """A move under way."""

    def __init__(self, source: Held, target: Held, tell: Told, stopped: Callable[[], None]) -> None:
        self.source, self.target = source, target
        self.tell, self.stopped = tell, stopped
        self.noted: Noted = {}

    @property
    def at(self) -> int:
        """The last entry of the source's journal in the target."""
        return int(self.noted["at"])

    def note(self, target: Connection, there: Noted) -> None:
        """Note the progress, in the transaction of the same rows."""
        put_meta(target, MOVING, json.dumps(there))
        self.noted = there
