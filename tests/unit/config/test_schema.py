from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from recall_integrations.config import RecallConfig
from recall_integrations.config.checking import OTHER_NAMES, OTHERS
from recall_integrations.config.loading import FOREIGN, value_of
from recall_integrations.config.recall_config import NOT_PER_SCOPE
from recall_integrations.config.schema import catalogue, example, schema
from recall_integrations.errors import ConfigError
from tests.rows import each_row

PACKAGE = Path(__file__).resolve().parents[3] / "recall_integrations"


@pytest.mark.usefixtures("shipped_budgets")
def test_the_schema_tells_of_every_setting() -> None:
    own = schema()["properties"]["recall"]["properties"]
    kinds = {name: about.get("$ref", "$defs/RewritingConfig").rpartition("/")[2] for name, about in own.items()}
    for path, setting in catalogue().items():
        section, _, name = path.rpartition(".")
        about = schema()["$defs"][kinds[section]]["properties"][name] if section else own[name]
        assert not section or about["description"] == setting.says
        if setting.names and setting.kind is tuple:
            assert about["items"]["enum"] == list(setting.names)


def test_every_setting_is_documented_and_has_its_default() -> None:
    plain = RecallConfig()
    for path, setting in catalogue().items():
        assert setting.says.endswith("."), path
        assert setting.default == value_of(plain, path), path
        if setting.kind in (int, float):
            assert setting.low is not None and setting.high is not None, path
    assert len(catalogue()) <= 60


@each_row("path", sorted({*OTHER_NAMES.values()}))
def test_what_others_call_it_is_there(path: str) -> None:
    assert path in catalogue()


def test_what_is_named_of_scopes_and_of_the_other_shape_is_there() -> None:
    known = {*catalogue(), *(path.partition(".")[0] for path in catalogue()), "scopes"}
    assert set(NOT_PER_SCOPE) <= known
    assert set(FOREIGN.values()) <= set(catalogue())


def test_the_schema_takes_what_the_settings_take(tmp_path: Path) -> None:
    from jsonschema import Draft202012Validator

    file = tmp_path / "recall.json"
    check = Draft202012Validator(schema())
    check.check_schema(check.schema)
    for right in (
        {},
        {"recall": None},
        {"recall": {"planner": {"arm_limit": 7}, "rerank": {"threshold": None}}, "other": 1},
        {"read_pipeline": {"optimizer": {"mode": "cached", "rule": {"precise_threshold": 1}, "learned": {}}}},
        *(
            {"recall": own}
            for own in (
                {"scopes": [{"user_id": "x", "ranking": {"score_min": 0.5}}, {"agent_id": "", "timezone": "UTC"}]},
                {"scopes": [{"user_id": "*", "namespace": "n", "rerank": {}, "planner": {"arm_limit": 3}}]},
                {"rewriting": {"prompt": "Say {query} otherwise"}, "planner": {"rules": []}},
                {"rewriting": {"prompt": ""}},
                {"rewriting": "full", "scopes": [{"user_id": "x", "rewriting": "off"}]},
                {"privacy": {"patterns": {"badge": "B-[0-9]+"}}, "planner": {"arms": ["lexical"]}},
            )
        ),
    ):
        assert [*check.iter_errors(right)] == [], right
        file.write_text(json.dumps(right), encoding="utf-8")
        RecallConfig.from_yaml(file)
    for wrong in (
        {"planner": {"arm_limit": 7}},
        {"recall": {}, "mode": "rule"},
        *(
            {"recall": own}
            for own in (
                {"planner": {"arm_limit": 0}},
                {"planer": {}},
                {"planner": {"arms": ["magic"]}},
                {"mode": "learnt"},
                {"scopes": [{"user_id": "x", "cache": {"ttl_seconds": 1}}]},
                {"scopes": [{"user_id": "x", "ranking": {"features": False}}]},
            )
        ),
    ):
        assert [*check.iter_errors(wrong)], wrong
        file.write_text(json.dumps(wrong), encoding="utf-8")
        with pytest.raises(ConfigError):
            RecallConfig.from_yaml(file)


def test_the_example_is_a_file_that_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "recall.yaml"
    path.write_text(example("schema.json"), encoding="utf-8")
    assert path.read_text(encoding="utf-8").startswith("# yaml-language-server: $schema=schema.json\n")
    assert RecallConfig.from_yaml(path) == RecallConfig()
    everything = re.sub(r"^(  )# ", r"\1", example(), flags=re.MULTILINE)
    path.write_text(everything, encoding="utf-8")
    read = yaml.safe_load(everything)["recall"]
    assert {f"{s}.{n}" for s, held in read.items() if isinstance(held, dict) for n in held} | {"mode"} <= {*catalogue()}
    made = RecallConfig.from_yaml(path)
    assert made.with_entry(None) == RecallConfig() and str(made.scopes[0]) == "namespace support: rerank.top_n 10"


def test_names_in_the_environment_are_known() -> None:
    """Whatever the package reads under `RECALL_…` is a setting or in `config/checking.py`."""
    found = {
        name
        for path in PACKAGE.rglob("*.py")
        for name in re.findall(r"[\"']?\b(RECALL_[A-Z][A-Z_]+)\b(?=[\"'`])", path.read_text(encoding="utf-8"))
    }
    known = {*OTHERS, *(f"RECALL_{path.upper().replace('.', '__')}" for path in catalogue()), "RECALL_ERROR"}
    assert found <= known and {"RECALL_EMBEDDING", "RECALL_CONFIG"} <= found
