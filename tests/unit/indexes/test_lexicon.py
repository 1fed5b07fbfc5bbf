from concurrent.futures import ThreadPoolExecutor

import numpy as np

from recall_integrations.embeddings.static import bundled
from recall_integrations.indexes.lexicon import Lexicon, asks_when, shared
from recall_integrations.text import STOP_WORDS, content
from tests.rows import each_row


def test_content_words_keep_order_and_repeats():
    assert content("The budget of Sarah's budget") == ["budget", "sarah", "budget"]


def test_ids_are_stable_and_follow_the_order_of_arrival():
    lexicon = Lexicon()
    assert lexicon.ids_of(["budget", "inbox3", "budget"]).tolist() == [0, 1, 0]
    assert lexicon.ids_of(["kestrel", "inbox3"]).tolist() == [2, 1]
    assert len(lexicon) == 3
    assert lexicon.word(2) == "kestrel"
    assert lexicon.ids_of([]).tolist() == []


def test_words_of_one_stem_share_a_number_and_irregular_forms_too():
    lexicon = Lexicon()
    ids = lexicon.ids_of(["paint", "painted", "painting", "go", "went", "budget"])
    stems = lexicon.stems[ids].tolist()
    assert stems[0] == stems[1] == stems[2]
    assert stems[3] == stems[4]
    assert len({stems[0], stems[3], stems[5]}) == 3
    assert lexicon.stem_of("paint") == stems[0]
    assert lexicon.stem_of("never-seen") == -1


def test_date_words_and_years_are_marked():
    lexicon = Lexicon()
    ids = lexicon.ids_of(["monday", "march", "2023", "1723", "budget"])
    assert lexicon.dated[ids].tolist() == [True, True, True, False, False]


def test_no_date_word_is_a_stop_word():
    from recall_integrations.indexes.lexicon import DATE_WORDS

    assert not DATE_WORDS & STOP_WORDS


def test_vectors_are_those_of_the_static_model_to_within_rounding():
    lexicon = Lexicon()
    words = ["budget", "Kestrel".casefold(), "painting", "unrememberable"]
    found = lexicon.vectors(lexicon.ids_of(words))
    assert found.shape == (4, 256)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert np.vecdot(found, bundled().embed_documents(words)).min() > 0.9995


def test_a_word_the_model_cannot_spell_has_a_zero_vector():
    lexicon = Lexicon()
    silent = next(w for w in ("\u2f00", "\u1201", "\ua000") if not bundled().embed_documents([w]).any())
    assert not lexicon.vectors(lexicon.ids_of([silent, "budget"]))[0].any()
    assert lexicon.cosines(lexicon.ids_of([silent]), ["budget"]).tolist() == [[0.0]]


def test_cosines_agree_with_the_vectors():
    lexicon = Lexicon()
    ids = lexicon.ids_of(["dog", "puppy", "invoice"])
    asked = ["dog", "finance"]
    found = lexicon.cosines(ids, asked)
    np.testing.assert_allclose(found, lexicon.vectors(lexicon.ids_of(asked)) @ lexicon.vectors(ids).T, atol=1e-5)
    assert found[0].argmax() == 0


def test_a_cosine_is_the_same_whatever_else_the_lexicon_holds():
    asked, words = ["dog", "finance", "strangeness"], ["puppy", "invoice", "budget"]
    alone = Lexicon()
    first = alone.cosines(alone.ids_of(words), asked)
    for others in (["finance"], ["dog", *(f"w{i}" for i in range(500))], ["strangeness", "zebra"]):
        crowded = Lexicon()
        crowded.ids_of(others)
        ids = crowded.ids_of([*words, *others])
        crowded.prepare()
        assert crowded.cosines(ids, asked)[:, : len(words)].tobytes() == first.tobytes()


def test_words_of_a_query_are_not_added():
    lexicon = Lexicon()
    ids = lexicon.ids_of(["budget"])
    cosines = lexicon.cosines(ids, ["budget", "strangeness"])
    assert len(lexicon) == 1
    vectors = bundled().embed_documents(["budget", "strangeness"])
    np.testing.assert_allclose(cosines, vectors @ vectors[:1].T, atol=5e-3)


def test_the_buffers_grow():
    lexicon = Lexicon()
    words = [f"w{i}" for i in range(3_000)]
    first = lexicon.ids_of(words[:10])
    before = lexicon.vectors(first)
    lexicon.ids_of(words)
    assert len(lexicon.stems) == len(lexicon.dated) == 3_000
    assert lexicon.vectors(lexicon.ids_of(words[-1:])).any()
    np.testing.assert_array_equal(lexicon.vectors(first), before)


def test_threads_may_add_the_same_words_at_once():
    lexicon = Lexicon()
    words = [f"word{i}" for i in range(2_000)]

    def add(shift: int) -> list[int]:
        turned = words[shift:] + words[:shift]
        ids = lexicon.ids_of(turned)
        lexicon.vectors(ids[:50])
        return [int(ids[turned.index(w)]) for w in words[:20]]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(add, range(0, 1_600, 200)))
    assert len(lexicon) == 2_000
    assert all(a == answers[0] for a in answers)
    assert sorted(lexicon.ids_of(words).tolist()) == list(range(2_000))


def test_one_lexicon_serves_the_process():
    assert shared() is shared()


@each_row(
    ("query", "asks"),
    [
        ("When did I visit the museum?", True),
        ("and when was that", True),
        ("Which year did Sam move?", True),
        ("what was the date of the launch", True),
        ("How long ago did Priya leave?", True),
        ("What did Sam say when we met?", False),
        ("How long did it take?", False),
        ("What did we eat on the last day of the year?", False),
        ("the day we met", False),
        ("", False),
    ],
)
def test_whether_it_is_asked_when_something_was(query: str, asks: bool) -> None:
    assert asks_when(query) is asks
