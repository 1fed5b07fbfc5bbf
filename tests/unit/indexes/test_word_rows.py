from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select, update

from recall_integrations.database import schema
from recall_integrations.indexes import word_rows as words
from recall_integrations.indexes.columns import WORDS_MAX, asked_words
from recall_integrations.store import journal
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.text import content, language_of, stem, stems
from recall_integrations.text.by_language import SEP
from recall_integrations.types import Memory, Scope, indexed_text
from tests.rows import each_row

OpenStore = Callable[..., MemoryStore]
PHRASE = "\ufdfa"  # one letter whose normal form is four words

texts = st.one_of(
    st.text(),
    st.text(alphabet="abIsST019 '’._-\n"),
    st.lists(st.sampled_from(["it's", "Sam’s", "İ", "ﬁn", "部屋", "don’t", "x" * 70, PHRASE, "½"])).map(" ".join),
)
MARKS = [".", "?", "!", "？", "。", "\n", "?!", "…", "e.g.", "1.5", "⁈", "㏂", "Σ", "\u0301"]
sentences = st.one_of(
    texts,
    st.text(alphabet="abIsST0 '’._-\n?!。？部屋Σσ\u0301"),
    st.lists(st.sampled_from([*MARKS, "it's", "Sam’s", "part", "部屋", PHRASE])).map(" ".join),
    st.lists(st.sampled_from([*MARKS, "it's", "Sam’s", "part", "部屋", PHRASE])).map("".join),
)


def stored(store: MemoryStore) -> dict[tuple[int, int], str]:
    """Words by scope and num, in order of num."""
    w = schema.words.c
    with store.engine.connect() as connection:
        rows = connection.execute(select(w.scope_id, w.num, w.words).order_by(w.num))
        return {(int(scope_id), int(num)): str(found) for scope_id, num, found in rows}


def test_what_a_row_holds() -> None:
    """If this changes, stored words are out of date: `text.ANALYSER_VERSION` has to change, too."""
    row = words.to_row(1, 7, "Didn’t Priya's team move to Café ½? It did")
    wanted = "priya\nteam\nmove\ncafé\n1⁄2"
    asked = b"\xf8"  # the five words of the first sentence: 11111000
    own = {"scope_id": 1, "num": 7, "words": wanted, "more": None, "stems": 5, "length": 5, "asks": 1, "asked": asked}
    assert row == own
    said = words.to_row(1, 7, "Priya moves", "Sam Okafor")
    assert (said["words"], said["more"], said["stems"], said["length"]) == ("priya\nmoves", "sam\nokafor", 4, 2)
    mixed = words.to_row(1, 8, "Kestrel ships. Does Priya know? Sam sings")
    assert (mixed["words"].split(), mixed["asked"]) == (["kestrel", "ships", "priya", "know", "sam", "sings"], b"\x30")
    assert words.to_row(1, 9, "Kestrel ships.")["asked"] is None


@each_row(
    ("said", "asked"),
    [
        ("Kestrel ships. Does Priya know? Sam sings", "priya know"),
        ("Kestrel ships\nDoes Priya know?\nSam sings", "priya know"),
        ("Kestrel ships! Does Priya know?! Sam sings!", "priya know"),
        ("Who sings?", "sings"),
        ("?", ""),
        ("Sam sings", ""),
        ("猫がいる。犬は？本当", "犬 犬は"),
        ("Das Café ist zu. Kommt Zoë?", "kommt zoë"),
        ("Sam’s boat. Whose boat’s that?", "boat"),  # the second "boat"
        ("Room 4.5? No", "room 4 5"),  # a sentence ends before a space
    ],
)
def test_which_words_are_asked(said: str, asked: str) -> None:
    found, flags = content(said), asked_words(said)
    assert [word for word, flag in zip(found, flags, strict=True) if flag] == asked.split()


@settings(deadline=None)
@given(sentences)
def test_every_word_is_asked_or_not(said: str) -> None:
    flags = asked_words(said)
    assert len(flags) == len(content(said))
    kept = flags[:WORDS_MAX]
    assert words.unpacked([words.to_row(1, 1, said)["asked"]], [len(kept)]).tolist() == kept


@settings(deadline=None)
@given(st.lists(st.lists(st.booleans(), max_size=30)))
def test_flags_come_back_as_they_were(rows: list[list[bool]]) -> None:
    kept = [words.packed(flags) for flags in rows]
    assert all((bits is None) is not any(flags) for bits, flags in zip(kept, rows, strict=True))
    assert words.unpacked(kept, [len(flags) for flags in rows]).tolist() == [flag for flags in rows for flag in flags]


def test_flags_of_another_length_are_cut_or_filled_up() -> None:
    found = words.unpacked([b"\xff", None, b"\x80"], [3, 2, 10]).tolist()
    assert found == [*[True] * 3, *[False] * 2, True, *[False] * 9]


def test_what_is_asked_is_the_same_live_and_after_reopening(open_store: OpenStore) -> None:
    said = ["Kestrel ships. Does Priya know? Sam sings", "the of?", "Das Café? Nein.", "部屋？はい。", "plain"]

    def columns(store: MemoryStore) -> tuple[list[str], list[bool]]:
        scope_id = store.scope_id(Scope())
        assert scope_id is not None
        text = store.view(scope_id).text
        assert text is not None
        return [text.lexicon.word(i) for i in text.words], text.asked.tolist()

    store = open_store()
    store.remember(said[0])
    store.view(store.scope_id(Scope()) or 0)  # from here on, writes are added to what is in memory
    store.remember_many(said[1:])
    live = columns(store)
    found = {word for word, flag in zip(*live, strict=True) if flag}
    assert found == {"priya", "know", "café", "部", "部屋", "屋"}
    store.close()
    store = open_store()
    assert columns(store) == live
    with store.engine.begin() as connection:  # what is not there is cut again
        connection.execute(delete(schema.words))
    store.close()
    assert columns(open_store()) == live


def test_a_very_long_text_keeps_its_beginning_and_its_length() -> None:
    row = words.to_row(1, 1, "budget " * (WORDS_MAX + 7))
    assert row["words"].count("budget") == WORDS_MAX and row["length"] == WORDS_MAX + 7


def test_words_come_and_go_with_their_memory(store: MemoryStore) -> None:
    store.remember_many([Memory("Kestrel ships", id="a"), Memory("the of", id="b"), Memory("Inbox3", id="c")])
    store.remember("Kestrel ships", scope=Scope(user_id="other"))
    assert list(stored(store).values()) == ["kestrel\nships", "", "inbox3", "kestrel\nships"]
    store.remember(Memory("Henrietta waits", id="a"))
    store.forget("c")
    assert list(stored(store).values()) == ["", "kestrel\nships", "henrietta\nwaits"]


def test_words_are_in_the_transaction_of_their_memory(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.remember(Memory("Kestrel ships", id="a"))
    before = stored(store)

    def fail(*_: object) -> None:
        raise RuntimeError("power cut")

    monkeypatch.setattr(journal, "append", fail)
    with pytest.raises(RuntimeError):
        store.remember_many([Memory("Henrietta waits", id="a"), Memory("Inbox3", id="b")])
    with pytest.raises(RuntimeError):
        store.forget("a")
    monkeypatch.undo()
    assert stored(store) == before
    store.remember(Memory("Sam sings", id="b"))
    assert list(stored(store).values()) == ["kestrel\nships", "sam\nsings"]


def test_fill_leaves_what_is_there_and_refill_does_not(store: MemoryStore) -> None:
    store.remember_many(["Kestrel ships", "Sam sings", "Priya waits"])
    with store.engine.begin() as connection:
        first, second = connection.execute(select(schema.words.c.num).limit(2)).scalars()
        connection.execute(update(schema.words).where(schema.words.c.num == first).values(words="old"))
        connection.execute(delete(schema.words).where(schema.words.c.num == second))
        words.fill(connection)
    assert list(stored(store).values()) == ["old", "sam\nsings", "priya\nwaits"]
    store.reindex()
    assert list(stored(store).values()) == ["kestrel\nships", "sam\nsings", "priya\nwaits"]


def stems_of(cut: words.Cut) -> list[str]:
    whole = "\n".join(filter(None, (cut["words"], cut["more"])))
    return [word.partition(SEP)[2] or stem(word) for word in whole.split("\n")] if whole else []


@given(st.text(max_size=200), st.sampled_from([None, "Ida", "José Müller", "小明", "O'Brien's"]))
def test_stems_of_a_row_are_those_of_the_text(said: str, actor: str | None) -> None:
    found = stems_of(words.cut_row(said, actor))
    assert sorted(found) == sorted(stems(indexed_text(said, actor), language_of(said)))


@each_row(
    "said",
    [
        "Häuser und Gärten am See sind für die Kinder schön",
        "她昨天去了北京大学",
        "Я была в кино вчера",
        "word " * 3_000,
    ],
)
def test_stems_of_a_row_in_any_language(said: str) -> None:
    found = stems_of(words.cut_row(said, "Ida"))
    assert sorted(found) == sorted(stems(indexed_text(said, "Ida"), language_of(said)))
