"""The text of a hit on a terminal, with what speaks for it marked.

With colours the marks are styles. Elsewhere they are asterisks, and only where somebody asked why: what is piped on is
the text as it is.
"""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from recall_integrations.text.one_line import plain
from recall_integrations.types import Hit
from recall_integrations.types.highlights import CUT, NAME, NEAR, TIME, WORD, excerpt, pieces, within

STYLES = {WORD: "bold", NEAR: "underline", NAME: "bold cyan", TIME: "bold magenta"}
SIGN = "*"


def shown_text(console: Console, hit: Hit, limit: int, *, signs: bool = False) -> Text:
    """Return the text on one line; of a longer text the `limit` characters that say most."""
    text = hit.memory.text
    if not text:
        return Text("(text withheld)")
    coloured = console.color_system is not None and not console.no_color
    if not coloured and not signs:
        return Text(plain(text, limit))
    start, end = excerpt(text, hit.highlights, limit)
    shown = Text(CUT if start else "")
    for part, highlight in pieces(text[start:end], within(hit.highlights, start, end)):
        line = _spaced(part)
        if highlight is None:
            shown.append(line)
        elif coloured:
            shown.append(line, STYLES[highlight.kind])
        else:
            shown.append(f"{SIGN}{line}{SIGN}")
    return shown.append(CUT if end < len(text) else "")


def _spaced(part: str) -> str:
    """Put a part of a line on one line, with a space where it begins or ends with one."""
    line = plain(part)
    if not line:
        return " " if part else ""
    return f"{' ' * part[0].isspace()}{line}{' ' * part[-1].isspace()}"
