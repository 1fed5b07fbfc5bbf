"""Declarations of sections of the settings: allowed values, and messages about others; addresses of servers."""

from __future__ import annotations

import functools
import ipaddress
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, is_dataclass
from typing import Annotated, Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ArgsKwargs, ErrorDetails
from pydantic_core.core_schema import CoreSchema, no_info_before_validator_function
from typing_extensions import dataclass_transform

from recall_integrations.errors import ConfigError, RecallError
from recall_integrations.records import record

PREFIX = "RECALL_"
FILE = "RECALL_CONFIG"
# Read elsewhere, or in a way of their own.
OTHERS: Mapping[str, str] = {
    FILE: "the configuration file",
    "RECALL_REWRITE_TIMEOUT": "longest wait for an LLM that rewrites: 6s, 800ms",
    "RECALL_EMBEDDING": "of the command line: the embedding of the store",
    "RECALL_DEBUG": "of the command line: show the traceback of an error",
    "RECALL_MCP_TOKEN": "of `recall mcp`: what clients send",
    "RECALL_KILLS": "of the tests",
    "RECALL_LEAK_CASES": "of the tests",
    "RECALL_FUZZ_CASES": "of the tests",
}
_OTHERS = frozenset(OTHERS) - {FILE}
# What others call our settings, for "Did you mean".
OTHER_NAMES: Mapping[str, str] = {
    "topK_lexical": "planner.lexical_limit",
    "topK_dense": "planner.arm_limit",
    "fused_top_k": "rerank.top_n",
    "rerank_top_k": "rerank.top_n",
    "rerank_top_n": "rerank.top_n",
    "rerank_threshold": "rerank.threshold",
    "graph_hop_limit": "retrieval.graph_hops",
    "hop_factors": "retrieval.graph_hop_factor",
    "graph_weight": "planner.entity_weight",
    "recency_decay": "ranking.recency_half_life_days",
    "typo_correction": "query.spelling",
    "similarity_threshold": "query.spelling_threshold",
}


def quiet(environ: Mapping[str, str]) -> bool:
    """Say whether the environment holds no settings."""
    return not any(name.startswith(PREFIX) and name not in _OTHERS for name in environ)


S = TypeVar("S")
NEAR = 0.75  # how alike a name is that may have been meant
Mistake = tuple[tuple[str | int, ...], str]  # keys on the way to it, and what is wrong


def in_range(low: float, high: float) -> Any:
    """Return the constraint of a number, both ends included. `True`, NaN and infinities do not meet it."""
    return Field(strict=True, ge=low, le=high, allow_inf_nan=False)


Share = Annotated[float, in_range(0, 1)]
Weight = Annotated[float, in_range(0, 10)]
Switch = Annotated[bool, Field(strict=True)]
Text = Annotated[str, Field(strict=True)]


class Names:
    """A validator of lists of names; it returns those that are given, in the order of `known` (empty = any names).

    It stands in the annotation of a setting.
    """

    def __init__(self, setting: str, known: tuple[str, ...]) -> None:
        self.setting, self.known = setting, known

    def __call__(self, given: object) -> tuple[str, ...]:
        if not isinstance(given, tuple | list | set | frozenset) or not all(isinstance(item, str) for item in given):
            known = f" Known: {', '.join(self.known)}." if self.known else ""
            raise ConfigError(f"{self.setting} must be a list of names, not {given!r}.{known}")
        if not self.known:
            return tuple(dict.fromkeys(given))
        unknown = sorted(item for item in given if item not in self.known)
        if unknown:
            hints = "".join(did_you_mean(item, self.known) for item in unknown)
            said = f"name{'s' * (len(unknown) > 1)} {', '.join(map(repr, unknown))}"
            raise ConfigError(f"Unknown {said} in {self.setting}.{hints} Known: {', '.join(self.known)}.")
        return tuple(item for item in self.known if item in given)

    def __get_pydantic_core_schema__(self, kind: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return no_info_before_validator_function(self, handler(kind))

    def __get_pydantic_json_schema__(self, _: CoreSchema, __: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "array", "items": {"enum": list(self.known)} if self.known else {"type": "string"}}


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def section(path: str) -> Callable[[type[S]], type[S]]:
    """Return the decorator that makes a frozen record which pydantic checks when settings are given. Defaults are not
    checked, so that a process which changes nothing does not wait for pydantic. `path` "" = at the top of a file.
    """

    def made(plain: type[S]) -> type[S]:
        own: Any = record(frozen=True, slots=True, kw_only=True)(plain)
        by_default = own.__init__

        @functools.wraps(by_default)
        def __init__(self: Any, **given: Any) -> None:  # noqa: N807 - it is one
            if not given:
                by_default(self)
                return
            try:
                validated(own).validate_python(ArgsKwargs((), given), self_instance=self)
            except ValidationError as e:
                raise refusal(mistakes_of(own, path, e)) from None

        own.__init__ = __init__
        own.__pydantic_config__ = ConfigDict(extra="forbid")
        checked: type[S] = own
        return checked

    return made


@functools.cache
def validated(section: Hashable) -> Any:
    """Return the pydantic validator of a section."""
    kind: Any = section
    return TypeAdapter(kind).validator


@functools.cache
def fields_of(section: Hashable) -> dict[str, FieldInfo]:
    """Return pydantic's field of each setting of a section."""
    hints = get_type_hints(section, include_extras=True)
    return {name: FieldInfo.from_annotation(hint) for name, hint in hints.items()}


def refusal(mistakes: Sequence[Mistake]) -> ConfigError:
    """Return one error that names all mistakes."""
    said = [says for _, says in mistakes]
    error = ConfigError(said[0] if len(said) == 1 else "\n".join([f"{len(said)} mistakes in the settings:", *said]))
    error.mistakes = tuple(mistakes)
    return error


def mistakes_of(section: Any, path: str, found: ValidationError) -> list[Mistake]:
    """Return the mistakes, each with its place."""
    mistakes: list[Mistake] = []
    for error in found.errors(include_url=False):
        where = (*(path.split(".") if path else ()), *error["loc"])
        cause = error.get("ctx", {}).get("error")
        if not isinstance(cause, ConfigError):
            mistakes.append((where, _problem(section, path, error)))
        elif cause.mistakes:  # of settings inside of settings
            mistakes += [(inside, says) for inside, says in cause.mistakes]
        else:  # of one of our own checks
            mistakes.append((where, str(cause)))
    return mistakes


def _problem(section: Any, path: str, error: ErrorDetails) -> str:
    """Return the message of a mistake, with the name of the setting and the allowed values."""
    known = fields_of(section)
    elsewhere = () if path else [below for below, _ in settings_of(section)]
    setting: Any = None
    kind: Any = None
    for key in error["loc"]:
        above, path = path, f"{path}.{key}" if path else str(key)
        if key not in known:
            return unknown(str(key), above, known, elsewhere)
        setting = known[str(key)]
        kind = setting.annotation
        if not is_dataclass(kind):
            break
        known = fields_of(cast(Hashable, kind))
    if setting is None or is_dataclass(kind):
        other = "" if setting is None else f" or a {kind.__name__}"
        return f"{path or 'recall'} must be a mapping{other}, not {type(error['input']).__name__}."
    return f"{path} must be {allowed(setting)}, not {error['input']!r}."


def unknown(key: str, above: str, known: Iterable[str], elsewhere: Sequence[str] = ()) -> str:
    """Return the message about an unknown key below `above`; `elsewhere` are paths that may have been meant."""
    hint = did_you_mean(key, known, elsewhere)
    said = hint or f" Known: {', '.join(sorted(known))}."
    return f"Unknown setting {f'{above}.{key}' if above else key}.{said}"


def did_you_mean(key: str, known: Iterable[str], elsewhere: Sequence[str] = ()) -> str:
    """Return " Did you mean …?", or an empty text where no name is near."""
    import difflib

    near = [OTHER_NAMES[key]] if key in OTHER_NAMES else difflib.get_close_matches(key, list(known), 1, NEAR)
    if near:
        return f" Did you mean {near[0]}?"
    ends = {path.rpartition(".")[2]: path for path in elsewhere}
    near = difflib.get_close_matches(key, list(ends), 1, NEAR)
    return f" Did you mean {ends[near[0]]}?" if near else ""


def settings_of(section: Any, path: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield the paths of all settings, such as `planner.precise_threshold`, each with pydantic's data of it."""
    for name, setting in fields_of(section).items():
        here = f"{path}.{name}" if path else name
        if is_dataclass(setting.annotation):
            yield from settings_of(setting.annotation, here)
        else:
            yield here, setting


def allowed(setting: Any) -> str:
    """Return the allowed values of a setting, in words."""
    if get_origin(setting.annotation) is Literal:
        return f"one of {', '.join(get_args(setting.annotation))}"
    kinds = get_args(setting.annotation) or (setting.annotation,)
    ends = [end for rule in setting.metadata for end in (getattr(rule, "ge", None), getattr(rule, "le", None))]
    low_high = [f"{end:g}" for end in ends if end is not None]
    said = {bool: "true or false", str: "text", int: "a whole number", float: "a number"}[kinds[0]]
    said += f" between {' and '.join(low_high)}" if low_high else ""
    return f"{said}, or nothing" if type(None) in kinds else said


def defaults(section: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the defaults of some settings of a section."""
    return {name: section.__dataclass_fields__[name].default for name in names}


def is_loopback(name: str) -> bool:
    """Say whether a name or address belongs to this machine alone (loopback)."""
    try:
        return name.lower() == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def checked_server(given: object, what: str, advice: str, error: type[RecallError]) -> str:
    """Return the address of a server without a slash at its end. Raises `error`, which repeats no password."""
    text = given.rstrip("/") if isinstance(given, str) else ""
    try:
        parts = urlsplit(text)
        named = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        named = named and not (parts.query or parts.fragment)
    except ValueError:  # its port is no number
        named = False
    if "@" in text.partition("://")[2].partition("/")[0]:
        raise error(f"{what} must not hold a user or a password. {advice}")
    if not named:
        raise error(f"{what} must be like http://127.0.0.1:8000 or https://host, not {str(given)[:80]!r}. {advice}")
    return text
