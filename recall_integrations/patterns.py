"""Regular expressions that are compiled when they are first used.

The package has some four hundred, and one query needs a fifth of them; compiling all takes longer than opening a store.
"""

from __future__ import annotations

import re
from typing import Any, cast


def regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that is compiled at the first use. A mistake in it is raised then, as `re.error`.

    Use it for what a module makes when it is imported. Only its methods are those of a pattern: `re.sub(p, …)` knows
    no such object, `p.sub(…)` does.
    """
    return cast("re.Pattern[str]", _Later(text, flags))


class _Later:
    """Stands for a pattern. What it was asked for once it holds as its own, and so is asked no second time."""

    def __init__(self, text: str, flags: int) -> None:
        self.pattern, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # what `copy` and `pickle` look for, which no pattern has for them
            raise AttributeError(name)
        found = getattr(self._compiled(), name)
        self.__dict__[name] = found  # two threads put the same
        return found

    def _compiled(self) -> re.Pattern[str]:
        made = self.__dict__.get("_made")
        if made is None:
            made = self.__dict__["_made"] = re.compile(self.pattern, self._flags)
        return made

    def __repr__(self) -> str:
        return repr(self._compiled())


def blanked(signs: str) -> str:
    """A table for `str.translate` that puts a blank for each of some signs: as a text it is read three times as fast
    as a dict, which raises an error within for each letter that it lacks."""
    return "".join(" " if chr(i) in signs else chr(i) for i in range(0x3020))
