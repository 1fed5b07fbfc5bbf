from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, select, text, update

from recall_integrations.ranking.columns import WORDS_MAX
from recall_integrations.ranking.lexicon import content_words
from recall_integrations.records import Memory, Scope
from recall_integrations.store import journal, schema, words
from recall_integrations.store.memory_store import MemoryStore

OpenStore = Callable[..., MemoryStore]
PHRASE = "\ufdfa"  # one letter whose normal form is four words

texts = st.one_of(
    st.text(),
    st.text(alphabet="abIsST019 '’._-\n"),
    st.lists(st.sampled_from(["it's", "Sam’s", "İ", "ﬁn", "部屋", "don’t", "x" * 70, PHRASE, "½"])).map(" ".join),
)


def stored(store: MemoryStore) -> dict[tuple[int, int], str]:
    """Words by scope and num, in order of num."""
    w = schema.words.c
    with store.engine.connect() as connection:
        rows = connection.execute(select(w.scope_id, w.num, w.words).order_by(w.num))
        return {(int(scope_id), int(num)): str(found) for scope_id, num, found in rows}


@given(texts)
def test_cut_gives_the_content_words(said: str) -> None:
    assert words.cut(said) == content_words(said)


def test_what_a_row_holds() -> None:
    """If this changes, stored words are out of date: add a migration that refills them."""
    row = words.to_row(1, 7, "Didn’t Priya's team move to Café ½? It did")
    wanted = "priya\nteam\nmove\ncafé\n1⁄2"
    assert row == {"scope_id": 1, "num": 7, "words": wanted, "length": 5, "asks": 1}


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


def test_version_2_gets_its_words_when_it_is_opened(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store()
    store.remember_many([f"Kestrel {i}" for i in range(5)])
    store.remember("Priya?", scope=Scope(user_id="other"))
    before = stored(store)
    with store.engine.begin() as connection:
        connection.execute(text("DROP TABLE words"))
        connection.execute(update(schema.meta).where(schema.meta.c.key == "schema_version").values(value="2"))
    store.close()
    monkeypatch.setattr(words, "BATCH", 2)
    assert stored(open_store()) == before


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
