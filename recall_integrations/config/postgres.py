"""Settings of the connections of a store in PostgreSQL."""

from __future__ import annotations

from typing import Annotated

from recall_integrations.config.checking import in_range, section


@section("postgres")
class PostgresConfig:
    """Connections of a store in PostgreSQL (docs/postgres.md). A directory has none of it.

    Args:
        pool_size: connections to the server that a process keeps open; as many more are made while they are needed. A
            few stand outside of this pool (docs/postgres.md#connections).
        pool_timeout_ms: longest wait for a connection while all are in use; then an error says so. A recall waits no
            longer than its time allows.
    """

    pool_size: Annotated[int, in_range(1, 1_000)] = 8
    pool_timeout_ms: Annotated[float, in_range(1, 600_000)] = 30_000.0
