from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from recall_integrations import config
from recall_integrations.config import FusionConfig, PlannerConfig, RecallConfig, SpecificityConfig
from recall_integrations.errors import ConfigError

SECTIONS = [k for n, k in vars(config).items() if n.endswith("Config") and n != "RecallConfig"]


@pytest.mark.parametrize("section", SECTIONS)
@pytest.mark.parametrize("value", [float("nan"), -1e12, 1e12, "much", None])
def test_every_number_has_a_range(section: type[Any], value: Any) -> None:
    for field in dataclasses.fields(section):
        if not isinstance(field.default, bool | str) and (value is not None or field.default is not None):
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
