"""`recall tune` on a store where it is known what can be found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from recall_integrations import Memory, MemoryStore, PlannerConfig, RankingConfig, RecallConfig, Scope
from recall_integrations.cli import main
from recall_integrations.config import CacheConfig
from recall_integrations.errors import ConfigError, InvalidArgument
from recall_integrations.evaluation import Tuning, tune
from recall_integrations.evaluation.labelled.asking import silent
from recall_integrations.evaluation.labelled.labels import read_labels
from recall_integrations.evaluation.labelled.placing import placed
from recall_integrations.evaluation.tuning.knobs import (
    KNOBS,
    RERANK_KNOBS,
    Knob,
    Setting,
    as_file,
    tried,
    with_settings,
)
from recall_integrations.evaluation.tuning.replay import Replays
from recall_integrations.evaluation.tuning.tune import _Trials

NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)
NAMES = (
    "lantern kettle ladder anchor basket candle hammer mirror pillow ribbon saddle ticket violin wallet zipper".split()
)
PLACES = "attic cellar garden".split()
ONE_ARM = replace(RecallConfig(), planner=PlannerConfig(arms=("graph",)))
ARMS = Knob(name="planner.arms", values=(("graph",), ("semantic", "lexical", "graph", "temporal", "type_filter")))


@pytest.fixture(scope="module")
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as made:
        for place in PLACES:
            said = [
                Memory(f"The {name} is kept in the {place}, box {i}", id=f"{name}-{place}", thread=f"chat {i}")
                for i, name in enumerate(NAMES)
            ]
            made.remember_many(said)
        made.remember("Somebody else", scope=Scope(user_id="other"))
        yield made


@pytest.fixture(scope="module")
def labels() -> list[dict[str, Any]]:
    return [
        {"query": f"which box of the {place} has the {name}?", "relevant": [f"{name}-{place}"], "scope": "-/-/-"}
        for name in NAMES
        for place in PLACES
    ]


def shuffled(labels: list[dict[str, Any]], seed: int) -> list[dict[str, Any]]:
    order = np.random.default_rng(seed).permutation(len(labels)).tolist()
    return [{**row, "relevant": labels[i]["relevant"]} for row, i in zip(labels, order, strict=True)]


@pytest.fixture(scope="module")
def better(store: MemoryStore, labels: list[dict[str, Any]]) -> Tuning:
    return tune(store, labels, config=ONE_ARM, knobs=[ARMS], now=NOW, k=5, folds=3)


def test_a_planted_effect_is_found_and_written(better: Tuning, tmp_path: Path) -> None:
    assert better.proven
    assert better.out_of_fold.mean > 0.5
    assert better.moved[0].name == "planner.arms"
    assert better.moved[0].folds == 3
    assert better.config.planner.arms == RecallConfig().planner.arms
    file = tmp_path / "recall.yaml"
    file.write_text(better.yaml(), encoding="utf-8")
    assert RecallConfig.from_yaml(file) == better.config
    assert "are better" in better.yaml()


def test_what_keeps_answers_still_does(store: MemoryStore, labels: list[dict[str, Any]], tmp_path: Path) -> None:
    kept = replace(ONE_ARM, mode="cached", cache=CacheConfig(ttl_seconds=77.0))
    found = tune(store, labels, config=kept, knobs=[ARMS], now=NOW, k=5, folds=3)
    assert found.proven
    assert (found.base, found.found.mode, found.found.cache) == (kept, "cached", kept.cache)
    file = tmp_path / "recall.yaml"
    file.write_text(found.yaml(), encoding="utf-8")
    assert RecallConfig.from_yaml(file) == found.config


def test_the_report_is_said_in_two_ways(better: Tuning) -> None:
    assert "planner.arms" in better.table()
    read = json.loads(better.to_json())
    assert read["proven"] is True
    assert read["out_of_fold"]["low"] > 0


def test_questions_of_one_thread_are_never_in_two_folds(better: Tuning) -> None:
    assert (better.grouped_by, better.folds) == ("thread", 3)


def test_random_labels_give_no_gain(store: MemoryStore, labels: list[dict[str, Any]], tmp_path: Path) -> None:
    knobs = [Knob(name="ranking.diversity_lambda", values=(0.3,)), Knob(name="ranking.features", values=(False,))]
    base = replace(RecallConfig(), week_start=3)
    found = [tune(store, shuffled(labels, seed), config=base, knobs=knobs, now=NOW, k=5, folds=3) for seed in range(2)]
    assert [one.proven for one in found] == [False] * 2
    assert found[0].config == base
    assert all(count > 2 for count in found[0].labels_needed.values())  # by what the best setting moved
    assert "The settings stay as they are" in found[0].reason
    file = tmp_path / "recall.yaml"
    file.write_text(found[0].yaml(), encoding="utf-8")
    assert RecallConfig.from_yaml(file) == base  # what was there stays


def test_what_ranks_kept_candidates_says_what_a_recall_would(store: MemoryStore, labels: list[dict[str, Any]]) -> None:
    questions = placed(store, read_labels(labels[:12]).questions).questions
    replays = Replays(store, questions, 5, NOW)
    replays.replayed(RecallConfig())
    for one in tried(RecallConfig(), [knob for knob in KNOBS if knob.ranking_only])[0]:
        config = with_settings(RecallConfig(), (one,))
        with_kept, whole = replays.replayed(config), replays.asked(config)
        assert [[(h.memory.id, h.score) for h in a.hits] for a in with_kept] == [
            [(h.memory.id, h.score) for h in a.hits] for a in whole
        ], one


def test_what_ranks_looks_nothing_up(store: MemoryStore, labels: list[dict[str, Any]], monkeypatch: Any) -> None:
    questions = placed(store, read_labels(labels[:3]).questions).questions
    replays = Replays(store, questions, 5, NOW)
    replays.replayed(RecallConfig())
    from recall_integrations.recall.stages.arms import Arms

    def refuse(*_given: object) -> None:
        raise AssertionError("arms were asked")

    monkeypatch.setattr(Arms, "run", refuse)
    config = replace(RecallConfig(), ranking=RankingConfig(exact_lift=2.0))
    assert all(answer.hits and not answer.degraded for answer in replays.replayed(config))


def test_a_reranker_reads_each_pair_once(store: MemoryStore, labels: list[dict[str, Any]]) -> None:
    pairs: list[tuple[str, str]] = []

    def by_length(query: str, texts: list[str]) -> list[float]:
        pairs.extend((query, text) for text in texts)
        return [float(len(text)) for text in texts]

    questions = placed(store, read_labels(labels[:3]).questions).questions
    replays = Replays(store, questions, 5, NOW, by_length)
    for regret in (0.0, 0.1, 0.02):
        config = replace(RecallConfig(), rerank=replace(RecallConfig().rerank, regret_max=regret))
        replays.replayed(config)
    assert len(pairs) == len(set(pairs))


def test_when_the_time_is_over_what_was_tried_is_judged(store: MemoryStore, labels: list[dict[str, Any]]) -> None:
    ticks = iter(range(1_000))
    found = tune(store, labels, knobs=KNOBS[:2], now=NOW, k=5, folds=3, minutes=0.05, clock=lambda: float(next(ticks)))
    assert not found.complete
    assert 1 <= found.trials < 8
    assert "The time was over" in found.table()


def test_settings_that_exclude_each_other_are_not_tried_together(
    store: MemoryStore, labels: list[dict[str, Any]]
) -> None:
    questions = placed(store, read_labels(labels[:3]).questions).questions
    trials = _Trials(Replays(store, questions, 5, NOW), RecallConfig(), "ndcg@5", lambda: 0.0, 1.0, silent)
    fused, lifted = (
        Setting(name="ranking.strategy", value="fallback_fusion"),
        Setting(name="ranking.exact_lift", value=2.0),
    )
    assert trials.measure((fused,)) is not None
    assert trials.measure((lifted, fused)) is None  # without ranking features nothing is lifted
    assert trials.complete


def test_knobs_name_settings_and_try_what_can_be() -> None:
    for knob in (*KNOBS, *RERANK_KNOBS):
        assert tried(RecallConfig(), [knob])[0], knob
    fused = RecallConfig().with_strategy("rrf")
    found, without = tried(fused, [Knob(name="ranking.exact_lift", values=(2.0,))])
    assert found == []
    assert "has no effect" in without["ranking.exact_lift"]
    with pytest.raises(ConfigError, match="no setting"):
        tried(RecallConfig(), [Knob(name="ranking.nothing", values=(1,))])
    assert with_settings(RecallConfig(), (Setting(name="week_start", value=6),)).week_start == 6


def test_what_a_file_holds_is_what_differs() -> None:
    config = replace(ONE_ARM, week_start=2, ranking=RankingConfig(exact_lift=2.0))
    assert as_file(config) == {
        "planner": {"arms": ["graph"]}, "ranking": {"exact_lift": 2.0}, "week_start": 2,
    }  # fmt: skip
    assert RecallConfig.from_mapping(as_file(config)) == config
    assert as_file(RecallConfig()) == {}
    some = RecallConfig.from_mapping({"scopes": [{"namespace": "support", "planner": {"arms": ["lexical"]}}]})
    assert RecallConfig.from_mapping(as_file(some)) == some


def test_too_little_to_tune_on_is_refused(store: MemoryStore, labels: list[dict[str, Any]]) -> None:
    with pytest.raises(InvalidArgument, match="at least 30"):
        tune(store, labels[:29])
    with pytest.raises(InvalidArgument, match="metric must be"):
        tune(store, labels, metric="luck")


def test_the_command(store: MemoryStore, labels: list[dict[str, Any]], tmp_path: Path) -> None:
    path = tmp_path / "store"
    with MemoryStore.open(path) as own:
        own.remember_many(store.iterate())
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, labels[:30])), encoding="utf-8")
    given = ["tune", str(path), str(tmp_path / "q.jsonl"), "--out", str(tmp_path / "recall.yaml")]
    done = CliRunner().invoke(main, [*given, "--minutes", "0.02", "--folds", "2"])
    assert done.exit_code == 0, done.output
    assert "Wrote" in done.output
    assert "The settings stay as they are" in (tmp_path / "recall.yaml").read_text(encoding="utf-8")
    assert RecallConfig.from_yaml(tmp_path / "recall.yaml") == RecallConfig()
