"""Settings of the store of vectors of large scopes: a Chroma server, or pgvector."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from recall_integrations.config.checking import Text, in_range, section
from recall_integrations.errors import ConfigError

PGVECTOR = "pgvector"  # as an address: the store's own PostgreSQL
CLOUD = "trychroma.com"  # where Chroma Cloud is
CLOUD_MOST = 300  # records of a write and results of an answer there, unless it agreed to more
BATCH_MAX, RESULTS_MAX = 500, 20_000  # of a server of one's own


@section("vectors")
class VectorsConfig:
    """Where the vectors of scopes are that are too large to be scanned (docs/chroma-server.md, docs/postgres.md).

    Args:
        address: of a Chroma server, `https://chroma.example:8000`; or `pgvector`: the store's own PostgreSQL, with the
            extension of that name; empty = there is none: a store in a directory keeps these vectors in its files, one
            in PostgreSQL scans them.
        token_variable: the environment variable that holds the token of the server; empty = it wants none. The token
            itself is no setting, so that it stands in no file, message or `repr`.
        token_header: the header in which it is sent; with `Authorization` it is a bearer's.
        tenant, database: on the server; both have to be there.
        timeout_ms: longest wait for the server. A recall waits less, so that half of its time for vectors is left to
            answer without the server.
        batch_max: vectors that a Chroma server is given, or told to remove, in one request; nothing = 500, and 300 at
            Chroma Cloud, which takes no more.
        results_max: neighbours or numbers that a Chroma server is asked for in one request; nothing = 20,000 (of which
            2,000 may be neighbours), and 300 at Chroma Cloud, which gives no more.
    """

    address: Text = ""
    token_variable: Text = ""
    token_header: Literal["X-Chroma-Token", "Authorization"] = "X-Chroma-Token"
    tenant: Text = "default_tenant"
    database: Text = "default_database"
    timeout_ms: Annotated[float, in_range(1, 600_000)] = 5_000.0
    batch_max: Annotated[int | None, in_range(1, 2_000)] = None
    results_max: Annotated[int | None, in_range(1, 20_000)] = None

    @property
    def batch(self) -> int:
        """Most vectors of one write: the setting, or the limit of the server of this address."""
        return self.batch_max or (CLOUD_MOST if self._in_cloud else BATCH_MAX)

    @property
    def results(self) -> int:
        """Most neighbours or numbers of one answer: the setting, or the limit of the server of this address."""
        return self.results_max or (CLOUD_MOST if self._in_cloud else RESULTS_MAX)

    @property
    def _in_cloud(self) -> bool:
        """True if the address is one of Chroma Cloud."""
        host = urlsplit(self.address).hostname or ""
        return host == CLOUD or host.endswith(f".{CLOUD}")

    def __post_init__(self) -> None:
        if self.address == PGVECTOR:
            self._check_alone()
        elif self.address:
            _check(self.address)
        for name in ("tenant", "database"):
            if not getattr(self, name).strip() or "/" in getattr(self, name):
                raise ConfigError(f"vectors.{name} must be a name without '/', not {getattr(self, name)!r}.")

    def _check_alone(self) -> None:
        """Raise if a setting of a Chroma server is set."""
        for name, default in OF_CHROMA.items():
            if getattr(self, name) != default:
                raise ConfigError(
                    f"vectors.{name} has no effect with vectors.address {PGVECTOR!r}, which is asked as the store is. "
                    "Leave it out."
                )


# What only a Chroma server has, and what stands there if nobody sets it.
OF_CHROMA: dict[str, str | None] = {
    "token_variable": "",
    "token_header": "X-Chroma-Token",
    "tenant": "default_tenant",
    "database": "default_database",
    "batch_max": None,
    "results_max": None,
}


def _check(address: str) -> None:
    """Raise unless the address is that of a server, without a secret in it."""
    wanted = "Write http://host:8000 or https://host; or pgvector for the store's own PostgreSQL."
    try:
        parts = urlsplit(address)
        named, given = bool(parts.hostname), parts.username is not None or parts.password is not None
        _ = parts.port
    except ValueError as e:
        raise ConfigError(f"vectors.address is no address: {e}. {wanted}") from None
    if given:
        raise ConfigError(
            f"vectors.address must not hold a user or a password: put the token into an environment variable and name "
            f"that in vectors.token_variable. {wanted}"
        )
    if parts.scheme not in ("http", "https") or not named or parts.query or parts.fragment:
        raise ConfigError(f"vectors.address must be the address of a Chroma server, not {address!r}. {wanted}")
