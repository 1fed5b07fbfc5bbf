"""Statements that go to the database together: what they say, and what becomes of them when one fails."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import Column, Engine, Integer, MetaData, Table, Text, bindparam, insert, select, text, update
from sqlalchemy.exc import IntegrityError, OperationalError

from recall_integrations.database.engine import open_sqlite
from recall_integrations.database.postgres import open_postgres
from recall_integrations.database.sending import Sent, begun, insert_rows, is_together, send
from tests.postgres import Postgres

SAID = Table("said", MetaData(), Column("num", Integer, primary_key=True, autoincrement=False), Column("text", Text))
CHANGED = update(SAID).where(SAID.c.num >= bindparam("least")).values(text="changed")
NUMS = select(SAID.c.num, SAID.c.text).where(SAID.c.num > bindparam("after")).order_by(SAID.c.num)


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    if request.param == "sqlite":
        opened = open_sqlite(tmp_path / "said.db")
    else:
        opened = open_postgres(request.getfixturevalue("postgres_url"), isolation="REPEATABLE READ")
    SAID.metadata.create_all(opened)
    yield opened
    opened.dispose()


@pytest.fixture
def server(postgres_url: str) -> Iterator[Engine]:
    opened = open_postgres(postgres_url, isolation="REPEATABLE READ")
    SAID.metadata.create_all(opened)
    yield opened
    opened.dispose()


def row(num: int, said: str = "so") -> dict[str, object]:
    return {"num": num, "text": said}


def there(engine: Engine) -> list[tuple[int, str]]:
    with engine.connect() as connection:
        return [(num, said) for num, said in connection.execute(select(SAID).order_by(SAID.c.num))]


def test_what_was_sent_is_read_inside_and_behind_the_block(engine: Engine) -> None:
    with begun(engine) as connection:
        insert_rows(connection, SAID, [row(n) for n in range(1, 7)])
        inside = send(connection, NUMS, {"after": 4})
        assert inside.rows() == [(5, "so"), (6, "so")]
        changed = send(connection, CHANGED, {"least": 5})
        behind, none = send(connection, NUMS, {"after": 5}), send(connection, NUMS, {"after": 6})
    assert changed.count() == 2 and behind.value() == 6 and none.value() is None
    assert there(engine) == [*((n, "so") for n in range(1, 5)), (5, "changed"), (6, "changed")]


def test_another_statement_between_them_is_answered_at_once(engine: Engine) -> None:
    with begun(engine) as connection:
        insert_rows(connection, SAID, [row(1), row(2)])
        assert connection.execute(select(SAID.c.num).order_by(SAID.c.num)).scalars().all() == [1, 2]
        send(connection, CHANGED, {"least": 2})
        assert connection.execute(update(SAID).where(SAID.c.num == 1).values(text="first")).rowcount == 1
        connection.execute(insert(SAID), [row(3), row(4)])
        last = send(connection, NUMS, {"after": 3})
    assert last.rows() == [(4, "so")]
    assert there(engine) == [(1, "first"), (2, "changed"), (3, "so"), (4, "so")]


@pytest.mark.parametrize("place", ["commit", "sent", "statement"])
def test_where_one_fails_nothing_is_there_and_the_error_is_its_own(
    engine: Engine, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    with begun(engine) as connection:
        insert_rows(connection, SAID, [row(1)])
    for _ in range(3):  # the connection goes on being used
        with pytest.raises(IntegrityError), begun(engine) as connection:
            insert_rows(connection, SAID, [row(2)])
            insert_rows(connection, SAID, [row(1)])
            behind = send(connection, NUMS, {"after": 0})
            send(connection, CHANGED, {"least": 0})
            if place == "sent":
                behind.rows()
            elif place == "statement":
                connection.execute(select(SAID)).all()
        assert there(engine) == [(1, "so")]
    assert not caplog.records


def test_after_an_error_of_the_caller_nothing_is_there(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(KeyError), begun(engine) as connection:
        insert_rows(connection, SAID, [row(1)])
        send(connection, CHANGED, {"least": 0})
        raise KeyError
    assert there(engine) == [] and not caplog.records


@pytest.mark.parametrize("place", ["before", "commit"])
def test_a_connection_that_is_lost(
    server: Engine, postgres: Postgres, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Lost at the commit looks like any commit that was cut: no statement is named, so nobody knows what came of it."""
    caplog.set_level(logging.WARNING)

    def cut(*_: object) -> None:
        postgres.cut(server.url)

    with pytest.raises(OperationalError) as raised, begun(server) as connection:
        insert_rows(connection, SAID, [row(1)])
        if place == "before":
            cut()
            connection.execute(select(SAID))
        else:
            assert connection.execute(text("SELECT 1")).scalar() == 1
            cut()
    assert raised.value.connection_invalidated
    assert (raised.value.statement is None) == (place == "commit")
    assert there(server) == []
    assert not caplog.records


def test_what_was_sent_waits_for_nobody_else_once_the_block_is_left(server: Engine) -> None:
    """Its connection may be another thread's by then, in the middle of a transaction."""
    with begun(server) as connection:
        insert_rows(connection, SAID, [row(1), row(2)])
        changed = send(connection, CHANGED, {"least": 1})
    with begun(server) as connection:
        insert_rows(connection, SAID, [row(3)])
        waited: list[Sent] = []
        raw = connection.connection.dbapi_connection
        raw.together.sync = lambda: waited.append(changed)  # type: ignore[union-attr]
        assert changed.count() == 2
        assert not waited
        del raw.together.sync  # type: ignore[union-attr]
    assert len(there(server)) == 3


def test_a_driver_that_cannot_send_together_does_one_after_the_other(
    server: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recall_integrations.database.sending.can_send_together", lambda _: False)
    with begun(server) as connection:
        assert not is_together(connection)
        insert_rows(connection, SAID, [row(1), row(2)])
        changed = send(connection, CHANGED, {"least": 2})
        assert send(connection, NUMS, {"after": 1}).rows() == [(2, "changed")]
    assert changed.count() == 1 and len(there(server)) == 2


def test_a_connection_that_was_left_in_the_middle_is_used_by_nobody(server: Engine) -> None:
    """An interrupt may come where nothing can be put in order any more."""
    for spoilt in ("autocommit", "together"):
        with server.connect() as connection:
            raw = connection.connection.dbapi_connection
            connection.rollback()
        setattr(raw, spoilt, True)
        with begun(server) as connection:
            assert connection.connection.dbapi_connection is not raw
            insert_rows(connection, SAID, [row(len(spoilt))])
        assert raw is not None and raw.closed  # type: ignore[attr-defined]
    assert len(there(server)) == 2


@pytest.mark.parametrize("place", range(12))
def test_an_interrupt_leaves_the_connection_as_it_was(
    server: Engine, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    """Wherever the driver is asked something: nothing of it is there, or all, and the next ones go on."""
    from recall_integrations.database.connections import connection_class

    waited, at = connection_class().wait, [0]

    def wait(self: object, gen: object, *given: object, **more: object) -> object:
        at[0] += 1
        if at[0] == place + 1:
            raise KeyboardInterrupt
        return waited(self, gen, *given, **more)

    with begun(server):
        pass
    monkeypatch.setattr(connection_class(), "wait", wait)
    with suppress(KeyboardInterrupt), begun(server) as connection:
        insert_rows(connection, SAID, [row(1), row(2)])
        send(connection, CHANGED, {"least": 1})
    monkeypatch.undo()
    assert len(there(server)) in (0, 2)
    for num in (7, 8):
        with begun(server) as connection:
            insert_rows(connection, SAID, [row(num)])
            sent = send(connection, NUMS, {"after": 6})
        assert sent.rows()[-1] == (num, "so")
