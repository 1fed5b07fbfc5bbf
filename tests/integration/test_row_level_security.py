"""A role of PostgreSQL for each tenant: the server shows it the rows of one user, whatever it asks for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import Connection, Engine, delete, func, insert, make_url, select, text, update

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, Relation, Scope
from recall_integrations.cli import main
from recall_integrations.config import VectorsConfig
from recall_integrations.database import postgres as store_tables
from recall_integrations.database import schema, tenants
from recall_integrations.database.postgres import open_postgres
from recall_integrations.database.schema import spent_by
from recall_integrations.errors import ConfigError, InvalidArgument, RecallError, StoreError, StoreVersionError
from tests.conftest import NOW, FakeEmbedding
from tests.postgres import Postgres

ANN, BOB, EVE = Scope(user_id="ann"), Scope(user_id="bob"), Scope(user_id="eve")
BADGE = "What is my badge number?"
ROLES = {"ann": "ann", "bob": 'b:o\'b "100%s"'}  # by user; names and their `%` are the owner's choice


def named(role: str) -> str:
    return '"' + role.replace('"', '""') + '"'


@pytest.fixture(scope="module")
def roles(postgres: Postgres) -> Iterator[None]:
    """Roles that tenants log in as; of the server, so of all databases."""
    names = [*ROLES.values(), "app", "insider", "passing"]
    postgres.run(*(f"CREATE ROLE {named(name)} LOGIN".replace(":", r"\:") for name in names))
    postgres.run("GRANT ann TO insider", "ALTER ROLE passing BYPASSRLS")
    yield
    postgres.run(*(f"DROP ROLE {named(name)}".replace(":", r"\:") for name in names))


@pytest.fixture
def database(roles: None, postgres: Postgres) -> Iterator[str]:
    url = postgres.fresh()
    yield url
    postgres.drop(url)  # before the roles, which have rights in it


def by(url: str, role: str) -> str:
    return make_url(url).set(username=role).render_as_string(hide_password=False)


@contextmanager
def engine_of(url: str) -> Iterator[Engine]:
    engine = open_postgres(url)
    try:
        yield engine
    finally:
        engine.dispose()


@contextmanager
def begun(url: str) -> Iterator[Engine]:
    """A store that has a memory."""
    with MemoryStore.open(url) as store, engine_of(url) as engine:
        store.remember(Memory("Ann keeps bees", id="bees"), scope=ANN)
        yield engine


def told(user: str) -> list[Memory]:
    """Memories that leave rows in every table of a tenant's."""
    number = {"ann": "4471", "bob": "9000"}[user]
    return [
        Memory(f"My badge number is {number}", id="badge"),
        Memory("Mein Büro liegt im dritten Stock, und das Fenster geht auf den Hof hinaus.", id="büro"),
        Memory("Yesterday I moved to Lisbon.", id="moved", event_at=NOW - timedelta(days=3)),
        Memory(
            f"Priya works with {user} on Project Kestrel.",
            id="works",
            entities=("Priya", "Project Kestrel"),
            relations=(Relation("Priya", "works_on", "Project Kestrel"),),
        ),
        *(Memory(f"{user} counted {n} swans on the lake", id=f"swans-{n}") for n in range(6)),
    ]


def write_all(store: MemoryStore, user: str) -> None:
    scope = Scope(user_id=user)
    store.remember_many(told(user), scope=scope)
    store.add_entity("Project Kestrel", aliases=["Kestrel"], scope=scope)
    optimizer = QueryOptimizer(store)
    result = optimizer.recall(BADGE, scope=scope)
    optimizer.feedback(result, helpful=["badge"])
    optimizer.recall("Who counted sawns on the lakke?", scope=scope)
    store.read_facts(lambda _prompt: '{"n": 1, "facts": []}', scope=scope)


Isolated = tuple[str, dict[str, MemoryStore], MemoryStore]


@pytest.fixture(scope="module")
def written(roles: None, postgres: Postgres) -> Iterator[str]:
    """A database in which two tenants wrote, each by a node of its own; nobody is connected to it any more."""
    url = postgres.fresh()
    with ExitStack() as stack:
        owner = stack.enter_context(MemoryStore.open(url))
        owner.remember(Memory("Everybody's coffee is on the third floor", id="coffee"))
        with engine_of(url) as engine:
            for user, role in ROLES.items():
                tenants.isolate(engine, role, user)
        for user, role in ROLES.items():
            node = stack.enter_context(MemoryStore.open(by(url, role)))
            write_all(node, user)
            assert node.indexes.settle(60)
    yield url
    postgres.drop(url)


@contextmanager
def nodes_of(written: str, postgres: Postgres) -> Iterator[Isolated]:
    url = postgres.fresh_of(written)
    with ExitStack() as stack:
        stack.callback(postgres.drop, url)
        owner = stack.enter_context(MemoryStore.open(url))
        nodes = {user: stack.enter_context(MemoryStore.open(by(url, role))) for user, role in ROLES.items()}
        yield url, nodes, owner


@pytest.fixture
def isolated(written: str, postgres: Postgres) -> Iterator[Isolated]:
    """The address, a node of each tenant that wrote, and one of the owner."""
    with nodes_of(written, postgres) as found:
        yield found


@pytest.fixture(scope="module")
def untouched(written: str, postgres: Postgres) -> Iterator[Isolated]:
    """The same for tests of what is refused, which leave it as it is."""
    with nodes_of(written, postgres) as found:
        yield found


def texts(store: MemoryStore, query: str, scope: Scope) -> list[str]:
    return [hit.memory.text for hit in QueryOptimizer(store).recall(query, scope=scope).hits]


def test_a_tenant_works_as_in_a_store_of_its_own(
    isolated: Isolated,
) -> None:
    _, nodes, owner = isolated
    for user, number, other in (("ann", "4471", "bob"), ("bob", "9000", "ann")):
        node, scope = nodes[user], Scope(user_id=user)
        assert texts(node, BADGE, scope)[0] == f"My badge number is {number}"
        assert texts(node, BADGE, Scope(user_id=other)) == []  # asked for what is not its own, it finds nothing
        assert [str(one) for one, _ in node.scopes()] == [f"{user}/-/-"]
        assert node.count() == 0 and texts(node, "coffee", Scope()) == []  # nor what is nobody's

        node.remember(Memory("My badge number is 1", id="badge"), scope=scope)
        assert texts(node, BADGE, scope)[0] == "My badge number is 1"
        assert node.forget("swans-3", scope=scope) == 1
        node.remember(Memory("The key of the boathouse is green", id="key"), scope=Scope(user_id=user, agent_id="x"))
        assert {memory.id for memory in node.iterate(scope=scope)} == {one.id for one in told(user)} - {"swans-3"}
        assert node.facts(scope=scope)
        assert not node.stats()["notices"] and node.stats()["index_lag"] == {"semantic": 0}
    # What one of them wrote the owner's node finds, of both.
    for user in ROLES:
        assert texts(owner, BADGE, Scope(user_id=user))[0] == "My badge number is 1"
        assert owner.count(scope=Scope(user_id=user)) == len(told(user)) - 1
    assert [str(one) for one, _ in owner.scopes()] == ["-/-/-", "ann/-/-", "bob/-/-", "ann/x/-", "bob/x/-"]
    # And what the owner writes for one, its node finds; the other does not.
    owner.remember(Memory("The boathouse is painted red", id="red"), scope=ANN)
    assert "The boathouse is painted red" in texts(nodes["ann"], "boathouse", ANN)
    assert texts(nodes["bob"], "boathouse", ANN) == []


def _rows(connection: Connection, name: str) -> int:
    return connection.execute(select(func.count()).select_from(schema.metadata.tables[name])).scalar_one()


REFUSED = "permission denied|row-level security|must be owner|does not exist|division by zero|called as trigger"
TABLES = [name for name, table in schema.metadata.tables.items() if "scope_id" in table.c and name != "changes"]


def test_raw_statements_meet_rows_of_their_own_only(
    isolated: Isolated,
) -> None:
    url, nodes, _ = isolated
    with engine_of(url) as engine, engine.connect() as connection:
        scopes = schema.scopes
        numbers = {
            user: connection.execute(select(scopes.c.scope_id).where(scopes.c.user_id == user)).scalar_one()
            for user in ROLES
        }
        every = {name: _rows(connection, name) for name in TABLES}
    assert all(every.values()), [name for name, count in every.items() if not count]  # a table that nobody tried
    seen = dict.fromkeys(TABLES, 0)
    for user, role in ROLES.items():
        with engine_of(by(url, role)) as engine:
            other = numbers["bob" if user == "ann" else "ann"]
            for name in TABLES:
                table = schema.metadata.tables[name]
                with engine.begin() as connection:
                    found = set(connection.execute(select(table.c.scope_id)).scalars())
                    assert found == {numbers[user]}, (user, name)
                    seen[name] += _rows(connection, name)
                if name != "scopes":
                    with engine.begin() as connection:
                        assert connection.execute(delete(table).where(table.c.scope_id == other)).rowcount == 0
                        assert connection.execute(update(table).values(scope_id=numbers[user])).rowcount > 0
                        connection.rollback()
                    with engine.connect() as connection, pytest.raises(Exception, match="row-level security"):
                        connection.execute(update(table).values(scope_id=other))
                with engine.connect() as connection, pytest.raises(Exception, match="row-level security"):
                    row = connection.execute(select(table)).mappings().first()
                    changed = {"scope_id": other, "user_id": "eve"} if name == "scopes" else {"scope_id": other}
                    connection.execute(insert(table).values({**row, **changed}))
    assert seen["memories"] == every["memories"] - 1  # but for everybody's coffee
    assert nodes["ann"].count(scope=ANN) == len(told("ann"))


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM scopes",
        "UPDATE scopes SET user_id = 'ann'",
        "UPDATE scopes SET scope_id = scope_id + 1000",
        "DELETE FROM changes",
        "UPDATE changes SET scope_id = 1",
        "DELETE FROM cursors",
        "INSERT INTO cursors VALUES ('other', 1)",
        "TRUNCATE memories",
        "DROP TABLE memories",
        "ALTER TABLE memories DISABLE ROW LEVEL SECURITY",
        "DROP POLICY recall_tenant_1_select ON scopes",
        "INSERT INTO meta VALUES ('learned/mind/ann', '{}')",
        "INSERT INTO scopes VALUES (77, 'ann', 'y', '', 0, 0, '', 0)",  # a number that others may be given
        "INSERT INTO scopes VALUES (recall_next_scope(), 'ann', E' \\u2003', '', 0, 0, '', 0)",  # no node could read it
        "INSERT INTO scopes VALUES (recall_next_scope(), 'ann', '', E'a\\nb', 0, 0, '', 0)",
        "INSERT INTO scopes VALUES (recall_next_scope(), 'ann', repeat('x', 2000), '', 0, 0, '', 0)",
        "UPDATE scopes SET vector_home = 'x.1.y.z'",
        "INSERT INTO changes VALUES (9223372036854775807, 2, 'touch', 1, '')",  # none could come after it
        "INSERT INTO changes VALUES (0, 2, 'touch', 1, '')",
        "INSERT INTO changes VALUES (500, 2, 'other', 1, '')",
        "INSERT INTO meta VALUES ('embedding', 'other')",
        "UPDATE cursors SET name = 'other'",
        "SELECT recall_reach()",
        "CREATE TABLE mine (x int)",
    ],
)
def test_what_is_the_store_s_as_a_whole_is_not_a_tenant_s_to_change(statement: str, untouched: Isolated) -> None:
    url, _, owner = untouched
    before = owner.stats()
    with (
        engine_of(by(url, "ann")) as engine,
        engine.connect() as connection,
        pytest.raises(Exception, match=REFUSED),
    ):
        connection.exec_driver_sql(statement)
    assert {**owner.stats(), "hydration": 0, "bytes": 0} == {**before, "hydration": 0, "bytes": 0}


def test_notes_of_others_are_neither_read_nor_changed(
    isolated: Isolated,
) -> None:
    url, _, _ = isolated
    with engine_of(url) as engine, engine.begin() as connection:
        notes = ("learned/mind/bob", "of a later version")
        connection.execute(insert(schema.meta), [{"key": key, "value": "1"} for key in notes])
        every = {str(key) for key in connection.execute(select(schema.meta.c.key)).scalars()}
    with engine_of(by(url, "ann")) as engine, engine.begin() as connection:
        seen = {str(key) for key in connection.execute(select(schema.meta.c.key)).scalars()}
        assert (
            connection.execute(update(schema.meta).where(schema.meta.c.key == "embedding").values(value="x")).rowcount
            == 0
        )
        assert connection.execute(delete(schema.meta).where(schema.meta.c.key == "embedding")).rowcount == 0
    hidden = every - seen
    assert hidden >= set(notes) and spent_by(ROLES["bob"]) in hidden
    assert {"schema_version", "embedding", "analyser"} <= seen
    own = {key for key in seen if key not in tenants.SHARED and not key.startswith(tenants.WORTH)}
    assert own and all(key == spent_by("ann") or key.endswith(" by scope 2") for key in own), own


@pytest.mark.parametrize(
    ("act", "says"),
    [
        (lambda store: store.remember(Memory("x"), scope=EVE), "scopes of its own user_id"),
        (lambda store: store.remember(Memory("x")), "scopes of its own user_id"),
        (lambda store: store.compact(), "as the owner"),
        (lambda store: store.reindex(), "as the owner"),
        (lambda store: store.learned.put("mind", "ann", "{}"), "as that user"),
    ],
)
def test_a_node_of_a_tenant_says_what_it_cannot_do(
    act: Callable[[MemoryStore], object], says: str, isolated: Isolated
) -> None:
    _, nodes, owner = isolated
    before = owner.counts()
    with pytest.raises(StoreError, match=says):
        act(nodes["ann"])
    assert owner.counts() == before
    assert texts(nodes["ann"], BADGE, ANN)  # it goes on
    nodes["ann"].remember(Memory("The lake froze", id="froze"), scope=ANN)


def test_vectors_of_others_that_lack_are_left_to_who_sees_them(database: str) -> None:
    embedding = FakeEmbedding()
    with MemoryStore.open(database, embedding=embedding) as owner:
        owner.remember(Memory("Bob keeps bees", id="bees"), scope=BOB)
        with engine_of(database) as engine:
            tenants.isolate(engine, "ann", "ann")
        with MemoryStore.open(by(database, "ann"), embedding=embedding) as node:
            embedding.fails = lambda text: "otters" in text
            owner.remember(Memory("Bob saw otters", id="otters"), scope=BOB)
            embedding.fails = lambda text: False
            node.remember(Memory("Ann saw swans", id="swans"), scope=ANN)
            found = QueryOptimizer(node).recall("Ann saw swans", scope=ANN)
            assert [hit.memory.id for hit in found.hits] == ["swans"] and not found.degraded
            with node.engine.connect() as connection:
                assert _rows(connection, "vectors") == 1
        owner.remember(Memory("Bob saw a heron", id="heron"), scope=BOB)  # what lacked is made with it
        with engine_of(database) as engine, engine.connect() as connection:
            assert _rows(connection, "vectors") == 4
            last = connection.execute(select(func.max(schema.changes.c.seq))).scalar_one()
            reached = select(schema.cursors.c.seq).where(schema.cursors.c.name == "semantic")
            assert connection.execute(reached).scalar_one() == last


def test_plans_tell_nothing_of_the_values_of_others(database: str) -> None:
    def expected(connection: Connection, where: str) -> str:
        return str(connection.execute(text(f"EXPLAIN SELECT 1 FROM memories WHERE {where}")).scalars().first())

    with begun(database) as engine, MemoryStore.open(database) as store:
        store.remember_many(
            [Memory(f"Bob told Quentin {n}", actor="Quentin", id=f"b{n}") for n in range(300)], scope=BOB
        )
        with engine.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT").execute(text("ANALYZE"))
        tenants.isolate(engine, "ann", "ann")
        with engine_of(by(database, "ann")) as other:
            for again in range(2):
                with other.connect() as connection:
                    for of in ("actor = '{}'", "actor < '{}'", "id < '{}'", "text LIKE '{}%'"):
                        plans = {expected(connection, of.format(value)) for value in ("Quentin", "Nobody", "b150")}
                        assert len({plan.partition("rows=")[2] for plan in plans}) == 1, (again, of, plans)
                with engine.connect() as connection:
                    connection.execution_options(isolation_level="AUTOCOMMIT").execute(text("ANALYZE"))
        with engine.connect() as connection:
            kept = text("SELECT attname FROM pg_stats WHERE tablename IN ('memories', 'scopes')")
            names = set(connection.execute(kept).scalars())
            assert not names & {"text", "id", "actor", "user_id", "agent_id"} and "num" in names
            assert store_tables.check_tables(engine).ready  # the tables are what they were
        store.remember(Memory("Bob saw otters", id="otters"), scope=BOB)
        assert "Bob saw otters" in texts(store, "otters", BOB)


def test_a_cursor_that_is_put_ahead_stops_at_the_journal(
    isolated: Isolated,
) -> None:
    url, _, _ = isolated
    with engine_of(by(url, "ann")) as engine, engine.begin() as connection:
        connection.execute(text("UPDATE cursors SET seq = 9223372036854775807"))
    with engine_of(url) as engine, engine.connect() as connection:
        head = connection.execute(select(func.max(schema.changes.c.seq))).scalar_one()
        assert connection.execute(select(func.max(schema.cursors.c.seq))).scalar_one() == head


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("GRANT TRUNCATE ON memories TO helpers", "may TRUNCATE memories, by a grant to a group"),
        ("GRANT TRIGGER ON meta TO PUBLIC", "may TRIGGER meta"),
        ("GRANT DELETE ON scopes TO helpers", "may DELETE scopes"),
        ("GRANT CREATE ON SCHEMA public TO PUBLIC", "may make functions and operators beside the tables"),
        ("ALTER SCHEMA public OWNER TO app", "owns the tables, their schema or the database"),
        ("ALTER TABLE facts OWNER TO app", "owns the tables, their schema or the database"),
        ("GRANT pg_execute_server_program TO app", "is a member of 'pg_execute_server_program'"),
        ("CREATE POLICY other ON memories USING (true)", "policies that are not of this package: other ON memories"),
        ("GRANT SELECT ON memories TO PUBLIC", "'PUBLIC' may read the tables by a grant"),
    ],
)
def test_what_reaches_past_policies_is_refused(statement: str, says: str, database: str, postgres: Postgres) -> None:
    postgres.run("CREATE ROLE helpers", "GRANT helpers TO app")
    try:
        with begun(database) as engine:
            with engine.begin() as connection:
                connection.execute(text(statement))
            with pytest.raises(InvalidArgument, match=says):
                tenants.isolate(engine, "app", "ann")
            with engine.connect() as connection:
                assert not tenants.tenants(connection)
                connection.execute(text("DROP OWNED BY helpers"))
                connection.commit()
    finally:
        postgres.run("REVOKE pg_execute_server_program FROM app", "DROP ROLE helpers")


def test_what_a_role_was_granted_before_is_taken_back(database: str) -> None:
    with begun(database) as engine:
        with engine.begin() as connection:
            connection.execute(text("GRANT ALL ON ALL TABLES IN SCHEMA public TO ann"))
        tenants.isolate(engine, "ann", "ann")
        with engine_of(by(database, "ann")) as other:
            for statement in ("TRUNCATE memories", "DELETE FROM scopes"):
                with other.connect() as connection, pytest.raises(Exception, match="permission denied"):
                    connection.execute(text(statement))


def test_a_store_in_a_schema_of_its_own(database: str) -> None:
    name = '"Mem \'X 100%"'
    with engine_of(database) as engine, engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE SCHEMA {name}".replace("%", "%%"))
    place = make_url(database).update_query_dict({"options": "-csearch_path=" + name.replace(" ", "\\ ")})
    with begun(place.render_as_string(hide_password=False)) as engine:
        tenants.isolate(engine, "ann", "ann")
        tenants.isolate(engine, "ann", "ann")
        with MemoryStore.open(place.set(username="ann").render_as_string(hide_password=False)) as node:
            node.remember(Memory("Ann saw swans", id="swans"), scope=ANN)
            assert node.count(scope=ANN) == 2 and texts(node, "Who saw swans?", ANN)[0] == "Ann saw swans"
        with engine.connect() as connection:
            assert connection.execute(select(func.max(schema.cursors.c.seq))).scalar_one() == 2
        assert tenants.give_back(engine, "ann")


def test_an_owner_that_is_no_superuser(roles: None, postgres: Postgres) -> None:
    url = postgres.fresh()
    try:
        postgres.run(f"ALTER DATABASE {make_url(url).database} OWNER TO app")
        with MemoryStore.open(by(url, "app")) as owner:
            owner.remember(Memory("Bob keeps bees", id="bees"), scope=BOB)
            with engine_of(url) as engine:  # somebody who may do all; what is made is the owner's
                tenants.isolate(engine, "ann", "ann")
                with engine.connect() as connection:
                    made = (
                        "SELECT DISTINCT pg_get_userbyid(proowner) FROM pg_proc WHERE starts_with(proname, 'recall_')"
                    )
                    assert connection.execute(text(made)).scalars().all() == ["app"]
            with engine_of(by(url, "app")) as engine:
                tenants.isolate(engine, "ann", "ann")
                with MemoryStore.open(by(url, "ann")) as node:
                    node.remember(Memory("Ann keeps swans", id="swans"), scope=ANN)
                    assert texts(node, "Who keeps swans?", ANN) == ["Ann keeps swans"]
                    assert texts(node, "Who keeps bees?", BOB) == []
                assert owner.count(scope=ANN) == 1
                assert tenants.give_back(engine, "ann")
                owner.remember(Memory("Bob keeps hens", id="hens"), scope=BOB)
    finally:
        postgres.drop(url)


@pytest.mark.parametrize(
    ("role", "user", "says"),
    [
        ("nobody-here", "ann", "There is no role"),
        ("passing", "ann", "passes by row-level security"),
        ("insider", "eve", "another tenant's"),
        ("ann", "bob", "sees the scopes of 'ann' already"),
        ("app", "", "empty or blank"),
    ],
)
def test_roles_that_cannot_be_kept_apart(role: str, user: str, says: str, database: str) -> None:
    with begun(database) as engine:
        tenants.isolate(engine, "ann", "ann")
        with pytest.raises(InvalidArgument, match=says):
            tenants.isolate(engine, role, user)
        owner = make_url(database).username or "postgres"
        with pytest.raises(InvalidArgument, match="it would see"):
            tenants.isolate(engine, owner, "ann")
        with engine.connect() as connection:
            assert tenants.tenants(connection) == [tenants.Tenant(role="ann", user_id="ann")]


def test_who_was_granted_the_tables_is_not_blinded_unasked(database: str) -> None:
    with begun(database) as engine:
        with engine.begin() as connection:
            connection.execute(text("GRANT SELECT ON ALL TABLES IN SCHEMA public TO app"))
        with pytest.raises(InvalidArgument, match="'app' may read the tables by a grant"):
            tenants.isolate(engine, "ann", "ann")
        with engine.connect() as connection:
            assert not tenants.tenants(connection)
            assert not connection.execute(text("SELECT bool_or(relrowsecurity) FROM pg_class")).scalar()
        with engine_of(by(database, "app")) as other, pytest.raises(StoreError, match="Who owns the tables"):
            tenants.isolate(other, "ann", "ann")


def test_before_there_is_a_store(database: str) -> None:
    with engine_of(database) as engine:
        with pytest.raises(StoreVersionError, match="Nothing was remembered"):
            tenants.isolate(engine, "ann", "ann")
        assert not tenants.give_back(engine, "ann")
        with MemoryStore.open(database), pytest.raises(StoreVersionError, match="Nothing was remembered"):
            tenants.isolate(engine, "ann", "ann")


def test_asked_again_undone_and_what_lacks(isolated: Isolated) -> None:
    url, nodes, owner = isolated
    with engine_of(url) as engine:

        def described() -> list[object]:
            with engine.connect() as connection:
                query = "SELECT tablename, policyname, roles, cmd, qual, with_check FROM pg_policies ORDER BY 1, 2"
                rights = (
                    "SELECT relname, ARRAY(SELECT unnest(relacl)::text ORDER BY 1) FROM pg_class "
                    "WHERE relnamespace = 'public'::regnamespace ORDER BY 1"
                )
                return [connection.execute(text(one)).all() for one in (query, rights)]

        before = described()
        tenants.isolate(engine, "ann", "ann")
        assert described() == before
        with engine.connect() as connection:
            assert list(tenants.lacking(connection)) == []

        with engine.begin() as connection:
            connection.execute(text("ALTER TABLE facts DISABLE ROW LEVEL SECURITY"))
            connection.execute(text("GRANT passing TO ann"))
            connection.execute(text("GRANT TRUNCATE ON judged TO ann"))
            connection.execute(text("CREATE POLICY other ON words USING (true)"))
        with engine.connect() as connection:
            lacks = list(tenants.lacking(connection))
        said = (
            "the role ann is a member of 'passing'",
            "ann may TRUNCATE judged",
            "other ON words",
            "facts has no row",
        )
        assert len(lacks) == 4 and all(one in lack for one, lack in zip(said, lacks, strict=True)), lacks
        with engine.begin() as connection:
            connection.execute(text("REVOKE passing FROM ann"))
            connection.execute(text("DROP POLICY other ON words"))
        tenants.isolate(engine, "ann", "ann")
        with engine.connect() as connection:
            assert list(tenants.lacking(connection)) == []

        assert tenants.give_back(engine, "ann") and not tenants.give_back(engine, "ann")
        with pytest.raises(RecallError, match="does not allow it"):
            nodes["ann"].remember(Memory("x"), scope=ANN)
        assert owner.count(scope=ANN) == len(told("ann"))
        assert texts(nodes["bob"], BADGE, BOB)[0] == "My badge number is 9000"  # others stay
        tenants.isolate(engine, "ann", "ann")
        assert texts(nodes["ann"], BADGE, ANN)[0] == "My badge number is 4471"


def test_a_chroma_server_has_no_such_wall(untouched: Isolated) -> None:
    url, _, _ = untouched
    config = RecallConfig(vectors=VectorsConfig(address="http://localhost:1"))
    with pytest.raises(ConfigError, match="role of a tenant"):
        MemoryStore.open(by(url, "ann"), config=config)


def invoke(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), catch_exceptions=False)


def test_the_command(database: str, tmp_path: Path) -> None:
    role = ROLES["bob"]
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        "".join(json.dumps({"id": f"m{n}", "text": f"Bob counted {n} swans"}) + "\n" for n in range(20)),
        encoding="utf-8",
    )
    assert invoke("add", database, "Ann keeps bees", "--scope", "ann").exit_code == 0
    found = invoke("db", "isolate", database, "--role", role, "--user", "bob")
    assert found.exit_code == 0 and "sees the scopes of user bob only" in found.output
    found = invoke("db", "check", database)
    assert found.exit_code == 0 and f"role {role}: sees the scopes of user bob." in found.output

    place = by(database, role)
    for words in (
        ("import", str(rows), place, "--format", "jsonl", "--scope", "bob"),
        ("search", place, "swans", "--scope", "bob"),
        ("search", place, "bees", "--scope", "bob"),
        ("stats", place),
        ("export", place, str(tmp_path / "out.jsonl")),
    ):
        done = invoke(*words)
        assert done.exit_code == 0, done.output
        assert "bees" not in done.output.replace("'bees'", "") or "keeps" not in done.output, words
    exported = (tmp_path / "out.jsonl").read_text(encoding="utf-8")
    assert exported.count("swans") == 20 and "bees" not in exported

    with engine_of(database) as engine, engine.begin() as connection:
        connection.execute(text("ALTER TABLE words DISABLE ROW LEVEL SECURITY"))
    found = invoke("db", "check", database)
    assert found.exit_code == 1 and "words has no row-level security" in found.output
    found = invoke("db", "isolate", database, "--role", role, "--user", "bob")
    assert found.exit_code == 0 and f"role {role} sees the scopes of user bob only" in found.output
    assert invoke("db", "check", database).exit_code == 0
    for wrong in (["--user", "bob"], ["--undo"], []):
        assert "--role" in invoke("db", "isolate", database, *wrong).output
    for wrong in ([], ["--user", "bob", "--undo"]):
        found = invoke("db", "isolate", database, "--role", role, *wrong)
        assert found.exit_code == 1 and "--user USER or with --undo" in found.output
    assert "sees nothing any more" in invoke("db", "isolate", database, "--role", role, "--undo").output
    assert "Nothing to do" in invoke("db", "isolate", database, "--role", role, "--undo").output
