"""Settings from a file and from the environment, and the order in which they take precedence.

call argument  >  environment  >  entry of `scopes`  >  file  >  default
"""

from __future__ import annotations

import functools
import logging
import operator
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from recall_integrations.config.answering import REWRITE_TIMEOUT
from recall_integrations.config.checking import FILE, OTHERS, PREFIX, Mistake, did_you_mean, refusal
from recall_integrations.config.reading import Shaped, Where, Written, parsed, read
from recall_integrations.config.recall_config import RecallConfig
from recall_integrations.config.schema import Setting, catalogue
from recall_integrations.config.scopes import ScopeSettings, shown
from recall_integrations.errors import ConfigError
from recall_integrations.records import record
from recall_integrations.types import Scope

BETWEEN = "__"
logger = logging.getLogger("recall_integrations")


def variable(path: str) -> str:
    """Return the name of a setting in the environment."""
    return PREFIX + path.upper().replace(".", BETWEEN)


def settings_in(environ: Mapping[str, str]) -> tuple[dict[str, Any], list[Mistake]]:
    """Return the settings in an environment by their paths, and the mistakes."""
    known = {variable(path): setting for path, setting in catalogue().items()}
    found: dict[str, Any] = {}
    mistakes: list[Mistake] = []
    for name in sorted(name for name in environ if name.startswith(PREFIX) and name not in OTHERS):
        setting = known.get(name)
        if setting is None:
            mistakes.append(((name,), _unknown(name, [*known, *OTHERS])))
            continue
        try:
            found[setting.path] = environ[name] if setting.kind is str else parsed(environ[name], name).values
        except ConfigError as e:
            mistakes.append(((name,), str(e)))
    return found, mistakes


def _unknown(name: str, known: list[str]) -> str:
    near = did_you_mean(name.removeprefix(PREFIX), [each.removeprefix(PREFIX) for each in known])
    hint = near.replace("mean ", f"mean {PREFIX}")
    return (
        f"Unknown name {name} in the environment.{hint} Names that begin with {PREFIX} are settings, such as "
        f"RECALL_PLANNER__ARM_LIMIT; `recall config schema` lists what there is. Unset it."
    )


DEFAULT, ENVIRONMENT, SYSTEM = "default", "environment", "the system"


@record(frozen=True, slots=True, kw_only=True)
class Value:
    """The value of a setting in force."""

    setting: Setting
    value: Any
    origin: str  # source of the value: `default`, `environment RECALL_…`, or the file with line and column

    @property
    def shown(self) -> str:
        return shown(self.value)


@record(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Settings, and the origin of each."""

    config: RecallConfig
    file: str | None  # the file that was read; `None` = none
    origins: Mapping[str, str]  # of settings that are not default, by path
    entries: tuple[str, ...] = ()  # place of each entry of `scopes` in the file
    fixed: tuple[str, ...] = ()  # a line for each name in the file that nobody can turn here: its place and value

    def values(self, scope: Scope | None = None) -> list[Value]:
        """Return the value of every setting; with a scope, its value there."""
        config, entry = (self.config, None) if scope is None else self.config.for_scope(scope)
        own = {} if entry is None else dict(entry.settings)
        where = "" if entry is None else self._entry(entry)
        return [
            Value(setting=s, value=value_of(config, path), origin=self._origin(path, where if path in own else ""))
            for path, s in catalogue().items()
        ]

    def _origin(self, path: str, entry: str) -> str:
        found = self.origins.get(path, DEFAULT)
        if entry and not found.startswith(ENVIRONMENT):
            return entry
        if found == DEFAULT and path == "rewriting.timeout_ms" and os.environ.get(REWRITE_TIMEOUT, "").strip():
            return f"{ENVIRONMENT} {REWRITE_TIMEOUT}"
        return found

    def _entry(self, entry: ScopeSettings) -> str:
        place = self.config.scopes.index(entry)
        said = self.entries[place] if place < len(self.entries) else ""
        return f"scopes[{place}]" + (f", {said}" if said else "")


def loaded(path: str | os.PathLike[str] | None = None, environ: Mapping[str, str] | None = None) -> Loaded:
    """Return the settings, and the origin of each.

    Args:
        path: of a file; default the file that `RECALL_CONFIG` names, else none.
        environ: the environment; default that of the process.

    Raises:
        ConfigError: names all mistakes.
    """
    environ = os.environ if environ is None else environ
    name = environ.get(FILE) or None if path is None else os.fspath(path)
    written = Written(name="", values=None, places={}) if name is None else read(name)
    shaped = Shaped(written)
    given, wrong = settings_in(environ)
    found = [*written.mistakes, *shaped.mistakes]
    try:
        config = RecallConfig.from_mapping(_over(shaped.values, given))
    except ConfigError as e:
        for where, says in e.mistakes or (((), str(e)),):
            path = _named(where, says)
            if path in given:
                wrong.append(((variable(path),), f"{variable(path)} in the environment: {says}"))
            else:
                found.append((shaped.where(tuple(path.split(".")) if path in catalogue() else where), says))
    if found or wrong:
        raise refusal([*_in_order(found, written), *dict.fromkeys(wrong)])
    there = catalogue().keys() & _paths(shaped.values)
    origins = {path: written.said(shaped.where(tuple(path.split(".")))) for path in there}
    origins.update({p: f"{ENVIRONMENT} {variable(p)}" for p in given})
    entries = tuple(written.said(shaped.where(("scopes", i))) for i in range(len(config.scopes)))
    fixed = tuple(f"{written.said(where)}: {says}" for where, says in shaped.fixed)
    for says in fixed:
        logger.warning("%s", says)
    return Loaded(config=config, file=name, origins=origins, entries=entries, fixed=fixed)


def loaded_here(path: str | os.PathLike[str] | None = None) -> Loaded:
    """Return the settings for a command: `loaded`, with the system's time zone if neither file nor environment says
    another.
    """
    found = loaded(path)
    zone = found.config.timezone if "timezone" in found.origins else system_zone()
    if zone == found.config.timezone:
        return found
    return replace(found, config=replace(found.config, timezone=zone), origins={**found.origins, "timezone": SYSTEM})


def system_zone() -> str:
    """Return the IANA name of the system's time zone; UTC where it has none."""
    import tzlocal

    given = os.environ.get("TZ", "").removeprefix(":")
    try:
        name = given if _is_zone(given) else tzlocal.get_localzone_name()  # which does not know GMT, EST5EDT
    except (LookupError, ValueError, TypeError, OSError):  # `TZ` may hold anything
        name = ""
    name = name if _is_zone(name) else "UTC"
    if given and not given.endswith(name) and not Path(given).is_file():  # it may be the path of a zone's file
        _warn_no_zone(given, name)
    return "UTC" if name == "Etc/UTC" else name


def _is_zone(name: str) -> bool:
    try:
        return bool(ZoneInfo(name))
    except (LookupError, ValueError, TypeError, OSError):
        return False


@functools.cache  # a command asks several times
def _warn_no_zone(given: str, taken: str) -> None:
    logger.warning("TZ is %r, which names no time zone: %s is taken. Set a name such as Europe/Berlin.", given, taken)


def _over(values: Mapping[str, Any], given: Mapping[str, Any], *, there_only: bool = False) -> dict[str, Any]:
    """Put the values of the environment over those of a file; in an entry of `scopes` over those that it holds."""
    merged = {key: dict(value) if isinstance(value, dict) else value for key, value in values.items()}
    for path, value in given.items():
        section, _, name = path.rpartition(".")
        into = merged.get(section) if section else merged
        if into is None and not there_only:
            into = merged[section] = {}
        if isinstance(into, dict) and (name in into or not there_only):
            into[name] = value
    if given and isinstance(merged.get("scopes"), list):
        entries = merged["scopes"]
        merged["scopes"] = [_over(e, given, there_only=True) if isinstance(e, dict) else e for e in entries]
    return merged


def value_of(config: RecallConfig, path: str) -> Any:
    """Return the value of a setting."""
    return operator.attrgetter(path)(config)


def _paths(values: Mapping[str, Any]) -> set[str]:
    """Return the paths of the settings that are given."""
    inside = ((key, held) for key, held in values.items() if isinstance(held, dict))
    return {*values, *(f"{section}.{name}" for section, held in inside for name in held)}


def _named(where: Where, says: str) -> str:
    """Return the path of a setting: the one that begins the message, else the one at that place."""
    first = says.partition(" ")[0]
    return first if first in catalogue() else ".".join(map(str, where))


def _in_order(mistakes: list[Mistake], written: Written) -> list[Mistake]:
    """Return mistakes in the order of the file, each with its place."""
    placed = sorted(dict.fromkeys(mistakes), key=lambda mistake: written.place(mistake[0]) or (0, 0))
    return [(where, f"{written.said(where)}: {says}" if written.name else says) for where, says in placed]
