"""Features and what is made of them against plain versions: loops over texts and words, one formula after the other."""

from collections import Counter
from functools import cache
from itertools import pairwise
from math import exp, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_integrations.indexes.columns import window_rows
from recall_integrations.indexes.kernels import changes, distinct, heads
from recall_integrations.indexes.lexicon import Lexicon, QueryTerms
from recall_integrations.ranking.feature_sum import FULL_SPREAD, FixedWeights
from recall_integrations.ranking.features.compute import FEATURES, compute
from recall_integrations.ranking.features.match import FeatureInput
from recall_integrations.ranking.features.reading import titled
from recall_integrations.ranking.features.record import COSINE_SHARE, FEEDBACK, FEEDBACK_WORDS
from recall_integrations.ranking.fusion import InOrder, OnDemand
from recall_integrations.text import idf, stem
from tests.columns import ColumnsBuilder, TextRow
from tests.quick import examples

LEXICON = Lexicon()
WORDS = "shed painted garage invoice bill march kestrel green colour paint sheds monday priya lovely".split()
ACTORS = [None, "Sam", "Priya Raman", "Priya Shah", *(f"Priya{i} Vo" for i in range(3))]
LONG = tuple(f"zq{i}" for i in range(18))  # makes a query long; no text holds them

texts = st.lists(
    st.tuples(
        st.lists(st.sampled_from(WORDS), max_size=40),
        st.sampled_from(ACTORS),
        st.sampled_from([None, "a", "b", "c"]),
        st.booleans(),  # asks
        st.booleans(),  # is forgotten
    ),
    min_size=1,
    max_size=16,
)
queries = st.lists(st.sampled_from(WORDS), max_size=6)


def scope(rows):
    builder = ColumnsBuilder(LEXICON)
    made = [
        TextRow(num=i + 1, text=" ".join(words) + "?" * asks, actor=actor, thread=thread, position=i)
        for i, (words, actor, thread, asks, _) in enumerate(rows)
    ]
    builder.append(made[: len(made) // 2])
    builder.snapshot()  # postings in two parts
    builder.append(made[len(made) // 2 :])
    builder.kill([i + 1 for i, row in enumerate(rows) if row[4]])
    return builder.snapshot()


def asked(words, said=()):
    stems = tuple(dict.fromkeys(stem(w) for w in words))
    return QueryTerms(
        stems=stems,
        words=tuple(next(w for w in words if stem(w) == s) for s in stems),
        sequence=(*(stem(w) for w in words), *said),
        counts=tuple(sum(stem(w) == s for w in words) for s in stems),
        when="march" in words,
    )


@cache
def cosine(word, other):
    return float(LEXICON.cosines(np.asarray([word]), [other])[0, 0])


class Plain:
    """The features, by loops."""

    def __init__(self, columns, query, rows, cosine):
        self.columns, self.query, self.rows, self.cosine = columns, query, rows, cosine
        self.idf = {s: idf(columns.frequency(s), columns.size) for s in query.stems}
        self.whole = max(sum(self.idf.values()), 1e-9)

    def words(self, row):
        if row is None:
            return []
        begin, end = self.columns.starts[row], self.columns.starts[row + 1]
        return self.columns.words[begin:end].tolist()

    def around(self, row):
        def step(links, place):
            found = -1 if place is None else int(links[place])
            return found if 0 <= found < self.columns.size else None

        before, after = step(self.columns.before, row), step(self.columns.after, row)
        return [row, before, after, step(self.columns.before, before), step(self.columns.after, after)]

    def soft(self, which, word):
        lexicon = self.columns.lexicon
        if lexicon.stems[word] == lexicon.stem_of(self.query.stems[which]):
            return 1.0
        return max(cosine(word, self.query.words[which]), 0.0)

    def best(self, which, words, least=0.0):
        found = max((self.soft(which, w) for w in words), default=0.0)
        return found if found >= least else 0.0

    def share(self, values):
        return sum(self.idf[s] * v for s, v in zip(self.query.stems, values, strict=True)) / self.whole

    def k(self, length, pivot=30):
        return 1.2 * (0.25 + 0.75 * max(length, pivot) / pivot)

    def length(self, row):
        return 0 if row is None else int(self.columns.lengths[row])

    def near(self, rows):
        return [max(self.best(i, self.words(r), 0.5) for r in rows) for i in range(len(self.query.stems))]

    def of(self, row):
        window, own = self.around(row), self.words(row)
        stems = [int(self.columns.lexicon.stems[w]) for w in own]
        numbers = [self.columns.lexicon.stem_of(s) for s in self.query.stems]
        k = self.k(len(own))
        bm25 = [
            self.idf[s] * 2.2 * stems.count(n) / (stems.count(n) + k)
            for s, n in zip(self.query.stems, numbers, strict=True)
        ]
        passages = [own[start : start + 32] for start in range(0, len(own), 16)]
        soft = range(len(numbers))
        asks = int(self.columns.questions[row])
        return {
            "bm25": sum(bm25),
            "bm25_counted": sum(b * c for b, c in zip(bm25, self.query.counts, strict=True)),
            "idf_coverage": self.share([n in stems for n in numbers]),
            "lead_match": self.share([n in stems[:12] for n in numbers]),
            "soft_match": self.share([self.best(i, own) for i in soft]) * 2.2 / (1 + k),
            "near_match": self.share(self.near([row])),
            "passage_match": max((self.share([self.best(i, p) for i in soft]) for p in passages), default=0.0),
            "near_match_w1": self.share(self.near(window[:3]))
            * 2.2
            / (1 + self.k(sum(map(self.length, window[:3])), 75)),
            "near_match_w2": self.share(self.near(window)) * 2.2 / (1 + self.k(sum(map(self.length, window)), 120)),
            "bigram_match": self.bigrams(stems),
            "asking_share": float(asks and bool(own)),
            "date_words_asked": min(sum(bool(self.columns.lexicon.dated[w]) for w in own), 3) * self.query.when,
            "cosine_w1": sum(float(self.cosine[r]) for r in window[:3] if r is not None)
            / sum(r is not None for r in window[:3]),
        }

    def bigrams(self, stems):
        said = [self.query.stems.index(s) if s in self.query.stems else -1 for s in self.query.sequence]
        pairs = {(a, b) for a, b in pairwise(said) if min(a, b) >= 0 and a != b}
        numbers = [self.columns.lexicon.stem_of(s) for s in self.query.stems]
        values = [self.idf[s] for s in self.query.stems]
        there = set(pairwise(stems))
        held = sum(values[a] + values[b] for a, b in pairs if (numbers[a], numbers[b]) in there)
        return held / max(sum(values[a] + values[b] for a, b in pairs), 1e-9)

    def cast(self):
        columns = self.columns
        numbers = dict.fromkeys(columns.lexicon.stem_of(s) for s in (*self.query.stems, *self.query.sequence))
        groups = [set(columns.actor_words[n]) for n in numbers if n in columns.actor_words]
        living = [r for r in range(columns.size) if columns.alive[r]]
        there = [{int(columns.threads[r]) for r in living if columns.actors[r] in group} for group in groups]
        return [
            sum(columns.threads[row] >= 0 and columns.threads[row] in one for one in there) / max(len(groups), 1)
            for row in self.rows
        ]

    def feedback(self, counted):
        def z(values):
            centred = values - values.mean()
            return centred / max(float(values.std()), 1e-6)

        cosine = np.asarray([self.cosine[r] for r in self.rows])
        base = z(np.asarray(counted)) + COSINE_SHARE * z(cosine)
        givers = sorted(range(len(base)), key=lambda i: -base[i])
        if any(abs(base[a] - base[b]) < 1e-4 for a, b in pairwise(givers[: FEEDBACK + 1])):
            return None  # rounding decides
        vectors = []
        for row in self.rows:
            held = Counter(int(self.columns.lexicon.stems[w]) for w in self.words(row))
            k = self.k(sum(held.values()))
            rare = {n: idf(self.columns.frequency(self.columns.lexicon.stem_text(n)), self.columns.size) for n in held}
            vectors.append({n: 2.2 * tf / (tf + k) * rare[n] for n, tf in held.items()})
        total, given_ = [0.0] * len(base), [0.0] * len(base)
        for giver in givers[:FEEDBACK]:
            own = vectors[giver]
            bound = sorted(own.values(), reverse=True)[:FEEDBACK_WORDS][-1] if own else 0
            own = {n: v for n, v in own.items() if v >= bound}
            norm, weight = sqrt(sum(v * v for v in own.values())), exp(base[giver] - base[givers[0]])
            for i, other in enumerate(vectors):
                if i != giver:
                    total[i] += weight * sum(v * own.get(n, 0.0) for n, v in other.items()) / max(norm, 1e-9)
                    given_[i] += weight
        return [t / max(g, 1e-9) for t, g in zip(total, given_, strict=True)]


def features_of(rows, words, batch=True):
    columns, long = scope(rows), LONG if len(words) % 2 else ()
    query = asked(words, long)
    cosine = np.sin(np.arange(columns.size, dtype=np.float32) * 1.7)
    candidates = np.asarray([r for r in range(columns.size) if columns.alive[r]], dtype=np.int64)
    made = compute(
        FeatureInput(
            columns=columns,
            rows=candidates,
            query=query,
            frequency=columns.frequency,
            count=columns.size,
            cosine=lambda some: cosine[some],
            frequencies=columns.frequencies if batch else None,
        )
    )
    return made, Plain(columns, query, candidates.tolist(), cosine)


@given(rows=texts, words=queries)
@settings(max_examples=examples(80), deadline=None)
def test_features_are_what_their_formulas_say(rows, words):
    made, plain = features_of(rows, words)
    expected = [plain.of(row) for row in plain.rows]
    for name in expected[0] if expected else ():
        want = [one[name] for one in expected]
        np.testing.assert_allclose(made[name], want, rtol=2e-5, atol=2e-6, err_msg=name)
    if "cast_present" in made.columns:
        np.testing.assert_allclose(made["cast_present"], plain.cast(), rtol=1e-6)


@given(rows=texts, words=queries, batch=st.booleans())
@settings(max_examples=examples(60), deadline=None)
def test_feedback_is_what_its_formula_says(rows, words, batch):
    made, plain = features_of(rows, words, batch=batch)
    if "feedback" in made.columns:
        want = plain.feedback([plain.of(row)["bm25_counted"] for row in plain.rows])
        if want is not None:
            np.testing.assert_allclose(made["feedback"], want, rtol=2e-4, atol=2e-5)


@given(rows=texts, words=queries)
@settings(max_examples=examples(50), deadline=None)
def test_the_sum_is_that_of_its_parts_and_nothing_depends_on_who_asked_first(rows, words):
    made, again = (features_of(rows, words)[0] for _ in range(2))
    whole = again.whole()  # every column, in their order
    ranking, other = FixedWeights().score(made), FixedWeights().score(whole)
    np.testing.assert_array_equal(ranking.scores, other.scores)
    assert list(ranking.added) == list(other.added)
    scale = min(1.0, sqrt(max(made.size - 1, 0)) / FULL_SPREAD)
    for name, part in ranking.added.items():
        feature, column = FEATURES[name], whole[name].astype(np.float64)
        weight = sum(w * made.gates.get(gate, 0.0) for gate, w in feature.weight.items())
        if not made.size:
            want = column
        elif feature.floor is not None:
            want = weight * (column - column.mean()) / max(column.std(), feature.floor)
        else:
            want = weight * column * (1 if feature.decisive else scale)
        np.testing.assert_allclose(part, want, rtol=1e-3, atol=1e-5, err_msg=name)
    if ranking.added:
        np.testing.assert_allclose(ranking.scores, sum(ranking.added.values()), rtol=1e-5, atol=1e-5)


@given(rows=texts, words=queries)
@settings(max_examples=examples(50), deadline=None)
def test_titles_windows_and_frequencies_are_what_loops_find(rows, words):
    columns = scope(rows)
    lexicon = columns.lexicon
    everyone = np.arange(columns.size)
    sequence = [stem(w) for w in words]
    documents = everyone % 3 > 0
    numbers = [lexicon.stem_of(s) for s in sequence]
    spoken = {(n,) for n in numbers if n >= 0} | {pair for pair in pairwise(numbers) if min(pair) >= 0}
    begun = [tuple(lexicon.stems[columns.words[columns.starts[r] : columns.starts[r + 1]][:2]]) for r in everyone]
    want = [float(documents[r] and begun[r] in spoken) for r in everyone]
    assert titled(columns, everyone, documents, sequence).tolist() == want

    hits = np.random.default_rng(len(words)).permutation(everyone)[: columns.size // 2 + 1]
    scores = {int(row): 1.0 + place for place, row in enumerate(hits)}
    links = [(columns.before, columns.after)[side] for side in (0, 1)]
    beside = {int(link[row]) for link in links for row in hits} - {-1, *scores}
    value = {row: sum(scores.get(int(link[row]), 0.0) for link in links) for row in beside}
    found = window_rows(columns, hits, np.asarray(list(scores.values()), dtype=np.float32), 3)
    assert found.tolist() == sorted(sorted(beside), key=lambda row: -value[row])[:3]

    stems = np.asarray([*range(len(lexicon._stem_texts)), 10_000_000])
    known = [columns.frequency(lexicon.stem_text(n)) for n in stems[:-1].tolist()]
    assert columns.frequencies(stems).tolist() == [*known, 0]


@given(values=st.lists(st.integers(-3, 9)))
def test_runs_are_those_of_numpy(values):
    array = np.asarray(values, dtype=np.int64)
    assert distinct(array).tolist() == np.unique(array).tolist()
    assert changes(array).tolist() == (np.diff(array, prepend=-99) != 0).tolist()
    assert heads(array).tolist() == np.flatnonzero(np.diff(array, prepend=-99)).tolist()


@given(size=st.integers(1, 9), orders=st.lists(st.randoms(use_true_random=False), max_size=3))
def test_columns_in_order_are_those_that_were_put_in_order(size, orders):
    made = []
    columns = {name: np.arange(size) * factor for factor, name in enumerate("abc")}
    lazy = OnDemand({name: lambda name=name: made.append(name) or columns[name] for name in columns})
    for chance in orders:
        order = np.asarray(chance.sample(range(size), size))
        lazy = InOrder.of(lazy, order)
    assert not made  # nothing is made before it is read
    assert set(lazy) == set(columns) and len(lazy) == 3 and "a" in lazy and "d" not in lazy
    with pytest.raises(KeyError):
        lazy["d"]
    whole = lazy["b"]
    assert sorted(whole.tolist()) == columns["b"].tolist() and made == ["b"]
    assert lazy["b"] is whole
