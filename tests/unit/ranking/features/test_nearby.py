"""What stands near a candidate without a conversation between them, on numbers that can be checked by hand."""

from math import exp, log, sqrt

import numpy as np
import pytest

from recall_integrations.indexes.lexicon import Lexicon, QueryTerms
from recall_integrations.ranking.features import record as nearby
from recall_integrations.ranking.features.compute import compute
from recall_integrations.ranking.features.match import FeatureInput
from recall_integrations.text import stem
from tests.columns import TextRow, columns_of

HOUR = 3_600_000_000
LONG = tuple(f"zq{i}" for i in range(18))  # makes a query long; no text holds them


def scope(*texts, **fields):
    return columns_of([TextRow(num=i + 1, text=text, **fields) for i, text in enumerate(texts)], Lexicon())


def run(columns, *words, rows=None, hours=None, df=None, said=(), **fields):
    stems = tuple(stem(w) for w in words)
    df = df or {}
    return compute(
        FeatureInput(
            columns=columns,
            rows=np.arange(columns.size) if rows is None else np.asarray(rows),
            query=QueryTerms(stems=stems, words=words, sequence=(*stems, *said)),
            frequency=lambda s: df.get(s, 1),
            count=columns.size,
            at=None if hours is None else np.asarray([int(h * HOUR) for h in hours]),
            **fields,
        )
    )


# --- together ---------------------------------------------------------------------------------------------------

RECORDS = scope("the shed", "a bill", "a call", "a tune", "the shed")
# bmq is idf · (1, 0, 0, 0, 1): mean .4, variance .24
HIT, MISS = 0.6 / sqrt(0.24), -0.4 / sqrt(0.24)


def test_records_of_the_same_hours_belong_together():
    found = run(RECORDS, "shed", hours=[0, 36, 37, 73, 500])
    # row 3 has row 2 and no other beside it, row 4 nobody
    np.testing.assert_allclose(found["near_in_time"], [MISS, HIT, MISS, MISS, MISS], rtol=1e-5)


def test_the_hours_reach_both_ways_and_the_ends_count():
    found = run(RECORDS, "shed", hours=[100, 64, 136, 63.9, 900])
    np.testing.assert_allclose(found["near_in_time"], [MISS, HIT, HIT, MISS, MISS], rtol=1e-5)


def test_two_of_one_matter_lend_to_each_other():
    found = run(RECORDS, "shed", hours=[0, 900, 1800, 2700, 1])
    np.testing.assert_allclose(found["near_in_time"], [HIT, MISS, MISS, MISS, HIT], rtol=1e-5)


def test_only_candidates_are_together():
    found = run(RECORDS, "shed", rows=[3, 1, 4], hours=[0, 1, 2, 3, 4])
    # of three: mean 1/3, variance 2/9; the hit has misses beside it, the misses have the hit
    hit, miss = (2 / 3) / sqrt(2 / 9), (-1 / 3) / sqrt(2 / 9)
    np.testing.assert_allclose(found["near_in_time"], [hit, hit, miss], rtol=1e-5)


def test_where_all_came_at_once_times_say_nothing():
    assert "near_in_time" not in run(RECORDS, "shed", hours=[0, 0.2, 0.4, 0.6, 0.8]).columns
    assert "near_in_time" in run(RECORDS, "shed", hours=[0, 0.2, 0.4, 0.6, 1]).columns


@pytest.mark.parametrize("rows", [[], [2]])
def test_few_candidates_are_not_together(rows):
    assert run(RECORDS, "shed", rows=rows, hours=[0, 1, 2, 3, 4])["near_in_time"].tolist() == [0] * len(rows)


def test_without_times_nothing_is_together():
    assert "near_in_time" not in run(RECORDS, "shed").columns


def test_what_says_nothing_of_the_query_is_together_with_nothing():
    assert run(RECORDS, "kestrel", hours=[0, 1, 2, 3, 40])["near_in_time"].tolist() == [0] * 5


def test_in_a_chat_of_two_times_are_not_looked_at():
    chat = [TextRow(num=i + 1, text="shed", actor=a, thread="t", position=i) for i, a in enumerate("AB" * 3)]
    assert "near_in_time" not in run(columns_of(chat, Lexicon()), "shed", hours=range(6)).columns


# --- feedback ---------------------------------------------------------------------------------------------------

# Words that no other text holds make up the rest.
PAPERS = scope("shed timber", "timber", "gravel", "cement", "mortar", "slate")
IDF = log(1 + 5.5 / 1.5)  # every stem is said to be in one of the six


def test_what_the_best_say_besides():
    found = run(PAPERS, "shed", said=LONG)["feedback"]
    # bmq: z of row 0 is (1 - 1/6) / sqrt(5/36) = sqrt(5), of the others -1/sqrt(5); the five best are rows 0 to 4
    share = exp(-1 / sqrt(5) - sqrt(5))
    worth = IDF  # of a word that stands once in a short text
    # row 0 gives "timber" with 1/sqrt(2) of its unit vector, row 1 with all of it
    from_0, from_1 = worth / sqrt(2), worth
    np.testing.assert_allclose(found[0], share * from_1 / (4 * share), rtol=1e-4)
    np.testing.assert_allclose(found[1], from_0 / (1 + 3 * share), rtol=1e-4)
    assert found[2:].tolist() == [0, 0, 0, 0]  # they hold no word of another


def test_rare_words_say_more():
    often = run(PAPERS, "shed", said=LONG, df={"timber": 4})["feedback"][1]
    assert 0 < often < run(PAPERS, "shed", said=LONG)["feedback"][1]


def test_cosines_choose_who_gives():
    papers = scope("shed", "gravel timber", "cement", "mortar", "slate", "pine", "timber")
    cosines = np.asarray([0, 0, 0.1, 0.1, 0.1, 0.1, 0], dtype=np.float32)
    assert run(papers, "shed", said=LONG, cosine=lambda rows: cosines[rows])["feedback"][6] == 0
    cosines = np.asarray([0, 0.9, 0, 0, 0, 0, 0], dtype=np.float32)
    assert run(papers, "shed", said=LONG, cosine=lambda rows: cosines[rows])["feedback"][6] > 0


def test_a_text_gives_nothing_to_itself():
    assert run(scope("shed pine", "timber", "gravel", "cement", "mortar"), "shed", said=LONG)["feedback"][0] == 0


def test_stems_are_compared_and_not_words():
    papers = scope("shed painting", "painted", "gravel", "cement", "mortar")
    assert run(papers, "shed", said=LONG)["feedback"][1] > 0


def test_neighbours_that_are_no_candidates_give_nothing():
    rows = [
        *(TextRow(num=i + 1, text=t, thread="t", position=i) for i, t in enumerate(("timber", "shed"))),
        *(TextRow(num=i + 3, text=t) for i, t in enumerate(("timber", "gravel", "cement", "mortar"))),
    ]
    found = run(columns_of(rows, Lexicon()), "shed", rows=[1, 2, 3, 4, 5], said=LONG)
    assert found["feedback"].tolist() == [0] * 5


def test_a_handful_gives_no_feedback():
    assert "feedback" not in run(PAPERS, "shed", rows=range(nearby.FEEDBACK - 1), said=LONG).columns
    assert "feedback" in run(PAPERS, "shed", rows=range(nearby.FEEDBACK), said=LONG).columns


def test_short_questions_get_no_feedback():
    assert "feedback" not in run(PAPERS, "shed", said=LONG[:5]).columns
    assert "feedback" in run(PAPERS, "shed", said=LONG[:6]).columns


def test_feedback_is_the_same_whatever_the_order_of_the_candidates():
    cosines = np.linspace(0.3, 0.1, 6, dtype=np.float32)  # no two are equally good, so the five that give are the same
    there, back = (
        run(PAPERS, "shed", "gravel", said=LONG, rows=rows, cosine=lambda some: cosines[some])["feedback"]
        for rows in (range(6), range(5, -1, -1))
    )
    assert there[0] > 0 and there[1] > 0
    np.testing.assert_allclose(back[::-1], there, rtol=1e-4, atol=1e-6)


def test_z_scores_of_equals_are_0():
    assert nearby.z_scores(np.full(3, 2, np.float32)).tolist() == [0, 0, 0]
