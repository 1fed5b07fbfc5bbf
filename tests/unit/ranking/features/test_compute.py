"""Each feature on numbers that can be checked by hand. `soft` values come from the static model and are bounded."""

from datetime import datetime, timedelta, timezone
from math import log

import numpy as np
import pytest

from recall_integrations.config import RecallConfig
from recall_integrations.indexes.columns import window_rows
from recall_integrations.indexes.lexicon import TERMS_MAX, Lexicon, QueryTerms, query_terms, runs
from recall_integrations.indexes.scope_view import Told
from recall_integrations.query.findings import ScopeKnowledge, implicit_user
from recall_integrations.query.parser import QueryParser
from recall_integrations.ranking.features import match as features
from recall_integrations.ranking.features.compute import FEATURES, compute
from recall_integrations.ranking.features.match import FeatureInput
from recall_integrations.ranking.features.record import telling
from recall_integrations.text import stem
from recall_integrations.types import Scope, TemporalWindow
from tests.columns import TextRow, columns_of
from tests.rows import each_row

DEFAULT = Scope()
NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
CHAT = [
    ("Sam", "Which colour is the shed painted?"),
    ("Priya", "Dark green."),
    ("Priya", "The invoice for Kestrel arrived on Monday"),
    ("Sam", "Sarah painted the shed in March 2025"),
    ("Priya", "Lovely!"),
]


def chat(lexicon=None, texts=CHAT, thread="t"):
    return columns_of(
        [TextRow(num=i + 1, text=t, actor=a, thread=thread, position=i) for i, (a, t) in enumerate(texts)],
        lexicon or Lexicon(),
    )


def ask(*words, **fields):
    stems = tuple(dict.fromkeys(stem(w) for w in words))
    return QueryTerms(
        stems=stems, words=tuple(dict.fromkeys(words))[: len(stems)], sequence=tuple(stem(w) for w in words), **fields
    )


def run(columns, query, rows=None, df=None, **fields):
    df = df or {}
    return compute(
        FeatureInput(
            columns=columns,
            rows=np.arange(columns.size) if rows is None else np.asarray(rows),
            query=query,
            frequency=lambda s: df.get(s, 1),
            count=fields.pop("count", columns.size),
            **fields,
        )
    )


def parsed(text, scope=DEFAULT):
    known = ScopeKnowledge(user=implicit_user(scope))
    return QueryParser(RecallConfig()).parse(text, NOW, known)[0]


def test_every_feature_is_documented_and_every_document_is_computed():
    """In a scope that opens all gates: pairs, a crowd, a chat with an assistant, an app; and a long question."""
    talks = (
        *((a, "two") for a in "AB"),
        *((a, "crowd") for a in "CDE"),
        *((a, "help") for a in ("user", "assistant")),
        *((a, "app") for a in ("mail", "mail")),
    )
    columns = columns_of(
        [TextRow(num=i + 1, text="the shed", actor=a, thread=t, position=i) for i, (a, t) in enumerate(talks)],
        Lexicon(),
    )
    at = np.arange(columns.size) * 3_600_000_000
    found = run(
        columns,
        ask(*(f"shed{i}" for i in range(18))),
        at=at,
        now=NOW,
        importance=np.full(columns.size, 0.5, np.float32),
        graph=np.zeros(columns.size, np.float32),
    )
    short = run(columns, ask("shed"), word_worth=0)  # the gate that a long question closes
    assert {*found.columns, *short.columns} == {f.name for f in FEATURES}
    assert {f.name for f in FEATURES} - set(found.columns) == {"char_bm25"}
    assert all(v.dtype == np.float32 and v.shape == (9,) for v in found.columns.values())
    closed = ("documents", "strong_documents", "untold", "strong_untold")
    assert all(0 < max(found.gates[gate], short.gates[gate]) <= 1 for gate in found.gates if gate not in closed)


def test_bm25_with_the_absolute_pivot_by_hand():
    found = run(chat(), ask("shed", "invoice"), df={"shed": 2, "invoic": 1})
    shed, invoice = log(1 + 3.5 / 2.5), log(1 + 4.5 / 1.5)
    # every text is shorter than 30 words, so K = 1.2 and one occurrence counts 2.2 / 2.2
    np.testing.assert_allclose(found["bm25"], [shed, 0, invoice, shed, 0], rtol=1e-5)
    np.testing.assert_allclose(found["bm25_of_ceiling"][0], shed / (2.2 * (shed + invoice)), rtol=1e-5)
    np.testing.assert_allclose(found["idf_coverage"][0], shed / (shed + invoice), rtol=1e-5)


def test_a_text_beyond_the_pivot_is_damped():
    filler = " ".join(f"zq{i}" for i in range(59))
    columns = columns_of([TextRow(num=1, text="budget"), TextRow(num=2, text=f"budget {filler}")], Lexicon())
    found = run(columns, ask("budget"), df={"budget": 2}, count=2)
    idf = log(1 + 0.5 / 2.5)
    long = 1.2 * (0.25 + 0.75 * 60 / 30)
    np.testing.assert_allclose(found["bm25"], [idf, idf * 2.2 / (1 + long)], rtol=1e-5)
    np.testing.assert_allclose(found["soft_match"], [1, 2.2 / (1 + long)], rtol=1e-5)
    np.testing.assert_allclose(found["near_match"], [1, 1], rtol=1e-5)


def test_a_stem_that_is_asked_twice_counts_twice():
    columns = chat()
    twice = run(columns, ask("shed", "invoice", counts=(2, 1)), df={"shed": 2})
    once = run(columns, ask("shed", "invoice"), df={"shed": 2})
    np.testing.assert_allclose(twice["bm25_counted"], twice["bm25"] * [2, 0, 1, 2, 0], rtol=1e-5)
    np.testing.assert_allclose(once["bm25_counted"], once["bm25"], rtol=1e-5)


def filler(start, count):
    return " ".join(f"zq{i}" for i in range(start, start + count))


@each_row(
    ("first", "second", "together"),
    [
        (0, 31, True),  # the first passage: words 0 to 31
        (0, 32, False),
        (16, 47, True),  # the second: 16 to 47
        (15, 31, True),
        (15, 32, False),  # no passage begins before 16 and ends behind 31
        (20, 70, False),
        (64, 69, True),  # the last, which is shorter
    ],
)
def test_the_best_passage_is_32_words_from_every_16th_on(first, second, together):
    words = [f"zq{i}" for i in range(70)]
    words[first : first + 1], words[second : second + 1] = ["budget"], ["kestrel"]
    columns = columns_of([TextRow(num=1, text=" ".join(words))], Lexicon())
    found = run(columns, ask("budget", "kestrel"))
    assert found["idf_coverage"][0] == pytest.approx(1)
    assert found["passage_match"][0] == pytest.approx(1) if together else 0.5 <= found["passage_match"][0] < 0.8


def test_a_passage_does_not_reach_into_the_next_text():
    columns = columns_of([TextRow(num=1, text="the budget"), TextRow(num=2, text="a kestrel")], Lexicon())
    found = run(columns, ask("budget", "kestrel"))["passage_match"]
    assert all(0.5 <= value < 0.8 for value in found.tolist())


def test_neighbours_say_nothing_in_a_passage():
    found = run(chat(), ask("shed"), rows=[1, 4], df={"shed": 2})
    assert (found["passage_match"] < 0.8).all() and run(chat(), ask("shed"))["passage_match"][3] == pytest.approx(1)


def test_a_passage_is_not_damped_by_the_length_of_its_text():
    columns = columns_of([TextRow(num=1, text="budget"), TextRow(num=2, text=f"budget {'zq7 ' * 99}")], Lexicon())
    found = run(columns, ask("budget"), df={"budget": 2})
    np.testing.assert_allclose(found["passage_match"], [1, 1], rtol=1e-5)
    assert found["soft_match"][1] == pytest.approx(2.2 / (1 + 1.2 * (0.25 + 0.75 * 100 / 30)))


def test_what_a_text_begins_with():
    lead = [f"zq{i}" for i in range(20)]
    texts = [" ".join([*lead[:place], "budget", *lead[place:]]) for place in (0, 11, 12)]
    texts += ["the budget of the kestrel", "budget budget"]
    columns = columns_of([TextRow(num=i + 1, text=t) for i, t in enumerate(texts)], Lexicon())
    found = run(columns, ask("budget", "kestrel"), df={"budget": 4})
    budget, kestrel = log(1 + 1.5 / 4.5), log(1 + 4.5 / 1.5)
    share = budget / (budget + kestrel)
    np.testing.assert_allclose(found["lead_match"], [share, share, 0, 1, share], rtol=1e-5)


def test_how_much_of_a_text_asks():
    texts = ["Which shed is green?", "I painted the shed. Which colour?", "A green shed.", "of the?"]
    columns = columns_of([TextRow(num=i + 1, text=t) for i, t in enumerate(texts)], Lexicon())
    found = run(columns, ask("shed"))
    np.testing.assert_allclose(found["asking_share"], [1, 1 / 3, 0, 0], rtol=1e-6)
    assert found["is_question"].tolist() == [1, 1, 0, 1]
    np.testing.assert_allclose(run(columns, ask("shed"), rows=[2, 1])["asking_share"], [0, 1 / 3], rtol=1e-6)


def test_words_that_are_near_count_in_part():
    columns = columns_of([TextRow(num=1, text="the dog barked"), TextRow(num=2, text="an invoice came")], Lexicon())
    found = run(columns, ask("puppy"))
    assert 0.5 < found["soft_match"][0] < 1 and found["bm25"][0] == 0
    assert found["near_match"][0] == found["soft_match"][0]
    assert found["soft_match"][1] < 0.5 and found["near_match"][1] == 0


def test_neighbours_lend_their_terms():
    found = run(chat(), ask("shed"), rows=[1, 2, 4], df={"shed": 2})
    # rows 1 and 4 stand beside a text with the stem, 2 beside one too (row 3); windows are shorter than the pivot
    np.testing.assert_allclose(found["near_match_w1"], [1, 1, 1], rtol=1e-5)
    assert found["near_match"][0] < 1


def test_an_answer_takes_the_terms_of_the_question_before_it():
    found = run(chat(), ask("shed"), df={"shed": 2})
    np.testing.assert_allclose(found["asked_before"], [0, 1, 0, 0, 0], atol=1e-6)
    np.testing.assert_allclose(found["is_question"], [1, 0, 0, 0, 0])
    alone = chat(texts=[("Sam", "Which shed?"), ("Sam", "The green one.")])
    assert run(alone, ask("shed"))["asked_before"].tolist() == [0, 0]  # nobody answers themself


def test_an_actors_own_earlier_text_lends_its_terms():
    texts = [("Sam", "the shed"), ("Priya", "oh"), ("Sam", "green it is"), ("Priya", "nice")]
    found = run(chat(texts=texts), ask("shed"))
    np.testing.assert_allclose(found["speaker_prior_match"], [0, 0, 1, 0], atol=1e-6)


def test_speakers_named_in_the_query():
    found = run(chat(), ask("priya", "shed"))
    assert found["speaker_named"].tolist() == [0, 1, 1, 0, 1]
    assert run(chat(), ask("shed"))["speaker_named"].tolist() == [0] * 5


def test_first_person_means_the_user():
    columns = chat(texts=[("user", "my shed is green"), ("assistant", "a green shed")])
    assert run(columns, ask("shed", asker=("user",)))["speaker_named"].tolist() == [1, 0]
    assert run(columns, ask("shed"))["speaker_named"].tolist() == [0, 0]


def test_stem_pairs_side_by_side():
    columns = columns_of(
        [TextRow(num=1, text="painted the shed"), TextRow(num=2, text="the shed he painted")], Lexicon()
    )
    np.testing.assert_allclose(run(columns, ask("painting", "shed"))["bigram_match"], [1, 0], rtol=1e-6)


def test_a_pair_does_not_reach_into_the_next_text():
    columns = columns_of([TextRow(num=1, text="it is painted"), TextRow(num=2, text="sheds")], Lexicon())
    assert run(columns, ask("painted", "shed"))["bigram_match"].tolist() == [0, 0]


def test_date_words():
    found = run(chat(), ask("invoice", when=True))
    assert found["date_words_asked"].tolist() == [0, 0, 1, 2, 0]
    assert run(chat(), ask("invoice"))["date_words_asked"].tolist() == [0] * 5


def test_what_the_candidates_of_a_thread_hold_together():
    lexicon = Lexicon()
    rows = [
        TextRow(num=1, text="the shed", thread="a", position=0),
        TextRow(num=2, text="an invoice", thread="a", position=1),
        TextRow(num=3, text="the shed", thread="b", position=0),
        TextRow(num=4, text="the shed"),
    ]
    found = run(columns_of(rows, lexicon), ask("shed", "invoice"), df={"shed": 3, "invoic": 1})
    assert found["thread_best_soft_match"][0] == found["thread_best_soft_match"][1] >= found["soft_match"][1]


def test_cosines_are_averaged_over_the_neighbours_that_are_there():
    sims = np.array([0.1, 0.5, 0.3, 0.2, np.nan], dtype=np.float32)
    found = run(chat(), ask("shed"), cosine=lambda rows: sims[rows])
    np.testing.assert_allclose(found["cosine"], [0.1, 0.5, 0.3, 0.2, 0], rtol=1e-6)
    np.testing.assert_allclose(found["cosine_w1"], [0.3, 0.3, 1 / 3, 0.5 / 3, 0.1], rtol=1e-5)
    assert run(chat(), ask("shed"), cosine=lambda rows: None)["cosine"].tolist() == [0] * 5


def test_date_match():
    day = timedelta(days=1)
    start, end = NOW - 20 * day, NOW - 10 * day
    window = TemporalWindow(start=start, end=end, span=(0, 1), confidence=0.8)
    times = [start - day, start, end - day, end + 10 * day, end + 100 * day]
    at = np.asarray([int(t.timestamp() * 1e6) for t in times])
    found = run(chat(), ask("shed", window=window), at=at)
    np.testing.assert_allclose(
        found["date_match"], [0, 0.8, 0.8, 0.8 * 0.6 * np.exp(-1), 0.8 * 0.6 * np.exp(-10)], rtol=1e-4
    )
    open_end = TemporalWindow(start=start, end=None, span=(0, 1), confidence=1.0)
    np.testing.assert_allclose(run(chat(), ask("shed", window=open_end), at=at)["date_match"], [0, 1, 1, 1, 1])
    assert not run(chat(), ask("shed", window=window))["date_match"].any()


def test_recency_importance_and_graph_are_taken_as_they_are():
    columns = chat()
    at = np.asarray([int((NOW - timedelta(days=30 * i)).timestamp() * 1e6) for i in range(5)])
    found = run(
        columns,
        ask("shed"),
        rows=[2, 0],
        at=at,
        now=NOW,
        importance=np.linspace(0, 1, 5, dtype=np.float32),
        graph=np.asarray([np.nan, 0.7], np.float32),
    )
    np.testing.assert_allclose(found["recency"], [0.25, 1], rtol=1e-5)
    np.testing.assert_allclose(found["importance"], [0.5, 0])
    np.testing.assert_allclose(found["graph"], [0, 0.7], rtol=1e-6)


def test_links_name_candidates():
    found = run(chat(), ask("shed"), rows=[3, 1, 2])
    # in the order before, after, two before, two after; indices into the candidates
    assert found.links.tolist() == [[2, -1, 1], [-1, 2, 0], [1, -1, -1], [-1, 0, -1]]


def test_features_are_the_same_whatever_the_order_of_the_candidates():
    columns, query = chat(), ask("shed", "painted", "invoice")
    there, back = (run(columns, query, rows=r) for r in ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0]))
    assert set(there.columns) == set(back.columns) != set()
    for name, values in there.columns.items():
        np.testing.assert_allclose(values, back[name][::-1], rtol=1e-5, atol=1e-6, err_msg=name)


def test_no_candidates_no_terms_no_words():
    columns = chat(texts=[("Sam", "the of"), ("Priya", "?")])
    assert run(columns, ask("shed"), rows=[])["bm25"].shape == (0,)
    for query in (ask(), ask("shed")):
        found = run(columns, query)
        assert all(np.isfinite(v).all() for v in found.columns.values())
        assert not found["bm25"].any()


def test_a_long_pool_is_cut_to_its_beginnings(monkeypatch):
    monkeypatch.setattr(features, "PAIRS_MAX", 400)
    filler = " ".join(f"zq{i}" for i in range(60))
    texts = [TextRow(num=1, text=f"budget {filler}"), TextRow(num=2, text=f"{filler} budget")]
    assert (run(columns_of(texts, Lexicon()), ask("budget"))["bm25"] > 0).tolist() == [True, False]


def test_query_terms_leave_out_what_is_negated_and_know_the_words():
    terms = query_terms(parsed("When did Sarah paint the shed, not the fence?"))
    assert terms.stems == ("sarah", "paint", "shed") and terms.words == ("sarah", "paint", "shed")
    assert terms.sequence == ("sarah", "paint", "shed", "fenc")
    assert terms.when and not terms.asker
    assert query_terms(parsed("What did I tell you about painting?")).asker == ("user", "human")
    mine = parsed("What did I tell you about painting?", Scope(user_id="Sam"))
    assert query_terms(mine).asker == ("user", "human", "sam")
    assert query_terms(parsed("who is I?", Scope(user_id="sam@example.org"))).asker == ("user", "human")
    assert query_terms(parsed("painted and painting")).words == ("painted",)
    assert len(query_terms(parsed(" ".join(f"w{i}" for i in range(200)))).stems) == TERMS_MAX


def test_window_rows_are_neighbours_that_are_no_hits():
    columns = chat()
    scores = np.asarray([2.0, 3.0], dtype=np.float32)
    assert window_rows(columns, np.asarray([3, 1]), scores, 5).tolist() == [2, 0, 4]
    assert window_rows(columns, np.asarray([3, 1]), scores, 1).tolist() == [2]
    lone = columns_of([TextRow(num=1, text="a"), TextRow(num=2, text="b")], Lexicon())
    assert window_rows(lone, np.asarray([0]), scores[:1], 5).tolist() == []
    assert window_rows(lone, np.empty(0, np.int64), scores[:0], 5).tolist() == []


def test_word_vectors_weigh_what_they_are_worth_in_the_language():
    """What is said stays; what only lies near is scaled, and gone where the vectors know nothing."""
    columns = chat(texts=(("A", "a small dog"), ("A", "the hut")))
    full = run(columns, ask("puppy"))["passage_match"][0]
    assert 0.3 < full < 1
    assert run(columns, ask("puppy"), word_worth=0.5)["passage_match"][0] == pytest.approx(full / 2, rel=1e-5)
    none = run(columns, ask("puppy", "hut"), word_worth=0.0)
    assert none["passage_match"][0] == none["soft_match"][0] == 0
    assert none["passage_match"][1] == pytest.approx(0.5)  # it says one of two words that are equally rare


def char_bm25_by_hand(texts, words, me):
    """Of one text among others, over their distinct runs, as it is defined."""
    held = [[r for w in text.lower().split() for r in runs(w)] for text in texts]
    per_word = sum(map(len, held)) / sum(len(text.split()) for text in texts)
    pivot = max(sum(map(len, held)) / len(held), 30 * per_word)
    k = 1.2 * (0.25 + 0.75 * max(len(held[me]), pivot) / pivot)
    score = 0.0
    for run_ in {r for w in words for r in runs(w)}:
        df = sum(run_ in own for own in held)
        tf = held[me].count(run_)
        if tf:
            score += log(1 + (len(held) - df + 0.5) / (df + 0.5)) * 2.2 * tf / (tf + k)
    return score


@pytest.mark.parametrize("length", [1, 12])
def test_runs_of_letters_by_hand(length):
    texts = [" ".join([t] * length) for t in ("fussballstadion", "stadt stadion", "regen", "fussball fussweg")]
    columns = columns_of([TextRow(num=i + 1, text=t) for i, t in enumerate(texts)], Lexicon())
    found = run(columns, ask("stadion"), word_worth=0)["char_bm25"]
    assert found.tolist() == pytest.approx([char_bm25_by_hand(texts, ["stadion"], i) for i in range(4)], rel=1e-5)
    assert found[1] > found[0] > 0 == found[2] == found[3]


def test_runs_of_letters_are_read_where_word_vectors_know_nothing():
    columns = columns_of([TextRow(num=1, text="fussballstadion")], Lexicon())
    assert "char_bm25" not in run(columns, ask("stadion")).columns
    assert "char_bm25" not in run(columns, ask(*(f"stadion{i}" for i in range(18))), word_worth=0).columns  # long
    assert run(columns, ask("stadion"), word_worth=0.4).gates["spelling"] == pytest.approx(
        0.6 * (1 - 20 / 21), rel=1e-5
    )


def test_runs_of_letters_without_candidates_or_words():
    columns = columns_of([TextRow(num=1, text="!!!"), TextRow(num=2, text="")], Lexicon())
    assert run(columns, ask("stadion"), word_worth=0)["char_bm25"].tolist() == [0, 0]
    assert run(columns, ask("stadion"), rows=[], word_worth=0)["char_bm25"].tolist() == []
    assert run(columns, QueryTerms(stems=(), words=()), word_worth=0)["char_bm25"].tolist() == [0, 0]


def test_rarity_by_hand():
    """Mean idf of what the scope holds, as a share of the highest: words that it lacks do not count."""
    columns = chat()
    kind = columns.kind
    found = run(columns, ask("shed", "invoice", "zebra"), df={"shed": 2, "invoic": 1, "zebra": 0})
    rarity = (log(1 + 3.5 / 2.5) + log(1 + 4.5 / 1.5)) / 2 / log(1 + 5.5 / 0.5)
    assert found.gates == pytest.approx(kind.gates(3, rarity))


def test_the_question_that_is_answered_is_that_of_the_text_right_before_by_another():
    """Who spoke two texts before, or after, is neither here nor there."""

    def answers(*actors):
        texts = ["Which one?", "Which shed?", "The green one.", "Thanks, that is it."]
        columns = chat(texts=list(zip(actors, texts, strict=True)))
        return run(columns, ask("shed"))["asked_before"].tolist()

    assert answers("Sam", "Sam", "Priya", "Sam") == [0, 0, 1, 0]
    assert answers("Priya", "Sam", "Priya", "Priya") == [0, 0, 1, 0]
    assert answers("Ann", "Sam", "Priya", "Ann") == [0, 0, 1, 0]
    assert answers("Sam", "Priya", "Priya", "Sam") == [0, 0, 0, 0]  # nobody answers themself
    assert answers("Sam", None, "Priya", "Sam") == [0, 0, 0, 0]
    assert answers("Sam", "Sam", None, "Sam") == [0, 0, 0, 0]


def test_texts_of_one_actor_lend_terms_whoever_speaks_between():
    texts = [("Sam", "the shed"), ("Priya", "oh"), ("Sam", "green it is"), ("Sam", "nice")]
    found = run(chat(texts=texts), ask("shed"))
    assert found["speaker_prior_match"].tolist() == [0, 0, 1, 0]
    assert run(chat(texts=[(None, t) for _, t in texts]), ask("shed"))["speaker_prior_match"].tolist() == [0] * 4


def test_where_all_say_the_same_no_feature_tells_them_apart():
    columns = columns_of([TextRow(num=i + 1, text="The green shed") for i in range(6)], Lexicon())
    found = run(columns, ask("shed"), df={"shed": 6})
    assert found.columns
    for name, column in found.columns.items():
        assert np.isfinite(column).all(), name
        assert np.ptp(column) == 0, name


def test_a_text_counts_in_its_own_window():
    """With neighbours that say nothing of it, and with none: what it says itself is in the window around it."""
    among = chat(texts=[("Sam", "hello"), ("Priya", "the shed"), ("Sam", "bye")])
    for columns, row in ((among, 1), (chat(texts=[("Priya", "the shed")]), 0)):
        found = run(columns, ask("shed"), rows=[row])
        for name in ("near_match_w1", "near_match_w2"):
            assert found[name][0] > 0.9, name


def told_of(*times):
    """Rows and the days before `NOW` at which what they tell began and ended."""
    day = 86_400_000_000
    now = int(NOW.timestamp() * 1e6)
    rows, starts, stops = (np.asarray(part, dtype=np.int64) for part in zip(*times, strict=True))
    return lambda: Told(size=5, rows=rows, start=now - starts * day, stop=now - stops * day)


def test_what_tells_of_the_window_counts_as_much_as_told():
    window = TemporalWindow(start=NOW - timedelta(days=20), end=NOW - timedelta(days=10), span=(0, 1), confidence=0.8)
    at = np.asarray([int(NOW.timestamp() * 1e6)] * 5) + 10**15
    told = told_of((0, 15, 14), (1, 25, 15), (1, 400, 300), (3, 400, 0))
    found = run(chat(), ask("shed", window=window), at=at, told=told)
    np.testing.assert_allclose(found["date_match"], [0.8 * 0.7, 0.8 * 0.7 * 0.5, 0, 0, 0], atol=1e-6)


def test_what_tells_a_time_where_it_is_asked_when():
    told = told_of((1, 5, 4), (3, 8, 2))
    assert run(chat(), ask("shed", dating=True), told=told)["told_asked"].tolist() == [0, 1, 0, 1, 0]
    assert not run(chat(), ask("shed", when=True), told=told)["told_asked"].any()
    assert not run(chat(), ask("shed", dating=True))["told_asked"].any()
    window = TemporalWindow(start=NOW, end=None, span=(0, 1), confidence=0.8)
    assert not run(chat(), ask("shed", dating=True, window=window), told=told)["told_asked"].any()


def test_a_word_that_matters_and_that_nothing_stands_for_counts_against():
    columns = chat()
    found = run(columns, ask("shed", "zirconium"))
    assert (found["weakest"] < 0.5).all()
    assert run(columns, ask("shed"))["weakest"][3] == pytest.approx(1)
    assert telling("zirconium") > telling("shed") > telling("know") >= 0.05
    assert found["focal_word"].max() < 0.5 < run(columns, ask("shed"))["focal_word"][3]
    assert found["focal_match"][3] < run(columns, ask("shed", "know"))["focal_match"][3]
    assert (found["focus"] == np.float32(telling("zirconium"))).all()


def test_a_query_without_words_has_no_focus():
    found = run(chat(), ask())
    assert not found["weakest"].any() and not found["focal_match"].any() and not found["focus"].any()
