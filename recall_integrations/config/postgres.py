"""Settings of a store in PostgreSQL: its connections, and the replicas that recalls may read."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator

from recall_integrations.config.checking import Text, in_range, section
from recall_integrations.errors import ConfigError

SCHEMES = ("postgresql", "postgres")
REPLICAS_MAX = 16
_WANTED = "Write postgresql://host:5432; user, password and database are those of the store's own address"


def _checked(given: str) -> str:
    """Return the addresses unless one is no address of a server, or holds a secret."""
    addresses = given.split()
    if len(addresses) > REPLICAS_MAX or len(set(addresses)) < len(addresses):
        raise ConfigError(f"postgres.replicas must be at most {REPLICAS_MAX} addresses, each given once.")
    for address in addresses:
        try:
            parts = urlsplit(address)
            named, secret = bool(parts.hostname) or "host=" in parts.query, parts.password is not None
            _ = parts.port
        except ValueError:
            raise ConfigError(f"postgres.replicas holds what is no address. {_WANTED}.") from None
        if secret or any(name in ("password", "sslpassword") for name, _ in parse_qsl(parts.query)):
            raise ConfigError(
                "postgres.replicas must not hold a password: that of the store's own address is used, or PGPASSWORD, "
                f"or a password file. {_WANTED}."
            )
        if parts.scheme not in SCHEMES or not named or parts.fragment:
            raise ConfigError(
                f"postgres.replicas must hold addresses of PostgreSQL servers, not {address!r}. {_WANTED}."
            )
    return given


@section("postgres")
class PostgresConfig:
    """Connections of a store in PostgreSQL, and replicas that it reads (docs/postgres.md). A directory has none of it.

    Args:
        replicas: addresses of streaming replicas, `postgresql://replica-1.example:5432`, with spaces between them, that
            recalls read memories from; writes, locks and turns stay at the store's own address. User, password,
            database and options that one does not name are those of the store's own address. No password stands in it.
        stale_max_s: seconds for which replicas answer alone after the primary was last reached; 0 = they do not.
            What is answered then has all that this node knew, and `degraded` says `record.away`.
        replica_timeout_ms: longest wait for a replica that is to say how far it is; a replica that does not is left
            alone for a while, and the primary is read.
        pool_size: connections to the server that a process keeps open; as many more are made while they are needed. A
            few stand outside of this pool (docs/postgres.md#connections).
        pool_timeout_ms: longest wait for a connection while all are in use; then an error says so. A recall waits no
            longer than its time allows.
    """

    replicas: Annotated[Text, AfterValidator(_checked)] = ""
    stale_max_s: Annotated[float, in_range(0, 86_400)] = 0.0
    replica_timeout_ms: Annotated[float, in_range(1, 60_000)] = 500.0
    pool_size: Annotated[int, in_range(1, 1_000)] = 8
    pool_timeout_ms: Annotated[float, in_range(1, 600_000)] = 30_000.0

    @property
    def addresses(self) -> tuple[str, ...]:
        """Addresses of the replicas, one by one."""
        return tuple(self.replicas.split())
