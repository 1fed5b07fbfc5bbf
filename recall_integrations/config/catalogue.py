"""Every setting as data: the source of the schema, the page, the example file and the names in the environment."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin

from recall_integrations.config.checking import Names, allowed, fields_of
from recall_integrations.config.recall_config import RecallConfig
from recall_integrations.records import record

_ARGS = "Args:\n"
_NAMED = re.compile(r"^    (\w+(?:, \w+)*): ", re.MULTILINE)


@record(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting.

    Args:
        path: as in `planner.precise_threshold`.
        kind: `bool`, `int`, `float`, `str`, `tuple` (a list of names) or `dict`.
        low, high: the ends of its range, both included; `None` = the setting is no number.
        names: names that it may be, or hold.
        optional: whether it may be nothing.
        default: the value where nobody sets it.
        says: its description, from the docstring of the section.
    """

    path: str
    kind: type
    low: float | None
    high: float | None
    names: tuple[str, ...]
    optional: bool
    default: Any
    says: str

    @property
    def section(self) -> str:
        """Section of the setting; "" = at the top."""
        return self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.path.rpartition(".")[2]

    @property
    def range(self) -> str:
        """Allowed values, in words."""
        if self.kind is tuple:
            return f"some of {', '.join(self.names)}"
        if self.kind is dict:
            return "names with regular expressions"
        return allowed(settings_fields()[self.path])


@functools.cache
def catalogue() -> MappingProxyType[str, Setting]:
    """Return every setting by its path, in the order of `RecallConfig`, those at the top first."""
    found = [_setting(path, info) for path, info in settings_fields().items()]
    found.sort(key=lambda setting: setting.section != "")
    return MappingProxyType({setting.path: setting for setting in found})


@functools.cache
def sections() -> MappingProxyType[str, str]:
    """Return the purpose of each section, by name."""
    kinds = {name: info.annotation for name, info in fields_of(RecallConfig).items() if is_dataclass(info.annotation)}
    return MappingProxyType({name: _first(inspect.cleandoc(kind.__doc__ or "")) for name, kind in kinds.items()})


@functools.cache
def settings_fields() -> MappingProxyType[str, Any]:
    """Return pydantic's data of each setting, by its path."""
    return MappingProxyType(dict(_walked(RecallConfig, "")))


def _walked(section: Any, above: str) -> Iterator[tuple[str, Any]]:
    for name, info in fields_of(section).items():
        path = f"{above}.{name}" if above else name
        if is_dataclass(info.annotation):
            yield from _walked(info.annotation, path)
        elif path != "scopes":
            yield path, info


def _setting(path: str, info: Any) -> Setting:
    section, _, name = path.rpartition(".")
    owner: Any = fields_of(RecallConfig)[section].annotation if section else RecallConfig
    kinds = get_args(info.annotation) or (info.annotation,)
    literal = get_origin(info.annotation) is Literal
    names = [rule.func.known for rule in info.metadata if isinstance(getattr(rule, "func", None), Names)]
    held = next(f for f in fields(owner) if f.name == name)
    factory: Any = held.default_factory
    default = held.metadata.get("unset", factory() if held.default is MISSING else held.default)
    return Setting(
        path=path,
        kind=str if literal else get_origin(info.annotation) if names else _kind(info.annotation),
        low=next((rule.ge for rule in info.metadata if hasattr(rule, "ge")), None),
        high=next((rule.le for rule in info.metadata if hasattr(rule, "le")), None),
        names=tuple(kinds) if literal else names[0] if names else (),
        optional=type(None) in kinds,
        default=default,
        says=_documented(owner)[name],
    )


def _kind(annotation: Any) -> type:
    """Return the plain type of `float | None`, `dict[str, str]` or `int`."""
    plain = get_origin(annotation)
    if plain is dict:
        return dict
    first: type = get_args(annotation)[0] if get_args(annotation) else annotation
    return first


@functools.cache
def _documented(owner: type) -> dict[str, str]:
    """Return the descriptions of settings in the docstring of a section, each on one line."""
    _, _, args = inspect.cleandoc(owner.__doc__ or "").partition(_ARGS)
    found: dict[str, str] = {}
    places = [*_NAMED.finditer(args)]
    for place, after in zip(places, [*places[1:], None], strict=True):
        said = " ".join(args[place.end() : after.start() if after else len(args)].split())
        found.update(dict.fromkeys(place[1].split(", "), said))
    return found


def _first(text: str) -> str:
    """Return the first paragraph, on one line."""
    return " ".join(text.partition("\n\n")[0].split())
