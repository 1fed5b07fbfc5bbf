"""Settings of texts that are hidden."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Annotated

from pydantic import BeforeValidator

from recall_integrations.config.checking import section
from recall_integrations.errors import ConfigError
from recall_integrations.patterns import regex

_OWN_NAME = regex(r"[a-z][a-z0-9_]{0,31}")


def _own_patterns(given: object) -> dict[str, str]:
    """Return names and regular expressions, checked."""
    setting = "privacy.patterns"
    if not isinstance(given, Mapping):
        raise ConfigError(f"{setting} must be a mapping from names to regular expressions, not {given!r}.")
    for name, pattern in given.items():
        if not isinstance(name, str) or not _OWN_NAME.fullmatch(name):
            raise ConfigError(
                f"The name {name!r} in {setting} must be a lower-case letter and up to 31 more letters, digits or _: "
                "it becomes a placeholder such as [badge-1]."
            )
        if not isinstance(pattern, str):
            raise ConfigError(f"{setting}.{name} must be a regular expression, not {pattern!r}.")
        try:
            compiled = re.compile(pattern)
        except re.error as e:
            raise ConfigError(f"{setting}.{name} is no regular expression: {e}.") from e
        if compiled.search("") is not None:
            raise ConfigError(f"{setting}.{name} finds the empty text, which is everywhere. Write what must be there.")
    return dict(given)


@section("privacy")
class PrivacyConfig:
    """What is hidden under `privacy="redact"` besides what the package knows.

    Args:
        patterns: regular expressions of your own, by name: what `badge` finds becomes `[badge-1]`. They run over every
            text that leaves a recall. One that backtracks without end holds up the process: `re` cannot be stopped.
    """

    patterns: Annotated[dict[str, str], BeforeValidator(_own_patterns)] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(frozenset(self.patterns.items()))

    @property
    def compiled(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        """Names with compiled patterns."""
        return tuple((name, re.compile(pattern)) for name, pattern in self.patterns.items())
