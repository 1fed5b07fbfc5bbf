"""Settings for some scopes: the scopes that an entry of `scopes` means, and the settings that it may hold.

One entry acts on a scope: of those that fit, the one with the most parts named; of two with as many, the one that names
the user, then the one that names the agent. It takes precedence over the file; other entries have no effect.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BeforeValidator

from recall_integrations.config.answering import by_mode
from recall_integrations.config.checking import Mistake, refusal
from recall_integrations.errors import ConfigError
from recall_integrations.records import record
from recall_integrations.types import Scope

ANY = "*"
PARTS = ("user_id", "agent_id", "namespace")
# Which parts are named, most specific first; none is left out.
SPECIFICITY = sorted(itertools.product((True, False), repeat=3), key=sum, reverse=True)[:-1]
# What one scope cannot have otherwise than another, and why.
OF_THE_STORE = "the store is opened with it"
OF_ALL = "all scopes share it"
NOT_PER_SCOPE: Mapping[str, str] = {
    **dict.fromkeys(
        """
        retrieval.exact_max retrieval.cache_mb retrieval.semantic_remote query.spelling_threshold
        postgres vectors facts.keep facts.slots facts.llm_calls_per_hour
        """.split(),
        OF_THE_STORE,
    ),
    **dict.fromkeys(
        """
        mode scopes breakers cache privacy learned rewriting.cache_s
        """.split(),
        OF_ALL,
    ),
}


@record(frozen=True, slots=True, kw_only=True)
class ScopeSettings:
    """An entry of `scopes`.

    Args:
        user_id, agent_id, namespace: the part that a scope must have; `*` = any. "" is the part of a scope without it.
        settings: path and value of each setting, by path.
    """

    user_id: str = ANY
    agent_id: str = ANY
    namespace: str = ANY
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def pattern(self) -> tuple[str, str, str]:
        """The three parts."""
        return self.user_id, self.agent_id, self.namespace

    def __str__(self) -> str:
        """Write the parts and the settings: "namespace support: rerank.top_n 10"."""
        named = [f"{part} {value}" for part, value in zip(PARTS, self.pattern, strict=True) if value != ANY]
        return f"{', '.join(named)}: {', '.join(f'{path} {shown(value)}' for path, value in self.settings)}"


def shown(value: object) -> str:
    """Write a value as in a file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(str, value))}]"
    return "nothing" if value is None else str(value)


def entries_of(given: object) -> tuple[ScopeSettings, ...]:
    """Read the entries from a list of mappings."""
    if not isinstance(given, list | tuple):
        raise ConfigError(f"scopes must be a list of mappings, not {type(given).__name__}.")
    mistakes: list[Mistake] = []
    made = [
        entry if isinstance(entry, ScopeSettings) else _entry(entry, ("scopes", i), mistakes)
        for i, entry in enumerate(given)
    ]
    seen: dict[tuple[str, str, str], int] = {}
    for i, entry in enumerate(made if not mistakes else ()):
        if entry.pattern in seen:
            says = f"scopes[{i}] is for the same scopes as scopes[{seen[entry.pattern]}]. Write one of them."
            mistakes.append((("scopes", i), says))
        seen[entry.pattern] = i
    if mistakes:
        raise refusal(mistakes)
    return tuple(made)


ENTRIES = BeforeValidator(entries_of)


def _entry(given: object, where: tuple[str | int, ...], mistakes: list[Mistake]) -> ScopeSettings:
    here = f"scopes[{where[1]}]"
    if not isinstance(given, Mapping):
        mistakes.append((where, f"{here} must be a mapping, not {type(given).__name__}."))
        return ScopeSettings()
    parts, settings = _read(given)
    wrong: list[Mistake] = []
    for key, value in parts.items():
        if not isinstance(value, str):
            says = f'{here}.{key} must be text, not {value!r}: a name, * for any, or "" for scopes without one.'
            wrong.append(((*where, key), says))
    for path in settings:
        why = NOT_PER_SCOPE.get(path) or NOT_PER_SCOPE.get(path.partition(".")[0])
        if why:
            says = f"{here}.{path} cannot be set for some scopes: {why}. Write it outside of scopes."
            wrong.append(((*where, *path.split(".")), says))
    if all(value == ANY for value in parts.values()):
        wrong.append((where, f"{here} fits every scope. Name one of {', '.join(PARTS)}, or write it above."))
    if not settings:
        wrong.append((where, f"{here} sets nothing. Leave it out."))
    if wrong:
        mistakes += wrong
        return ScopeSettings()
    return ScopeSettings(**parts, settings=tuple(sorted(settings.items(), key=lambda pair: pair[0])))


def _read(given: Mapping[Any, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parts of the scope that are named, and the settings by their paths."""
    settings: dict[str, Any] = {}
    for key, plain in given.items():
        value = by_mode(plain) if key == "rewriting" else plain
        if isinstance(value, Mapping):
            settings.update({f"{key}.{name}": _frozen(each) for name, each in value.items()})
        elif key not in PARTS:
            settings[str(key)] = _frozen(value)
    return {part: given[part] for part in PARTS if part in given}, settings


def _frozen(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def by_pattern(entries: Iterable[ScopeSettings]) -> dict[tuple[str, str, str], ScopeSettings]:
    """Return the entries by their patterns, for `acting`."""
    return {entry.pattern: entry for entry in entries}


def acting(entries: Mapping[tuple[str, str, str], ScopeSettings], scope: Scope) -> ScopeSettings | None:
    """Return the entry that acts on a scope; `None` = none does."""
    for user, agent, namespace in SPECIFICITY:
        found = entries.get(
            (scope.user_id if user else ANY, scope.agent_id if agent else ANY, scope.namespace if namespace else ANY)
        )
        if found is not None:
            return found
    return None
