"""Forms of the settings for editors, documentation and a new file: the JSON schema, a table, a commented example."""

from __future__ import annotations

import functools
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin

from recall_integrations.config.checking import Names, allowed, fields_of, settings_of
from recall_integrations.config.keeping import slots_schema
from recall_integrations.config.reading import CONSTANT, ENABLED, MODES, OF_TYPOS, OWN, PIPELINE, SECTIONS, TYPOS
from recall_integrations.config.recall_config import RecallConfig
from recall_integrations.config.scopes import ANY, NOT_PER_SCOPE, PARTS, shown
from recall_integrations.records import record

_ARGS = "Args:\n"
_NAMED = re.compile(r"^    (\w+(?:, \w+)*): ", re.MULTILINE)


@record(frozen=True, slots=True, kw_only=True)
class Setting:
    """A setting."""

    path: str  # as in `planner.precise_threshold`
    kind: type  # `bool`, `int`, `float`, `str`, `tuple` (a list of names) or `dict`
    low: float | None  # the ends of its range, both included; `None` = the setting is no number
    high: float | None
    names: tuple[str, ...]  # names that it may be, or hold
    optional: bool  # whether it may be nothing
    default: Any  # the value where nobody sets it
    says: str  # its description, from the docstring of the section

    @property
    def section(self) -> str:
        """Section of the setting; "" = at the top."""
        return self.path.rpartition(".")[0]

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]


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
    firsts = {name: inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0] for name, kind in kinds.items()}
    return MappingProxyType({name: " ".join(first.split()) for name, first in firsts.items()})


@functools.cache
def settings_fields() -> MappingProxyType[str, Any]:
    """Return pydantic's data of each setting, by its path."""
    return MappingProxyType({path: info for path, info in settings_of(RecallConfig) if path != "scopes"})


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
    kind: type = dict if get_origin(annotation) is dict else (*get_args(annotation), annotation)[0]
    return kind


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


# In the wheel; `python -m recall_integrations.config.schema [PAGE]` writes it.
FILE = Path(__file__).with_name("schema.json")
DRAFT = "https://json-schema.org/draft/2020-12/schema"
WIDTH = 100
# What more can be said of a setting than its type and its range.
_MORE: dict[str, dict[str, Any]] = {
    "planner.arms": {"minItems": 1},
    "rewriting.prompt": {"pattern": r"^$|\{query\}"},
    "facts.slots": slots_schema(),
    "privacy.patterns": {"propertyNames": {"pattern": "^[a-z][a-z0-9_]{0,31}$"}},
}
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


def schema() -> dict[str, Any]:
    """Return the JSON schema of a file of settings."""
    held = _sections()
    own: dict[str, Any] = {name: {"$ref": f"#/$defs/{name}"} for name in held}
    own["rewriting"] = _or_mode(own["rewriting"])
    return {
        "$schema": DRAFT,
        "title": "Settings of recall-integrations",
        "type": "object",
        "properties": {
            OWN: _or_nothing(_object({**own, **_constant(OWN)})),
            PIPELINE: _or_nothing(_pipeline()),
            TYPOS: _or_nothing(_object({n: _reference(path) for n, path in OF_TYPOS.items()} | _constant(TYPOS))),
            **dict.fromkeys(held, False),
        },
        "anyOf": [{"maxProperties": 0}, {"required": [OWN]}, {"required": [PIPELINE]}, {"required": [TYPOS]}],
        "$defs": held,
    }


def _sections() -> dict[str, Any]:
    """Return the schemas of all settings by section, and of `scopes`."""
    found = _by_section(_typed, catalogue().values())
    found["scopes"] = {
        "description": "Settings for some scopes only, which stand over the others. The most specific entry acts.",
        "type": "array",
        "items": _entry(),
    }
    return found


def _by_section(made: Callable[[Setting], dict[str, Any]], settings: Iterable[Setting]) -> dict[str, Any]:
    """Return what is made of settings: those at the top by their names, the others in objects of their sections."""
    found: dict[str, Any] = {}
    for setting in settings:
        into = found
        if setting.section:
            about = {"description": sections()[setting.section], **_object({})}
            into = found.setdefault(setting.section, about)["properties"]
        into[setting.name] = made(setting)
    return found


def _entry() -> dict[str, Any]:
    inside: dict[str, Any] = {
        part: {"description": 'The part of the scope; * = any, "" = scopes without one.', "type": "string"}
        for part in PARTS
    }
    per_scope = [s for s in catalogue().values() if s.path not in NOT_PER_SCOPE and s.section not in NOT_PER_SCOPE]
    inside |= _by_section(lambda setting: _reference(setting.path), per_scope)
    inside["rewriting"] = _or_mode(inside["rewriting"])
    named = [{"required": [part], "properties": {part: {"not": {"const": ANY}}}} for part in PARTS]
    sets = [{"required": [key], "properties": {key: {"minProperties": 1}}} for key in inside if key not in PARTS]
    return {**_object(inside), "allOf": [{"anyOf": named}, {"anyOf": sets}]}


def _pipeline() -> dict[str, Any]:
    """Return the schema of `read_pipeline`, whose settings refer to ours."""
    inside: dict[str, Any] = {"mode": _reference("mode")}
    for section, names in SECTIONS.items():
        own = {name: _reference(path) for name, path in names.items()}
        inside[section] = _object({**own, **_constant(f"{PIPELINE}.optimizer.{section}")})
    for section, mode in MODES.items():
        inside[section]["properties"][ENABLED] = {"type": "boolean", "description": f"Whether the mode is `{mode}`."}
    return _object({"optimizer": _object(inside)})


def _constant(above: str) -> dict[str, Any]:
    """Return the names below `above` that are read and cannot be turned."""
    found = {path.rpartition(".")[2]: value for path, value in CONSTANT.items() if path.rpartition(".")[0] == above}
    return {name: {"description": f"Fixed at {value}.", "deprecated": True} for name, value in found.items()}


def _reference(path: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{path.replace('.', '/properties/')}"}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _or_nothing(about: dict[str, Any]) -> dict[str, Any]:
    return {**about, "type": ["object", "null"]}


def _or_mode(about: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [about, _reference("rewriting.mode")]}


def _typed(setting: Setting) -> dict[str, Any]:
    """Return the schema of a setting."""
    about = {"description": setting.says, "default": _plain(setting.default), **_MORE.get(setting.path, {})}
    if setting.kind is tuple:
        return {
            **about,
            "type": "array",
            "items": {"enum": list(setting.names)} if setting.names else {"type": "string"},
        }
    if setting.kind is dict:
        return {"type": "object", "additionalProperties": {"type": "string"}, **about}
    kind = _TYPES[setting.kind]
    about["type"] = [kind, "null"] if setting.optional else kind
    if setting.names:
        about["enum"] = list(setting.names)
    if setting.low is not None:
        about.update(minimum=setting.low, maximum=setting.high)
    return about


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def as_text(made: dict[str, Any]) -> str:
    """Write the schema as the text of its file."""
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"


# -- for people ------------------------------------------------------------------------------------------------------


BAR = "\\|"  # of a cell


def table() -> str:
    """Return a Markdown table of settings for each section, with ranges and defaults."""
    parts: list[str] = []
    for section in ("", *sections()):
        rows = [setting for setting in catalogue().values() if setting.section == section]
        title = f"### {section}\n\n{sections()[section]}" if section else "### At the top"
        lines = [f"| `{s.name}` | {_range(s)} | {_default(s)} | {s.says.replace('|', BAR)} |" for s in rows]
        parts.append(
            "\n".join([title, "", "| setting | may be | default | what it does |", "|---|---|---|---|", *lines])
        )
    return "\n\n".join(parts) + "\n"


def _range(setting: Setting) -> str:
    if setting.low is not None and setting.high is not None:
        said = f"{_number(setting.low)} to {_number(setting.high)}" + (", whole" if setting.kind is int else "")
        return f"{said}, or nothing" if setting.optional else said
    if setting.names:
        names = ", ".join(f"`{name}`" for name in setting.names)
        return f"some of {names}" if setting.kind is tuple else names
    if setting.kind is tuple:
        return "names"
    return "names with regular expressions" if setting.kind is dict else allowed(settings_fields()[setting.path])


def _number(value: float) -> str:
    return f"{value:,.10g}"


def _default(setting: Setting) -> str:
    if setting.kind is tuple and setting.names:
        left = [name for name in setting.names if name not in setting.default]
        return f"all but `{'`, `'.join(left)}`" if left else "all"
    if setting.kind in (int, float) and setting.default is not None:
        return _number(setting.default)
    return f"`{shown(setting.default)}`" if setting.default not in ("", None, {}, ()) else "nothing"


def example(schema_at: str = "") -> str:
    """Return a file of all settings with their defaults, each in a comment; editors read the schema at its address."""
    lines = [f"# yaml-language-server: $schema={schema_at}"] if schema_at else []
    lines += ["# Settings of recall-integrations. What stands behind a # has its default.", f"{OWN}:"]
    section = ""
    for setting in catalogue().values():
        if setting.section != section:
            section = setting.section
            lines += ["", *_comment(sections()[section], "  # # "), f"  # {section}:"]
        indent = "  #   " if section else "  # "
        lines += _comment(f"{setting.says} ({_range(setting).replace('`', '')})", f"{indent}# ")
        lines.append(f"{indent}{setting.name}: {_written(setting.default)}")
    lines += ["", *_comment(_ABOUT_SCOPES, "  # # ")]
    lines += ["  # scopes:", "  #   - namespace: support", "  #     rerank: {top_n: 10}"]
    return "\n".join(lines) + "\n"


_ABOUT_SCOPES = (
    "Settings for some scopes only. Each entry names user_id, agent_id or namespace; the one that names most acts."
)


def _written(value: Any) -> str:
    """Write a value as YAML."""
    if isinstance(value, float):
        return _number(value).replace(",", "")
    plain = json.dumps(_plain(value), ensure_ascii=False)
    return plain.replace('"', "") if value not in ("", {}) else plain


def _comment(text: str, indent: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False)


BEGIN, END = "<!-- settings -->\n", "<!-- /settings -->"


def written_into(page: str) -> str:
    """Return a page with the table between its marks."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}{table()}{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    FILE.write_text(as_text(schema()), encoding="utf-8")
    for name in sys.argv[1:]:
        Path(name).write_text(written_into(Path(name).read_text(encoding="utf-8")), encoding="utf-8")
