"""Settings of data that nodes share for seconds: the Redis that they have in common."""

from __future__ import annotations

import re
from typing import Annotated, Any
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from pydantic import WrapValidator

from recall_integrations.config.checking import Text, in_range, section
from recall_integrations.errors import ConfigError

PASSWORD = "RECALL_REDIS_PASSWORD"  # in the environment
SCHEMES = ("redis", "rediss", "unix")
OPTIONS = frozenset({"db", "ssl_ca_certs", "ssl_certfile", "ssl_keyfile"})
_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_WRONG = "shared.redis must be an address such as redis://host:6379/0, rediss://host:6379/0 or unix:///path"


class Address(str):
    """The address of a Redis, as it may be shown: its text lacks the password.

    Attributes:
        password: the password of the address; "" = none.
    """

    password: str

    def __new__(cls, shown: str = "", password: str = "") -> Address:
        made = super().__new__(cls, shown)
        made.password = password
        return made

    @classmethod
    def of(cls, given: str) -> Address:
        """Read an address.

        Raises:
            ConfigError: `given` is no address. The message does not repeat it: it may hold a password.
        """
        if not given:
            return cls()
        try:
            parts = urlsplit(given)
            port, host = parts.port, parts.hostname
            options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
        except ValueError:
            raise ConfigError(f"{_WRONG}; this cannot be read.") from None
        if parts.scheme not in SCHEMES or not (parts.path if parts.scheme == "unix" else host):
            raise ConfigError(f"{_WRONG}; this begins otherwise or names no host.")
        if parts.fragment or not set(options) <= OPTIONS:
            raise ConfigError(f"{_WRONG}, with no options but {', '.join(sorted(OPTIONS))}.")
        if not _is_number(options.get("db", "0")) or not (parts.scheme == "unix" or _is_number(parts.path[1:] or "0")):
            raise ConfigError(f"{_WRONG}; the database must be a number.")
        return cls(_without_password(parts, host, port), unquote(parts.password or ""))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _without_password(parts: SplitResult, host: str | None, port: int | None) -> str:
    named = "" if host is None else f"[{host}]" if ":" in host else host
    where = f"{parts.username}@{named}" if parts.username else named
    return parts._replace(netloc=where if port is None else f"{where}:{port}").geturl()


def _address(given: Any, check: Any) -> Address:
    if isinstance(given, Address):
        return given
    if not isinstance(given, str):
        raise ConfigError(f"shared.redis must be text, not {type(given).__name__}.")
    return Address.of(check(given))


def _prefix(given: Any, check: Any) -> str:
    text = str(check(given))
    if not _NAME.fullmatch(text):
        raise ConfigError(f"shared.prefix must be 1 to 64 letters of A-Z, a-z, 0-9 and . _ : -, not {text[:70]!r}.")
    return text


@section("shared")
class SharedConfig:
    """What nodes and workers share for seconds through a Redis (docs/caching.md).

    Without one each process has its own. Losing it costs speed, nothing else. Needs the extra `redis`.

    Args:
        redis: its address: `redis://host:6379/0`, `rediss://` with TLS, `unix:///path`; empty = none. The password may
            stand in it, or in `RECALL_REDIS_PASSWORD`; neither is ever shown.
        timeout_ms: longest that a recall waits for it. After a failure it is left alone for two seconds.
        prefix: before every key, for those who share a Redis with others.
    """

    redis: Annotated[Text, WrapValidator(_address)] = Address()
    timeout_ms: Annotated[float, in_range(1, 10_000)] = 20.0
    prefix: Annotated[Text, WrapValidator(_prefix)] = "recall"
