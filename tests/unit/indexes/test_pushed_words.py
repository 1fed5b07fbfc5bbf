"""BM25 by postings in PostgreSQL, held against that of a node that has the whole scope in memory."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from benchmarks.datasets.loading import load
from recall_integrations import Memory, MemoryStore, RecallConfig, Scope
from recall_integrations.config import RetrievalConfig
from recall_integrations.indexes import bm25
from recall_integrations.indexes.bm25 import Bm25, Where
from recall_integrations.text import stems

DATA = Path(__file__).resolve().parents[3] / "../shared/data"
WORDS = (
    "swan lake priya deploy evening budget kestrel apple running ran trains sam moved lisbon coffee tea green red blue "
    "paper the of a and café naïve 東京 город"
).split()
LIMIT = 10


@pytest.fixture
def store(postgres_url: str) -> Iterator[MemoryStore]:
    config = RecallConfig(retrieval=RetrievalConfig(local_max=20))
    with MemoryStore.open(postgres_url, config=config) as opened:
        yield opened


def alike(store: MemoryStore, queries: Sequence[str], limit: int = LIMIT) -> int:
    """How many queries found something, of which the ranking is the same both ways."""
    assert store.indexes.settle(60)
    scope_id = store.scope_id(Scope())
    assert scope_id is not None
    outline, view, found = store.pushed(scope_id), store.view(scope_id), 0
    assert outline is not None and not view.drawn and view.text is not None
    assert (outline.view.count, outline.view.mean_length) == (view.count, view.mean_length)
    for query in queries:
        terms = stems(query)
        local = Bm25(view, terms, (), view.text.frequency, lambda: pytest.fail("the words are in memory"))
        rows, scores = view.top(*local.search(limit), limit)
        expected = {view.ids[row]: score for row, score in zip(rows.tolist(), scores.tolist(), strict=True)}
        own = Bm25(outline.view, terms, (), outline.view.text.frequency, lambda: pytest.fail("it is not asked"))  # type: ignore[union-attr]
        assert own.weights == local.weights
        if not own.weights:
            assert not expected
            continue
        with store.engine.connect() as connection:
            nums, sums = bm25.best_pushed(
                connection,
                scope_id,
                own.weights,
                own.frequency,
                outline.view.mean_length,
                limit,
                Where(upto=outline.upto, gone=outline.gone),
            )
        pairs = zip(view.rows_of(nums).tolist(), sums.tolist(), strict=True)
        # As arms order them: by falling scores as 32 bits tell them apart, ties by id.
        ranked = sorted(((-float(f"{score:.5g}"), view.ids[row], score) for row, score in pairs))[:limit]
        assert [one for _, one, _ in ranked] == sorted(
            expected, key=lambda one: (-float(f"{expected[one]:.5g}"), one)
        ), query
        assert all(score == pytest.approx(expected[one], rel=1e-6) for _, one, score in ranked)
        found += bool(expected)
    return found


def made(rng: random.Random, number: int) -> Memory:
    length = rng.choice([1, 3, 8, 30, 70, 200])
    text = " ".join(rng.choices(WORDS, weights=range(1, len(WORDS) + 1), k=length))
    return Memory(text, id=f"m{number}", actor=rng.choice([None, "Priya", "Sam Lake"]), thread=rng.choice([None, "t"]))


@pytest.mark.parametrize("many", [50_000, 60, 1])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_ranking_is_that_of_the_arm(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, seed: int, many: int
) -> None:
    """Of random texts, some of them replaced and forgotten; whichever stems are summed at first."""
    monkeypatch.setattr(bm25, "MANY", many)
    rng = random.Random(seed)
    store.remember_many([made(rng, n) for n in range(120)])
    assert store.indexes.settle(60)
    store.remember_many([made(rng, n) for n in range(100, 150)])
    for n in rng.sample(range(150), 30):
        store.forget(f"m{n}")
    store.remember(made(rng, 7))
    queries = [" ".join(rng.choices(WORDS, k=rng.randint(1, 6))) for _ in range(25)]
    assert alike(store, [*queries, "nobody says zebra"]) >= 20


def test_of_equal_scores_the_first_by_id_are_found(store: MemoryStore) -> None:
    """More of them than are read at once."""
    ids = [f"m{n}" for n in range(100)]
    random.Random(3).shuffle(ids)
    store.remember_many([Memory("swans on the lake", id=one) for one in ids])
    store.remember(Memory("swans and more swans", id="z"))
    assert alike(store, ["swans", "lake swans"], limit=4) == 2


def test_texts_of_people(store: MemoryStore) -> None:
    """Of real texts; they are not part of the repository."""
    if not DATA.is_dir():
        pytest.skip("the evaluation data is not beside the repository (../shared/data)")
    talk = load(DATA, "locomo").collections[0]
    store.remember_many(list(talk.memories)[:400])
    questions = [question.text for question in talk.questions][:60]
    assert alike(store, questions) >= 50
