from __future__ import annotations

from collections import Counter
from datetime import timedelta
from itertools import islice

import pytest

from benchmarks.speed import synthetic
from benchmarks.speed.synthetic import PLANS, synthetic_memories, synthetic_queries
from recall_integrations.errors import InvalidArgument
from recall_integrations.text import stems
from recall_integrations.types import MemoryType
from tests.rows import each_row


def test_the_same_seed_gives_the_same_memories_and_a_longer_run_begins_with_them() -> None:
    short = list(synthetic_memories(50, seed=3))
    assert short == list(synthetic_memories(50, seed=3))
    assert short == list(islice(synthetic_memories(500, seed=3), 50))
    assert [m.text for m in short] != [m.text for m in synthetic_memories(50, seed=4)]


def test_the_collection_looks_like_one() -> None:
    memories = list(synthetic_memories(2_000))
    words = [len(m.text.split()) for m in memories]
    assert 15 <= sum(words) / len(words) <= 25
    assert len({m.id for m in memories}) == 2_000
    assert {m.type for m in memories} == set(MemoryType)
    times = [m.event_at for m in memories if m.event_at]
    assert len(times) == 2_000
    assert max(times) < synthetic.END
    assert max(times) - min(times) > timedelta(days=700)
    assert len({m.actor for m in memories}) > 80
    assert any(m.relations for m in memories)
    assert memories[0].thread == memories[39].thread != memories[40].thread


def test_word_frequencies_run_from_common_to_rare() -> None:
    memories = list(synthetic_memories(3_000))
    topics = set(synthetic.vocabulary())
    seen = Counter(w for m in memories for w in set(m.text.lower().strip(".").split()) if w in topics)
    assert len(synthetic.vocabulary()) == len(topics) > 3_000
    assert len(seen) > 2_500
    assert 0.04 < seen.most_common(1)[0][1] / len(memories) < 0.15
    assert sum(count <= 3 for count in seen.values()) > 500


@each_row("plan", PLANS)
def test_queries_are_reproducible_varied_and_have_content(plan: str) -> None:
    queries = synthetic_queries(plan, 40, seed=1)
    assert queries == synthetic_queries(plan, 40, seed=1)
    assert queries != synthetic_queries(plan, 40, seed=2)
    assert len(set(queries)) > 30
    assert all(stems(q) for q in queries)


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="'fast'"):
        synthetic_queries("fast", 1)
    with pytest.raises(InvalidArgument):
        synthetic_queries("temporal", -1)
    with pytest.raises(InvalidArgument, match="negative"):
        next(synthetic_memories(-1))
