from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timezone

import numpy as np
import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer, RecallConfig, Scope
from recall_integrations.errors import ConfigError
from recall_integrations.evaluation.questions import Question
from recall_integrations.ranking.rankers.feature_sum import FixedWeights, Ranker
from recall_integrations.training.learn import Recaller, Watched

NOW = datetime(2026, 3, 1, tzinfo=timezone.utc)
ANN = Scope(user_id="ann")
TEXTS = {"m1": "Where is the lantern, Sam?", "m2": "The lantern lies in the drawer", "m3": "Kestrel starts in May"}
QUESTION = Question(id="q", text="lantern drawer zeppelin", relevant=("m1",), scope=ANN)


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as made:
        made.remember_many([Memory(text, id=name) for name, text in TEXTS.items()], scope=ANN)
        made.warm(scope=ANN)
        yield made


def test_what_is_watched_is_as_it_was() -> None:
    watched = Watched(FixedWeights(), detail=True)
    assert isinstance(watched, Ranker) and watched.taken() is None
    assert (watched.name, watched.version, watched.detail) == ("fixed_weights", FixedWeights.version, True)
    assert not Watched(FixedWeights()).detail


def test_the_candidates_of_a_recall_are_labelled(store: MemoryStore) -> None:
    with closing(Recaller(store, RecallConfig(), FixedWeights(), detail=True)) as recaller:
        found = recaller.recall(QUESTION, NOW)
        again = recaller.recall(QUESTION, NOW)
    with closing(QueryOptimizer(store)) as optimizer:
        hits = optimizer.recall(QUESTION.text, k=10, scope=ANN, now=NOW).hits
    assert found.ids == again.ids == [hit.memory.id for hit in hits]
    assert found.example.group == "ann/-/-" and found.example.relevant.sum() == 1
    features = found.example.features
    (at,) = np.flatnonzero(found.example.relevant)
    own = {c.source: c.score for hit in hits if hit.memory.id == "m1" for c in hit.contributions}
    assert own["passage_match"] == pytest.approx(features["passage_match"][at]) and features["is_question"][at] == 1
    assert "soft_match_w1" in features.columns
    np.testing.assert_allclose(found.scores, FixedWeights().score(features).scores)
    assert 0 < found.unknown < 1  # no memory holds the last word


def test_words_that_are_not_in_memory_cannot_be_learned_from() -> None:
    off = RecallConfig.from_mapping({"ranking": {"features": False}})
    with MemoryStore.open(config=off) as bare:
        bare.remember(Memory("The lantern lies in the drawer", id="m1"), scope=ANN)
        with (
            closing(Recaller(bare, off, FixedWeights())) as recaller,
            pytest.raises(ConfigError, match="ranking.features"),
        ):
            recaller.recall(QUESTION, NOW)
