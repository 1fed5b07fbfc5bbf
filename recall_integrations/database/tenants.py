"""A role of PostgreSQL for each tenant: row-level security shows it the rows of one user, a second wall behind scopes.

What a node has to know of a store as a whole stays visible: numbers and digests of the journal, cursors, the notes that
`SHARED` names. What the owner alone may do (tables, compaction, cutting the journal) is not granted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlalchemy import Connection, Engine, text

from recall_integrations.database import schema
from recall_integrations.database.postgres import mapped_errors
from recall_integrations.database.postgres_errors import shown
from recall_integrations.database.schema import OWED, get_meta, spent_by, tenant_of
from recall_integrations.errors import InvalidArgument, StoreError, StoreVersionError
from recall_integrations.records import record
from recall_integrations.types import checked_id
from recall_integrations.types.memory import ID_CHARS_MAX

NAME = "recall_tenant"  # first part of the names of policies
HELPERS = ("recall_next_scope()", "recall_head()", "recall_lacking(bigint, bigint)")  # which see the rows of all
# Keys in `meta` that every tenant may read: what a node needs to open the store as the others do.
SHARED = tuple(
    """
    schema_version embedding reembedding analyser facts entity_key moving moved last_seq pruned last_scope compacting
    compacted
    """.split()
)
SEMANTIC = "semantic"  # the cursor that a write moves
WORTH = "cosine worth of "  # and those that begin so
_ROWS = tuple(table.name for table in schema.OF_SCOPES)
OF_TENANTS = (*_ROWS, "scopes")  # tables of which a tenant sees a part of the rows
_COUNTED = "version, memories"  # of a scope, which a write changes
_MINE = "scope_id IN (SELECT s.scope_id FROM scopes s)"  # of whose rows a tenant sees its own
AHEAD = 1_000_000  # of the last entry of the journal: so far may the numbers of a write lie
_BLANK = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())  # what `types.checked_id` takes for blank

# What a tenant may ask of the rows of all. Nothing is looked up by the names that whoever calls made: tables are named
# with their schema, and all else is PostgreSQL's.
_SAFELY = "SET search_path = pg_catalog, pg_temp"
# A tenant sees not all scopes, and their numbers are given once.
_NEXT_SCOPE = f"""
CREATE OR REPLACE FUNCTION {{schema}}.recall_next_scope() RETURNS bigint LANGUAGE sql STABLE SECURITY DEFINER
{_SAFELY} AS $$
  SELECT 1 + greatest(
    0,
    (SELECT max(s.scope_id) FROM {{schema}}.scopes s),
    (SELECT m.value::bigint FROM {{schema}}.meta m WHERE m.key = 'last_scope')
  )
$$"""
# The last entry of the journal: numbers of a write come after it, and not far.
_HEAD = f"""
CREATE OR REPLACE FUNCTION {{schema}}.recall_head() RETURNS bigint LANGUAGE sql STABLE SECURITY DEFINER
{_SAFELY} AS $$
  SELECT greatest(
    0,
    (SELECT max(c.seq) FROM {{schema}}.changes c),
    (SELECT m.value::bigint FROM {{schema}}.meta m WHERE m.key = 'last_seq')
  )
$$"""
# A tenant sees no memory of others, so it cannot say whether the vectors of these are made. Who may ask is told where
# any lack, and no more; its own are its own business.
_LACKING = f"""
CREATE OR REPLACE FUNCTION {{schema}}.recall_lacking(after bigint, until bigint) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER {_SAFELY} AS $$
  SELECT c.seq FROM {{schema}}.changes c JOIN {{schema}}.memories m ON m.scope_id = c.scope_id AND m.num = c.num
  WHERE c.op = 'put' AND c.seq > after AND c.seq <= until
  AND NOT EXISTS (SELECT FROM {{schema}}.vectors v WHERE v.scope_id = c.scope_id AND v.num = c.num)
$$"""
_REACH = f"""
CREATE OR REPLACE FUNCTION {{schema}}.recall_reach() RETURNS trigger LANGUAGE plpgsql {_SAFELY} AS $$
DECLARE
  first bigint;
BEGIN
  IF row_security_active('{{literal}}.scopes') THEN
    NEW.seq := least(NEW.seq, {{schema}}.recall_head());
    SELECT min(c.seq) INTO first
      FROM {{schema}}.recall_lacking(OLD.seq, NEW.seq) lacking JOIN {{schema}}.changes c ON c.seq = lacking
      WHERE c.scope_id NOT IN (SELECT s.scope_id FROM {{schema}}.scopes s);
    NEW.seq := greatest(OLD.seq, least(NEW.seq, first - 1));
  END IF;
  RETURN NEW;
END
$$"""


def statements(quoting: _Quoting, user_id: str) -> Iterator[str]:
    """Yield the statements that the owner of the tables runs, in one transaction; they may be run again."""
    yield from _helpers(quoting.schema())
    yield from _grants(quoting.schema(), quoting.name(quoting.role))
    for name in schema.metadata.tables:
        yield f"ALTER TABLE {name} ENABLE ROW LEVEL SECURITY"
    policies = _Policies(quoting)
    yield from _of_rows(policies, quoting.text(user_id), quoting.text(_BLANK))
    said = quoting.text(f"user: {user_id}")
    yield f"COMMENT ON POLICY {policies.name('select')} ON scopes IS {said}"
    yield from _of_notes(policies, quoting)


def _helpers(place: str) -> Iterator[str]:
    for made in (_NEXT_SCOPE, _HEAD, _LACKING, _REACH):
        yield made.format(schema=place, literal=place.replace("'", "''"))
    for helper in HELPERS:
        yield f"REVOKE ALL ON FUNCTION {place}.{helper} FROM PUBLIC"
    yield f"DROP TRIGGER IF EXISTS recall_reach ON {place}.cursors"
    yield (
        f"CREATE TRIGGER recall_reach BEFORE UPDATE ON {place}.cursors FOR EACH ROW "
        f"EXECUTE FUNCTION {place}.recall_reach()"
    )
    yield f"INSERT INTO {place}.cursors (name, seq) VALUES ('{SEMANTIC}', 0) ON CONFLICT DO NOTHING"


def _grants(place: str, role: str) -> Iterator[str]:
    for name in schema.metadata.tables:
        yield f"REVOKE ALL ON {name} FROM {role}"  # what it was granted before may be more
    yield f"GRANT USAGE ON SCHEMA {place} TO {role}"
    for helper in HELPERS:
        yield f"GRANT EXECUTE ON FUNCTION {place}.{helper} TO {role}"
    for name in _ROWS:
        yield f"GRANT SELECT, INSERT, UPDATE, DELETE ON {name} TO {role}"
    yield f"GRANT SELECT, INSERT, UPDATE ({_COUNTED}) ON scopes TO {role}"
    yield f"GRANT SELECT, INSERT ON changes TO {role}"
    yield f"GRANT SELECT, UPDATE (seq) ON cursors TO {role}"
    yield f"GRANT SELECT, INSERT, UPDATE, DELETE ON meta TO {role}"


def excessive() -> Iterator[tuple[str, str]]:
    """Yield rights, as table and name, that no tenant may have: they reach past policies, or to rows that all need."""
    for name in schema.metadata.tables:
        yield from ((name, right) for right in ("TRUNCATE", "TRIGGER", "REFERENCES"))
    for name in ("scopes", "changes", "cursors"):
        yield from ((name, right) for right in ("UPDATE", "DELETE"))
    yield "cursors", "INSERT"


class _Policies:
    """Policies of a role, made anew each time."""

    def __init__(self, quoting: _Quoting) -> None:
        self._role, self._number = quoting.name(quoting.role), quoting.number()

    def name(self, command: str) -> str:
        return f"{NAME}_{self._number}_{command}"

    def on(self, table: str, command: str, *, using: str = "", check: str = "") -> Iterator[str]:
        """Yield statements that make the policy of a command: rows that it meets (`using`) and may write (`check`)."""
        name = self.name(command.lower())
        yield f"DROP POLICY IF EXISTS {name} ON {table}"
        made = f"CREATE POLICY {name} ON {table} FOR {command} TO {self._role}"
        made += f" USING ({using})" if using else ""
        yield made + (f" WITH CHECK ({check})" if check else "")


def _of_rows(policies: _Policies, user: str, blank: str) -> Iterator[str]:
    yield from policies.on("scopes", "SELECT", using=f"user_id = {user}")
    yield from policies.on("scopes", "UPDATE", using=f"user_id = {user}")
    named = " AND ".join(_valid(part, blank) for part in ("agent_id", "namespace"))
    yield from policies.on("scopes", "INSERT", check=f"user_id = {user} AND scope_id = recall_next_scope() AND {named}")
    for name in _ROWS:
        yield from policies.on(name, "ALL", using=_MINE, check=_MINE)
    yield from policies.on("changes", "SELECT", using="true")
    near = f"seq BETWEEN 1 AND (SELECT recall_head()) + {AHEAD}"
    yield from policies.on("changes", "INSERT", check=f"{_MINE} AND op IN ('put', 'del', 'touch') AND {near}")
    yield from policies.on("cursors", "SELECT", using="true")
    yield from policies.on("cursors", "UPDATE", using=f"name = '{SEMANTIC}'")


def _valid(part: str, blank: str) -> str:
    """Return the condition that a part of a scope is a name (`types.checked_id`): else no node could read it."""
    full = f"btrim({part}, {blank}) <> '' AND {part} !~ '[\\x01-\\x1f\\x7f]' AND length({part}) <= {ID_CHARS_MAX}"
    return f"({part} = '' OR ({full}))"


def _of_notes(policies: _Policies, quoting: _Quoting) -> Iterator[str]:
    spent, owed = f"key = {quoting.text(spent_by(quoting.role))}", f"key = {quoting.text(OWED)}"
    shared = f"key IN ({', '.join(map(quoting.text, SHARED))}) OR starts_with(key, {quoting.text(WORTH)})"
    written = f"{spent} OR ({owed} AND value = '1')"
    yield from policies.on("meta", "SELECT", using=f"{shared} OR {spent}")
    yield from policies.on("meta", "INSERT", check=written)
    yield from policies.on("meta", "UPDATE", using=f"{owed} OR {spent}", check=written)
    yield from policies.on("meta", "DELETE", using=spent)


BEGUN = "embedding"  # key in `meta` that a store has from its first memory on
# Members of these read and write files of the server, or run programs on it.
_OF_FILES = ("pg_read_server_files", "pg_write_server_files", "pg_execute_server_program")


@record(frozen=True, slots=True, kw_only=True)
class Tenant:
    """A role, and what it may see."""

    role: str  # of the server
    user_id: str  # of the scopes whose rows it sees; all agents and namespaces of it


def isolate(engine: Engine, role: str, user_id: str) -> None:
    """Let a role see and write the scopes of one user only, from now on. Asked again, it does what lacks."""
    checked_id(user_id, "user_id", InvalidArgument)
    with mapped_errors(engine), engine.begin() as connection:
        _check_store(connection)
        known = {one.role: one.user_id for one in tenants(connection)}
        _check_role(connection, role, known)
        if known.get(role, user_id) != user_id:
            raise InvalidArgument(
                f"The role {role!r} sees the scopes of {known[role]!r} already. A role is of one user: give another "
                "role, or take this one back first (`recall db isolate --undo`)."
            )
        if others := sorted(set(_granted(connection)) - {role, *known}):
            names = ", ".join(map(repr, others))
            raise InvalidArgument(
                f"{names} may read the tables by a grant, and would see nothing of them from now on. Revoke the grant, "
                "or let the role pass (ALTER ROLE … BYPASSRLS), then ask again. Nothing was changed."
            )
        owner = connection.execute(text(f"SELECT quote_ident(pg_get_userbyid(relowner)) {_MEMORIES}")).scalar_one()
        _run(connection, f"SET LOCAL ROLE {owner}")  # a superuser, too, makes nothing of its own
        for statement in (*_unestimated(connection), *statements(_Quoting(connection, role), user_id)):
            _run(connection, statement)
        if held := next(_excess(connection, role), None):
            raise InvalidArgument(
                f"The role {role!r} {held}, by a grant to a group of it or to PUBLIC. Revoke that, then ask again. "
                "Nothing was changed."
            )


def give_back(engine: Engine, role: str) -> bool:
    """Take the store from a role, which sees nothing of it any more; say whether it saw it. Memories stay."""
    with mapped_errors(engine), engine.begin() as connection:
        if role not in {one.role for one in tenants(connection)}:
            return False
        quoting = _Quoting(connection, role)
        who, place = quoting.name(role), quoting.schema()
        owner = connection.execute(text(f"SELECT quote_ident(pg_get_userbyid(relowner)) {_MEMORIES}")).scalar_one()
        _run(connection, f"SET LOCAL ROLE {owner}")
        for table, policy in connection.execute(
            text(
                "SELECT quote_ident(tablename), quote_ident(policyname) FROM pg_policies "
                "WHERE starts_with(policyname, :ours) AND :role = ANY(roles) AND schemaname = "
                f"(SELECT nspname FROM pg_namespace WHERE oid = (SELECT relnamespace {_MEMORIES}))"
            ),
            {"ours": NAME, "role": role},
        ).all():
            _run(connection, f"DROP POLICY {policy} ON {table}")
        for name in schema.metadata.tables:
            _run(connection, f"REVOKE ALL ON {name} FROM {who}")
        for helper in HELPERS:
            _run(connection, f"REVOKE ALL ON FUNCTION {place}.{helper} FROM {who}")
        _run(connection, f"REVOKE ALL ON SCHEMA {place} FROM {who}")
    return True


def tenants(connection: Connection) -> list[Tenant]:
    """Return the isolated roles, sorted by name."""
    query = text(
        "SELECT roles.rolname AS role, substr(obj_description(pol.oid, 'pg_policy'), 7) AS user_id "
        "FROM pg_policy pol JOIN pg_roles roles ON roles.oid = pol.polroles[1] "
        "WHERE pol.polrelid = to_regclass('scopes') AND starts_with(pol.polname, :ours) AND pol.polcmd = 'r' "
        "ORDER BY roles.rolname"
    )
    found = connection.execute(query, {"ours": NAME}).all()
    return [Tenant(role=str(row.role), user_id=str(row.user_id)) for row in found]


def lacking(connection: Connection) -> Iterator[str]:
    """Yield a sentence for each fault that lets tenants see each other's rows, or keeps them from working."""
    known = tenants(connection)
    names = [one.role for one in known]
    for role in names:
        if why := _passing(connection, role, names):
            yield f"the role {role} {why}, and may see what is not its own."
        for more in _excess(connection, role):
            yield f"the role {role} {more}. Revoke it."
    for other in _other_policies(connection) if known else ():
        yield f"the policy {other} is not of this package, and may show tenants more. Drop it."
    again = "Run `recall db isolate` once more, for each role."
    walled = text("SELECT relrowsecurity FROM pg_class WHERE oid = to_regclass(:name)")
    held = text("SELECT count(DISTINCT polroles[1]) FROM pg_policy WHERE polrelid = to_regclass(:name)")
    for name in schema.metadata.tables if known else ():
        if not connection.execute(walled, {"name": name}).scalar():
            yield f"{name} has no row-level security. {again}"
        elif int(connection.execute(held, {"name": name}).scalar_one()) < len(known):
            yield f"a role has no policy on {name}. {again}"


def role_under_policies(connection: Connection) -> str | None:
    """Return the role of this connection if the server shows it only a part of the rows; `None` = it sees all."""
    there = connection.execute(text("SELECT to_regclass('memories')")).scalar()
    if there is None or not connection.execute(text("SELECT row_security_active('memories')")).scalar():
        return None
    return str(connection.execute(text("SELECT current_user")).scalar_one())


def next_scope(connection: Connection) -> int | None:
    """Return the number of the next scope, as a tenant does not see the last one; `None` = no tenant's connection."""
    if tenant_of(connection) is None:
        return None
    return int(connection.execute(text("SELECT recall_next_scope()")).scalar_one())


def _run(connection: Connection, statement: str) -> None:
    connection.exec_driver_sql(statement.replace("%", "%%"))  # the driver looks for parameters


_MEMORIES = "FROM pg_class WHERE oid = to_regclass('memories')"


def _check_store(connection: Connection) -> None:
    """Raise unless the tables exist, belong to the asking user, and have no policies of others."""
    where = shown(connection.engine.url)
    there = connection.execute(text("SELECT to_regclass('memories')")).scalar() is not None
    if there and not connection.execute(text(f"SELECT pg_has_role(relowner, 'USAGE') {_MEMORIES}")).scalar():
        raise StoreError(f"Who owns the tables of {where} alone can isolate a role. Give the address with that user.")
    if not there or not get_meta(connection, BEGUN):
        raise StoreVersionError(
            f"Nothing was remembered in {where} yet. Remember something as its owner (`recall add ADDRESS TEXT`): that "
            "says which embedding the store is made with. Then ask again."
        )
    if others := list(_other_policies(connection)):
        raise InvalidArgument(
            f"There are policies that are not of this package: {', '.join(others)}. They may show a tenant more. Drop "
            "them, then ask again. Nothing was changed."
        )


def _check_role(connection: Connection, role: str, known: Iterable[str]) -> None:
    """Raise unless the role exists, and can be kept to rows of its own."""
    if connection.execute(text("SELECT 1 FROM pg_roles WHERE rolname = :role"), {"role": role}).scalar() is None:
        name = _Quoting(connection, role).name(role)
        raise InvalidArgument(
            f"There is no role {role!r} in {shown(connection.engine.url)}. Make it, for example: CREATE ROLE {name} "
            "LOGIN PASSWORD '…'."
        )
    if why := _passing(connection, role, known):
        raise InvalidArgument(f"The role {role!r} {why}: it would see what is not its own. Give one that does not.")


def _passing(connection: Connection, role: str, known: Iterable[str]) -> str | None:
    """Say why a role sees more than its policies show, by what it is or may become; `None` = it does not."""
    query = text(
        "SELECT other.rolname AS name, other.rolsuper OR other.rolbypassrls AS passes, other.oid IN ("
        "SELECT relowner FROM pg_class WHERE relname = ANY(:tables) AND relnamespace = place.oid "
        "UNION SELECT place.nspowner UNION SELECT datdba FROM pg_database WHERE datname = current_database()) AS owns, "
        "other.rolcreaterole AND current_setting('server_version_num')::int < 160000 AS makes "
        "FROM pg_roles other, pg_namespace place "
        f"WHERE place.oid = (SELECT relnamespace {_MEMORIES}) AND pg_has_role(:role, other.oid, 'MEMBER') "
        "ORDER BY other.rolname <> :role, other.rolname"
    )
    found = connection.execute(query, {"role": role, "tables": list(schema.metadata.tables)}).all()
    others = set(known)
    for name, passes, owns, makes in found:  # a superuser is a member of every role: this is said first
        is_it = name == role
        if passes or name in _OF_FILES:
            return "passes by row-level security" if is_it else f"is a member of {name!r}, which passes by it"
        if owns:
            what = "owns the tables, their schema or the database"
            return what if is_it else f"is a member of {name!r}, who {what}"
        if makes:
            return "may give itself roles (CREATEROLE, before PostgreSQL 16)"
    for name, *_ in found:
        if name != role and name in others:
            return f"is a member of {name!r}, which is another tenant's"
    makes_in = text(f"SELECT has_schema_privilege(:role, relnamespace, 'CREATE') {_MEMORIES}")
    if connection.execute(makes_in, {"role": role}).scalar():
        place = _Quoting(connection, role).schema()
        return (
            "may make functions and operators beside the tables, which others would run (take it back: REVOKE CREATE "
            f"ON SCHEMA {place} FROM PUBLIC)"
        )
    return None


def _excess(connection: Connection, role: str) -> Iterator[str]:
    """Yield rights of a role, however it has them, that no policy limits; "may TRUNCATE memories"."""
    query = text(
        "SELECT name, kind FROM unnest(CAST(:names AS text[]), CAST(:kinds AS text[])) given (name, kind) "
        "WHERE has_table_privilege(:role, name, kind)"
    )
    names, kinds = zip(*excessive(), strict=True)
    for name, kind in connection.execute(query, {"role": role, "names": list(names), "kinds": list(kinds)}):
        yield f"may {kind} {name}"


def _unestimated(connection: Connection) -> list[str]:
    """Return statements after which the server keeps no statistics of texts and names.

    The plan of a query says how many rows are expected, by the values that are common in the rows of all. A change of
    a type to itself moves no row, and drops what was kept.
    """
    query = text(
        "SELECT c.oid::regclass AS place, quote_ident(a.attname) AS name, "
        "format_type(a.atttypid, a.atttypmod) AS type, "
        "CASE WHEN a.attcollation <> 0 THEN ' COLLATE ' || quote_ident(o.collname) ELSE '' END AS collated "
        "FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_collation o ON o.oid = a.attcollation "
        "WHERE c.oid = ANY(SELECT to_regclass(name)::oid FROM unnest(CAST(:tables AS text[])) name) "
        "AND a.attnum > 0 AND NOT a.attisdropped AND coalesce(a.attstattarget, -1) <> 0 "
        "AND a.atttypid IN ('text'::regtype, 'varchar'::regtype, 'bytea'::regtype) ORDER BY c.relname, a.attnum"
    )
    found = connection.execute(query, {"tables": list(OF_TENANTS)}).all()
    return [
        f"ALTER TABLE {place} ALTER COLUMN {name} {done}"
        for place, name, kind, collated in found
        for done in ("SET STATISTICS 0", f"TYPE {kind}{collated}")
    ]


def _other_policies(connection: Connection) -> Iterator[str]:
    query = text(
        "SELECT polname || ' ON ' || polrelid::regclass FROM pg_policy WHERE NOT starts_with(polname, :ours) "
        "AND polpermissive AND polrelid = ANY(SELECT to_regclass(name)::oid FROM unnest(CAST(:tables AS text[])) name) "
        "ORDER BY 1"
    )
    found = connection.execute(query, {"ours": f"{NAME}_", "tables": list(schema.metadata.tables)})
    yield from map(str, found.scalars())


def _granted(connection: Connection) -> list[str]:
    """Return roles that were granted to read the memories, without their owner and those that see all rows."""
    query = text(
        "SELECT DISTINCT coalesce(roles.rolname, 'PUBLIC') FROM pg_class c "
        "CROSS JOIN LATERAL aclexplode(c.relacl) given LEFT JOIN pg_roles roles ON roles.oid = given.grantee "
        "WHERE c.oid = to_regclass('memories') AND given.privilege_type = 'SELECT' AND given.grantee <> c.relowner "
        "AND NOT coalesce(roles.rolsuper OR roles.rolbypassrls, false)"
    )
    return [str(name) for name in connection.execute(query).scalars()]


@record(frozen=True, slots=True)
class _Quoting:
    """Names and texts as the server writes them."""

    connection: Connection  # to the server
    role: str  # of the tenant

    def text(self, value: str) -> str:
        return str(self.connection.execute(text("SELECT quote_literal(:value)"), {"value": value}).scalar_one())

    def name(self, value: str) -> str:
        return str(self.connection.execute(text("SELECT quote_ident(:value)"), {"value": value}).scalar_one())

    def schema(self) -> str:
        query = text(f"SELECT nspname FROM pg_namespace WHERE oid = (SELECT relnamespace {_MEMORIES})")
        return self.name(str(self.connection.execute(query).scalar_one()))

    def number(self) -> int:
        """Return the number of the role: its name may be too long for a part of another."""
        found = self.connection.execute(text("SELECT oid FROM pg_roles WHERE rolname = :role"), {"role": self.role})
        return int(found.scalar_one())
