"""Forms of the settings for editors, documentation and a new file: the JSON schema, a table, a commented example."""

from __future__ import annotations

import functools
import inspect
import json
import re
import sys
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin

from pydantic import TypeAdapter

from recall_integrations.config.checking import Names, fields_of, settings_of
from recall_integrations.config.recall_config import NOT_PER_SCOPE, PARTS, RecallConfig, shown
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
    found = [_setting(path, info) for path, info in settings_of(RecallConfig) if path != "scopes"]
    found.sort(key=lambda setting: setting.section != "")
    return MappingProxyType({setting.path: setting for setting in found})


@functools.cache
def sections() -> MappingProxyType[str, str]:
    """Return the purpose of each section, by name."""
    kinds = {name: info.annotation for name, info in fields_of(RecallConfig).items() if is_dataclass(info.annotation)}
    firsts = {name: inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0] for name, kind in kinds.items()}
    return MappingProxyType({name: " ".join(first.split()) for name, first in firsts.items()})


def _setting(path: str, info: Any) -> Setting:
    section, _, name = path.rpartition(".")
    owner: Any = fields_of(RecallConfig)[section].annotation if section else RecallConfig
    kinds = get_args(info.annotation) or (info.annotation,)
    literal = get_origin(info.annotation) is Literal
    names = [rule.known for rule in info.metadata if isinstance(rule, Names)]
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


OWN = "recall"  # under which settings stand in a file
DRAFT = "https://json-schema.org/draft/2020-12/schema"
WIDTH = 100


def schema() -> dict[str, Any]:
    """Return the JSON schema of a file of settings: pydantic's, with descriptions. What a file of another system may
    hold, and which settings an entry of `scopes` may not have, only `RecallConfig.load` says."""
    made = TypeAdapter(RecallConfig).json_schema()
    held, own = made.pop("$defs"), made["properties"]
    for name, about in sections().items():
        kind = held[type(getattr(RecallConfig(), name)).__name__]
        kind["description"] = about
        for key, inside in kind["properties"].items():
            inside["description"] = catalogue()[f"{name}.{key}"].says
    own["rewriting"] = {"anyOf": [own["rewriting"], held["RewritingConfig"]["properties"]["mode"]]}  # `rewriting: full`
    parts = {part: {"type": "string"} for part in PARTS}
    per_scope = {name: about for name, about in own.items() if name not in NOT_PER_SCOPE}
    entry = {"type": "object", "additionalProperties": False, "properties": parts | per_scope}
    own["scopes"] = {"type": "array", "items": entry}
    made = {**made, "type": ["object", "null"]}
    return {"$schema": DRAFT, "$defs": held, "type": "object", "properties": {OWN: made, **dict.fromkeys(own, False)}}


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
    return {dict: "names with regular expressions", bool: "true or false", str: "text"}[setting.kind]


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
    plain = json.dumps(value, ensure_ascii=False)
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
    for name in sys.argv[1:]:
        Path(name).write_text(written_into(Path(name).read_text(encoding="utf-8")), encoding="utf-8")
