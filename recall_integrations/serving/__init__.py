"""A store over HTTP: `app.create_app` for a web server of yours, `recall serve` for ours, `RecallClient` to ask one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recall_integrations.serving.client import RecallClient as RecallClient

__all__ = ["RecallClient"]


def __getattr__(name: str) -> Any:
    """Load the client on first use only: a process that serves needs none."""
    if name == "RecallClient":
        from recall_integrations.serving.client import RecallClient

        return RecallClient
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
