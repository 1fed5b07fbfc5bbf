"""Scopes as text: `user[/agent[/namespace]]`, and the search for the scope that a text means.

The records are imported where one is made: `recall --help` needs only the syntax.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

from recall_integrations.errors import InvalidScope, NotFound

if TYPE_CHECKING:
    from recall_integrations.types import Scope

EMPTY = "-"
SCOPES_SHOWN = 10
SYNTAX = (
    "user[/agent[/namespace]]. An empty part is written '-' or left empty ('locomo/-/conv-26' is 'locomo//conv-26'); "
    "'/', '%' and a part that is '-' itself are written %2F, %25 and %2D."
)


def parse_scope(text: str) -> Scope:
    """Read `user[/agent[/namespace]]`."""
    from recall_integrations.types import Scope

    parts = [] if text == "" else text.split("/")
    if len(parts) > 3:
        raise InvalidScope(f"The scope {text!r} has {len(parts)} parts. Write {SYNTAX}")
    return Scope(*("" if part == EMPTY else unquote(part) for part in parts))


def scope_text(scope: Scope) -> str:
    """Write a scope so that `parse_scope` reads it, always with three parts; `-/-/-` is the default scope."""
    return "/".join(_part(p) for p in (scope.user_id, scope.agent_id, scope.namespace))


def _part(value: str) -> str:
    if value == EMPTY:
        return "%2D"
    return value.replace("%", "%25").replace("/", "%2F") or EMPTY


def find_scope(text: str | None, known: Sequence[tuple[Scope, int]]) -> Scope:
    """Return the scope that a text means: the one written, or else the only one that has `text` as one of its parts."""
    wanted = parse_scope(text or "")
    scopes = [scope for scope, _ in known]
    if wanted in scopes:
        return wanted
    if text is not None and text and "/" not in text:
        part = wanted.user_id
        fitting = [s for s in scopes if part in (s.user_id, s.agent_id, s.namespace)]
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise InvalidScope(
                f"The scope {text!r} could be any of: {listing(fitting)}. Write it in full with --scope."
            )
    if not scopes:
        raise NotFound("The store is empty. Put memories in with `recall import`.")
    if text is None:
        raise NotFound(f"The default scope holds nothing. The store has: {listing(scopes)}. Choose one with --scope.")
    raise NotFound(f"The store has no scope {text!r}. It has: {listing(scopes)}.")


def listing(scopes: Sequence[Scope]) -> str:
    """Write the first few scopes as text."""
    shown = ", ".join(scope_text(s) for s in scopes[:SCOPES_SHOWN])
    return f"{shown} and {len(scopes) - SCOPES_SHOWN:,} more" if len(scopes) > SCOPES_SHOWN else shown
