"""Who speaks to whom, on exchanges that can be checked by hand."""

from math import log

import numpy as np

from recall_integrations.indexes.lexicon import Lexicon, QueryTerms
from recall_integrations.ranking.features.compute import compute
from recall_integrations.ranking.features.match import FeatureInput
from recall_integrations.text import stem
from recall_integrations.types.roles import Role
from tests.columns import ColumnsBuilder, TextRow, columns_of


def thread(*texts, name="t"):
    """Rows of one thread, each text with its actor; numbers are given by `scope`."""
    return [{"text": text, "actor": actor, "thread": name, "position": i} for i, (actor, text) in enumerate(texts)]


def scope(*groups):
    rows = [fields for group in groups for fields in group]
    return columns_of([TextRow(num=i + 1, **fields) for i, fields in enumerate(rows)], Lexicon())


def run(columns, *words, rows=None, df=1, **fields):
    query = QueryTerms(
        stems=tuple(dict.fromkeys(stem(w) for w in words)),
        words=tuple(dict.fromkeys(words)),
        sequence=tuple(stem(w) for w in words),
        **fields,
    )
    return compute(
        FeatureInput(
            columns=columns,
            rows=np.arange(columns.size) if rows is None else np.asarray(rows),
            query=query,
            frequency=lambda _: df,
            count=columns.size,
        )
    )


# --- told -------------------------------------------------------------------------------------------------------


def test_an_answer_is_told_by_the_question_before_it():
    found = run(scope(thread(("Sam", "Which shed?"), ("Priya", "The green one."), ("Sam", "Thanks"))), "shed")
    assert found["asked_before"].tolist() == [0, 1, 0]


def test_what_is_told_is_only_what_was_asked():
    """The text before tells of the budget and asks about the shed."""
    columns = scope(thread(("Sam", "The budget is fine. Which shed?"), ("Priya", "The green one.")))
    assert run(columns, "shed")["asked_before"].tolist() == [0, 1]
    assert run(columns, "budget")["asked_before"][1] < 0.5  # near(budget, shed)
    half = run(columns, "shed", "budget")["asked_before"][1]
    np.testing.assert_allclose(half, 0.5 * (1 + run(columns, "budget")["asked_before"][1]), rtol=1e-5)  # of equal idf


def test_a_statement_tells_nothing_about_what_comes_after():
    assert run(scope(thread(("Sam", "The shed."), ("Priya", "Green."))), "shed")["asked_before"].tolist() == [0, 0]


def test_nobody_answers_themself_and_nobody_unknown_answers():
    assert not run(scope(thread(("Sam", "Which shed?"), ("Sam", "The green one."))), "shed")["asked_before"].any()
    assert not run(scope(thread(("Sam", "Which shed?"), (None, "The green one."))), "shed")["asked_before"].any()
    assert not run(scope(thread((None, "Which shed?"), ("Sam", "The green one."))), "shed")["asked_before"].any()


def test_a_question_of_another_thread_tells_nothing():
    columns = scope(thread(("Sam", "Which shed?"), name="a"), thread(("Priya", "The green one."), name="b"))
    assert run(columns, "shed")["asked_before"].tolist() == [0, 0]


def test_the_question_need_not_be_a_candidate():
    columns = scope(thread(("Sam", "Which shed?"), ("Priya", "The green one.")))
    assert run(columns, "shed", rows=[1])["asked_before"].tolist() == [1]


# --- roles ------------------------------------------------------------------------------------------------------


def spoken():
    return scope(thread(("user", "my shed"), ("assistant", "a green shed"), ("tool", "shed 7"), ("Sam", "the shed")))


def test_what_the_user_said():
    assert run(spoken(), "shed")["by_user"].tolist() == [1, 0, 0, 0]


def test_the_role_that_is_asked_for_with_its_strength():
    assert run(spoken(), "shed", role=Role.ASSISTANT, strength=0.75)["by_asked_role"].tolist() == [0, 0.75, 0, 0]
    assert run(spoken(), "shed", role=Role.USER, strength=0.5)["by_asked_role"].tolist() == [0.5, 0, 0, 0]
    assert run(spoken(), "shed", role=Role.SYSTEM, strength=1.0)["by_asked_role"].tolist() == [0, 0, 0, 0]


def test_no_role_is_asked_for():
    assert run(spoken(), "shed")["by_asked_role"].tolist() == [0, 0, 0, 0]
    assert run(spoken(), "shed", strength=1.0)["by_asked_role"].tolist() == [0, 0, 0, 0]  # who has no role is not meant


def test_a_role_that_is_given_goes_before_the_name():
    columns = columns_of(
        [TextRow(num=1, text="a", actor="Sam", role="user"), TextRow(num=2, text="b", actor="assistant")], Lexicon()
    )
    assert run(columns, "shed")["by_user"].tolist() == [1, 0]


# --- cast -------------------------------------------------------------------------------------------------------


def scenes():
    return scope(
        thread(("Ann", "hello"), ("Ben", "hi"), ("Cid", "hey"), name="a"),
        thread(("Ann", "hello"), ("Cid", "hi"), ("Dan", "hey"), name="b"),
        thread(("Dan", "hello"), ("Cid", "hi"), ("Eve", "hey"), name="c"),
        [{"text": "Ann alone", "actor": "Ann"}],
    )


def test_who_is_asked_about_takes_part():
    assert run(scenes(), "ann", "shed")["cast_present"].tolist() == [1] * 6 + [0] * 4


def test_of_two_that_are_named_each_counts_half():
    assert run(scenes(), "ann", "ben")["cast_present"].tolist() == [1] * 3 + [0.5] * 3 + [0] * 4
    assert run(scenes(), "ann", "dan", "ann")["cast_present"].tolist() == [0.5] * 3 + [1] * 3 + [0.5] * 3 + [0]


def test_a_scene_is_read_whole_whatever_the_candidates():
    assert run(scenes(), "ben", rows=[0, 2, 4])["cast_present"].tolist() == [1, 1, 0]


def test_nobody_is_named():
    assert run(scenes(), "shed")["cast_present"].tolist() == [0] * 10


def test_people_of_one_name_are_one_that_is_named():
    columns = scope(
        thread(("Ann Lee", "hello"), ("Ben", "hi"), ("Cid", "hey"), name="a"),
        thread(("Ann Ray", "hello"), ("Dan", "hi"), ("Cid", "hey"), name="b"),
        thread(("Eve", "hello"), ("Dan", "hi"), ("Cid", "hey"), name="c"),
    )
    assert run(columns, "ann")["cast_present"].tolist() == [1] * 6 + [0] * 3


def test_who_was_forgotten_takes_no_part():
    builder = ColumnsBuilder(Lexicon())
    scene = [("Ann", "a"), ("Ben", "a"), ("Cid", "a"), ("Dan", "a"), ("Ann", "b"), ("Ben", "b"), ("Cid", "b")]
    rows = [TextRow(num=i + 1, text="hello", actor=a, thread=t, position=i) for i, (a, t) in enumerate(scene)]
    builder.append(rows)
    old = builder.snapshot()
    builder.kill([1, 4])  # Ann in the first scene, and all that Dan said
    living = [1, 2, 4, 5, 6]
    for asked in (("ann",), ("dan",), ("ann", "dan")):
        now = run(builder.snapshot(), *asked, rows=living)["cast_present"].tolist()
        assert now == run(columns_of([rows[i] for i in living], Lexicon()), *asked)["cast_present"].tolist()
        assert now == ([0, 0, 1, 1, 1] if "ann" in asked else [0] * 5)
    assert run(old, "ann", rows=living)["cast_present"].tolist() == [1] * 5


def test_where_nobody_talks_in_a_crowd_the_cast_is_not_looked_at():
    found = run(scope(thread(("Ann", "hello"), ("Ben", "hi"))), "ann")
    assert "cast_present" not in found.columns and found["cast_present"].tolist() == [0, 0]


# --- exchange ---------------------------------------------------------------------------------------------------


def talks():
    return scope(
        thread(("user", "the shed"), ("assistant", "an invoice"), ("user", "thanks"), name="a"),
        thread(("user", "the shed"), ("assistant", "sure"), name="b"),
        thread(("user", "an invoice"), name="c"),
        [{"text": "the shed", "actor": "user"}, {"text": "the shed", "actor": "user"}],
    )


SHED = INVOICE = log(1 + 7.5 / 1.5)  # 8 memories, one of which is said to hold each


def test_the_best_of_the_thread():
    found = run(talks(), "shed")
    np.testing.assert_allclose(found["exchange_bm25"], [SHED, SHED, SHED, SHED, SHED, 0, 0, 0], rtol=1e-5)


def test_in_one_thread_it_orders_nothing():
    columns = scope(
        thread(("user", "shed invoice"), ("assistant", "the shed"), ("user", "so"), name="a"),
        [{"text": "x"}] * 5,
    )
    found = run(columns, "shed", "invoice")
    np.testing.assert_allclose(found["exchange_bm25"][:3], [SHED + INVOICE] * 3, rtol=1e-5)


def test_equals_in_a_thread_lend_to_each_other():
    columns = scope(thread(("user", "the shed"), ("assistant", "a shed")), [{"text": "x"}] * 6)
    np.testing.assert_allclose(run(columns, "shed")["exchange_bm25"][:2], [SHED, SHED], rtol=1e-5)


def test_only_candidates_lend():
    found = run(talks(), "shed", rows=[1, 2, 3])
    np.testing.assert_allclose(found["exchange_bm25"], [0, 0, SHED], rtol=1e-5)


def test_a_word_that_is_asked_twice_counts_twice():
    found = run(talks(), "shed", counts=(2,))
    np.testing.assert_allclose(found["exchange_bm25"][1], 2 * SHED, rtol=1e-5)


def test_few_candidates():
    assert run(talks(), "shed", rows=[])["exchange_bm25"].tolist() == []
    np.testing.assert_allclose(run(talks(), "shed", rows=[0])["exchange_bm25"], [SHED], rtol=1e-5)


def test_where_nobody_talks_to_an_assistant_exchanges_are_not_looked_at():
    assert "exchange_bm25" not in run(scope(thread(("Ann", "the shed"), ("Ben", "hi"))), "shed").columns
