"""Each stage switched off does what it says, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from benchmarks.quality import stages
from benchmarks.quality.stages import Stage
from recall_integrations import MemoryStore
from recall_integrations.config import STRATEGIES, PlannerConfig, RankingConfig, RecallConfig
from recall_integrations.evaluation.questions import Question
from recall_integrations.ranking.feature_sum import FixedWeights
from recall_integrations.ranking.features.compute import FEATURES
from recall_integrations.types import Memory, RecallResult, Scope

BASE = RecallConfig()


@pytest.fixture(scope="module")
def store() -> Iterator[MemoryStore]:
    texts = ("Priya moved the Kestrel launch to June.", "Sam waters the garden.", "Kestrel needs a new budget.")
    with MemoryStore.open() as opened:
        opened.remember_many(
            [
                Memory(text, id=f"m{i}", entities=("Kestrel",) if "Kestrel" in text else ())
                for i, text in enumerate(texts)
            ]
        )
        opened.warm()
        yield opened


def recalled(store: MemoryStore, stage: Stage, query: str = "When does Kestrel launch?") -> RecallResult:
    with closing(stage.system(store)) as system:
        return system.recall(Question(id="q", text=query, relevant=(), scope=Scope()), 3)


def without(arm: str, config: RecallConfig = BASE) -> Stage:
    return next(stage for stage in stages.stages(config)[0] if stage.name == f"no {arm} arm")


def sources(result: RecallResult) -> set[str]:
    return {part.source for hit in result.hits for part in hit.contributions}


def test_every_stage_has_a_name_of_its_own_and_differs() -> None:
    found, left_out = stages.stages(BASE)
    assert len({stage.name for stage in found}) == len(found)
    assert {stage.kind for stage in found} == {"strategy", "arm", "stage", "features"}
    for stage in found:
        assert stage.config != BASE or stage.ranker is not None or stage.window is False
    compared = {s.name.removeprefix("strategy ") for s in found if s.kind == "strategy"}
    missing = {name.removeprefix("strategy ") for name in left_out}
    assert compared | missing | {BASE.ranking.strategy} == set(STRATEGIES)
    assert {"weighted", "rrf"} <= compared


def test_what_is_off_already_is_not_switched_off() -> None:
    plain = replace(BASE, ranking=replace(RankingConfig(), strategy="weighted", diversity_lambda=1.0))
    names = {stage.name for stage in stages.stages(plain)[0]}
    assert "no diversity" not in names and "strategy weighted" not in names
    assert not any(name.endswith(" features") for name in names)  # there are none to leave out
    assert "no folding" in names


def test_arms_that_may_not_be_asked_are_not_switched_off() -> None:
    few = replace(BASE, planner=PlannerConfig(arms=("semantic", "lexical")))
    assert {s.name for s in stages.stages(few)[0] if s.kind == "arm"} == {"no semantic arm", "no lexical arm"}
    assert without("lexical", few).config.planner.arms == ("semantic",)
    one = replace(BASE, planner=PlannerConfig(arms=("lexical",)))
    assert not [s for s in stages.stages(one)[0] if s.kind == "arm"]  # nothing would be left


def test_an_arm_that_is_off_is_not_asked(store: MemoryStore) -> None:
    full = recalled(store, Stage(name="all", kind="arm", config=BASE))
    ranked = {part.source for hit in full.hits for part in hit.contributions if part.rank}
    assert {"semantic", "lexical"} <= ranked
    for arm in ("semantic", "lexical"):
        result = recalled(store, without(arm))
        assert not any(p.source == arm and p.rank for hit in result.hits for p in hit.contributions)
        assert f"arm.{arm}" not in result.timings_ms
        assert result.hits and not result.degraded


def test_without_the_semantic_arm_no_vector_is_seen(store: MemoryStore) -> None:
    weighted = BASE.with_settings([("ranking.strategy", "weighted")])
    assert "semantic" in sources(recalled(store, Stage(name="x", kind="arm", config=weighted)))
    assert "semantic" not in sources(recalled(store, without("semantic", weighted)))


def test_no_dates_are_read(store: MemoryStore) -> None:
    query = "What happened with Kestrel in June 2024?"
    assert recalled(store, Stage(name="x", kind="stage", config=BASE), query).query.temporal_window is not None
    (stage,) = (s for s in stages.stages(BASE)[0] if s.name == "no dates read")
    assert recalled(store, stage, query).query.temporal_window is None


def test_features_that_are_off_add_nothing(store: MemoryStore) -> None:
    found = {s.name: s for s in stages.stages(BASE)[0]}
    full = recalled(store, Stage(name="x", kind="stage", config=BASE))
    added = {p.source for hit in full.hits for p in hit.contributions if p.added}
    off = recalled(store, found["no soft match features"])
    assert "passage_match" in added
    assert "passage_match" not in {p.source for hit in off.hits for p in hit.contributions if p.added}


def test_every_feature_is_in_one_group() -> None:
    groups = stages.feature_groups(FixedWeights())
    members = [name for names in groups.values() for name in names]
    assert sorted(members) == sorted(FEATURES.weights)
    assert all(names for names in groups.values())


def test_features_are_not_taken_out_of_arms_scores() -> None:
    assert stages.feature_groups(None) == {} and stages.without_features(None, ("bm25",)) is None


def test_a_stage_answers_from_the_store_that_is_there(store: MemoryStore) -> None:
    with closing(Stage(name="no spelling", kind="stage", config=BASE).system(store)) as system:
        answer = system.answer(Question(id="q", text="Who waters the garden?", relevant=("m1",), scope=Scope()), 2)
    assert (system.name, answer.ids[0], answer.degraded) == ("no spelling", "m1", ())
    assert answer.plan and answer.ms > 0
