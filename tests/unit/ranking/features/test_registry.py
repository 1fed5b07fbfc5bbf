"""A feature is one entry: with it, a copy of the list is computed, weighed, explained, learned from and documented."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pytest

from benchmarks.quality.stages import feature_groups
from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallResult, Scope
from recall_integrations.arms.retrievers import BUILT_IN
from recall_integrations.errors import InvalidArgument
from recall_integrations.indexes.kind import GATES
from recall_integrations.ranking.feature_sum import FixedWeights, Ranker
from recall_integrations.ranking.features.compute import FEATURES
from recall_integrations.ranking.features.feature import Feature, FeatureSet, Label
from recall_integrations.ranking.features.match import Match
from recall_integrations.ranking.rank import evidence_of
from tests.rows import each_row

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
THINGS = "apple basil cumin dill endive fennel garlic honey iris juniper kale lemon mango nutmeg onion parsley".split()
HERE = Path(__file__).resolve().parents[4]


def stamped(match: Match) -> np.ndarray:
    """Half of the memories are: every second one."""
    return (match.rows % 2 == 1).astype(np.float32)


MINE = Feature(
    name="stamped",
    formula="1 where the memory has a stamp",
    of=stamped,
    group="stamp",
    weight={"always": 9.0},
    arm="lexical",
    label=Label("has a stamp"),
)
ALL = FeatureSet((*FEATURES, MINE))


@pytest.fixture(scope="module")
def store() -> Iterator[MemoryStore]:
    """Of each thing two memories that differ in their stamp only."""
    with MemoryStore.open() as made:
        for user in ("ann", "bob"):
            texts = [f"the {thing} is on the shelf" for thing in THINGS for _ in range(2)]
            made.remember_many(
                [Memory(text, id=f"{user}-{i}", created_at=NOW) for i, text in enumerate(texts)],
                scope=Scope(user_id=user),
            )
        yield made


def ask(store: MemoryStore, ranker: Ranker | None, query: str = "kale") -> RecallResult:
    optimizer = QueryOptimizer(store, ranker=ranker)
    try:
        return optimizer.recall(query, k=4, scope=Scope(user_id="ann"), now=NOW, time_budget_ms=60_000)
    finally:
        optimizer.close()


def added(result: RecallResult) -> dict[str | None, list[float]]:
    return {h.memory.id: [c.added for c in h.contributions if c.source == "stamped"] for h in result.hits}


def test_it_is_ranked(store: MemoryStore) -> None:
    assert ask(store, None).hits[0].memory.id == "ann-20"  # the two are alike: by id
    found = ask(store, FixedWeights(known=ALL))
    assert found.hits[0].memory.id == "ann-21"
    assert not found.degraded
    assert added(ask(store, None)) == {h.memory.id: [] for h in ask(store, None).hits}


def test_it_is_explained(store: MemoryStore) -> None:
    first = ask(store, FixedWeights(known=ALL)).hits[0]
    assert [c.score for c in first.contributions if c.source == "stamped"] == [1.0]
    assert added(ask(store, FixedWeights(known=ALL)))[first.memory.id][0] > 5
    far = ask(store, FixedWeights(known=ALL), "zeppelin regatta").hits[0]
    assert far.reason.startswith("weak match") and "has a stamp" in far.reason
    assert "has a stamp" not in ask(store, None, "zeppelin regatta").hits[0].reason


def test_whatever_lists_features_lists_it() -> None:
    assert "stamped" in evidence_of(BUILT_IN, ALL)["lexical"]
    assert feature_groups(FixedWeights(known=ALL))["stamp"] == ("stamped",)
    assert FixedWeights({"stamped": 0.0}, ALL).version != FixedWeights(known=ALL).version != FixedWeights.version


def test_every_entry_is_documented() -> None:
    page = (HERE / "docs" / "reference" / "ranking-features.md").read_text(encoding="utf-8")
    assert [f.name for f in FEATURES if f"| `{f.name}` | {f.formula} |" not in page] == []


def entry(**fields: object) -> Feature:
    return Feature(**{"name": "mine", "formula": "1", "of": stamped, "group": "stamp", **fields})  # type: ignore[arg-type]


@each_row(
    ("fields", "message"),
    [
        ({"name": "no name"}, "letters, digits"),
        ({"weight": {"sometimes": 1.0}}, "no gate 'sometimes'"),
        ({"weight": {"always": float("nan")}}, "finite number"),
        ({"weight": {"always": "much"}}, "finite number"),
        ({"floor": 0.0}, "above 0"),
        ({"floor": float("inf")}, "above 0"),
        ({"gated": True}, "without a weight"),
    ],
)
def test_what_is_no_feature_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        entry(**fields)


def test_names_are_distinct() -> None:
    with pytest.raises(InvalidArgument, match="two features 'mine'"):
        FeatureSet((entry(), entry()))


def test_labels_come_in_their_places_and_ruled_ones_are_left_out() -> None:
    some = FeatureSet(
        (
            entry(name="a", label=Label("far", place=2)),
            entry(name="b", label=Label("near", place=1)),
            entry(name="c", label=Label("by a rule", ruled=True)),
            entry(name="d"),
        )
    )
    assert list(some.labels.items()) == [("b", "near"), ("a", "far")]


def test_a_gated_feature_is_computed_where_a_gate_is_open(store: MemoryStore) -> None:
    def sources(gate: str) -> set[str]:
        known = FeatureSet((*FEATURES, entry(weight={gate: 1.0}, gated=True)))
        return {c.source for h in ask(store, FixedWeights(known=known)).hits for c in h.contributions}

    assert set(GATES) > {"always", "people"}
    assert "mine" in sources("always") and "mine" not in sources("people")


def test_without_anything_to_compute_it_from_there_is_no_column(store: MemoryStore) -> None:
    known = FeatureSet((*FEATURES, entry(of=lambda _match: None, weight={"always": 1.0})))
    found = ask(store, FixedWeights(known=known))
    assert found.hits and not found.degraded
    assert "mine" not in {c.source for h in found.hits for c in h.contributions}
