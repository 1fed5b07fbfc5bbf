"""Find whether a query asks for the talk itself: "what did we talk about on May 8th", "summarise our third session"."""

from __future__ import annotations

from recall_integrations.query import sessions
from recall_integrations.query.features import IMPLICIT
from recall_integrations.query.findings import Findings
from recall_integrations.types.query import NOTHING


def asks_talk(found: Findings) -> str:
    """Return `all` for the talk and nothing in particular, `about` for words on a topic, else an empty text."""
    if not found.placed and found.window is None:
        return NOTHING
    named = [r.span for r in found.refs if r.stage != IMPLICIT and r.mention]
    return sessions.talk(
        found.text, found.language, [*found.placed, *found.polite], named, session=found.session is not None
    )
