"""The interface of a store's place: a directory (`store.directory`) or a node of PostgreSQL (`store.nodes`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import Engine

from recall_integrations.database.watching import Reached
from recall_integrations.errors import RecallError
from recall_integrations.store.learned_files import Kept
from recall_integrations.store.turns import WriteTurn

if TYPE_CHECKING:
    from recall_integrations.database.turns import Flush


class Watching(Protocol):
    """Tells whether any process has written."""

    def version(self) -> int:
        """Return a number that changes with every write."""

    def now(self) -> Reached:
        """Return the committed state, with its `version`."""

    def turn_began(self) -> Reached:
        """Return the committed state at the beginning of a turn to write, once the turn is taken."""

    def turn_ends(self) -> Reached:
        """Return the committed state at the end of a turn. Others may write from here on."""

    def close(self) -> None:
        """Release the database."""


class Held(Protocol):
    """An open record, and the parts that go with it."""

    @property
    def path(self) -> Path:
        """Directory of derived data."""

    @property
    def temporary(self) -> bool:
        """True if that directory is removed at the end."""

    @property
    def engine(self) -> Engine:
        """Engine of the database."""

    @property
    def turn(self) -> WriteTurn:
        """The write lock."""

    @property
    def watch(self) -> Watching | None:
        """Tells of writes; `None` = no other process can write to the record."""

    @property
    def own_indexes(self) -> bool:
        """True if derived data is this process's alone."""

    @property
    def tenant(self) -> str | None:
        """The role of a tenant, to which the database shows its rows only; `None` = all are seen."""

    @property
    def address(self) -> str:
        """The argument with which `MemoryStore.open` opens the same store; may hold a password."""

    @property
    def name(self) -> str:
        """The name of the record in messages."""

    @property
    def learned(self) -> Kept:
        """Files or rows of learned weights."""

    def size(self) -> int:
        """Count the bytes of the record."""

    def keeps(self) -> bool:
        """Say whether this process keeps the indexes."""

    def try_to_keep(self) -> bool:
        """Keep the indexes from now on, if no other process does; under the write lock."""

    def keep_no_longer(self) -> None:
        """Let another process keep the indexes."""

    def fills(self) -> bool:
        """Say whether this process writes to a server of vectors; if no other process does, it does from now on."""

    def fills_no_longer(self) -> None:
        """Let another process write to the server of vectors."""

    def flush_later(self) -> Flush | None:
        """Wait for the disk when the turn to write is over, and others go on; under the write lock.

        Returns:
            A `Flush`: with it a transaction of this turn does not wait (`Flush.wait_later`); give it to `flush` after
            the turn. `None` = commits wait, and no other process could go on.
        """

    def flush(self, later: Flush | None) -> None:
        """Make sure that all earlier commits are on disk; after the turn."""

    def others(self) -> list[int]:
        """List other processes that have the store open; under the write lock."""

    def check_alone(self, what: str) -> None:
        """Raise `StoreLocked` if another process has the store open; under the write lock."""

    def mapped(self, error: BaseException) -> RecallError | None:
        """Translate an error of the database into one of this package; `None` for any other error."""

    def make_ready(self) -> None:
        """Make the tables, or bring them up to date."""

    def release(self, *, noted: bool = False) -> None:
        """Release the record."""
