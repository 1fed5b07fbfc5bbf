"""`recall bench`: options reach what measures, and what is not in the wheel is missed in words."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from benchmarks.peers import systems
from benchmarks.quality import all_kinds, stages
from benchmarks.resilience import resilience
from benchmarks.speed import latency
from recall_integrations.cli import main
from recall_integrations.console import repository
from recall_integrations.console.commands.bench import bench
from recall_integrations.errors import MissingExtra
from recall_integrations.evaluation import date_accuracy
from recall_integrations.evaluation.quality import comparison

Recall = Callable[..., Result]


@pytest.fixture
def recall() -> Recall:
    return lambda *arguments: CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture
def no_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As the wheel has it: neither the folder above the package nor the current one is a checkout."""
    monkeypatch.setattr(repository, "__file__", str(tmp_path / "site" / "recall_integrations" / "console" / "x.py"))
    monkeypatch.chdir(tmp_path)


def failed(result: Result, *words: str) -> None:
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1), result.output
    for word in words:
        assert word in result.stderr


def noted(monkeypatch: pytest.MonkeyPatch, module: object) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    seen: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    monkeypatch.setattr(module, "run", lambda *a, **k: seen.append((a, k)))
    return seen


def test_quality_passes_its_options_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, recall: Recall) -> None:
    seen = noted(monkeypatch, comparison)
    config = tmp_path / "c.yaml"
    config.write_text("recall: {fallback_fusion: {strategy: rrf}}")
    options = ["--dataset", "musique", "--limit", "7", "--no-peers", "--config", config, "--json", "r.json"]
    options += ["--embedding", "minilm", "--embedding-cache", tmp_path / "cache"]
    assert recall("bench", "quality", tmp_path, *options).exit_code == 0
    ((path, _), given) = seen[0]
    assert path == tmp_path and given["config"].fallback_fusion.strategy == "rrf"
    assert (given["dataset"], given["limit"], given["others"], given["json_path"]) == (("musique",), 7, [], "r.json")
    assert (given["embedding"], given["embedding_cache"]) == ("minilm", str(tmp_path / "cache"))
    assert (given["draw"], given["k"]) == (None, 10)


def test_who_is_compared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, recall: Recall) -> None:
    seen = noted(monkeypatch, comparison)
    peers = object()
    monkeypatch.setattr(systems, "compared", lambda: peers)
    for options in ((), ("--peers",), ("--no-peers", "--stages"), ("--stages",)):
        assert recall("bench", "quality", tmp_path, *options).exit_code == 0
    found = [given["others"] for _, given in seen]
    assert found == [[peers], [peers], [stages.compared], [peers, stages.compared]]


def test_pictures_are_drawn_in_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, recall: Recall) -> None:
    seen = noted(monkeypatch, comparison)
    assert recall("bench", "quality", tmp_path, "--no-peers", "--pictures", tmp_path / "new").exit_code == 0
    assert (tmp_path / "new").is_dir() and list(seen[0][1]["draw"]((), ())) == []


def test_other_commands_pass_theirs_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, recall: Recall) -> None:
    timed, dated = noted(monkeypatch, latency), noted(monkeypatch, date_accuracy)
    assert recall("bench", "latency", "--size", "10", "--size", "20", "--queries", "5").exit_code == 0
    assert recall("bench", "temporal", tmp_path, "--misses").exit_code == 0
    assert timed[0][1]["sizes"] == (10, 20) and timed[0][1]["queries_per_plan"] == 5
    assert dated[0][0][:2] == (tmp_path, True)


def test_resilience_passes_its_options_on(monkeypatch: pytest.MonkeyPatch, recall: Recall) -> None:
    seen = noted(monkeypatch, resilience)
    options = ["--recalls", "7", "--budget", "5", "--budget", "20", "--fault", "llm", "--plan", "precise"]
    assert recall("bench", "resilience", *options, "--no-breakers", "--callers", "0").exit_code == 0
    assert recall("bench", "resilience", "--soak", "0.5", "--kills", "3", "--json", "r.json").exit_code == 0
    (_, few), (_, instead) = seen
    assert (few["recalls"], few["budgets"], few["faults"], few["plans"]) == (7, (5.0, 20.0), ("llm",), ("precise",))
    assert (few["breakers"], few["crowd"], few["soak_minutes"], few["kill_count"]) == (False, 0, None, None)
    assert (instead["soak_minutes"], instead["kill_count"], instead["json_path"]) == (0.5, 3, "r.json")
    assert (instead["recalls"], instead["size"], instead["crowd"]) == (1_000, 10_000, 100)


def test_every_kind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, recall: Recall) -> None:
    seen = noted(monkeypatch, all_kinds)
    assert (
        recall("bench", "quality", tmp_path, "--no-peers", "--all", "--kind", "talk", "--skip", "phone").exit_code == 0
    )
    ((path, _), given) = seen[0]
    assert (path, given["only"], given["skip"], given["limit"]) == (tmp_path, ("talk",), ("phone",), None)
    failed(recall("bench", "quality", tmp_path, "--all", "--dataset", "locomo"), "Leave --dataset out")
    failed(recall("bench", "quality", tmp_path, "--skip", "phone"), "Add --all")


def test_a_missing_extra_is_a_clear_error(monkeypatch: pytest.MonkeyPatch, recall: Recall) -> None:
    def missing(*_a: Any, **_k: Any) -> None:
        raise MissingExtra("The benchmarks need 'x'. Install it with: pip install 'recall-integrations[bench]'")

    monkeypatch.setattr(latency, "run", missing)
    failed(recall("bench", "latency"), "recall-integrations[bench]")


def test_a_missing_peer_is_an_error_only_where_peers_were_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, recall: Recall
) -> None:
    def missing() -> None:
        raise MissingExtra("The benchmarks need 'x'. Install it with: pip install 'recall-integrations[bench]'")

    monkeypatch.setattr(systems, "compared", missing)
    seen = noted(monkeypatch, comparison)
    left_out = recall("bench", "quality", tmp_path)
    assert left_out.exit_code == 0 and "Without the frameworks' retrievers. The benchmarks need 'x'" in left_out.stdout
    assert seen[0][1]["others"] == []
    failed(recall("bench", "quality", tmp_path, "--peers"), "need 'x'")


def test_every_command_is_listed_on_one_line(recall: Recall) -> None:
    listed = recall("bench", "--help").stdout.split("Commands:")[1].strip().splitlines()
    assert [row.split()[0] for row in listed] == sorted(bench.commands) and len(listed) == 19
    assert all(
        isinstance(c, click.Command) and not row.endswith("...")
        for c, row in zip(bench.commands.values(), listed, strict=True)
    )


# -- without the repository ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_checkout")
@pytest.mark.parametrize(
    "command",
    [
        ["latency"],
        ["parse"],
        ["resilience"],
        ["rules", "."],
        ["misses", "."],
        ["everyday", "."],
        ["quality", ".", "--peers"],
        ["quality", ".", "--no-peers", "--stages"],
        ["quality", ".", "--no-peers", "--all"],
        ["quality", ".", "--no-peers", "--pictures", "p"],
    ],
    ids=lambda command: " ".join(command),
)
def test_what_only_the_repository_has_is_missed_in_words(command: list[str], recall: Recall) -> None:
    failed(recall("bench", *command), "lives in the repository", "Clone it and run the command there.")


@pytest.mark.usefixtures("no_checkout")
def test_quality_of_ones_own_data_needs_no_repository(tmp_path: Path, recall: Recall) -> None:
    pytest.importorskip("ir_measures", reason="ir-measures (extra `bench`) is not installed")
    (tmp_path / "memories.jsonl").write_text('{"id": "a", "text": "Sam sails."}\n{"id": "b", "text": "Ann bakes."}\n')
    (tmp_path / "questions.jsonl").write_text('{"query": "Who sails?", "relevant": ["a"]}\n')
    result = recall("bench", "quality", tmp_path, "--dataset", "jsonl", "--json", tmp_path / "r.json")
    assert result.exit_code == 0, result.output
    assert "Without the frameworks' retrievers." in result.stdout and "Clone it" in result.stdout.replace("\n", " ")
    (ranking,) = json.loads((tmp_path / "r.json").read_text())["rankings"].values()
    assert list(ranking["ids"]) == ["recall"] and ranking["ids"]["recall"][0] == "a"
