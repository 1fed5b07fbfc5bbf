import numpy as np

from recall_integrations.indexes.columns import WORDS_MAX, is_question
from recall_integrations.indexes.lexicon import Lexicon
from tests.columns import ColumnsBuilder, TextRow, columns_of


def row(num, text="", **fields):
    return TextRow(num=num, text=text, **fields)


def turns(*places, thread="t"):
    return [row(i + 1, f"turn {i}", thread=thread, position=place) for i, place in enumerate(places)]


def order(columns, first):
    """Rows from `first` on, along the thread."""
    seen = [first]
    while (following := int(columns.following(np.asarray([seen[-1]]))[0])) >= 0:
        assert int(columns.previous(np.asarray([following]))[0]) == seen[-1]
        seen.append(following)
    return seen


def test_words_lengths_and_questions():
    lexicon = Lexicon()
    columns = columns_of(
        [row(1, "Did Sam paint the shed?"), row(2, "the of"), row(5, "Painting sheds, painting")], lexicon
    )
    assert columns.size == 3
    assert columns.lengths.tolist() == [3, 0, 3]
    assert [lexicon.word(i) for i in columns.words[columns.starts[2] : columns.starts[3]]] == [
        "painting",
        "sheds",
        "painting",
    ]
    assert columns.starts.tolist() == [0, 3, 3, 6]
    assert columns.questions.tolist() == [True, False, False]


def test_question_marks_of_other_scripts_count():
    assert is_question("本当？") and is_question("hm? no") and not is_question("no.")


def test_words_may_be_given_as_ids():
    lexicon = Lexicon()
    ids = lexicon.ids_of(["budget", "kestrel"])
    columns = columns_of([row(1, words=ids, asks=True, length=9)], lexicon)
    assert columns.words.tolist() == ids.tolist()
    assert columns.lengths.tolist() == [9] and columns.questions.tolist() == [True]


def test_a_very_long_text_keeps_its_beginning_and_its_length():
    columns = columns_of([row(1, "budget " * (WORDS_MAX + 7))], Lexicon())
    assert len(columns.words) == WORDS_MAX
    assert columns.lengths.tolist() == [WORDS_MAX + 7]


def test_actors_are_numbered_and_found_by_the_words_of_their_names():
    lexicon = Lexicon()
    columns = columns_of(
        [row(1, "a", actor="Priya Raman"), row(2, "b"), row(3, "c", actor="Sam"), row(4, "d", actor="Priya Raman")],
        lexicon,
    )
    assert columns.actors.tolist() == [0, -1, 1, 0]
    assert list(columns.actor_names) == ["Priya Raman", "Sam"]
    assert columns.actor_words[lexicon.stem_of("priya")] == (0,)
    assert columns.actor_words[lexicon.stem_of("sam")] == (1,)


def test_neighbours_follow_positions_not_arrival():
    columns = columns_of(turns(5, 1, 3), Lexicon())
    assert order(columns, 1) == [1, 2, 0]


def test_equal_positions_are_ordered_by_number():
    builder = ColumnsBuilder(Lexicon())
    builder.append(turns(1, 1))
    builder.append([row(3, thread="t", position=1), row(4, thread="t", position=0)])
    assert order(builder.snapshot(), 3) == [3, 0, 1, 2]


def test_no_thread_no_neighbours():
    columns = columns_of([row(1, "a"), row(2, "b", thread="t", position=0)], Lexicon())
    rows = np.asarray([0, 1, -1])
    assert columns.previous(rows).tolist() == columns.following(rows).tolist() == [-1, -1, -1]


def test_an_append_at_the_end_does_not_show_in_older_snapshots():
    builder = ColumnsBuilder(Lexicon())
    builder.append(turns(1, 2))
    old = builder.snapshot()
    builder.append([row(3, thread="t", position=3)])
    assert order(old, 0) == [0, 1]
    assert order(builder.snapshot(), 0) == [0, 1, 2]
    assert old.before.base is builder.snapshot().before.base  # shared, nothing was copied


def test_a_memory_that_belongs_further_up_leaves_older_snapshots_as_they_were():
    builder = ColumnsBuilder(Lexicon())
    builder.append([*turns(1, 5), row(3, thread="other", position=1)])
    old = builder.snapshot()
    builder.append([row(4, thread="t", position=3), row(5, thread="other", position=2)])
    assert order(old, 0) == [0, 1]
    new = builder.snapshot()
    assert order(new, 0) == [0, 3, 1]
    assert order(new, 2) == [2, 4]


def test_forgotten_memories_leave_their_thread():
    builder = ColumnsBuilder(Lexicon())
    builder.append(turns(1, 2, 3, 4))
    old = builder.snapshot()
    builder.kill([2, 4, 99])
    new = builder.snapshot()
    assert order(old, 0) == [0, 1, 2, 3]
    assert order(new, 0) == [0, 2]
    assert new.previous(np.asarray([1, 3])).tolist() == [-1, -1]
    builder.append([row(5, thread="t", position=9), row(6, thread="t", position=2)])
    assert order(builder.snapshot(), 0) == [0, 5, 2, 4]


def test_a_thread_may_be_emptied_and_begun_again():
    builder = ColumnsBuilder(Lexicon())
    builder.append(turns(1, 2))
    builder.kill([1, 2])
    builder.append([row(3, thread="t", position=0)])
    assert order(builder.snapshot(), 2) == [2]


def test_the_buffers_grow():
    builder = ColumnsBuilder(Lexicon(), capacity=1)
    for start in range(0, 300, 30):
        builder.append([row(i + 1, f"budget{i}", thread=f"t{i % 3}", position=i) for i in range(start, start + 30)])
    columns = builder.snapshot()
    assert columns.size == 300
    assert order(columns, 1) == list(range(1, 300, 3))
    assert builder.bytes > 300 * 40
    builder.append([])
    assert builder.snapshot().size == 300


def test_an_empty_scope():
    columns = ColumnsBuilder(Lexicon()).snapshot()
    assert columns.size == 0
    assert columns.previous(np.asarray([-1])).tolist() == [-1]
