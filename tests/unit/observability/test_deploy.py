"""What operators are given: alerts that fire where they should, and a dashboard whose metrics exist."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from prometheus_client.parser import text_string_to_metric_families

from recall_integrations import MemoryStore, QueryOptimizer, RecallConfig
from recall_integrations.config import LimitsConfig, RewritingConfig
from recall_integrations.observability.metrics import Metrics
from tests.needs import program

ROOT = Path(__file__).resolve().parents[3]
ALERTS = ROOT / "deploy" / "prometheus" / "alerts.yaml"
TESTS = ROOT / "deploy" / "prometheus" / "alerts_test.yaml"
CONFIG = ROOT / "deploy" / "prometheus" / "prometheus.yaml"
DASHBOARD = ROOT / "deploy" / "grafana" / "dashboard.json"
ALERTS_PAGE, METRICS_PAGE = ROOT / "docs" / "metrics.md", ROOT / "docs" / "metric-names.md"
_NAME = re.compile(r"\b(?:recall|l4)_[a-z0-9_]+")
_LABELS = re.compile(r"\b((?:recall|l4)_[a-z0-9_]+)\{([^}]*)\}")
STEPS, GONE_AT = 24, 6  # minutes that are told, and the one at which the LLM is pulled


def promtool(*arguments: str | Path) -> str:
    """What it says; the test fails where it does not succeed."""
    tool = program("promtool", why="needs promtool: apt-get install prometheus")
    done = subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said


@cache
def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


@cache
def exposed() -> dict[str, set[str]]:
    """Names of series that we expose → their labels, those too that have no value yet."""
    metrics = Metrics()
    with MemoryStore.open() as store:
        metrics.watch(store)
        QueryOptimizer(store, config=RecallConfig(mode="cached"), observers=[metrics]).recall("tea")
        text = metrics.text().decode()
    kinds = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.MULTILINE))
    labels: dict[str, set[str]] = {}
    for family in metrics.registry.collect():
        inside = {name for sample in family.samples for name in sample.labels} - {"le"}
        inside |= set(getattr(family, "_labelnames", ()))
        labels[family.name] = inside
    found: dict[str, set[str]] = {}
    for name, kind in kinds.items():
        own = labels.get(name.removesuffix("_total"), labels.get(name, set()))
        if kind == "histogram":
            found |= {f"{name}_bucket": own | {"le"}, f"{name}_sum": own, f"{name}_count": own}
        else:
            found[name] = own
    return found


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return found


def expressions() -> Iterator[tuple[str, str]]:
    for rule in rules():
        yield rule["alert"], rule["expr"]
    for panel in panels():
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]


def test_the_rules_are_valid_and_their_tests_pass() -> None:
    promtool("check", "rules", ALERTS)
    promtool("check", "config", CONFIG)
    promtool("check", "config", "--syntax-only", CONFIG.with_name("nodes.yaml"))  # without the file of its token
    assert "SUCCESS" in promtool("test", "rules", TESTS)


def test_every_alert_is_seen_to_fire_and_not_to() -> None:
    tests = yaml.safe_load(TESTS.read_text(encoding="utf-8"))["tests"]
    cases = [case for test in tests for case in test["alert_rule_test"]]
    names = {rule["alert"] for rule in rules()}
    assert {case["alertname"] for case in cases if case["exp_alerts"]} == names
    assert {case["alertname"] for case in cases if not case["exp_alerts"]} == names


def test_every_metric_that_is_asked_for_is_exposed() -> None:
    known = exposed()
    asked = {(where, name) for where, expr in expressions() for name in _NAME.findall(expr)}
    assert len(asked) > 40
    # The job is the operator's; label names after `by` are no metrics.
    assert sorted(one for one in asked if one[1] not in known) == []


def test_every_label_that_is_asked_for_is_there() -> None:
    wrong = []
    for where, expr in expressions():
        for name, inside in _LABELS.findall(expr):
            wanted = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", inside)) - {"job", "instance"}
            # Of families without a value the labels are not known.
            if exposed()[name] and not wanted <= exposed()[name]:
                wrong.append((where, name, wanted))
    assert wrong == []


def test_every_expression_of_the_dashboard_can_be_parsed(tmp_path: Path) -> None:
    made = [
        {"record": f"panel:{i}", "expr": expr.replace("$__rate_interval", "5m").replace("$job", ".*")}
        for i, (_, expr) in enumerate(expressions())
    ]
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": made}]}), encoding="utf-8")
    promtool("check", "rules", path)


def test_the_dashboard_is_one_that_grafana_reads() -> None:
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    assert dashboard["schemaVersion"] >= 36 and dashboard["id"] is None and dashboard["uid"]
    assert {v["name"] for v in dashboard["templating"]["list"]} == {"datasource", "job"}
    ids = [panel["id"] for panel in panels()]
    assert len(set(ids)) == len(ids)
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        at = panel["gridPos"]
        own = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24 and not own & taken, panel["title"]
        taken |= own
        if panel["type"] != "row":
            assert panel["type"] in ("stat", "timeseries", "heatmap")
            assert panel["fieldConfig"]["defaults"]["unit"] and panel["targets"]
            refs = [target["refId"] for target in panel["targets"]]
            assert len(set(refs)) == len(refs)


def test_the_pages_have_every_metric_and_every_alert() -> None:
    page = ALERTS_PAGE.read_text(encoding="utf-8")
    assert [rule["alert"] for rule in rules() if f"### {rule['alert']}\n" not in page] == []
    table = METRICS_PAGE.read_text(encoding="utf-8")
    families = {name.removesuffix("_bucket").removesuffix("_sum").removesuffix("_count") for name in exposed()}
    assert sorted(name for name in families if f"`{name}" not in table) == []
    named = set(_NAME.findall(page + table)) - {"recall_integrations"}
    assert sorted(n for n in named if n not in families and f"{n}_total" not in families and n not in exposed()) == []


def test_pulling_the_llm_fires_the_shipped_alert(tmp_path: Path) -> None:
    """Recalls of a real optimizer are scraped; its LLM is pulled; what was scraped fires the rule."""
    there = [True]

    def llm(_prompt: str) -> str:
        if not there[0]:
            raise ConnectionError("pulled")
        return "the rollout that went wrong\nwhy the release failed"

    told = ("recall_rewrites_total", "recall_breaker_state")
    scraped: dict[str, list[float]] = {}
    metrics = Metrics()
    config = RecallConfig(limits=LimitsConfig(time_budget_ms=60_000), rewriting=RewritingConfig(mode="full"))
    with MemoryStore.open() as store:
        store.remember_many(["The release failed because a certificate had expired", "Tea is ready"])
        optimizer = QueryOptimizer(store, llm=llm, config=config, observers=[metrics])
        for minute in range(STEPS):
            there[0] = minute < GONE_AT
            for i in range(2):
                optimizer.recall(f"anything about that release problem, number {minute} of {i}")
            for family in text_string_to_metric_families(metrics.text().decode()):
                for sample in family.samples:
                    if sample.name in told:
                        inside = ",".join(f'{k}="{v}"' for k, v in sorted(sample.labels.items()))
                        series = scraped.setdefault(f"{sample.name}{{{inside}}}", [])
                        series += [0.0] * (minute - len(series)) + [sample.value]
    assert scraped['recall_rewrites_total{reason="success"}'][GONE_AT - 1] > 0
    away = next(rule for rule in rules() if rule["alert"] == "RecallLlmAway")
    shares = {"summary": away["annotations"]["summary"], "description": away["annotations"]["description"]}
    shares["description"] = shares["description"].replace("{{ $value | humanizePercentage }}", "100%")
    fires = [{"exp_labels": {"severity": "warning"}, "exp_annotations": shares}]
    opened = next(rule for rule in rules() if rule["alert"] == "RecallBreakerOpen")
    said = {k: v.replace("{{ $labels.component }}", "rewrite") for k, v in opened["annotations"].items()}
    opens = [{"exp_labels": {"severity": "warning", "component": "rewrite"}, "exp_annotations": said}]
    test = {
        "interval": "1m",
        "input_series": [{"series": k, "values": " ".join(f"{v:g}" for v in vs)} for k, vs in scraped.items()],
        "alert_rule_test": [
            {"eval_time": f"{GONE_AT - 1}m", "alertname": "RecallLlmAway", "exp_alerts": []},
            {"eval_time": f"{GONE_AT - 1}m", "alertname": "RecallBreakerOpen", "exp_alerts": []},
            {"eval_time": f"{STEPS - 1}m", "alertname": "RecallLlmAway", "exp_alerts": fires},
            {"eval_time": f"{STEPS - 1}m", "alertname": "RecallBreakerOpen", "exp_alerts": opens},
        ],
    }
    path = tmp_path / "scraped_test.yaml"
    path.write_text(
        yaml.safe_dump({"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": [test]}), encoding="utf-8"
    )
    promtool("test", "rules", path)
