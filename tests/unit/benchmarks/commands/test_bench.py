"""`recall bench`: options reach what measures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from benchmarks.accuracy import dates
from benchmarks.commands import COMMANDS
from benchmarks.peers import systems
from benchmarks.quality import all_kinds, comparison, stages
from benchmarks.resilience import resilience
from benchmarks.speed import latency
from recall_integrations.cli import main
from recall_integrations.errors import MissingExtra

Recall = Callable[..., Result]


@pytest.fixture
def recall() -> Recall:
    return lambda *arguments: CliRunner().invoke(main, [str(a) for a in arguments])


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
    config.write_text("recall: {ranking: {strategy: rrf}}")
    options = ["--dataset", "musique", "--limit", "7", "--no-peers", "--config", config, "--json", "r.json"]
    options += ["--embedding", "minilm", "--embedding-cache", tmp_path / "cache"]
    assert recall("bench", "quality", tmp_path, *options).exit_code == 0
    ((path, _), given) = seen[0]
    assert path == tmp_path and given["config"].ranking.strategy == "rrf"
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
    timed, dated = noted(monkeypatch, latency), noted(monkeypatch, dates)
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
    assert [row.split()[0] for row in listed] == sorted(COMMANDS) and len(listed) == 20
    assert not any(row.endswith("...") for row in listed)


def test_a_command_that_is_not_there_is_wrong_usage(recall: Recall) -> None:
    result = recall("bench", "haste")
    assert result.exit_code == 2 and "No such command 'haste'" in result.stderr
