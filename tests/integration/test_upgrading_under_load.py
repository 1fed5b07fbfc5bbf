"""Tables in PostgreSQL get a column while threads of two open stores write and recall."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from sqlalchemy import Engine, inspect, text
from tenacity import Retrying, retry_if_exception_message, stop_after_attempt

from recall_integrations import Memory, MemoryStore, QueryOptimizer, Scope
from recall_integrations.database import schema
from recall_integrations.database.postgres import open_postgres
from recall_integrations.database.upgrading import SCRIPTS, upgrade, version_of
from recall_integrations.errors import RecallError, StoreError

SCOPE = Scope(user_id="u1")
NEXT = schema.SCHEMA_VERSION + 1
REVISION = f'''
from alembic import op

revision, down_revision = "{NEXT}", "{schema.SCHEMA_VERSION}"
branch_labels = depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE memories ADD COLUMN mood VARCHAR")
    op.execute("UPDATE meta SET value = '{NEXT}' WHERE key = 'schema_version'")
'''
T = TypeVar("T")


class Caller(threading.Thread):
    """Remembers and recalls at a node until it is stopped, and calls once more what fails."""

    def __init__(self, name: str, node: MemoryStore) -> None:
        super().__init__(name=name)
        self.node, self.optimizer = node, QueryOptimizer(node)
        self.acknowledged: dict[str, str] = {}
        self.failed: list[str] = []
        self.stopped = threading.Event()

    def run(self) -> None:
        number = 0
        while not self.stopped.is_set() and not self.failed:
            number += 1
            said = Memory(f"{self.name} counted {number} swans on the lake", id=f"{self.name}-{number}")
            self.once_more(lambda said=said: self.node.remember(said, scope=SCOPE))
            found = self.once_more(lambda said=said: self.optimizer.recall(said.text, scope=SCOPE, k=5))
            if found is not None and said.id not in {hit.memory.id for hit in found.hits}:
                self.failed.append(f"{said.id} was not found")
            self.acknowledged[said.id or ""] = said.text

    def once_more(self, call: Callable[[], T]) -> T | None:
        try:
            return call()
        except RecallError:
            pass
        try:
            return call()
        except RecallError as e:
            self.failed.append(repr(e))
            return None


@contextmanager
def under_load(nodes: tuple[MemoryStore, MemoryStore]) -> Iterator[list[Caller]]:
    callers = [Caller(f"{name}-{i}", node) for i, node in enumerate(nodes) for name in ("Priya", "Sam")]
    for one in callers:
        one.start()
    try:
        yield callers
    finally:
        for one in callers:
            one.stopped.set()
        for one in callers:
            one.join(60)
            one.optimizer.close()


def go_on(callers: list[Caller]) -> None:
    """Wait until each of them has remembered and recalled three times more."""
    had = [len(one.acknowledged) for one in callers]
    until = time.monotonic() + 60
    while any(len(one.acknowledged) < n + 3 for one, n in zip(callers, had, strict=True)):
        assert [one.failed for one in callers] == [[]] * len(callers) and time.monotonic() < until
        time.sleep(0.02)


def with_next(folder: Path) -> Path:
    """The revisions of this package, and one more."""
    scripts = folder / "alembic"
    shutil.copytree(SCRIPTS, scripts, ignore=shutil.ignore_patterns("__pycache__"))
    (scripts / "versions" / f"v{NEXT}_mood.py").write_text(REVISION, encoding="utf-8")
    return scripts


def upgraded(engine: Engine, scripts: Path) -> tuple[int, ...]:
    """As somebody does it who asks again where a lock was waited for too long."""
    waited = retry_if_exception_message(match=".*waited for too long")
    again = Retrying(retry=waited, stop=stop_after_attempt(100), reraise=True)
    return again(lambda: upgrade(engine, lock_timeout_ms=500, scripts=scripts))


def test_a_column_is_added_while_two_nodes_write_and_recall(postgres_url: str, tmp_path: Path) -> None:
    scripts = with_next(tmp_path)
    with MemoryStore.open(postgres_url) as one, MemoryStore.open(postgres_url) as other:
        engine = open_postgres(postgres_url)
        with under_load((one, other)) as callers:
            go_on(callers)
            with engine.connect() as looking:  # a backup, say: behind who waits for it everybody waits
                looking.execute(text("SELECT count(*) FROM memories"))
                with pytest.raises(StoreError, match="waited for too long"):
                    upgrade(engine, lock_timeout_ms=100, scripts=scripts)
                go_on(callers)
                assert version_of(looking) == schema.SCHEMA_VERSION
            assert upgraded(engine, scripts) == (NEXT,)
            go_on(callers)
        assert [caller.failed for caller in callers] == [[]] * len(callers)
        said = {memory_id: told for caller in callers for memory_id, told in caller.acknowledged.items()}
        for node in (one, other):
            assert {memory.id: memory.text for memory in node.iterate(scope=SCOPE)} == said
        with engine.connect() as connection:
            assert version_of(connection) == NEXT
            assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == str(NEXT)
        assert "mood" in {column["name"] for column in inspect(engine).get_columns("memories")}
        engine.dispose()
