"""What the steps of a move share: both ends, who is told, and how far it is."""

from __future__ import annotations

import json
from collections.abc import Callable

from sqlalchemy import Connection

from recall_integrations.database.meta import put_meta
from recall_integrations.observability.progress import Told
from recall_integrations.store.held import Held
from recall_integrations.store.moving.places import Noted
from recall_integrations.store.opening import MOVING


class Way:
    """A move that is under way.

    Args:
        source, target: both are held.
        tell: how far it is.
        stopped: called between two steps; may raise.

    Attributes:
        noted: how far the target is: `from` which store, `at` which entry of the source's journal, and the `scope` and
            `num` from which on nothing is copied yet.
    """

    def __init__(self, source: Held, target: Held, tell: Told, stopped: Callable[[], None]) -> None:
        self.source, self.target = source, target
        self.tell, self.stopped = tell, stopped
        self.noted: Noted = {}

    @property
    def at(self) -> int:
        """Up to which entry of the source's journal the target has it."""
        return int(self.noted["at"])

    def note(self, target: Connection, there: Noted) -> None:
        """Note how far it is, in the transaction that brings it there."""
        put_meta(target, MOVING, json.dumps(there))
        self.noted = there
