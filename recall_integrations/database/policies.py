"""Grants and policies that make a role of PostgreSQL a tenant's, and show it the rows of one user.

What a node has to know of a store as a whole stays visible: numbers and digests of the journal, cursors, the notes that
`SHARED` names. What the owner alone may do (tables, compaction, cutting the journal) is not granted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from recall_integrations.database import schema
from recall_integrations.database.meta import BY_SCOPE, noted_by
from recall_integrations.types.memory import ID_CHARS_MAX

NAME = "recall_tenant"  # first part of the names of policies
HELPERS = ("recall_next_scope()", "recall_head()", "recall_lacking(bigint, bigint)")  # which see the rows of all
# Keys in `meta` that every tenant may read: what a node needs to open the store as the others do.
SHARED = (
    "schema_version",
    "embedding",
    "reembedding",
    "analyser",
    "facts",
    "entity_key",
    "moving",
    "moved",
    "last_seq",
    "pruned",
    "last_scope",
    "compacting",
    "compacted",
)
SEMANTIC = "semantic"  # the cursor that a write moves
WORTH = "cosine worth of "  # and those that begin so
_ROWS = tuple(
    name
    for name, table in schema.metadata.tables.items()
    if "scope_id" in table.c and name not in ("scopes", "changes")
)
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


class Quoting(Protocol):
    """A role, and how names and texts are written in statements."""

    @property
    def role(self) -> str:
        """Role of the tenant."""

    def text(self, value: str) -> str:
        """Quote a text."""

    def name(self, value: str) -> str:
        """Quote a name."""

    def schema(self) -> str:
        """Return the quoted schema of the tables."""

    def number(self) -> int:
        """Return the number of the role."""


def statements(quoting: Quoting, user_id: str) -> Iterator[str]:
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

    def __init__(self, quoting: Quoting) -> None:
        self._role, self._number = quoting.name(quoting.role), quoting.number()

    def name(self, command: str) -> str:
        """Return the name of the policy for a command."""
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


def _of_notes(policies: _Policies, quoting: Quoting) -> Iterator[str]:
    own = noted_by(quoting.role)
    of_scope = f"split_part(key, {quoting.text(BY_SCOPE)}, 2) IN (SELECT s.scope_id::text FROM scopes s)"
    shape = quoting.text(f"^{own.written}[a-z]{{1,8}}{BY_SCOPE}[0-9]+$")
    counted = f"(key ~ {shape} AND {of_scope})"
    spent, owed = f"key = {quoting.text(own.spent)}", f"key = {quoting.text(own.owed)}"
    shared = f"key IN ({', '.join(map(quoting.text, SHARED))}) OR starts_with(key, {quoting.text(WORTH)})"
    written = f"{spent} OR ({counted} AND value ~ '^[0-9]{{1,9}}$') OR ({owed} AND value = '1')"
    yield from policies.on("meta", "SELECT", using=f"{shared} OR {spent} OR {counted}")
    yield from policies.on("meta", "INSERT", check=written)
    yield from policies.on("meta", "UPDATE", using=f"{owed} OR {spent} OR {counted}", check=written)
    yield from policies.on("meta", "DELETE", using=f"{spent} OR {counted}")
