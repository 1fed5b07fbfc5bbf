"""Opening PostgreSQL, what its errors become, and what is tried again."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
import tomllib
from sqlalchemy import Connection, Engine, make_url, text

from recall_integrations.config.schema import catalogue
from recall_integrations.database import postgres, postgres_errors
from recall_integrations.database.postgres import open_postgres
from recall_integrations.database.postgres_errors import mapped_error, may_be_tried_again, shown, tried_again
from recall_integrations.database.sending import bounded, check_texts
from recall_integrations.errors import InvalidMemory, RecallError, StoreError, StoreVersionError
from tests.postgres import Postgres, running
from tests.rows import each_row

ROOT = Path(__file__).resolve().parents[3]
T = TypeVar("T")
SECRET = "s3cr%2Ft-word"
PLAIN = "s3cr/t-word"


@pytest.fixture
def engine(postgres_url: str) -> Iterator[Engine]:
    opened = open_postgres(postgres_url)
    with opened.begin() as connection:
        connection.execute(text("CREATE TABLE counted (id integer PRIMARY KEY, n integer NOT NULL)"))
        connection.execute(text("INSERT INTO counted VALUES (1, 0), (2, 0)"))
    yield opened
    opened.dispose()


def transact(engine: Engine, work: Callable[[Connection], T], *, tries: int = 40, again: bool = False) -> T:
    """What `work` returns, committed, tried again as the store's writes are."""

    def once() -> T:
        with postgres.mapped_errors(engine), engine.begin() as connection:
            return work(connection)

    return tried_again(once, twice=again, tries=tries, within_s=60.0)


@each_row("given", ["", "postgresql://", "mysql://h/d", f"postgresql://u:{SECRET}@h:port/d", "a dir/x"])
def test_what_is_no_address_is_refused_without_repeating_it(given: str) -> None:
    with pytest.raises(StoreError, match="postgresql://user:password@host") as met:
        postgres.parsed(given)
    assert "s3cr" not in str(met.value) and met.value.__cause__ is None and met.value.__suppress_context__


@each_row(
    "given",
    [
        f"postgresql://priya:{SECRET}@127.0.0.1:1/memories",
        f"postgresql://priya@127.0.0.1:1/memories?password={SECRET}",
        f"postgresql://priya:{SECRET}@/memories?host=/nowhere&sslpassword={SECRET}",
    ],
)
def test_a_server_that_is_away_is_named_without_the_password(given: str) -> None:
    with pytest.raises(StoreError, match="cannot be reached .* Check that it runs") as met:
        open_postgres(given, connect_timeout_s=2)
    error: BaseException | None = met.value
    while error is not None:
        for secret in (SECRET, PLAIN):
            assert secret not in str(error) and secret not in repr(error)
        error = error.__cause__ or error.__context__
    assert "priya@" in str(met.value) and "memories" in str(met.value)
    assert "s3cr" not in shown(make_url(given))


def test_a_driver_that_repeats_the_password_is_not_repeated() -> None:
    psycopg = postgres.require_psycopg()
    met = psycopg.OperationalError(f"invalid dsn: password={PLAIN} host=h")
    mapped = mapped_error(met, make_url(f"postgresql://priya:{SECRET}@h/d"))
    assert mapped is not None and PLAIN not in str(mapped) and "***" in str(mapped)


def test_a_pooler_that_takes_no_options_says_what_to_do() -> None:
    psycopg = postgres.require_psycopg()
    met = psycopg.OperationalError("connection failed: FATAL:  unsupported startup parameter: options")
    mapped = mapped_error(met, make_url("postgresql://priya@h/d"))
    assert "does not take `options` of the address" in str(mapped) and "ALTER ROLE" in str(mapped)


@each_row(
    ("given", "host", "port"),
    [
        ("postgresql://priya:a%2Cb@one:6000,two:6001/memories?sslmode=require", "one,two", "6000,6001"),
        ("postgresql://priya:a%2Cb@one,[::1]:6001/memories?sslmode=require", "one,::1", ",6001"),
        ("postgresql://priya:a%2Cb@one,two/memories?sslmode=require", "one,two", None),
        ("postgresql://priya:a%2Cb@/memories?host=one:6000&host=two:6001&sslmode=require", "one,two", "6000,6001"),
        ("postgresql://priya:a%2Cb@/memories?host=one,two&port=6000,6001&sslmode=require", "one,two", "6000,6001"),
    ],
)
def test_an_address_may_name_several_servers(given: str, host: str, port: str | None) -> None:
    url = postgres.parsed(given)
    _, asked = url.get_dialect()().create_connect_args(url)
    assert (asked["host"], asked.get("port")) == (host, port)
    assert (asked["user"], asked["password"], asked["dbname"], asked["sslmode"]) == (
        "priya",
        "a,b",
        "memories",
        "require",
    )
    assert postgres.parsed(url.render_as_string(hide_password=False)) == url  # as it is handed to workers
    assert all(one in shown(url) for one in host.split(",")) and "a,b" not in shown(url)


@pytest.mark.parametrize("given", ["postgresql://one:a,two:b/memories", "postgresql://one:6000,two:6001"])
def test_several_servers_that_make_no_address(given: str) -> None:
    with pytest.raises(StoreError, match="postgresql://user:password@host"):
        postgres.parsed(given)


def test_without_the_driver_the_extra_is_named() -> None:
    code = """
import sys
sys.modules["psycopg"] = None
from recall_integrations.database.postgres import open_postgres
try:
    open_postgres("postgresql://h/d")
except ImportError as e:
    print(type(e).__name__, e)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120, cwd=ROOT
    )
    assert done.stdout.startswith("MissingExtra") and "[postgres]" in done.stdout
    assert "postgres" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_opening_a_store_in_a_directory_loads_no_driver() -> None:
    code = """
import sys
import recall_integrations.cli, recall_integrations.store.memory_store
print([m for m in sys.modules if m.startswith("psycopg")])
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120, cwd=ROOT
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "secret", [f"password={SECRET}", f"sslpassword={SECRET}", f"password={SECRET}&sslpassword={SECRET}"]
)
def test_an_engine_does_not_show_a_password(postgres_url: str, secret: str) -> None:
    engine = open_postgres(f"{postgres_url}{'&' if '?' in postgres_url else '?'}{secret}")
    for said in (repr(engine), str(engine.url), repr(engine.url)):
        assert "s3cr" not in said and "postgres" in said
    engine.dispose()


def test_what_an_engine_is_set_to(postgres_url: str) -> None:
    engine = open_postgres(postgres_url)
    with engine.connect() as connection:
        said = {
            name: connection.execute(text(f"SHOW {name}")).scalar()
            for name in ("application_name", "transaction_isolation")
        }
    engine.dispose()
    assert said == {
        "application_name": "recall-integrations",
        "transaction_isolation": "read committed",
    }


def test_a_database_that_is_absent_is_named(postgres: Postgres) -> None:
    url = postgres.url.set(database="kestrel")
    with pytest.raises(StoreError, match="There is no database .*kestrel.* Create it"):
        open_postgres(url)


def test_a_database_of_another_encoding_is_refused(postgres: Postgres) -> None:
    postgres.run("CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    try:
        with pytest.raises(StoreVersionError, match="LATIN1.*ENCODING 'UTF8'"):
            open_postgres(postgres.url.set(database="latin"))
    finally:
        postgres.run("DROP DATABASE latin")


@pytest.mark.parametrize(
    ("statement", "kind", "says"),
    [
        ("SELECT * FROM memories", StoreVersionError, "Opening a store in an empty database makes them"),
        ("SELECT 1 / 0", StoreError, "refused an operation: division by zero"),
        ("SET LOCAL statement_timeout = 20; SELECT pg_sleep(5)", StoreError, "longer than its timeout"),
        ("SET TRANSACTION READ ONLY; DELETE FROM counted", StoreError, "takes no writes"),
        ("INSERT INTO counted VALUES (1, 2)", StoreError, "duplicate key value violates unique constraint"),
    ],
)
def test_errors_are_of_our_tree_and_hold_no_values(
    engine: Engine, statement: str, kind: type[RecallError], says: str
) -> None:
    def work(connection: Connection) -> None:
        for one in statement.split("; "):
            connection.execute(text(one))

    with pytest.raises(kind, match=says) as met:
        transact(engine, work, tries=1)
    assert type(met.value) is kind and "Key (" not in str(met.value)


def test_a_server_that_lets_nobody_in_is_said_to_have_no_connection_left(postgres: Postgres) -> None:
    role = f"crowded_{uuid.uuid4().hex[:8]}"
    postgres.run(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 0")
    try:
        with pytest.raises(StoreError, match=r"no connection left\. Lower `postgres\.pool_size`.*too many") as met:
            open_postgres(postgres.url.set(username=role))
        assert may_be_tried_again(met.value, twice=True)  # somebody may give one back in a moment
    finally:
        postgres.run(f"DROP ROLE {role}")


def test_settings_that_messages_name_are_there() -> None:
    written = Path(postgres_errors.__file__).read_text(encoding="utf-8")
    named = set(re.findall(r"`(postgres\.\w+)`", written))
    assert named == {"postgres.pool_size"} and named <= set(catalogue())


def test_a_nul_is_refused_with_words(engine: Engine) -> None:
    def work(connection: Connection) -> None:
        connection.execute(text("SELECT :given"), {"given": "a\x00b"})

    with pytest.raises(InvalidMemory, match="NUL character"):
        transact(engine, work)
    with pytest.raises(InvalidMemory, match="NUL character"):
        check_texts(engine, ["fine", "a\x00b"])
    check_texts(engine, ["fine"])


def _add(connection: Connection, key: int, amount: int) -> None:
    n = connection.execute(text("SELECT n FROM counted WHERE id = :id"), {"id": key}).scalar_one()
    connection.execute(text("UPDATE counted SET n = :n WHERE id = :id"), {"n": n + amount, "id": key})


def test_serializable_work_is_tried_again_until_nothing_is_lost(postgres_url: str, engine: Engine) -> None:
    calls = []
    serial = open_postgres(postgres_url, isolation="SERIALIZABLE")
    gate = threading.Barrier(2, timeout=20)

    def work(connection: Connection) -> None:
        calls.append(1)
        n = connection.execute(text("SELECT n FROM counted WHERE id = 1")).scalar_one()
        if len(calls) <= 2:
            gate.wait()  # both have read the same
        connection.execute(text("UPDATE counted SET n = :n WHERE id = 1"), {"n": n + 1})

    threads = [threading.Thread(target=transact, args=(serial, work)) for _ in "ab"]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    serial.dispose()
    with engine.connect() as connection:
        assert connection.execute(text("SELECT n FROM counted WHERE id = 1")).scalar() == 2
    assert len(calls) == 3


def test_a_deadlock_is_tried_again(engine: Engine) -> None:
    gate, calls = threading.Barrier(2, timeout=20), []

    def count(connection: Connection, key: int) -> None:  # in one statement: nobody writes between reading and writing
        connection.execute(text("UPDATE counted SET n = n + 1 WHERE id = :id"), {"id": key})

    def work(first: int, second: int) -> None:
        def run(connection: Connection) -> None:
            calls.append(first)
            connection.execute(text("SET LOCAL deadlock_timeout = '20ms'"))
            count(connection, first)
            if len(calls) <= 2:
                gate.wait()
            count(connection, second)

        transact(engine, run)

    threads = [threading.Thread(target=work, args=order) for order in ((1, 2), (2, 1))]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    with engine.connect() as connection:
        assert list(connection.execute(text("SELECT n FROM counted ORDER BY id")).scalars()) == [2, 2]


def test_a_connection_lost_before_the_commit_is_tried_again(
    engine: Engine, postgres: Postgres, postgres_url: str
) -> None:
    calls = []

    def work(connection: Connection) -> None:
        calls.append(1)
        _add(connection, 1, 5)
        if len(calls) == 1:
            postgres.cut(postgres_url)
        connection.execute(text("SELECT 1"))

    transact(engine, work)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT n FROM counted WHERE id = 1")).scalar() == 5
    assert len(calls) == 2


@pytest.mark.parametrize("again", [False, True])
def test_a_connection_lost_while_committing_is_not_tried_again_unless_that_does_no_harm(
    engine: Engine, postgres: Postgres, postgres_url: str, again: bool
) -> None:
    calls = []

    def work(connection: Connection) -> None:
        calls.append(1)
        _add(connection, 1, 5)
        if len(calls) == 1:
            postgres.cut(postgres_url)

    if not again:
        with pytest.raises(StoreError, match="it may not have been kept"):
            transact(engine, work)
        assert len(calls) == 1
        return
    transact(engine, work, again=True)
    assert len(calls) == 2


@pytest.mark.slow
def test_what_was_committed_outlives_a_server_that_is_killed() -> None:
    with running() as own:
        if own.server is None:
            pytest.skip("the server is somebody else's")
        engine = open_postgres(own.fresh())
        with own.durable():
            transact(engine, lambda connection: connection.execute(text("CREATE TABLE kept AS SELECT 1 AS n")))
            own.kill()
            with pytest.raises(StoreError, match="cannot be reached"):
                transact(engine, lambda connection: connection.execute(text("SELECT n FROM kept")), tries=1)
            back = threading.Timer(0.3, own.start)
            back.start()
            found = transact(engine, lambda c: c.execute(text("SELECT n FROM kept")).scalar(), again=True)
            back.join()
        engine.dispose()
    assert found == 1


def test_what_does_not_help_is_not_tried_again(engine: Engine) -> None:
    calls = []

    def work(connection: Connection) -> None:
        calls.append(1)
        raise ValueError("ours")

    with pytest.raises(ValueError, match="ours"):
        transact(engine, work)
    assert len(calls) == 1 and not may_be_tried_again(ValueError(), twice=True)
    with engine.connect() as connection:  # the transaction was ended
        assert not connection.execute(
            text("SELECT count(*) FROM pg_locks WHERE relation = 'counted'::regclass")
        ).scalar()


def test_what_a_recall_has_left_bounds_its_statements(engine: Engine) -> None:
    def work(connection: Connection) -> None:
        bounded(connection, 20.9)
        connection.execute(text("SELECT pg_sleep(5)"))

    with pytest.raises(StoreError, match="longer than its timeout"):
        transact(engine, work)
    with engine.connect() as connection:
        assert connection.execute(text("SHOW statement_timeout")).scalar() == "0"


@pytest.mark.parametrize(("query", "held"), [("", "5"), ("?keepalives_idle=77", "77"), ("?connect_timeout=3", "5")])
def test_what_the_address_says_of_the_connection_holds(query: str, held: str, postgres_url: str) -> None:
    address = make_url(postgres_url)
    if query:
        name, _, value = query[1:].partition("=")
        address = address.update_query_dict({name: value})
    opened = open_postgres(address)
    with opened.connect() as connection:
        info = connection.connection.driver_connection.info  # type: ignore[union-attr]
        given = info.get_parameters()
    opened.dispose()
    assert given["keepalives_idle"] == held and given["tcp_user_timeout"] == "10000"
    assert given["connect_timeout"] == ("3" if "connect_timeout" in query else "5")
