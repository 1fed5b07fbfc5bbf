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
    assert homes.in_form(name) and homes.fits(name, embedding, files=False)
    assert homes.fits(name, other, files=False) == (other == embedding)
    assert not homes.fits(name, embedding, files=True)
    assert homes.fits(homes.new(homes.FILES, scope_id, embedding), embedding, files=True)
    assert (homes.scope_of(name), homes.store_part(name)) == (scope_id, "abc")
    assert homes.new("abc", scope_id, embedding) != name, "a name is used once"
    assert 3 <= len(name) <= 100 and name[0].isalnum() and name[-1].isalnum()


@each_row("name", ["", "scope-17", "shared"])
def test_no_name_fits_that_is_of_an_earlier_version(name: str) -> None:
    assert not homes.in_form(name)
    assert not any(homes.fits(name, "x", files=files) for files in (False, True))


def test_what_is_left_is_noted_until_it_is_gone(store: MemoryStore) -> None:
    with store.engine.begin() as connection:
        assert homes.left(connection, files=False) == []
        homes.leave(connection, ["a.1.b.c", "scope-1", ""])
        homes.leave(connection, ["a.2.b.c", "a.1.b.c", "files.1.b.c"])
        assert homes.left(connection, files=False) == ["a.1.b.c", "a.2.b.c"]
        homes.removed(connection, ["a.1.b.c", "a.9.b.c"])
        assert homes.left(connection, files=False) == ["a.2.b.c"]
        assert homes.left(connection, files=True) == ["files.1.b.c"]
        assert homes.store_of(connection) == homes.store_of(connection)
