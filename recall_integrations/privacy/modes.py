"""The privacy modes, in a module of their own: an open door loads nothing else of privacy."""

from __future__ import annotations

from recall_integrations.errors import InvalidArgument

MODES = ("allow", "redact", "block")


def check_mode(mode: object) -> str:
    """Return `mode` if it is `allow`, `redact` or `block`.

    Raises:
        InvalidArgument: `mode` is anything else.
    """
    if not isinstance(mode, str) or mode not in MODES:
        raise InvalidArgument(f"Unknown privacy mode {mode!r}. Use one of: {', '.join(MODES)}.")
    return mode
