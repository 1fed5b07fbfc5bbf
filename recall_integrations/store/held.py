"""What an open store asks of where it is: a directory (`store.directory`) or a node of PostgreSQL (`store.nodes`)."""

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
    """Tells whether anybody has written."""

    def version(self) -> int:
        """Another number than before if anything was written meanwhile."""

    def now(self) -> Reached:
        """What is committed; its `version` is that one."""

    def turn_began(self) -> Reached:
        """What is committed at the beginning of a turn to write, when it is had."""

    def turn_ends(self) -> Reached:
        """What is committed at its end. Others may write from here on."""

    def close(self) -> None:
        """Let go of the database."""


class Held(Protocol):
    """An open record, and what goes with it."""

    @property
    def path(self) -> Path:
        """Where what is derived is kept."""

    @property
    def temporary(self) -> bool:
        """Whether that is removed in the end."""

    @property
    def engine(self) -> Engine:
        """Of the database."""

    @property
    def turn(self) -> WriteTurn:
        """The write lock."""

    @property
    def watch(self) -> Watching | None:
        """`None` = nobody else can write to it."""

    @property
    def own_indexes(self) -> bool:
        """Whether what is derived is this process's alone."""

    @property
    def tenant(self) -> str | None:
        """The role of a tenant, to which the database shows its rows only; `None` = all are seen."""

    @property
    def address(self) -> str:
        """What `MemoryStore.open` takes for the same store; may hold a password."""

    @property
    def name(self) -> str:
        """What it is called in messages."""

    @property
    def learned(self) -> Kept:
        """What was learned from feedback."""

    def size(self) -> int:
        """Bytes of all that is kept."""

    def keeps(self) -> bool:
        """Whether this process keeps the indexes."""

    def try_to_keep(self) -> bool:
        """Keep them from now on, if nobody else does; under the write lock."""

    def keep_no_longer(self) -> None:
        """Let another process keep them."""

    def fills(self) -> bool:
        """Whether it is this process that writes to a server of vectors; it is from now on, if nobody else does."""

    def fills_no_longer(self) -> None:
        """Let another process do that."""

    def flush_later(self) -> Flush | None:
        """Wait for the disk when the turn to write is over, and others go on; under the write lock.

        Returns:
            What lets a transaction of this turn not wait itself (`Flush.wait_later`), and is given to `flush` after the
            turn. `None` = commits wait, and nobody else could go on.
        """

    def flush(self, later: Flush | None) -> None:
        """See that all is on disk that was committed before; after the turn."""

    def others(self) -> list[int]:
        """Other processes that have it open; under the write lock."""

    def check_alone(self, what: str) -> None:
        """Raise `StoreLocked` unless nobody else has it open; under the write lock."""

    def mapped(self, error: BaseException) -> RecallError | None:
        """Ours for an error of the database; `None` for any other."""

    def make_ready(self) -> None:
        """Make its tables, or bring them up to date."""

    def release(self, *, noted: bool = False) -> None:
        """Let go of it."""
