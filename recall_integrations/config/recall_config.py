"""`RecallConfig`: all settings, and those of some scopes only (`scopes`).

One entry of `scopes` acts on a scope: of those that fit, the one with the most parts named; of two with as many, the
one that names the user, then the one that names the agent. It takes precedence over the file; others have no effect.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, cast
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, ValidationError
from pydantic_core import to_json

from recall_integrations.config.checking import (
    Mistake,
    Text,
    in_range,
    mistakes_of,
    quiet,
    refusal,
    section,
    validated,
)
from recall_integrations.config.sections import (
    BreakerConfig,
    CacheConfig,
    FactsConfig,
    LearnedConfig,
    LimitsConfig,
    PlannerConfig,
    PostgresConfig,
    PrivacyConfig,
    QueryConfig,
    RankingConfig,
    RerankConfig,
    RetrievalConfig,
    RewritingConfig,
    VectorsConfig,
    by_mode,
)
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


# The store, its indexes, threads and breakers are made with them.
FIXED = frozenset(
    """
    retrieval.exact_max retrieval.cache_mb retrieval.semantic_remote query.spelling_threshold
    vectors.index vectors.address vectors.token_variable vectors.tenant vectors.database vectors.timeout_ms
    postgres.pool_size breakers.failures_max breakers.open_s
    """.split()
)


def changed_settings(before: RecallConfig, after: RecallConfig) -> tuple[str, ...]:
    """Return the paths of settings that differ, in the order of the sections; `scopes` where any entry differs."""
    found: list[str] = []
    for each in fields(RecallConfig):
        old, new = getattr(before, each.name), getattr(after, each.name)
        if is_dataclass(old):
            found += [f"{each.name}.{f.name}" for f in fields(old) if getattr(old, f.name) != getattr(new, f.name)]
        elif old != new:
            found.append(each.name)
    return tuple(found)


def refuse_fixed(changed: Sequence[str]) -> None:
    """Raise a `ConfigError` with each changed setting that cannot change while a store is open."""
    says = "cannot change while the store is open: it is made with it. Restart, or leave it as it was."
    mistakes = [(tuple(path.split(".")), f"{path} {says}") for path in changed if path in FIXED]
    if mistakes:
        raise refusal(mistakes)


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except Exception as e:  # zoneinfo raises several unrelated kinds for bad names
        raise ConfigError(f"timezone must be an IANA name such as 'Europe/Berlin', not {name!r}.") from e
    return name


@section("")
class RecallConfig:
    """Everything that can be set, by stage.

    Args:
        mode: `rule` (every recall is computed) or `cached` (an answer is given again for a short time, see
            `cache`) or `learned` (plans and weights follow feedback, see `learned`).
        timezone: IANA name in which "yesterday" and "last week" are read; commands take the system's by default.
        week_start: first day of the week, 0 = Monday … 6 = Sunday.
        scopes: settings for some scopes only, which stand over the others (docs/configuration.md).
    """

    query: QueryConfig = field(default_factory=QueryConfig)
    planner: PlannerConfig = field(default_factory=PlannerConfig)
    retrieval: RetrievalConfig = field(default_factory=RetrievalConfig)
    postgres: PostgresConfig = field(default_factory=PostgresConfig)
    vectors: VectorsConfig = field(default_factory=VectorsConfig)
    ranking: RankingConfig = field(default_factory=RankingConfig)
    rewriting: Annotated[RewritingConfig, BeforeValidator(by_mode)] = field(default_factory=RewritingConfig)
    rerank: RerankConfig = field(default_factory=RerankConfig)
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    breakers: BreakerConfig = field(default_factory=BreakerConfig)
    cache: CacheConfig = field(default_factory=CacheConfig)
    mode: Literal["rule", "cached", "learned"] = "rule"
    privacy: PrivacyConfig = field(default_factory=PrivacyConfig)
    facts: FactsConfig = field(default_factory=FactsConfig)
    learned: LearnedConfig = field(default_factory=LearnedConfig)
    timezone: Annotated[Text, AfterValidator(_zone)] = "UTC"
    week_start: Annotated[int, in_range(0, 6)] = 0
    scopes: Annotated[tuple[ScopeSettings, ...], ENTRIES] = ()

    def __post_init__(self) -> None:
        if self.mode != "cached" and self.cache.unread:
            name = f"cache.{self.cache.unread[0]}"
            raise ConfigError(f"{name} has no effect with mode {self.mode!r}. Leave it out, or set mode: cached.")
        if self.scopes:
            _check_scopes(self)

    def with_settings(self, settings: Iterable[tuple[str, Any]]) -> RecallConfig:
        """Return a copy with other values.

        Args:
            settings: path and value: `("rerank.top_n", 10)`.

        Raises:
            ConfigError: a path is unknown, or a value not allowed.
        """
        held: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        values = {name: asdict(cast(Any, one)) if is_dataclass(one) else one for name, one in held.items()}
        for path, value in settings:
            section, _, name = path.rpartition(".")
            into = values.setdefault(section, {}) if section else values
            if not isinstance(into, dict):
                raise ConfigError(f"{section} has no settings below it, so that {path} names none.")
            into[name] = value
        return RecallConfig.from_mapping(values)

    def for_scope(self, scope: Scope) -> tuple[RecallConfig, ScopeSettings | None]:
        """Return the settings in a scope, without `scopes`, and the entry of `scopes` that acts there."""
        entry = acting(by_pattern(self.scopes), scope) if self.scopes else None
        return self.with_entry(entry), entry

    def with_entry(self, entry: ScopeSettings | None) -> RecallConfig:
        """Return the settings where an entry of `scopes` acts; for `None`, where none acts. They have no `scopes`."""
        plain = replace(self, scopes=()) if self.scopes else self
        return plain if entry is None else plain.with_settings(entry.settings)

    @property
    def caches(self) -> bool:
        """True if answers are kept."""
        return self.mode == "cached"

    @property
    def fingerprint(self) -> str:
        """Short digest of all settings that act on answers; part of cache keys."""
        return hashlib.blake2b(to_json(self), digest_size=8).hexdigest()

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> RecallConfig:
        """Build from nested mappings, as a YAML or JSON file gives them.

        Raises:
            ConfigError: a key is unknown, or a value has a wrong type or is out of range.
        """
        given = dict(values) if isinstance(values, Mapping) else values
        try:
            made: RecallConfig = validated(cast(Hashable, cls)).validate_python(given)
        except ValidationError as e:
            raise refusal(mistakes_of(cls, "", e)) from None
        return made

    @classmethod
    def from_yaml(cls, path: str | Path) -> RecallConfig:
        """Read a file of YAML or JSON, and nothing else: `load` reads the environment, too (docs/configuration.md).

        Raises:
            ConfigError: the file cannot be read, or holds mistakes; the message names all, with line and column.
        """
        from recall_integrations.config.loading import loaded

        return loaded(path, environ={}).config

    @classmethod
    def load(cls, path: str | Path | None = None) -> RecallConfig:
        """Read a file and the environment: `RECALL_PLANNER__PRECISE_THRESHOLD` takes precedence over the file.

        Args:
            path: YAML or JSON; default the file that `RECALL_CONFIG` names, else none.

        Raises:
            ConfigError: as `from_yaml`; or an unknown name in the environment begins with `RECALL_`.
        """
        from recall_integrations.config.loading import loaded

        return loaded(path).config


def _check_scopes(config: RecallConfig) -> None:
    """Raise the mistakes of settings in all entries of `scopes`."""
    mistakes: list[Mistake] = []
    for i, entry in enumerate(config.scopes):
        try:
            config.with_entry(entry)
        except ConfigError as e:  # noqa: PERF203 - all of them are told
            mistakes += [(("scopes", i, *where), f"In scopes[{i}]: {says}") for where, says in e.mistakes]
    if mistakes:
        raise refusal(mistakes)


def checked_config(config: object) -> RecallConfig:
    """Return the settings; for `None`, those of the environment, as `RecallConfig.load` reads it.

    Raises:
        ConfigError: `config` is something else.
    """
    if config is None:
        return RecallConfig() if quiet(os.environ) else RecallConfig.load()
    if not isinstance(config, RecallConfig):
        raise ConfigError(
            f"config must be a RecallConfig, not {type(config).__name__}. RecallConfig.from_mapping makes one of a "
            "mapping, RecallConfig.load of a file."
        )
    return config
