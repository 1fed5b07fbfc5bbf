"""Errors of PostgreSQL as errors of this package, without passwords and values of rows; and which writes try again."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from tenacity import RetryCallState, Retrying

from recall_integrations.database.connections import WAITED_S
from recall_integrations.errors import InvalidMemory, RecallError, StoreCorrupt, StoreError, StoreVersionError
from recall_integrations.patterns import regex
from recall_integrations.resilience.failures import policy, raised

_AGAIN = frozenset({"40001", "40P01"})  # serialization failure, deadlock: PostgreSQL says to try again
_AWAY = frozenset({"57P01", "57P02", "57P03"})  # it is shut down, has crashed, or is not up yet
_DAMAGED = frozenset({"XX001", "XX002"})
_TOO_LONG = "54000"
WAITED = "55P03"  # a lock was not had in time
KEY_BYTES_MAX = 2_600  # of what is in one index: a third of a page, less what comes beside it
_MISSING = frozenset({"42P01", "42703", "3F000"})  # a table, a column, a schema
_OF_TEXT = frozenset({"22P05", "22021", ""})  # the driver refuses it before the server sees it
_REFUSED = regex(r"authentication failed|no password supplied|no pg_hba\.conf entry|role .* does not exist")
_ABSENT = regex(r"database .* does not exist")
_NUL = regex(r"\bNUL\b|0x00|\\u0000")

_FULL = regex(r"too many (?:clients|connections)|remaining connection slots|no more connections allowed")
_UNKNOWN_STARTUP = regex(r"unsupported startup parameter:? *(\w*)")

_OF_OTHERS = "row-level security policy"

_CROWDED = (
    "has no connection left. Lower `postgres.pool_size` of each process, or raise `max_connections` of the server"
)
# What is said of errors by the beginning of their code, the longest first.
_SAID = (
    ("57014", "stopped a statement that took longer than its timeout allows. Allow more time, or ask for less"),
    (WAITED, "is held up: this call waited {waited:.1f} s for a lock of another session. `pg_locks` says whose it is"),
    ("53300", _CROWDED),
    ("53100", "has no disk left. Nothing was changed; make room on the server"),
    ("25006", "takes no writes: it is a replica, or read only. Give the address of the primary"),
    (
        "42501",
        "does not allow it to this user. Ask as the owner of the tables, or let the owner grant what is needed "
        "(`recall db isolate` for the role of a tenant)",
    ),
    ("53", "has too few resources left. Try again later"),
)


def shown(url: URL) -> str:
    """Return a URL for messages: user, host, port and database. The rest is left out, a password too."""
    return URL.create(
        url.drivername.partition("+")[0],
        username=url.username,
        host=url.host or _only(url.query.get("host")),
        port=url.port,
        database=url.database,
    ).render_as_string()


def _only(given: str | tuple[str, ...] | None) -> str | None:
    return ",".join(given) if isinstance(given, tuple) else given


def sqlstate(error: BaseException | None) -> str:
    """Return PostgreSQL's code of an error of SQLAlchemy or of the driver; empty where there is none."""
    cause = getattr(error, "orig", None) or error
    return getattr(cause, "sqlstate", None) or ""


def waited_s(error: BaseException | None) -> float:
    """Return the seconds after which a lock was not had."""
    return float(getattr(getattr(error, "orig", None) or error, WAITED_S, 0.0))


def is_lost(error: BaseException | None) -> bool:
    """Say whether the connection is gone, or could not be made though it may be later."""
    code = sqlstate(error)
    if code[:2] == "08" or code in _AWAY:
        return True
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    cause = getattr(error, "orig", None) or error
    # The driver has no code for what the server did not say itself.
    unsaid = type(cause).__module__.startswith("psycopg") and not code
    return unsaid and _has_class(cause, "OperationalError") and not (_REFUSED.search(str(cause)) or _is_absent(cause))


def _has_class(error: object, name: str) -> bool:
    return any(kind.__name__ == name for kind in type(error).__mro__)


def _is_absent(error: object) -> bool:
    return bool(_ABSENT.search(str(error)))


def is_ours(error: BaseException) -> bool:
    """Say whether SQLAlchemy or the driver raised an error."""
    return isinstance(error, SQLAlchemyError) or (
        type(error).__module__.startswith("psycopg") and _has_class(error, "Error")
    )


def mapped_error(error: BaseException, url: URL) -> RecallError | None:
    """Return our error for one of SQLAlchemy or of the driver, with it as cause; `None` for any other."""
    if not is_ours(error):
        return None
    mapped = _mapped(error, url)
    mapped.__cause__ = error
    return mapped


def _mapped(error: BaseException, url: URL) -> RecallError:
    code, where, said = sqlstate(error), shown(url), words_of(error, url)
    if isinstance(error, PoolTimeout):
        return StoreError(
            f"All connections of this process to {where} are in use, and none was free in time. Try again, or allow "
            "more of them (`postgres.pool_size`)."
        )
    if code in _DAMAGED:
        return StoreCorrupt(f"The database {where} is damaged ({said}). Restore it from a backup.")
    if code in _MISSING:
        return StoreVersionError(
            f"The database {where} has not the tables of this package ({said}). Opening a store in an empty database "
            "makes them: `recall add ADDRESS TEXT`."
        )
    if _NUL.search(said) and code in _OF_TEXT:
        return InvalidMemory("A text holds a NUL character (U+0000), which PostgreSQL cannot keep. Remove it.")
    if code == _TOO_LONG:
        return InvalidMemory(
            f"An id or a name is too long for an index of PostgreSQL ({said}). Keep them below {KEY_BYTES_MAX:,} bytes "
            "of UTF-8, a scope's three parts together."
        )
    if code in _AGAIN:
        return StoreError(f"Others wrote to the same rows of {where} again and again ({said}). Try again.")
    if code[:2] == "28" or (not code and _REFUSED.search(said)):
        return StoreError(f"The database {where} does not let this user in ({said}). Check its name and password.")
    if code == "3D000" or (not code and _is_absent(said)):
        return StoreError(f"There is no database {where} ({said}). Create it, or give the name of one.")
    if is_lost(error):
        return _unreachable(where, said)
    if _OF_OTHERS in said:
        return StoreError(
            f"The database {where} takes nothing from this user but for the scopes of its own user_id ({said}): it is "
            "the role of a tenant (`recall db check` names them). Nothing was written."
        )
    for begin, advice in _SAID:
        if code.startswith(begin):
            return StoreError(f"The database {where} {advice.format(waited=waited_s(error))} ({said}).")
    return StoreError(f"The database {where} refused an operation: {said}.")


def is_crowded(error: BaseException | None) -> bool:
    """Say whether all connections of this process were in use, which says nothing of the server."""
    return isinstance(error, PoolTimeout) or isinstance(getattr(error, "__cause__", None), PoolTimeout)


def _unreachable(where: str, said: str) -> StoreError:
    if _FULL.search(said):  # a server that lets nobody in says it without a code
        return StoreError(f"The database {where} {_CROWDED} ({said}).")
    refused = _UNKNOWN_STARTUP.search(said)
    if refused is not None:
        return StoreError(
            f"The pooler in front of {where} does not take `{refused.group(1)}` of the address ({said}). Leave it out "
            "and let the role have it (ALTER ROLE … SET search_path = …), or give the server's own address."
        )
    return StoreError(
        f"The database {where} cannot be reached ({said}). Check that it runs and that the address is right, and "
        "try again. If something was being written, it may not have been kept."
    )


def words_of(error: BaseException, url: URL) -> str:
    """Return the first line of the message of the server or the driver: no values of rows, secrets replaced."""
    cause: Any = getattr(error, "orig", None) or error
    diagnosis = getattr(cause, "diag", None)
    said = getattr(diagnosis, "message_primary", None) or str(cause).strip() or type(cause).__name__
    said = re.sub(r"\s+", " ", said.partition("\n")[0])[:300].rstrip(" .:")
    for secret in secrets_of(url):
        said = said.replace(secret, "***")
    return said


def secrets_of(url: URL) -> list[str]:
    """Return the secrets of a URL, the longest first: its passwords, and the path of its password file."""
    given = [url.password, *(_only(url.query.get(key)) for key in ("password", "sslpassword", "passfile"))]
    return sorted({str(one) for one in given if one}, key=len, reverse=True)


T = TypeVar("T")
TRIES = 8
WITHIN_S = 5.0  # after which no other try begins
_TAKEN = "23505"  # the key is there

logger = logging.getLogger(__name__)


def tried_again(work: Callable[[], T], *, twice: bool, tries: int = TRIES, within_s: float = WITHIN_S) -> T:
    """Return the result of `work`, tried again where the database says that it may work in a moment.

    With `twice` it does no harm to do it twice: it is tried again also where nobody knows whether it was committed.
    """
    again = partial(may_be_tried_again, twice=twice)
    return Retrying(**policy(tries, again, until=time.monotonic() + within_s, before_sleep=_told))(work)


def may_be_tried_again(error: BaseException, *, twice: bool) -> bool:
    """Say whether the same transaction may work in a moment, and doing it again does no harm."""
    cause = error.__cause__ if isinstance(error, RecallError) else error
    if sqlstate(cause) == _TAKEN:
        return True
    if not is_lost(cause):
        return sqlstate(cause) in _AGAIN
    # An error without a statement is of a commit, or of connecting, which looks the same.
    return twice or not (isinstance(cause, DBAPIError) and cause.statement is None)


def _told(state: RetryCallState) -> None:
    logger.info("A write is tried again (%d): %s", state.attempt_number, raised(state))
