"""Names of collections on a server, and which of them are to be removed."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from recall_integrations.store import homes
from recall_integrations.store.memory_store import MemoryStore
from tests.rows import each_row


@given(scope_id=st.integers(1, 2**62), embedding=st.text(max_size=50), other=st.text(max_size=50))
def test_a_name_says_whose_it_is(scope_id: int, embedding: str, other: str) -> None:
    name = homes.new("abc", scope_id, embedding)
    assert homes.served(name) and homes.fits(name, embedding)
    assert homes.fits(name, other) == (other == embedding)
    assert (homes.scope_of(name), homes.store_part(name)) == (scope_id, "abc")
    assert homes.new("abc", scope_id, embedding) != name, "a name is used once"
    assert 3 <= len(name) <= 100 and name[0].isalnum() and name[-1].isalnum()


@each_row("name", ["", "scope-17", "shared"])
def test_collections_in_files_are_no_such_names(name: str) -> None:
    assert not homes.served(name) and not homes.fits(name, "x")


def test_what_is_left_is_noted_until_it_is_gone(store: MemoryStore) -> None:
    with store.engine.begin() as connection:
        assert homes.left(connection) == []
        homes.leave(connection, ["a.1.b.c", "scope-1", ""])
        homes.leave(connection, ["a.2.b.c", "a.1.b.c"])
        assert homes.left(connection) == ["a.1.b.c", "a.2.b.c"]
        homes.removed(connection, ["a.1.b.c", "a.9.b.c"])
        assert homes.left(connection) == ["a.2.b.c"]
        assert homes.store_of(connection) == homes.store_of(connection)
