from __future__ import annotations

import copy
import dataclasses
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations import config
from recall_integrations.config import (
    ARMS,
    CacheConfig,
    PlannerConfig,
    QueryConfig,
    RankingConfig,
    RecallConfig,
    RerankConfig,
)
from recall_integrations.errors import ConfigError
from tests.rows import each_row

SECTIONS = [k for n, k in vars(config).items() if n.endswith("Config") and n != "RecallConfig"]


@each_row("section", SECTIONS)
@each_row("value", [float("nan"), -1e12, 1e12, "much", None])
def test_every_number_has_a_range(section: type[Any], value: Any) -> None:
    numbers = [field for field in dataclasses.fields(section) if not isinstance(field.default, bool | str)]
    asked = [field for field in numbers if value is not None or field.default is not None]
    for field in asked:
        with pytest.raises(ConfigError, match=field.name):
            section(**{field.name: value})


def test_combinations_that_make_no_sense() -> None:
    with pytest.raises(ConfigError, match="exploratory_threshold"):
        PlannerConfig(exploratory_threshold=0.9)
    with pytest.raises(ConfigError, match="ranking.strategy must be one of fixed_weights, weighted, boosts, rrf, not"):
        RankingConfig(strategy="magic")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="Europe/Berlin"):
        RecallConfig(timezone="Mars/Olympus")
    with pytest.raises(ConfigError, match="week_start"):
        RecallConfig(week_start=7)


def test_a_number_may_stand_at_either_end_of_its_range() -> None:
    assert PlannerConfig(precise_threshold=1, exploratory_threshold=0).precise_threshold == 1
    with pytest.raises(ConfigError, match=r"^planner\.precise_threshold must be a number between 0 and 1, not 1\.01"):
        PlannerConfig(precise_threshold=1.01)
    with pytest.raises(ConfigError, match=r"^planner\.arm_limit must be a whole number between 1 and 10000, not 0\.$"):
        PlannerConfig(arm_limit=0)
    with pytest.raises(ConfigError, match="arm_limit.*not True"):
        PlannerConfig(arm_limit=True)


def test_only_a_number_whose_default_is_none_may_be_none() -> None:
    assert RerankConfig(threshold=None).threshold is None and RerankConfig(threshold=-10).threshold == -10
    with pytest.raises(ConfigError, match="^rerank.threshold must be a number between -1e.06 and 1e.06, or nothing"):
        RerankConfig(threshold=2e17)
    with pytest.raises(ConfigError, match="rerank.regret_max must be a number between 0 and 100, not None"):
        RerankConfig(regret_max=None)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["rules", "arms"])
def test_lists_of_names_hold_known_names_only(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"Unknown name 'magic' in planner\.{name}\. Known: "):
        PlannerConfig(**{name: ("magic",)})
    with pytest.raises(ConfigError, match=rf"Unknown names 'lexica', 'magic' in planner\.{name}\."):
        PlannerConfig(**{name: ("magic", "lexica")})
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
    assert made.ranking == RankingConfig()
    assert RecallConfig.from_mapping({}) == RecallConfig()


@each_row(
    ("given", "message"),
    [
        ({"planer": {}}, "planer"),
        ({"planner": {"precise": 1}}, r"planner\.precise.*Known"),
        ({"planner": 7}, "planner must be a mapping"),
        ({"planner": {"arm_limit": "many"}}, "arm_limit"),
        ({"planner": {"arm_limit": 1.5}}, "arm_limit"),
        ({"planner": {"arm_limit": True}}, "arm_limit"),
        ({"ranking": {"strategy": 7}}, r"ranking\.strategy must be one of fixed_weights, .*, not 7"),
        ({"planner": {7: 1}}, r"Unknown setting planner\.7"),
        ({7: 1}, "Unknown setting 7"),
        ({"planner": None}, "planner must be a mapping"),
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
    path.write_text("recall:\n  timezone: Europe/Berlin\n  ranking: {strategy: rrf}\nother: 1\n")
    assert RecallConfig.from_yaml(path).ranking.strategy == "rrf"
    path.write_text("recall: {timezone: UTC}\n")
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
        RecallConfig(ranking=RankingConfig(strategy="rrf")),
        RecallConfig(planner=PlannerConfig(arm_limit=7)),
    ]
    assert len({c.fingerprint for c in [base, *changed]}) == 5


@each_row("value", [True, "yes", 1, None])
def test_a_switch_is_true_or_false(value: Any) -> None:
    if value is True:
        assert QueryConfig(spelling=value).spelling
        return
    with pytest.raises(ConfigError, match=r"^query\.spelling must be true or false, not "):
        QueryConfig(spelling=value)


def test_a_configuration_is_a_value() -> None:
    made = RecallConfig(planner=PlannerConfig(arm_limit=7), week_start=6)
    for other in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), dataclasses.replace(made)):
        assert other == made and hash(other) == hash(made) and other.fingerprint == made.fingerprint
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.week_start = 0  # type: ignore[misc]
    assert dataclasses.replace(made, week_start=0) == RecallConfig(planner=PlannerConfig(arm_limit=7))
    with pytest.raises(ConfigError, match=r"^planner\.arm_limit must be a whole number"):
        dataclasses.replace(made.planner, arm_limit=0)
    assert isinstance(PlannerConfig(precise_threshold=1).precise_threshold, float)


@each_row("given", [{"planner": 7}, {"planner": QueryConfig()}, {"magic": 7}])
def test_a_section_is_one_of_its_kind(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"^planner must be a mapping or a PlannerConfig|^Unknown setting magic\."):
        RecallConfig(**given)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=3),
    max_leaves=5,
)
NAMES = [f.name for f in dataclasses.fields(RecallConfig)]
SETTINGS = [f.name for section in SECTIONS for f in dataclasses.fields(section)]


@given(
    st.dictionaries(
        st.sampled_from(NAMES), ANYTHING | st.dictionaries(st.sampled_from(SETTINGS), ANYTHING, max_size=2), max_size=2
    )
    | ANYTHING
)
def test_whatever_is_given_it_is_a_configuration_or_a_mistake_with_a_name(values: Any) -> None:
    try:
        made = RecallConfig.from_mapping(values)
    except ConfigError as e:
        known = [*NAMES, *SETTINGS, "setting", "recall", "time zone"]
        assert any(name in str(e) for name in known)
    else:
        assert RecallConfig.from_mapping(dataclasses.asdict(made)) == made


def test_answers_are_kept_where_the_mode_says_so() -> None:
    assert not RecallConfig().caches and RecallConfig(mode="cached").caches
    written = {"mode": "rule", "cache": dataclasses.asdict(CacheConfig())}  # a file may name every default
    assert RecallConfig.from_mapping(written) == RecallConfig()


@each_row(
    ("given", "said"),
    [
        ({"cache": {"ttl_seconds": 5}}, r"^cache\.ttl_seconds has no effect with mode 'rule'"),
        ({"cache": {"enabled": False}}, r"^Unknown setting cache\.enabled"),
        ({"mode": "cached", "cache": {"ttl_seconds": 0}}, r"^cache\.ttl_seconds must be a number"),
        ({"mode": "learnt"}, r"^mode must be one of rule, cached, learned"),
    ],
)
def test_a_setting_of_the_cache_that_nothing_reads_is_a_mistake(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        RecallConfig.from_mapping(given)
