"""What a cosine is worth is measured once, noted with the write that measured it, and kept."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import delete
from sqlalchemy.exc import OperationalError

from recall_integrations import MemoryStore, QueryOptimizer, RecallConfig, Scope
from recall_integrations.config import RetrievalConfig
from recall_integrations.database import schema
from recall_integrations.embeddings import base
from recall_integrations.embeddings.static import bundled
from recall_integrations.errors import EmbeddingError
from recall_integrations.store import asking, rows
from recall_integrations.store.asking import COSINE_WORTH


def same(texts: Sequence[str]) -> np.ndarray:
    return np.tile(np.eye(8, dtype=np.float32)[0], (len(texts), 1))


def test_an_embedding_that_is_the_same_for_all_texts_is_worth_nothing(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, embedding=same) as store:
        assert store.cosine_worth_in("en", "") == 1.0  # not measured yet
        store.remember("one")
        measured = store.cosine_worth_in("en", "")
    assert measured == pytest.approx(0, abs=0.05)
    with MemoryStore.open(tmp_path, embedding=same) as store:
        assert store.cosine_worth_in("en", "") == measured


def test_a_write_that_fails_leaves_it_to_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with MemoryStore.open(tmp_path, embedding=same) as store:
        with monkeypatch.context() as broken:
            broken.setattr(rows, "add_scope", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                store.remember("one")
        store.remember("one")
        measured = store.cosine_worth_in("en", "")
    again = Counting()
    again.fingerprint = store.fingerprint
    with MemoryStore.open(tmp_path, embedding=again) as store:
        assert store.cosine_worth_in("en", "") == measured != 1.0
    assert again.texts == 0


class Counting:
    """As `same`; says how often it is asked, may fail, and may be remote."""

    def __init__(self, remote: bool = False) -> None:
        self.fingerprint, self.dimensions, self.remote = "counting:8", 8, remote
        self.fails = False
        self.texts = 0

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        self.texts += len(texts)
        if self.fails and len(texts) > 1:
            raise EmbeddingError("told to fail")
        return same(texts)

    def embed_query(self, text: str) -> np.ndarray:
        return same([text])[0]


def older(path: Path) -> None:
    """A store as it was before anything was measured."""
    with MemoryStore.open(path, embedding=Counting()) as store:
        store.remember("one")
        with store.engine.begin() as connection:
            connection.execute(delete(schema.meta).where(schema.meta.c.key.startswith(COSINE_WORTH)))


def test_an_older_store_that_is_only_read_is_measured_when_it_is_opened_and_once(tmp_path: Path) -> None:
    older(tmp_path)
    with MemoryStore.open(tmp_path, embedding=Counting()) as store:
        assert store.cosine_worth_in("en", "") == pytest.approx(0, abs=0.05)
        assert QueryOptimizer(store).recall("one").hits
    again = Counting()
    with MemoryStore.open(tmp_path, embedding=again) as store:
        assert store.cosine_worth_in("en", "") == pytest.approx(0, abs=0.05)
    assert again.texts == 0


def test_an_embedding_that_fails_fails_no_open_and_no_recall(tmp_path: Path) -> None:
    older(tmp_path)
    embedding = Counting()
    embedding.fails = True
    with MemoryStore.open(tmp_path, embedding=embedding) as store:
        assert store.cosine_worth_in("en", "") == 1.0
        assert QueryOptimizer(store).recall("one").hits
        embedding.fails = False
        store.remember("two")
        assert store.cosine_worth_in("en", "") == pytest.approx(0, abs=0.05)


def test_a_store_that_cannot_be_written_knows_it_for_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    older(tmp_path)

    def full(*_: object) -> None:
        raise OperationalError("INSERT", {}, Exception("disk is full"))

    monkeypatch.setattr(asking, "put_meta", full)
    with MemoryStore.open(tmp_path, embedding=Counting()) as store:
        assert store.cosine_worth_in("en", "") == pytest.approx(0, abs=0.05)
    assert "could not be noted" in caplog.text


def test_opening_calls_no_network_and_what_is_declared_costly_is_not_measured(tmp_path: Path) -> None:
    older(tmp_path)
    embedding = Counting(remote=True)
    with MemoryStore.open(tmp_path, embedding=embedding) as store:
        assert (store.cosine_worth_in("en", ""), embedding.texts) == (1.0, 0)
        store.remember("two")
        assert store.cosine_worth_in("en", "") == pytest.approx(0, abs=0.05)
    costly = RecallConfig(retrieval=RetrievalConfig(semantic_remote=True))
    embedding = Counting()
    with MemoryStore.open(tmp_path / "other", embedding=embedding, config=costly) as store:
        store.remember("one")
        assert (store.cosine_worth_in("en", ""), embedding.texts) == (1.0, 1)


class German(Counting):
    """Knows what answers what in German, and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.fingerprint, self.dimensions = "german:64", 64
        self._places = {text: i for i, pair in enumerate(base.pairs("de")) for text in pair}

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        self.texts += len(texts)
        return np.stack([np.eye(64, dtype=np.float32)[self._places.get(text, 63)] for text in texts])

    def embed_query(self, text: str) -> np.ndarray:
        return self.embed_documents([text])[0]


def test_a_language_is_measured_when_it_is_no_stray_word(tmp_path: Path) -> None:
    query = "Wo wohnt sie jetzt?"
    line = "Gestern war ich mit Anna im Kino, das war nicht schlecht"
    with MemoryStore.open(tmp_path, embedding=German()) as store:
        store.remember("Yesterday I was at the cinema with Anna")
        assert store.cosine_worth_in("en", "") == pytest.approx(0, abs=0.05)
        for i in range(asking.MEMORIES_MIN - 1):
            store.remember(f"{line} {i}")
        assert store.cosine_worth_in("de", query) == store.cosine_worth_in("en", "")
    again = German()
    with MemoryStore.open(tmp_path, embedding=again) as store:  # how many there were is kept
        store.remember(f"{line}, sagte sie")
        assert again.texts == 81
        measured = store.cosine_worth_in("de", query)
        assert measured > 5
        assert store.cosine_worth_in("sv", "var bor hon") == measured  # the least of its script
        assert store.cosine_worth_in("ru", "где она живёт") == store.cosine_worth_in("en", "")
    with MemoryStore.open(tmp_path, embedding=German()) as store:
        assert store.cosine_worth_in("de", query) == measured


def test_a_language_of_another_scope_counts_as_not_measured(tmp_path: Path) -> None:
    query, ann, bob = "Wo wohnt sie jetzt?", Scope(user_id="ann"), Scope(user_id="bob")
    line = "Gestern war ich mit Anna im Kino, das war nicht schlecht"
    with MemoryStore.open(tmp_path, embedding=German()) as store:
        store.remember_many([f"{line} {i}" for i in range(asking.MEMORIES_MIN)], scope=ann)
        store.remember(line, scope=bob)
        found = {scope: store.cosine_worth_in("de", query, store.scope_id(scope)) for scope in (ann, bob)}
        assert found[ann] > 5 and found[bob] == store.cosine_worth_in("en", "")
        store.reindex()
        assert store.cosine_worth_in("de", query, store.scope_id(ann)) == found[ann]


def test_the_bundled_vectors_are_worth_nothing_where_they_know_nothing() -> None:
    with MemoryStore.open() as store:
        assert store.cosine_worth_in("en", "where does she live") == 1
        assert store.cosine_worth_in("en", "где") == 0  # no language could be told, but it is not English
        assert store.cosine_worth_in("ru", "где она живёт") == store.cosine_worth_in("tlh", "nuqDaq") == 0


def squeezed(texts: Sequence[str]) -> np.ndarray:
    """The bundled model, with one more axis that is the same of every text."""
    rows = 0.5 * bundled().embed_documents(list(texts))
    return np.hstack([rows, np.ones((len(rows), 1), dtype=np.float32)])


def test_the_spread_is_measured_with_english_and_kept(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, embedding=squeezed) as store:
        assert store.cosine_spread == 1.0  # not measured yet
        store.remember("one")
        measured = store.cosine_spread
        assert measured == pytest.approx(0.2, abs=0.03)
    with MemoryStore.open(tmp_path, embedding=squeezed) as store:
        assert store.cosine_spread == measured
    with MemoryStore.open() as store:
        store.remember("one")
        assert store.cosine_spread == 1.0


def test_a_store_whose_spread_was_never_measured_is_measured_when_it_is_opened(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, embedding=squeezed) as store:
        store.remember("one")
        worth_before, spread = store.cosine_worth_in("en", ""), store.cosine_spread
        with store.engine.begin() as connection:
            connection.execute(delete(schema.meta).where(schema.meta.c.key.endswith(f"{asking.IN}{asking.SPREAD}")))
    with MemoryStore.open(tmp_path, embedding=squeezed) as store:
        assert (store.cosine_worth_in("en", ""), store.cosine_spread) == (worth_before, spread)
