"""What a cosine is worth is measured once, noted with the write that measured it, and kept."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from recall_integrations import MemoryStore


def same(texts: Sequence[str]) -> np.ndarray:
    return np.tile(np.eye(8, dtype=np.float32)[0], (len(texts), 1))


def test_an_embedding_that_is_the_same_for_all_texts_is_worth_nothing(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path, embedding=same) as store:
        assert store.cosine_worth == 1.0  # not measured yet
        store.remember("one")
        measured = store.cosine_worth
    assert measured == pytest.approx(0, abs=0.05)
    with MemoryStore.open(tmp_path, embedding=same) as store:
        assert store.cosine_worth == measured


def test_a_write_that_fails_leaves_it_to_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with MemoryStore.open(tmp_path, embedding=same) as store:
        with monkeypatch.context() as broken:
            broken.setattr(store, "_add_scope", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                store.remember("one")
        assert store.cosine_worth == 1.0
        store.remember("one")
        measured = store.cosine_worth
    with MemoryStore.open(tmp_path, embedding=same) as store:
        assert store.cosine_worth == measured != 1.0
