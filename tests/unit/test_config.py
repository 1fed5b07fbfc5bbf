from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from recall_integrations import config
from recall_integrations.config import (
    ARMS,
    FusionConfig,
    PlannerConfig,
    RankingConfig,
    RecallConfig,
    SpecificityConfig,
)
from recall_integrations.errors import ConfigError

SECTIONS = [k for n, k in vars(config).items() if n.endswith("Config") and n != "RecallConfig"]


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("value", [float("nan"), -1e12, 1e12, "much", None])
def test_every_number_has_a_range(section: type[Any], value: Any) -> None:
    numbers = [field for field in dataclasses.fields(section) if not isinstance(field.default, bool | str)]
    asked = [field for field in numbers if value is not None or field.default is not None]
    assert asked
    for field in asked:
        with pytest.raises(ConfigError, match=field.name if section is not SpecificityConfig else "."):
            section(**{field.name: value})


def test_combinations_that_make_no_sense() -> None:
    with pytest.raises(ConfigError, match="exploratory_threshold"):
        PlannerConfig(exploratory_threshold=0.9)
    with pytest.raises(ConfigError, match="add up to 1"):
        SpecificityConfig(temporal=0.5)
    with pytest.raises(ConfigError, match="fusion.strategy must be one of"):
        FusionConfig(strategy="magic")
    with pytest.raises(ConfigError, match="Europe/Berlin"):
        RecallConfig(timezone="Mars/Olympus")
    with pytest.raises(ConfigError, match="week_start"):
        RecallConfig(week_start=7)


def test_a_number_may_stand_at_either_end_of_its_range() -> None:
    assert PlannerConfig(precise_threshold=1, exploratory_threshold=0).precise_threshold == 1
    with pytest.raises(ConfigError, match=r"^planner\.arm_limit must be a number between 1 and 10000, not 0\.$"):
        PlannerConfig(arm_limit=0)
    with pytest.raises(ConfigError, match="arm_limit.*not True"):
        PlannerConfig(arm_limit=True)


def test_only_a_number_whose_default_is_none_may_be_none() -> None:
    assert RankingConfig(rerank_threshold=None).rerank_threshold is None
    with pytest.raises(ConfigError, match="rerank_threshold must be a number between -1e.06 and 1e.06, not 2e.17"):
        RankingConfig(rerank_threshold=2e17)
    with pytest.raises(ConfigError, match="rerank_weight.*not None"):
        RankingConfig(rerank_weight=None)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["rules", "arms"])
def test_lists_of_names_hold_known_names_only(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"Unknown name 'magic' in planner\.{name}\. Known: "):
        PlannerConfig(**{name: ("magic",)})
    with pytest.raises(ConfigError, match=rf"planner\.{name} must be a list of names, not 'lexical'"):
        PlannerConfig(**{name: "lexical"})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=rf"planner\.{name} must be a list of names"):
        RecallConfig.from_mapping({"planner": {name: [1]}})


def test_arms_are_kept_once_and_in_the_order_of_all() -> None:
    assert PlannerConfig().arms == ARMS
    assert PlannerConfig(arms=["graph", "semantic", "graph"]).arms == ("semantic", "graph")  # type: ignore[arg-type]
    assert RecallConfig.from_mapping({"planner": {"arms": ["lexical"]}}).planner.arms == ("lexical",)
    assert RecallConfig(planner=PlannerConfig(arms=("lexical",))).fingerprint != RecallConfig().fingerprint


def test_at_least_one_arm_and_no_rule_at_all() -> None:
    with pytest.raises(ConfigError, match=r"planner\.arms must name at least one arm. Known: semantic, "):
        PlannerConfig(arms=())
    assert PlannerConfig(rules=()).rules == ()


def test_from_mapping() -> None:
    made = RecallConfig.from_mapping({"timezone": "Europe/Berlin", "planner": {"precise_threshold": 1}})
    assert made.timezone == "Europe/Berlin" and made.planner.precise_threshold == 1.0
    assert made.fusion == FusionConfig()
    assert RecallConfig.from_mapping({}) == RecallConfig()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"planer": {}}, "planer"),
        ({"planner": {"precise": 1}}, r"planner\.precise.*Known"),
        ({"planner": 7}, "planner must be a mapping"),
        ({"planner": {"arm_limit": "many"}}, "arm_limit"),
        ({"planner": {"arm_limit": 1.5}}, "arm_limit"),
        ({"planner": {"arm_limit": True}}, "arm_limit"),
        ({"fusion": {"strategy": 7}}, "strategy"),
        ({"timezone": 7}, "timezone"),
        ({"retrieval": {"semantic_remote": "yes"}}, "semantic_remote"),
        (7, "mapping"),
    ],
)
def test_bad_mappings_name_the_key(given: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RecallConfig.from_mapping(given)


def test_from_yaml(tmp_path: Path) -> None:
    path = tmp_path / "recall.yaml"
    path.write_text("recall:\n  timezone: Europe/Berlin\n  fusion: {strategy: rrf}\nother: 1\n")
    assert RecallConfig.from_yaml(path).fusion.strategy == "rrf"
    path.write_text("timezone: UTC\n")
    assert RecallConfig.from_yaml(str(path)) == RecallConfig()
    for empty in ("", "recall:\n", "# nothing\n"):
        path.write_text(empty)
        assert RecallConfig.from_yaml(path) == RecallConfig()


@pytest.mark.parametrize(
    "content", [b"- a\n- b\n", b"recall: [1]\n", b"a: b: c", b"\xff\xfe\x00", b"!!python/object:os.system {}"]
)
def test_bad_yaml(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "recall.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError):
        RecallConfig.from_yaml(path)
    with pytest.raises(ConfigError, match="Cannot read"):
        RecallConfig.from_yaml(tmp_path / "nowhere.yaml")


def test_fingerprint_follows_every_setting() -> None:
    base = RecallConfig()
    assert base.fingerprint == RecallConfig().fingerprint
    changed = [
        RecallConfig(timezone="Europe/Berlin"),
        RecallConfig(week_start=6),
        RecallConfig(fusion=FusionConfig(graph=0.5)),
        RecallConfig(planner=PlannerConfig(arm_limit=7)),
    ]
    assert len({c.fingerprint for c in [base, *changed]}) == 5


@pytest.mark.parametrize(
    ("strategy", "setting", "value"),
    [
        ("fixed_weights", "rrf_k", 10),
        ("weighted", "rrf_k", 10),
        ("fixed_weights", "weights", "mine.json"),
        ("rrf", "vector", 0.5),
        ("rrf", "mode", 0.5),
        ("rrf", "time_bias", 0.5),
    ],
)
def test_a_setting_that_its_strategy_does_not_read_is_refused(strategy: str, setting: str, value: object) -> None:
    with pytest.raises(ConfigError, match=rf"fusion\.{setting} has no effect .*{strategy}.* Leave it out, or choose"):
        RecallConfig.from_mapping({"fusion": {"strategy": strategy, setting: value}})
    default = getattr(FusionConfig(), setting)  # untouched, it may be written down
    assert RecallConfig.from_mapping({"fusion": {"strategy": strategy, setting: default}}).fusion.strategy == strategy


def test_another_strategy_keeps_what_it_reads() -> None:
    mine = FusionConfig(strategy="linear", weights="mine.json", vector=0.5, exact=0.7)
    assert mine.with_strategy("weighted") == FusionConfig(strategy="weighted", vector=0.5, exact=0.7)
    assert mine.with_strategy("rrf") == FusionConfig(strategy="rrf", exact=0.7)
    assert FusionConfig(strategy="rrf", rrf_k=10).with_strategy("fixed_weights") == FusionConfig()
    with pytest.raises(ConfigError, match=r"fusion\.strategy must be one of"):
        mine.with_strategy("magic")


def test_the_risk_of_the_rerank_gate_has_one_range() -> None:
    with pytest.raises(ConfigError, match=r"ranking\.rerank_risk"):
        RankingConfig(rerank_risk=1.0)
