"""Whatever texts, threads and queries: finite scores that add up, links that agree with sorting, neutral absence."""

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_integrations.indexes.lexicon import Lexicon, QueryTerms
from recall_integrations.ranking.feature_sum import FixedWeights
from recall_integrations.ranking.features.compute import compute
from recall_integrations.ranking.features.match import FeatureInput
from recall_integrations.text import stem
from tests.columns import ColumnsBuilder, TextRow, columns_of
from tests.quick import examples

LEXICON = Lexicon()
WORDS = ["shed", "painted", "invoice", "kestrel", "priya", "march", "the", "?", "日本", "zq7"]
texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
names = st.none() | st.sampled_from(["Priya", "Sam"])
threads = st.none() | st.sampled_from(["a", "b"])
places = st.integers(-3, 3)
queries = st.lists(st.sampled_from([w for w in WORDS if w not in ("the", "?")]), max_size=5)


@st.composite
def memories(draw):
    drawn = draw(st.lists(st.tuples(texts, names, threads, places), max_size=12))
    return [TextRow(num=i + 1, text=t, actor=a, thread=th, position=p) for i, (t, a, th, p) in enumerate(drawn)]


def asked(words):
    stems = tuple(dict.fromkeys(stem(w) for w in words))
    return QueryTerms(stems=stems, words=stems, sequence=tuple(stem(w) for w in words))


def features(columns, query, rows, **fields):
    return compute(
        FeatureInput(columns=columns, rows=rows, query=query, frequency=lambda _: 2, count=columns.size, **fields)
    )


@settings(deadline=None, max_examples=examples(80))
@given(memories(), queries, st.randoms())
def test_scores_are_finite_add_up_and_follow_the_candidates(rows, words, random):
    columns, query = columns_of(rows, LEXICON), asked(words)
    order = list(range(columns.size))
    random.shuffle(order)
    sims = np.linspace(-1, 1, max(columns.size, 1), dtype=np.float32)
    found = features(columns, query, np.asarray(order, dtype=np.int64), cosine=lambda r: sims[r])
    assert all(np.isfinite(v).all() and v.shape == (len(order),) for v in found.columns.values())
    ranking = FixedWeights().score(found)
    np.testing.assert_allclose(sum(ranking.added.values()) + np.zeros(len(order)), ranking.scores, atol=1e-4)
    straight = features(columns, query, np.arange(columns.size), cosine=lambda r: sims[r])
    np.testing.assert_allclose(ranking.scores, FixedWeights().score(straight).scores[order], atol=1e-3)


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(texts, min_size=2, max_size=8), queries)
def test_plain_documents_are_ordered_by_their_text_alone(listed, words):
    columns = columns_of([TextRow(num=i + 1, text=t) for i, t in enumerate(listed)], LEXICON)
    found = features(columns, asked(words), np.arange(columns.size))
    for name in (
        "speaker_named",
        "speaker_prior_match",
        "asked_before",
        "thread_best_soft_match",
        "cosine",
        "cosine_w1",
        "date_match",
    ):
        assert not found[name].any()
    same = features(columns_of([TextRow(num=i + 1, text=t) for i, t in enumerate([*listed, listed[0]])], LEXICON),
                    asked(words), np.arange(len(listed) + 1))  # fmt: skip
    scores = FixedWeights().score(same).scores
    assert np.isclose(scores[0], scores[-1], atol=1e-4)


@settings(deadline=None, max_examples=examples(80))
@given(memories(), st.lists(st.integers(0, 14), max_size=6), st.integers(1, 5))
def test_links_are_what_sorting_would_give(rows, gone, step):
    builder, snapshots, expected = ColumnsBuilder(LEXICON), [], []
    alive: list[int] = []
    for start in range(0, len(rows), step):
        builder.append(rows[start : start + step])
        alive += range(start, min(start + step, len(rows)))
        if gone:
            dead = gone.pop()
            builder.kill([dead + 1])
            alive = [r for r in alive if r != dead]
        snapshots.append(builder.snapshot())
        expected.append(_sorted_links(rows, alive, snapshots[-1].size))
    assert len(snapshots) == -(-len(rows) // step)
    for columns, (before, after) in zip(snapshots, expected, strict=True):
        every = np.arange(columns.size)
        assert columns.previous(every).tolist() == before
        assert columns.following(every).tolist() == after


def _sorted_links(rows, alive, size):
    before, after = [-1] * size, [-1] * size
    for thread in ("a", "b"):
        chain = sorted((rows[r].position, r) for r in alive if rows[r].thread == thread)
        for (_, left), (_, right) in pairwise(chain):
            after[left], before[right] = right, left
    return before, after
