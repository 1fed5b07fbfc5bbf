"""Tells whether a text says a name: as a word of its own, and not as a part of another."""

from __future__ import annotations

import re

from recall_integrations.patterns import regex
from recall_integrations.text.analyser import DENSE

_CLOSED = regex(rf"(?![{DENSE}])[^\W_]")  # a letter or figure of a script that puts spaces between words


def as_word(name: str) -> str:
    """Return a pattern for a name that no letter or figure continues: "Sam" is not said by "same", nor "Zoé" by
    "Zoéline". A name in a script without spaces is said wherever it stands.
    """
    before = r"(?<![^\W_])" if _CLOSED.match(name[0]) else ""
    after = r"(?![^\W_])" if _CLOSED.match(name[-1]) else ""
    return f"{before}{re.escape(name)}{after}"
