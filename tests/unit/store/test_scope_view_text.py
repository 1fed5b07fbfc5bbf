"""`ScopeView.text` against columns made of a plain list of the living memories."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete

from recall_integrations.config import RecallConfig, RetrievalConfig
from recall_integrations.database import schema
from recall_integrations.indexes import lexicon
from recall_integrations.indexes.columns import TextColumns
from recall_integrations.indexes.columns_builder import ColumnsBuilder
from recall_integrations.indexes.scope_view import ScopeView
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import Memory, Scope
from tests.columns import TextRow, columns_of
from tests.quick import examples

OpenStore = Callable[..., MemoryStore]
SCOPES = (Scope(), Scope(user_id="other"))


def view_of(store: MemoryStore, scope: Scope = Scope()) -> ScopeView:
    scope_id = store.scope_id(scope)
    assert scope_id is not None
    return store.view(scope_id)


def text_of(store: MemoryStore, scope: Scope = Scope()) -> TextColumns:
    view = view_of(store, scope)
    assert view.text is not None and view.text.size == view.size
    return view.text


def shown(columns: TextColumns, rows: np.ndarray | None = None) -> list[dict[str, Any]]:
    """What the columns say of each of `rows`, neighbours as their places among them."""
    rows = np.arange(columns.size) if rows is None else rows
    place = {int(row): i for i, row in enumerate(rows)}
    before, after = columns.previous(rows).tolist(), columns.following(rows).tolist()
    return [
        {
            "words": [columns.lexicon.word(i) for i in columns.words[columns.starts[row] : columns.starts[row + 1]]],
            "asked": columns.asked[columns.starts[row] : columns.starts[row + 1]].tolist(),
            "length": int(columns.lengths[row]),
            "asks": bool(columns.questions[row]),
            "actor": None if columns.actors[row] < 0 else columns.actor_names[columns.actors[row]],
            "threaded": bool(columns.threads[row] >= 0),
            "before": None if before[i] < 0 else place[before[i]],
            "after": None if after[i] < 0 else place[after[i]],
        }
        for i, row in enumerate(rows)
    ]


def plain(memories: list[Memory]) -> TextColumns:
    rows = [
        TextRow(num=i, text=m.text, actor=m.actor, role=m.role, thread=m.thread, position=m.position)
        for i, m in enumerate(memories)
    ]
    return columns_of(rows, lexicon.shared())


def wanted(memories: list[Memory]) -> list[dict[str, Any]]:
    return shown(plain(memories))


memories = st.builds(
    Memory,
    text=st.lists(
        st.sampled_from(["Kestrel", "the", "shed's", "painted", "\ufdfa", "Inbox3?", "é", ",", "It did.", "部屋？"]),
        min_size=1,
    ).map(" ".join),
    id=st.sampled_from(["a", "b", "c", "d", "e"]),
    actor=st.sampled_from([None, "Priya Raman", "Sam", "user"]),
    thread=st.sampled_from([None, "t", "u"]),
).flatmap(
    lambda m: st.sampled_from([m, m, *[_placed(m, p) for p in range(3)]] if m.thread is not None else [m]),
)


def _placed(memory: Memory, position: int) -> Memory:
    return Memory(memory.text, id=memory.id, actor=memory.actor, thread=memory.thread, position=position)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("remember"), st.lists(memories, min_size=1, max_size=4, unique_by=lambda m: m.id)),
        st.tuples(st.just("forget"), st.sampled_from(["a", "b", "c", "d", "e"])),
        st.tuples(st.sampled_from(["look", "look", "reopen", "lose words"]), st.none()),
    ),
    min_size=3,
    max_size=14,
)


class Run:
    """A store, and for each scope the list of its memories in the order of their numbers."""

    def __init__(self, embedding: Any, folder: Path) -> None:
        self.embedding, self.folder = embedding, folder
        self.oracle: dict[Scope, list[Memory]] = {scope: [] for scope in SCOPES}
        self.kept: list[tuple[TextColumns, list[dict[str, Any]]]] = []
        self.store = MemoryStore.open(folder, embedding=embedding)

    def do(self, scope: Scope, what: str, given: Any) -> None:
        store, living = self.store, self.oracle[scope]
        if what == "remember":
            store.remember_many(given, scope=scope)
            ids = {m.id for m in given}
            now = [store.get(m.id, scope=scope) for m in given]  # with the position that the store gave it
            living[:] = [m for m in living if m.id not in ids] + [m for m in now if m is not None]
        elif what == "forget":
            store.forget(given, scope=scope)
            living[:] = [m for m in living if m.id != given]
        elif what == "reopen":
            store.close()
            self.store = MemoryStore.open(self.folder, embedding=self.embedding)
        elif what == "lose words":  # a store that was filled by hand, or by a later version
            with store.engine.begin() as connection:
                connection.execute(delete(schema.words).where(schema.words.c.num % 2 == 0))
        else:
            self.look()

    def look(self) -> None:
        for scope, living in self.oracle.items():
            if self.store.scope_id(scope) is None:
                assert not living
                continue
            view, text = view_of(self.store, scope), text_of(self.store, scope)
            assert shown(text, np.flatnonzero(view.alive)) == wanted(living)
            assert text.alive.tolist() == view.alive.tolist() and text.kind == plain(living).kind
            self.kept.append((text, _observed(text)))

    def older_snapshots_are_as_they_were(self) -> None:
        for text, seen in self.kept:
            assert _observed(text) == seen


def _observed(text: TextColumns) -> list[dict[str, Any]]:
    return shown(text) if text.size else []


@settings(
    max_examples=examples(30),
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],  # each example writes to a store: shrinking one would take minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.tuples(st.sampled_from(SCOPES), steps), min_size=1, max_size=3))
def test_any_order_of_writes_gives_the_columns_of_what_stands(
    module_embedding: Any, runs: list[tuple[Scope, list[tuple[str, Any]]]]
) -> None:
    fast = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="recall-test-", dir=fast if fast.is_dir() else None))
    run = Run(module_embedding, folder / "store")
    try:
        for scope, todo in runs:
            for what, given_ in todo:
                run.do(scope, what, given_)
        run.look()
        run.older_snapshots_are_as_they_were()
    finally:
        run.store.close()
        shutil.rmtree(folder, ignore_errors=True)


def test_a_write_is_added_to_the_columns_and_not_loaded_anew(store: MemoryStore) -> None:
    store.remember_many([Memory("Kestrel ships", thread="t"), Memory("Does it?", thread="t")])
    old = text_of(store)
    before = _observed(old)
    store.remember(Memory("Sam waits", actor="Sam", thread="t"))
    new = text_of(store)
    assert np.shares_memory(old.words, new.words)
    assert _observed(old) == before and len(_observed(new)) == 3
    assert new.following(np.asarray([1])).tolist() == [2] and old.following(np.asarray([1])).tolist() == [-1]


def test_declaring_an_entity_leaves_them(store: MemoryStore) -> None:
    store.remember("Kestrel ships")
    old = text_of(store)
    store.add_entity("Kestrel")
    assert np.shares_memory(text_of(store).words, old.words)


def test_they_are_loaded_in_parts(open_store: OpenStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall_integrations.indexes.scope_views._AT_ONCE", 3)
    store = open_store()
    given_ = [Memory(f"text {i}", id=f"m{i}", thread=f"t{i % 2}", position=(7 * i) % 10) for i in range(10)]
    store.remember_many(given_)
    assert shown(text_of(store)) == wanted(given_)
    view = view_of(store)
    assert view.vectors is not None
    np.testing.assert_allclose(
        view.vectors.halves, store.embedding.embed_documents([m.text for m in given_]), atol=2e-3
    )


def test_words_are_there_whatever_the_budget(open_store: OpenStore) -> None:
    assert RetrievalConfig().cache_mb * 1_000_000 == open_store("any")._views.budget_bytes
    nothing = open_store("nothing", config=RecallConfig(retrieval=RetrievalConfig(cache_mb=0)))
    nothing.remember("Kestrel ships")
    assert text_of(nothing).size == 1 and view_of(nothing).vectors is None
    store = open_store(config=RecallConfig(retrieval=RetrievalConfig(cache_mb=1)))
    store.remember("Kestrel ships")
    held = store._views._kept[view_of(store).scope_id][0]
    assert held.bytes > held.text.bytes > 0
    store.remember_many([Memory("budget " * 2_000, id=f"long{i}") for i in range(150)])  # 1.2 MB of word numbers
    view = view_of(store)
    assert view.text.size == view.count == 151 and view.vectors is not None
    store._views.drop()
    assert text_of(store).size == 151


def test_columns_that_were_brought_forward_by_half_are_not_kept(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.remember("Kestrel ships")
    view_of(store)
    store.remember("Sam waits")

    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(ColumnsBuilder, "extend", fail)
    with pytest.raises(MemoryError):
        view_of(store)
    monkeypatch.undo()
    assert view_of(store).count == text_of(store).size == 2
