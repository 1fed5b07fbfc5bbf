"""Settings from a file and from the environment, and the order in which they take precedence.

call argument  >  environment  >  entry of `scopes`  >  file  >  default

A file is YAML or JSON, read with the line and column of every key; the reader of YAML reads JSON, too. Mistakes are: a
key twice in a mapping, a file that grows without end when it is read, and values that are no plain data.
"""

from __future__ import annotations

import functools
import logging
import operator
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from recall_integrations.config.checking import FILE, OTHERS, PREFIX, Mistake, did_you_mean, fields_of, refusal, unknown
from recall_integrations.config.recall_config import RecallConfig, ScopeSettings, shown
from recall_integrations.config.schema import OWN, Setting, catalogue
from recall_integrations.config.sections import REWRITE_TIMEOUT, by_mode
from recall_integrations.errors import ConfigError
from recall_integrations.records import record
from recall_integrations.types import Scope

PIPELINE, TYPOS = "read_pipeline", "typo_correction"
OPTIMIZER = f"{PIPELINE}.optimizer"
# Names in other systems' files, with our settings; most have the same name.
FOREIGN: Mapping[str, str] = {
    f"{OPTIMIZER}.mode": "mode",
    **{
        f"{OPTIMIZER}.{section}.{name}": f"{ours}.{name}"
        for section, ours, names in (
            ("rule", "planner", "precise_threshold exploratory_threshold entity_confidence_min"),
            ("cache", "cache", "ttl_seconds max_entries"),
            ("learned", "learned", "min_queries_per_signature update_cadence rollback_on_ndcg_regression"),
            ("learned", "learned", "traffic_fraction_for_new_weights"),
        )
        for name in names.split()
    },
    f"{TYPOS}.enabled": "query.spelling",
    f"{TYPOS}.similarity_threshold": "query.spelling_threshold",
}
ENABLED = {f"{OPTIMIZER}.cache.enabled": "cached", f"{OPTIMIZER}.learned.enabled": "learned"}  # says what the mode says
# Names that other systems' files have where a constant is here: they are read, and said to be fixed at this value.
CONSTANT: Mapping[str, str] = {
    f"{OPTIMIZER}.cache.normalize_casing": "true",
    f"{OPTIMIZER}.cache.normalize_punctuation": "true",
    f"{OWN}.importance_weight": "0.01",
    f"{OWN}.profile_weight": "0",
    f"{OWN}.rerank_min_k": "3",
    f"{OWN}.disable_rerank_when_slow": "true",
    f"{TYPOS}.auto_learn": "false",
    f"{TYPOS}.validation": "nothing: the memories' own words decide",
    f"{TYPOS}.max_learned_typos": "0",
    f"{OWN}.budgets_ms": "15 to walk the graph and 30 to rerank, of 110",
}


class Shaped:
    """Settings read from a file."""

    def __init__(self, written: Written) -> None:
        self.values: dict[str, Any] = {}  # as `RecallConfig.from_mapping` takes them
        self.mistakes: list[Mistake] = []  # of the format, with their places in the file
        self.fixed: list[Mistake] = []  # places and notes of names that nobody can turn here (`CONSTANT`)
        self._from: dict[Where, Where] = {}
        whole = {} if written.values is None else written.values
        if not isinstance(whole, dict):
            self.mistakes.append(((), f"The file must hold a mapping, not {_kind(whole)}."))
            return
        outside = [key for key in whole if key in fields_of(RecallConfig)]
        says = f"stands outside of {OWN}, where nothing reads it. Move it under {OWN}."
        self.mistakes += [((key,), f"{key} {says}") for key in outside]
        if whole and not outside and whole.keys().isdisjoint((OWN, PIPELINE, TYPOS)):
            self.mistakes.append(((), f"The file has no {OWN}, under which settings stand."))
        self._own(whole.get(OWN))
        self._enabled: list[tuple[Where, object]] = []
        for top in (PIPELINE, TYPOS):
            self._foreign(whole.get(top), (top,))
        for place, given in self._enabled:
            self._check_enabled(given, place)

    def where(self, ours: Where) -> Where:
        """Return the place of a setting in the file, or that of the nearest key above it."""
        for end in range(len(ours), -1, -1):
            if ours[:end] in self._from:
                return (*self._from[ours[:end]], *ours[end:])
        return ours

    def _own(self, values: object) -> None:
        self._from[()] = (OWN,)
        if values is None:
            return
        if not isinstance(values, dict):
            self.mistakes.append(((OWN,), f"{OWN} must be a mapping, not {_kind(values)}."))
            return
        own = {key: value for key, value in values.items() if not self._is_fixed((OWN, key))}
        if "rewriting" in own and (named := by_mode(own["rewriting"])) is not own["rewriting"]:
            own["rewriting"], self._from["rewriting", "mode"] = named, (OWN, "rewriting")
        self.values = {key: dict(value) if isinstance(value, dict) else value for key, value in own.items()}

    def _foreign(self, values: object, where: Where) -> None:
        """Read what stands at a place in the file of another system; note unknown keys as mistakes."""
        path = ".".join(map(str, where))
        if path in FOREIGN:
            self._put(FOREIGN[path], values, where)
        elif path in ENABLED:
            self._enabled.append((where, values))
        elif isinstance(values, dict):
            inside = [below[len(path) + 1 :] for below in (*FOREIGN, *ENABLED) if below.startswith(f"{path}.")]
            known = {below.partition(".")[0] for below in inside}
            for key, value in values.items():
                if key in known:
                    self._foreign(value, (*where, key))
                elif not self._is_fixed((*where, key)):
                    says = unknown(str(key), path, known) + f" All other settings are under {OWN}." * (
                        path == OPTIMIZER
                    )
                    self.mistakes.append(((*where, key), says))
        elif values is not None:
            self.mistakes.append((where, f"{path} must be a mapping, not {_kind(values)}."))

    def _is_fixed(self, where: Where) -> bool:
        path = ".".join(map(str, where))
        if path not in CONSTANT:
            return False
        self.fixed.append((where, f"{path} is fixed at {CONSTANT[path]}. Leave it out."))
        return True

    def _put(self, path: str, value: object, where: Where) -> None:
        section, _, name = path.rpartition(".")
        into = self.values.setdefault(section, {}) if section else self.values
        if not isinstance(into, dict):
            return  # named as a mistake of its own
        if name in into:
            says = f"{'.'.join(map(str, where))} is {path}, which stands under {OWN} too. Leave one of them out."
            self.mistakes.append((where, says))
            return
        into[name] = value
        self._from[(section, name) if section else (name,)] = where

    def _check_enabled(self, value: object, where: Where) -> None:
        """Check `enabled` of a section, which must agree with the mode; a cache may be set up that no mode reads."""
        path, mode = ".".join(map(str, where)), self.values.get("mode", "rule")
        of = ENABLED[path]
        if not isinstance(value, bool):
            self.mistakes.append((where, f"{path} must be true or false, not {value!r}."))
        elif value and of == "learned" and mode != of:
            self.mistakes.append((where, f"{path} is true, and the mode is {mode!r}. Write mode: {of} to turn it on."))
        elif not value and mode == of:
            self.mistakes.append((where, f"{path} is false, and the mode is {of}. Leave enabled out, or set true."))


def _kind(value: object) -> str:
    return {list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}.get(
        type(value), type(value).__name__
    )


BYTES_MAX = 1_000_000
VALUES_MAX = 20_000  # aliases counted as often as they stand
DEPTH_MAX = 20
BITS_MAX = 1_024  # of a whole number
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?[eE][-+]?\d+")  # YAML 1.1 takes 1e5 for text
_MERGE, _STR = "tag:yaml.org,2002:merge", "tag:yaml.org,2002:str"
_MAP, _SEQ = "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"
Where = tuple[str | int, ...]
Place = tuple[int, int]  # line and column, from 1


@record(frozen=True, slots=True, kw_only=True)
class Written:
    """The content of a file."""

    name: str  # of the file, for messages
    values: Any  # mappings, lists and plain values; `None` = nothing
    places: dict[Where, Place]  # place of each key and item, by the keys on the way to it
    mistakes: tuple[Mistake, ...] = ()  # keys that are there twice

    def place(self, where: Where) -> Place | None:
        """Return the place of a key, or of the nearest key above it that is written."""
        for end in range(len(where), -1, -1):
            if where[:end] in self.places:
                return self.places[where[:end]]
        return None

    def said(self, where: Where) -> str:
        """Return the place as text: "recall.yaml, line 7, column 5"."""
        place = self.place(where)
        return self.name if place is None else f"{self.name}, line {place[0]}, column {place[1]}"


def read(path: str | Path) -> Written:
    """Read the content of a file."""
    name = str(path)
    try:
        with Path(path).open("rb") as file:
            content = file.read(BYTES_MAX + 1)
    except (OSError, ValueError) as e:
        why = getattr(e, "strerror", None) or e
        raise ConfigError(f"Cannot read the configuration file {name}: {why}. Check the path.") from e
    if len(content) > BYTES_MAX:
        raise ConfigError(f"The configuration file {name} has more than {BYTES_MAX:,} bytes. Is it the right one?")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        line = content.count(b"\n", 0, e.start) + 1
        raise ConfigError(f"{name}, line {line}: this is not UTF-8. Save the file as UTF-8.") from e
    return parsed(text, name)


def parsed(text: str, name: str) -> Written:
    """Read the content of a text."""
    import yaml

    kind = "JSON" if name.lower().endswith(".json") else "YAML"
    if kind == "JSON" or text.lstrip().startswith("{"):
        text = text.replace("\t", " ")  # which JSON has between values alone
    loader: Any = None
    try:
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        return Written(name=name, values=None, places={}) if node is None else _Walk(loader, name).all(node)
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        at = f", line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        advice = " Indent with spaces." if e.problem and "\\t" in e.problem else ""
        raise ConfigError(f"{name}{at}: this is not {kind}: {e.problem or e.context}.{advice}") from e
    except ConfigError:
        raise
    except (yaml.YAMLError, ValueError, RecursionError) as e:  # characters that may not be; no such day; too deep
        why = "it is too deep" if isinstance(e, RecursionError) else str(e).splitlines()[0]
        raise ConfigError(f"{name}: this is not {kind}: {why}.") from e
    finally:
        if loader is not None:
            loader.dispose()


class _Walk:
    """A reader of values from YAML nodes."""

    def __init__(self, loader: Any, name: str) -> None:
        self._loader, self._name = loader, name
        self._places: dict[Where, Place] = {}
        self._mistakes: list[Mistake] = []
        self._left = VALUES_MAX

    def all(self, node: Any) -> Written:
        values = self._value(node, ())
        return Written(name=self._name, values=values, places=self._places, mistakes=tuple(self._mistakes))

    def _value(self, node: Any, where: Where) -> Any:
        self._left -= 1
        if self._left < 0:
            raise self._wrong(node, f"the file holds more than {VALUES_MAX:,} values, aliases counted where they stand")
        if len(where) > DEPTH_MAX:
            raise self._wrong(node, f"a value stands in more than {DEPTH_MAX} others")
        self._places.setdefault(where, (node.start_mark.line + 1, node.start_mark.column + 1))
        if node.id != "scalar" and node.tag not in (_MAP, _SEQ):
            raise self._wrong(node, f"{node.tag} is no plain data")
        if node.id == "mapping":
            return self._mapping(node, where)
        if node.id == "sequence":
            return [self._value(item, (*where, i)) for i, item in enumerate(node.value)]
        if node.style is None and node.tag == _STR and _NUMBER.fullmatch(node.value):
            return float(node.value)
        return self._plain(node)

    def _plain(self, node: Any) -> Any:
        try:
            value = self._loader.construct_object(node)
        except (KeyError, AttributeError, TypeError) as e:  # of a tag that says what the text is not
            raise self._wrong(node, f"{node.value[:40]!r} is no {node.tag.rpartition(':')[2]}") from e
        if isinstance(value, int) and value.bit_length() > BITS_MAX:  # nobody could even print it
            raise self._wrong(node, f"a number that begins with {node.value[:20]} is too long")
        return value

    def _wrong(self, node: Any, says: str) -> ConfigError:
        return ConfigError(f"{self._name}, line {node.start_mark.line + 1}: {says}.")

    def _mapping(self, node: Any, where: Where) -> dict[Any, Any]:
        values: dict[Any, Any] = {}
        for _, merged in [pair for pair in node.value if pair[0].tag == _MERGE]:
            for part in reversed(merged.value if merged.id == "sequence" else [merged]):  # the first has its way
                if part.id != "mapping":
                    raise self._wrong(part, "<< takes a mapping, or a list of them")
                values.update(self._value(part, where))
        seen: dict[Any, int] = {}
        for key_node, value_node in [pair for pair in node.value if pair[0].tag != _MERGE]:
            if key_node.id != "scalar":
                raise self._wrong(key_node, "a key must be a plain name")
            line, key = key_node.start_mark.line + 1, self._plain(key_node)
            here = (*where, key)
            if key in seen:
                path = "".join(f"[{k}]" if isinstance(k, int) else f".{k}" if i else str(k) for i, k in enumerate(here))
                says = f"{path} is there twice: line {seen[key]} has it already. Leave one of them out."
                self._mistakes.append((here, says))
            seen[key] = line
            self._places[here] = (line, key_node.start_mark.column + 1)
            values[key] = self._value(value_node, here)
        return values


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
