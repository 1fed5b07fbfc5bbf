"""Writes a line of JSON for each recall, for whoever collects logs.

    logging.getLogger("recall_integrations.recall").addHandler(handler)
    optimizer = QueryOptimizer(store, observers=[RecallLog()])

Nothing is written unless this observer is given, and the logger lets `INFO` through.
"""

from __future__ import annotations

import json
import logging
from contextvars import ContextVar
from typing import Any

from recall_integrations.observability.fields import fields
from recall_integrations.types.observing import Look, RecallEvent, RecallObserver

NAME = "recall_integrations.recall"
# A server may set it around a recall; it comes along into our threads.
REQUEST_ID: ContextVar[str] = ContextVar("recall_integrations_request_id", default="")


class RecallLog(RecallObserver):
    """Writes a line for each recall that has ended, and for each that was refused. Threads share it.

    The line is the message of the record, so that any handler and formatter does; `record.recall` has its fields.

    Args:
        logger: name of the logger that gets them; default `recall_integrations.recall`.
        content: whether lines hold the query and the ids of hits. Under `privacy="redact"` and `"block"`
            they never do.
        level: level of the records; for recalls that raised it is at least `WARNING`.
    """

    def __init__(self, logger: str = NAME, *, content: bool = False, level: int = logging.INFO) -> None:
        self._logger, self._content, self._level = logging.getLogger(logger), content, level

    def recalled(self, event: RecallEvent, look: Look | None) -> None:
        """Write the line of a recall."""
        level = self._level if event.error is None else max(self._level, logging.WARNING)
        if not self._logger.isEnabledFor(level):
            return
        said = fields(event)
        if self._content and event.privacy == "allow" and event.result is not None:
            result = event.result
            said["query"] = result.query.original
            said["rationaleIds"] = [ref.entity_id for ref in result.query.entity_refs if ref.mention]
            said["hits"] = [hit.memory.id for hit in result.hits]
        self._write(level, "recall", said)

    def refused(self, error: Exception) -> None:
        """Write why a recall was refused."""
        level = max(self._level, logging.WARNING)
        if self._logger.isEnabledFor(level):
            self._write(level, "refused", {"error": getattr(error, "code", type(error).__name__)})

    def _write(self, level: int, kind: str, said: dict[str, Any]) -> None:
        line = {"event": kind, **_where(), **said}
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"), default=str)
        self._logger.log(level, "%s", text, extra={"recall": line})


def _where() -> dict[str, str]:
    """Return the request's id, if the server has set it."""
    request = REQUEST_ID.get()
    return {"requestId": request} if request else {}
