"""The lexical index: what is written to it while another thread reads it again."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from recall_integrations.indexes.words import LexicalIndex, Put


class Slow:
    """Tantivy's index; what is read of it takes until `between` is over."""

    def __init__(self, index: Any, between: Any) -> None:
        self._index, self._between = index, between

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    def searcher(self) -> Any:
        found, between = self._index.searcher(), self._between
        self._between = lambda: None
        between()
        return found


def test_a_write_beside_a_refresh_is_seen_and_counted(tmp_path: Path) -> None:
    index = LexicalIndex(tmp_path / "words")
    index.apply([Put(1, 1, "tea")], [])
    writing = threading.Thread(target=index.apply, args=([Put(1, 2, "tea")], []))

    def written() -> None:
        writing.start()
        writing.join(0.5)

    index._index = Slow(index._index, written)
    index.refresh()
    writing.join()
    assert index.document_frequency(1, "tea") == 2
