"""Tells hosts that only this machine reaches from others."""

from __future__ import annotations

import ipaddress

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(name: str) -> bool:
    """Say whether a name or address belongs to this machine alone (loopback)."""
    if name.lower() in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
