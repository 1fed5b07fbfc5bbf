from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recall_integrations import Scope
from recall_integrations.config import PlannerConfig, RecallConfig
from recall_integrations.config.loading import BYTES_MAX, loaded, parsed, read
from recall_integrations.errors import ConfigError
from tests.quick import examples

PIPELINE = """
read_pipeline:
  optimizer:
    mode: rule
    rule: {precise_threshold: 0.8, exploratory_threshold: 0.4, entity_confidence_min: 0.85}
    cache: {enabled: true, ttl_seconds: 30, max_entries: 1000, normalize_casing: true, normalize_punctuation: true}
    learned:
      enabled: false
      min_queries_per_signature: 30
      update_cadence: weekly
      rollback_on_ndcg_regression: true
      traffic_fraction_for_new_weights: 0.1
"""


def file(tmp_path: Path, text: str | bytes, name: str = "recall.yaml") -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def mistakes(
    tmp_path: Path, text: str | bytes, environ: dict[str, str] | None = None, name: str = "r.yaml"
) -> list[str]:
    """What is said of a file, a line each, without its directory."""
    with pytest.raises(ConfigError) as found:
        loaded(file(tmp_path, text, name), environ or {})
    said = str(found.value).replace(f"{tmp_path}{os.sep}", "").splitlines()
    assert len(said) == 1 or said[0] == f"{len(said) - 1} mistakes in the settings:" == (
        f"{len(found.value.mistakes)} mistakes in the settings:"
    )
    return said if len(said) == 1 else said[1:]


def test_both_shapes_say_the_same(tmp_path: Path) -> None:
    assert RecallConfig.from_yaml(file(tmp_path, PIPELINE)) == RecallConfig()
    changed = PIPELINE.replace("mode: rule", "mode: cached").replace("0.85", "0.9").replace("30,", "5,")
    ours = {"mode": "cached", "planner": {"entity_confidence_min": 0.9}, "cache": {"ttl_seconds": 5}}
    assert RecallConfig.from_yaml(file(tmp_path, changed)) == RecallConfig.from_mapping(ours)
    both = PIPELINE + "recall: {rerank: {top_n: 7}, planner: {arm_limit: 9}}\n"
    made = RecallConfig.from_yaml(file(tmp_path, both))
    assert (made.rerank.top_n, made.planner) == (7, PlannerConfig(arm_limit=9))


def test_a_section_on_typos_sets_the_spelling(tmp_path: Path) -> None:
    typos = "typo_correction: {enabled: true, auto_learn: true, similarity_threshold: 0.9, max_learned_typos: 1000}\n"
    read = loaded(file(tmp_path, typos), {})
    assert (read.config.query.spelling, read.config.query.spelling_threshold) == (True, 0.9)
    assert [line.partition("typo_correction.")[2].split()[0] for line in read.fixed] == [
        "auto_learn",
        "max_learned_typos",
    ]
    (said,) = mistakes(tmp_path, "typo_correction: {similarity_treshold: 0.8}\n")
    assert "Did you mean" in said


def test_a_setting_of_both_shapes_is_a_mistake(tmp_path: Path) -> None:
    (said,) = mistakes(tmp_path, PIPELINE + "recall: {planner: {precise_threshold: 0.8}}\n")
    assert said == (
        "r.yaml, line 5, column 12: read_pipeline.optimizer.rule.precise_threshold is planner.precise_threshold, which "
        "stands under recall too. Leave one of them out."
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("mode: learnt", "column 29: mode must be one of rule, cached, learned, not 'learnt'"),
        (
            "learned: {enabled: true}",
            "learned.enabled is true, and the mode is 'rule'. Write mode: learned",
        ),
        (
            "mode: learned, learned: {enabled: false}",
            "learned.enabled is false, and the mode is learned.",
        ),
        ("learned: {update_cadence: hourly}", "learned.update_cadence must be one of daily, weekly, monthly"),
        ("mode: cached, cache: {enabled: false}", "cache.enabled is false, and the mode is cached."),
        ("learned: {enabled: 0}", "learned.enabled must be true or false, not 0."),
        ("rule: {precise_treshold: 1}", "rule.precise_treshold. Did you mean precise_threshold?"),
        (
            "ranking: {}",
            "Unknown setting read_pipeline.optimizer.ranking. Known: cache, learned, mode, rule. All other",
        ),
        ("rule: 7", "read_pipeline.optimizer.rule must be a mapping, not a number."),
        (
            "rule: {precise_threshold: 7}",
            "column 36: planner.precise_threshold must be a number between 0 and 1, not 7",
        ),
        ("cache: {ttl_seconds: 5}", "column 37: cache.ttl_seconds has no effect with mode 'rule'"),
    ],
)
def test_mistakes_of_the_other_shape(tmp_path: Path, given: str, said: str) -> None:
    (found,) = mistakes(tmp_path, f"read_pipeline: {{optimizer: {{{given}}}}}")
    assert found.startswith("r.yaml, line 1, column ") and said in found


def test_all_mistakes_are_told_at_once_with_their_places(tmp_path: Path) -> None:
    text = """recall:
  timezone: UTC
  planner:
    precise_treshold: 0.9
    arm_limit: many
  planer: {}
  precise_threshold: 1
  rerank: {rerank_top_n: 3}
"""
    assert mistakes(tmp_path, text) == [
        "r.yaml, line 4, column 5: Unknown setting planner.precise_treshold. Did you mean precise_threshold?",
        "r.yaml, line 5, column 5: planner.arm_limit must be a whole number between 1 and 10000, not 'many'.",
        "r.yaml, line 6, column 3: Unknown setting planer. Did you mean planner?",
        "r.yaml, line 7, column 3: Unknown setting precise_threshold. Did you mean planner.precise_threshold?",
        "r.yaml, line 8, column 12: Unknown setting rerank.rerank_top_n. Did you mean rerank.top_n?",
    ]


def test_a_mistake_between_two_settings_is_where_it_is_written(tmp_path: Path) -> None:
    (said,) = mistakes(tmp_path, "recall:\n  planner:\n    arm_limit: 7\n    exploratory_threshold: 0.9\n")
    assert said.startswith("r.yaml, line 4, column 5: planner.exploratory_threshold must not exceed")
    (said,) = mistakes(tmp_path, "recall:\n  week_start: 0\n  timezone: Mars/Olympus\n")
    assert said.startswith("r.yaml, line 3, column 3: timezone must be an IANA name such as 'Europe/Berlin'")


def test_a_file_of_an_application_may_hold_other_things(tmp_path: Path) -> None:
    assert RecallConfig.from_yaml(file(tmp_path, "recall: {week_start: 6}\nserver: {port: 1}\n")).week_start == 6
    (said,) = mistakes(tmp_path, "recall: {week_start: 6}\nplanner: {arm_limit: 7}\n")
    assert (
        said
        == "r.yaml, line 2, column 1: planner stands outside of recall, where nothing reads it. Move it under recall."
    )
    assert mistakes(tmp_path, "planner: {}\nserver: {}\n")[0].startswith(
        "r.yaml, line 1, column 1: planner stands outside"
    )
    (said,) = mistakes(tmp_path, "server: {port: 1}\n")
    assert said == "r.yaml, line 1, column 1: The file has no recall, under which settings stand."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("recall: {week_start: 6}\nrecall: {}\n", "r.yaml, line 2, column 1: recall is there twice: line 1 has it"),
        ("recall:\n  mode: rule\n  mode: rule\n", "line 3, column 3: recall.mode is there twice: line 2"),
        ("planner:\n\tarm_limit: 7\n", "r.yaml, line 2, column 1: this is not YAML: .* Indent with spaces."),
        ("planner: [\n", "this is not YAML"),
        ("--- 1\n--- 2\n", "r.yaml, line 2, column 1: this is not YAML"),
        (b"planner: {}\n\xff\n", "r.yaml, line 2: this is not UTF-8"),
        (b"planner: \x00\n", "this is not YAML: unacceptable character"),
        ("- a\n", "r.yaml, line 1, column 1: The file must hold a mapping, not a list"),
        ("recall: [1]", "recall must be a mapping, not a list"),
        ("7", "must hold a mapping, not a number"),
        (
            "planner: !!python/object:os.system {}\n",
            "r.yaml, line 1: tag:yaml.org,2002:python/object:os.system is no plain data.$",
        ),
        ("timezone: !!timestamp noon\n", "r.yaml, line 1: 'noon' is no timestamp.$"),
        ("? !!bool perhaps\n: 1\n", "r.yaml, line 1: 'perhaps' is no bool.$"),
        (f"planner: {{arm_limit: 0x{'f' * 5_000}}}\n", "line 1: a number that begins with 0xf+ is too long.$"),
        (f"planner: {{arm_limit: 1{':1' * 900}}}\n", "line 1: a number that begins with [1:]+ is too long.$"),
        ("planner: !!python/name:os.system\n", "this is not YAML: could not determine a constructor"),
        ("? [a]\n: 1\n", "line 1: a key must be a plain name"),
        ("planner: {<<: 7}\n", "<< takes a mapping, or a list of them"),
        ("a: &a [*a]\n", "stands in more than 20 others"),
        ("[" * 2_000, "this is not YAML"),
        ("recall: {timezone: 2020-99-99}\n", "this is not YAML|timezone must be text"),
    ],
)
def test_what_is_no_file_of_settings(tmp_path: Path, text: str | bytes, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as refused:
        loaded(file(tmp_path, text, "r.yaml"), {})
    assert str(refused.value).count("r.yaml") <= 1


def test_a_file_that_grows_without_end_is_refused(tmp_path: Path) -> None:
    bomb = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10))
    with pytest.raises(ConfigError, match="more than 20,000 values"):
        RecallConfig.from_yaml(file(tmp_path, bomb))
    merges = "a0: &a0 {x: 1}\n" + "".join(
        f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 10)}]}}\n" for i in range(1, 9)
    )
    with pytest.raises(ConfigError, match="more than 20,000 values"):
        RecallConfig.from_yaml(file(tmp_path, merges))
    with pytest.raises(ConfigError, match="more than 1,000,000 bytes"):
        RecallConfig.from_yaml(file(tmp_path, b"#" * (BYTES_MAX + 1)))
    with pytest.raises(ConfigError, match="Cannot read the configuration file"):
        RecallConfig.from_yaml(tmp_path)
    with pytest.raises(ConfigError, match="Cannot read"):
        RecallConfig.from_yaml("a\0b")


def test_anchors_and_merges_share_settings(tmp_path: Path) -> None:
    text = """
x: &x {arm_limit: 7, precise_threshold: 0.8}
recall:
  planner: {precise_threshold: 0.9, <<: *x}
"""
    planner = RecallConfig.from_yaml(file(tmp_path, text)).planner
    assert (planner.arm_limit, planner.precise_threshold) == (7, 0.9)


def test_json_is_read_with_places_too(tmp_path: Path) -> None:
    text = (
        '{\n\t"recall": {\n\t\t"rerank": {"threshold": -1e1, "top_n": 7},\n\t\t"timezone": "Europe\\/Berlin"\n\t}\n}\n'
    )
    made = RecallConfig.from_yaml(file(tmp_path, text, "r.json"))
    assert (made.rerank.threshold, made.rerank.top_n, made.timezone) == (-10.0, 7, "Europe/Berlin")
    assert RecallConfig.from_yaml(file(tmp_path, text)) == made
    (said,) = mistakes(tmp_path, text.replace("7", "0"), name="r.json")
    assert said.startswith("r.json, line 3, column 33: rerank.top_n must be a whole number")
    (said,) = mistakes(tmp_path, '{\n "a": [1,\n x}', name="r.json")
    assert said.startswith("r.json, line 3, column 3: this is not JSON: ")


def test_numbers_of_yaml_are_numbers(tmp_path: Path) -> None:
    assert (
        RecallConfig.from_yaml(
            file(tmp_path, "recall: {ranking: {recency_half_life_days: 1e2}}")
        ).ranking.recency_half_life_days
        == 100
    )
    with pytest.raises(ConfigError, match="must be a number"):
        RecallConfig.from_yaml(file(tmp_path, "recall: {ranking: {recency_half_life_days: '1e2'}}"))


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    for text in (b"", b"\xef\xbb\xbf", b"# nothing\n", b"---\n", b"recall:\n", b"recall: {}\nread_pipeline:\n"):
        assert RecallConfig.from_yaml(file(tmp_path, text)) == RecallConfig()


def test_the_name_of_a_mode_stands_for_rewriting_with_it(tmp_path: Path) -> None:
    text = "recall: {rewriting: full, scopes: [{user_id: a, rewriting: off}, {user_id: b, rewriting: {mode: careful}}]}"
    found = loaded(file(tmp_path, text), {})
    modes = [found.config.for_scope(Scope(user_id=user))[0].rewriting.mode for user in ("", "a", "b")]
    assert modes == ["full", "off", "careful"]
    assert found.origins["rewriting.mode"].endswith("line 1, column 10")
    assert RecallConfig.from_mapping({"rewriting": "full"}).rewriting.mode == "full"
    assert mistakes(tmp_path, "recall: {rewriting: some}") == [
        "r.yaml, line 1, column 10: rewriting.mode must be one of off, careful, full, not 'some'."
    ]


def test_a_wrong_zone_hides_no_other_mistake(tmp_path: Path) -> None:
    assert len(mistakes(tmp_path, "recall: {timezone: Mars, week_start: 9}")) == 2


# -- the environment -----------------------------------------------------------------------------------------------


def test_the_environment_stands_over_the_file(tmp_path: Path) -> None:
    path = file(tmp_path, "recall: {planner: {arm_limit: 7, precise_threshold: 0.8}}\n")
    environ = {
        "RECALL_PLANNER__ARM_LIMIT": "9",
        "RECALL_TIMEZONE": "Europe/Berlin",
        "RECALL_RERANK__THRESHOLD": "null",
        "RECALL_PLANNER__ARMS": "[lexical, semantic]",
        "RECALL_QUERY__SPELLING": "false",
        "RECALL_PRIVACY__PATTERNS": "{badge: 'B-[0-9]+'}",
        "RECALL_REWRITING__PROMPT": "7: {query}",
        "RECALL_EMBEDDING": "x",
        "OTHER": "y",
    }
    made = loaded(path, environ).config
    assert (made.planner.arm_limit, made.planner.precise_threshold, made.timezone) == (9, 0.8, "Europe/Berlin")
    assert made.planner.arms == ("semantic", "lexical") and made.rerank.threshold is None and not made.query.spelling
    assert dict(made.privacy.patterns) == {"badge": "B-[0-9]+"} and made.rewriting.prompt == "7: {query}"


def test_mistakes_in_the_environment_name_the_variable(tmp_path: Path) -> None:
    environ = {
        "RECALL_PLANER__ARM_LIMIT": "7",
        "RECALL_WEEK_START": "9",
        "RECALL_PLANNER__ARMS": "[",
        "RECALL_HOME": "x",
    }
    said = mistakes(tmp_path, "recall: {timezone: 7}", environ)
    assert (
        sum(
            "Unknown name RECALL_PLANER__ARM_LIMIT in the environment. Did you mean RECALL_PLANNER__ARM_LIMIT?" in s
            for s in said
        )
        == 1
    )
    assert any(s.startswith("Unknown name RECALL_HOME in the environment. Names") for s in said)
    assert any(s.startswith("RECALL_WEEK_START in the environment: week_start must be a whole number") for s in said)
    assert any(s.startswith("RECALL_PLANNER__ARMS, line 1") for s in said)
    assert any(s.startswith("r.yaml, line 1, column 10: timezone must be text") for s in said) and len(said) == 5


def test_the_environment_names_the_file(tmp_path: Path) -> None:
    path = file(tmp_path, "recall: {week_start: 6}\n")
    assert loaded(None, {"RECALL_CONFIG": str(path)}).config.week_start == 6
    assert (
        loaded(file(tmp_path, "recall: {week_start: 5}\n", "b.yaml"), {"RECALL_CONFIG": str(path)}).config.week_start
        == 5
    )
    assert loaded(None, {"RECALL_CONFIG": ""}).config == RecallConfig()


def test_who_gives_no_settings_gets_those_of_the_environment(monkeypatch: Any, tmp_path: Path) -> None:
    from recall_integrations.config import checked_config

    monkeypatch.setenv("RECALL_WEEK_START", "6")
    assert checked_config(None).week_start == 6 and RecallConfig.load().week_start == 6
    assert checked_config(RecallConfig()).week_start == 0  # an argument stands over it
    assert RecallConfig.from_yaml(file(tmp_path, "")).week_start == 0
    monkeypatch.setenv("RECALL_WEEK", "6")
    with pytest.raises(ConfigError, match="Unknown name RECALL_WEEK in the environment"):
        checked_config(None)


def test_where_each_value_was_said(tmp_path: Path, monkeypatch: Any) -> None:
    path = file(tmp_path, "recall:\n  planner: {arm_limit: 7}\nread_pipeline: {optimizer: {mode: cached}}\n")
    found = loaded(path, {"RECALL_RERANK__TOP_N": "9"})
    said = {v.setting.path: (v.shown, v.origin) for v in found.values()}
    assert said["planner.arm_limit"] == ("7", f"{path}, line 2, column 13")
    assert said["mode"] == ("cached", f"{path}, line 3, column 29")
    assert said["rerank.top_n"] == ("9", "environment RECALL_RERANK__TOP_N")
    assert said["planner.precise_threshold"] == ("0.8", "default") and said["rewriting.timeout_ms"][1] == "default"
    monkeypatch.setenv("RECALL_REWRITE_TIMEOUT", "2s")
    (timeout,) = [v for v in loaded(path, {}).values() if v.setting.path == "rewriting.timeout_ms"]
    assert (timeout.value, timeout.origin) == (2_000.0, "environment RECALL_REWRITE_TIMEOUT")


@settings(max_examples=examples(40), deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["RECALL_PLANNER__ARM_LIMIT", "RECALL_PLANNER__ARMS", "RECALL_MODE", "RECALL_X"]),
        st.text(max_size=10) | st.sampled_from(["7", "[lexical]", "cached", "null", "{a: 1}"]),
        max_size=3,
    ),
    st.sampled_from(
        [
            "",
            "recall: {planner: 7}",
            "recall: {planner: }",
            "recall: {scopes: [{user_id: x, planner: {arm_limit: 3}}]}",
            "recall: {scopes: [7]}",
        ]
    ),
)
def test_any_environment_gives_settings_or_mistakes(environ: dict[str, str], text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = file(Path(folder), text)
        try:
            found = loaded(path, environ)
        except ConfigError as e:
            assert e.mistakes
        else:
            assert all(v.origin for v in found.values())
            assert all(v.origin for v in found.values(Scope("x")))


def test_what_the_environment_sets_no_entry_changes(tmp_path: Path) -> None:
    path = file(tmp_path, "recall: {scopes: [{user_id: x, planner: {arm_limit: 3, precise_threshold: 0.6}}]}\n")
    made = loaded(path, {"RECALL_PLANNER__ARM_LIMIT": "7"}).config.for_scope(Scope("x"))[0]
    assert (made.planner.arm_limit, made.planner.precise_threshold) == (7, 0.6)


@settings(max_examples=examples(60), deadline=2_000)
@given(st.text(max_size=60) | st.text("{}[]:,-&*#'\"!|>%@ \n\tabx01", max_size=60))
@example("a: &a\n  <<: *a\n")
@example("&a {? *a : *a}")
@example("=: 1\n<<: 2")
def test_any_text_is_settings_or_a_mistake(text: str) -> None:
    try:
        parsed(text, "r.yaml")
    except ConfigError as e:
        assert str(e).startswith("r.yaml")


def test_reading_names_the_place_of_what_is_not_written(tmp_path: Path) -> None:
    written = read(file(tmp_path, "a:\n  b: 1\n"))
    assert (
        written.place(("a", "c")) == (1, 1) and written.place(("a", "b")) == (2, 3) and written.place(("x",)) == (1, 1)
    )


def test_names_of_others_that_nobody_can_turn_are_read_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    found = loaded(
        file(tmp_path, PIPELINE.replace("casing: true", "casing: false") + "recall: {rerank_min_k: 7}\n"), {}
    )
    assert found.config == RecallConfig()
    casing, punctuation, least = sorted(found.fixed, key=lambda says: says.partition(": ")[2])[:3]
    assert casing.endswith("normalize_casing is fixed at true. Leave it out.") and "line 6, column" in casing
    assert "normalize_punctuation is fixed at true" in punctuation and "rerank_min_k is fixed at 3" in least
    assert caplog.messages == list(found.fixed)


@pytest.mark.parametrize("path", ["timezone.foo", "scopes.x", "ranking.nothing", "at_all.nothing"])
def test_a_path_that_names_no_setting_is_refused(path: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(path.split(".")[path.startswith("ranking")])):
        RecallConfig().with_settings([(path, 1)])
