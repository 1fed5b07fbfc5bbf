"""A store whose words another analyser cut is brought up to date when it is opened."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import delete, select, text

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from recall_integrations.database import schema
from recall_integrations.indexes import word_rows as words
from recall_integrations.observability import progress
from recall_integrations.store import renewal
from recall_integrations.store.renewal import ANALYSER
from recall_integrations.text import ANALYSER_VERSION
from tests.columns import saying

OpenStore = Callable[..., MemoryStore]
TEXTS = ["Annas Häuser in Berlin sind verkauft", "Я был в Москве", "The meeting is on Monday"]


def made_by_the_old_analyser(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store as another analyser left it: everything read as English, and no word of the analyser."""
    with monkeypatch.context() as patch:
        patch.setattr("recall_integrations.indexes.word_rows.language_of", lambda _text: None)
        store = open_store()
        store.remember_many([Memory(text=t, id=str(i)) for i, t in enumerate(TEXTS)])
        assert not saying(store, 1, "haus")
        with store.engine.begin() as connection:
            connection.execute(delete(schema.meta).where(schema.meta.c.key == ANALYSER))
        store.close()


def version(store: MemoryStore) -> str | None:
    with store.engine.connect() as connection:
        query = select(schema.meta.c.value).where(schema.meta.c.key == ANALYSER)
        return connection.execute(query).scalar()


def test_an_old_store_is_read_anew_and_finds(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    made_by_the_old_analyser(open_store, monkeypatch)
    store = open_store()
    assert version(store) == str(ANALYSER_VERSION)
    assert saying(store, 1, "haus") == [1]
    with store.engine.connect() as connection:
        assert "häuser\x1fhaus" in connection.execute(select(schema.words.c.words)).scalars().first().split("\n")
    optimizer = QueryOptimizer(store)
    assert optimizer.recall("Haus", k=1).hits[0].memory.text == TEXTS[0]
    assert optimizer.recall("Москва", k=1).hits[0].memory.text == TEXTS[1]
    assert optimizer.recall("meetings", k=1).hits[0].memory.text == TEXTS[2]


def test_it_is_done_once(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    made_by_the_old_analyser(open_store, monkeypatch)
    open_store().close()

    def never(*_: object, **__: object) -> None:
        raise AssertionError("cut again")

    monkeypatch.setattr(words, "refill", never)
    open_store()


def test_a_crash_half_way_is_made_good(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    made_by_the_old_analyser(open_store, monkeypatch)
    with monkeypatch.context() as patch:

        def fail(*_: object) -> None:
            raise OSError("no space left")

        patch.setattr(renewal.languages, "recount", fail)
        with pytest.raises(OSError, match="no space left"):
            open_store()
    store = open_store()
    assert version(store) == str(ANALYSER_VERSION)
    assert saying(store, 1, "haus") == [1]


def test_progress_is_shown_for_many(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made_by_the_old_analyser(open_store, monkeypatch)
    monkeypatch.setattr(renewal, "RECUT_SHOWN", 1)
    monkeypatch.setattr(progress, "FIRST_S", 0)  # where there is no terminal, lines begin later
    open_store()
    assert "Reading words" in capsys.readouterr().err


def test_a_new_store_is_of_this_analyser(store: MemoryStore) -> None:
    assert version(store) == str(ANALYSER_VERSION)
    with store.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM words")).scalar() == 0
