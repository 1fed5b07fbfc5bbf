"""Objects of the user that a command is given by name: a function, an LLM, a reranker."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

from recall_integrations.errors import InvalidArgument

_NAMED = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def given(text: str | None) -> Any:
    """Load the object that `module:name` names, also from the current directory; return any other text as it is."""
    if text is None or not _NAMED.fullmatch(text):
        return text
    module, _, name = text.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as e:
        raise InvalidArgument(
            f"{text!r} cannot be imported: {e}. Write module:name of something that Python finds from here."
        ) from e
    return found
