"""The settings that `recall tune` turns, and what it tries of each.

They are those that move figures on chats, projects, phones and documents whose licence lets one look
(docs/evaluate.md); what moves nothing anywhere only adds chances to be fooled. Knobs of the reranker are tried
where there is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recall_integrations.config import ARMS, FALLBACK, RecallConfig, ScopeSettings
from recall_integrations.config.catalogue import catalogue
from recall_integrations.config.changes import changed_settings
from recall_integrations.config.loading import value_of
from recall_integrations.config.scopes import ANY, PARTS
from recall_integrations.errors import ConfigError

RANKED = ("ranking", "rerank", "fallback_fusion")  # sections that are read when the arms are done


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """A setting, written as in a file (`ranking.exact_lift`), and the values that are tried instead of what it has."""

    name: str
    values: tuple[Any, ...]

    @property
    def ranking_only(self) -> bool:
        """Whether the candidates stay what they are."""
        return self.name.partition(".")[0] in RANKED


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A knob at a value."""

    name: str
    value: Any


Settings = tuple[Setting, ...]

KNOBS: tuple[Knob, ...] = (
    Knob(name="planner.arms", values=tuple(tuple(a for a in ARMS if a != out) for out in ARMS if out != "type_filter")),
    Knob(name="planner.arm_limit", values=(20, 80, 160)),
    Knob(name="planner.entity_weight", values=(1.0, 4.0)),
    Knob(name="planner.rarity_promotion", values=(0.6, 0.95)),
    Knob(name="planner.window_confidence_min", values=(0.3, 1.0)),
    Knob(name="query.spelling", values=(False, True)),
    Knob(name="ranking.strategy", values=(FALLBACK,)),
    Knob(name="ranking.diversity_lambda", values=(0.7, 0.8, 1.0)),
    Knob(name="ranking.exact_lift", values=(2.0, 4.0, 16.0)),
    Knob(name="ranking.profile_lift", values=(0.5, 1.0)),
    Knob(name="ranking.negation_threshold", values=(0.4, 0.75)),
    Knob(name="ranking.recency_lift", values=(0.0, 2.0)),
    Knob(name="ranking.recency_half_life_days", values=(7.0, 90.0, 365.0)),
)
RERANK_KNOBS: tuple[Knob, ...] = (
    Knob(name="rerank.top_n", values=(10, 40)),
    Knob(name="rerank.weight", values=(0.5, 0.75)),
    Knob(name="rerank.regret_max", values=(0.0, 0.1)),
)


def with_settings(config: RecallConfig, settings: Settings) -> RecallConfig:
    """The same with other settings.

    Raises:
        ConfigError: one cannot be, or not beside the others.
    """
    return config.with_settings([(one.name, one.value) for one in settings]) if settings else config


def tried(config: RecallConfig, knobs: Sequence[Knob]) -> tuple[list[Setting], dict[str, str]]:
    """What can be tried with a configuration, and which knobs cannot, and why.

    Raises:
        ConfigError: a knob names no setting.
    """
    found: list[Setting] = []
    without: dict[str, str] = {}
    for knob in knobs:
        if knob.name not in catalogue():
            raise ConfigError(f"There is no setting {knob.name!r} to tune. Write one such as ranking.exact_lift.")
        now = value_of(config, knob.name)
        for value in knob.values:
            if value == now:
                continue
            one = Setting(name=knob.name, value=value)
            try:
                with_settings(config, (one,))
            except ConfigError as e:
                without[knob.name] = str(e)
            else:
                found.append(one)
    return found, without


def as_file(config: RecallConfig) -> dict[str, Any]:
    """What differs from the defaults, nested as in a file."""
    found: dict[str, Any] = {}
    for path in changed_settings(RecallConfig(), config):
        if path == "scopes":
            found[path] = [_entry(entry) for entry in config.scopes]
        else:
            _put(found, path, value_of(config, path))
    return found


def _entry(entry: ScopeSettings) -> dict[str, Any]:
    made: dict[str, Any] = {p: v for p, v in zip(PARTS, entry.pattern, strict=True) if v != ANY}
    for path, value in entry.settings:
        _put(made, path, value)
    return made


def _put(into: dict[str, Any], path: str, value: Any) -> None:
    section, _, name = path.rpartition(".")
    held = into.setdefault(section, {}) if section else into
    if isinstance(value, tuple):
        value = list(value)
    held[name] = dict(value) if isinstance(value, Mapping) else value
