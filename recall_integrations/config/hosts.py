"""Hosts that only this machine reaches, and addresses of servers that speak HTTP."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from recall_integrations.errors import RecallError


def is_loopback(name: str) -> bool:
    """Say whether a name or address belongs to this machine alone (loopback)."""
    try:
        return name.lower() == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def checked_server(given: object, what: str, advice: str, error: type[RecallError]) -> str:
    """Return the address of a server without a slash at its end. Raises `error`, which repeats no password."""
    text = given.rstrip("/") if isinstance(given, str) else ""
    try:
        parts = urlsplit(text)
        named = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        named = named and not (parts.query or parts.fragment)
    except ValueError:  # its port is no number
        named = False
    if "@" in text.partition("://")[2].partition("/")[0]:
        raise error(f"{what} must not hold a user or a password. {advice}")
    if not named:
        raise error(f"{what} must be like http://127.0.0.1:8000 or https://host, not {str(given)[:80]!r}. {advice}")
    return text
