"""Strings in one block of bytes are the same strings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.indexes.array_file import LISTED_MAX, Names, packed, packed_of, sequence_of, unpacked

ANY = st.text(alphabet=st.characters(exclude_categories=()))


@given(st.lists(ANY, max_size=20), st.lists(ANY, max_size=5))
def test_they_come_back(given_names: list[str], added: list[str]) -> None:
    blob, ends = packed(given_names)
    assert unpacked(blob, ends) == given_names
    names = Names(blob, ends)
    names.extend(added)
    whole = given_names + added
    assert list(names) == whole
    assert len(names) == len(whole)
    assert names[1:3] == whole[1:3]
    if whole:
        assert names[-1] == whole[-1]
    with pytest.raises(IndexError):
        names[len(whole)]


@given(st.lists(ANY, max_size=20), st.lists(ANY, max_size=5), st.sets(st.integers(0, 24)), st.booleans())
def test_some_of_them_are_packed_as_if_they_were_all(
    given_names: list[str], added: list[str], gone: set[int], listed: bool
) -> None:
    names = list(given_names) if listed else Names(*packed(given_names))
    names.extend(added)
    rows = np.asarray([i for i in range(len(names)) if i not in gone], dtype=np.int64)
    blob, ends = packed_of(names, rows)
    alone, alone_ends = packed([names[i] for i in rows.tolist()])
    assert bytes(blob) == bytes(alone)
    assert ends.tolist() == alone_ends.tolist()


def test_few_are_a_list_and_many_are_not() -> None:
    few, many = [str(i) for i in range(10)], [str(i) for i in range(LISTED_MAX + 1)]
    assert sequence_of(*packed(few)) == few
    found = sequence_of(*packed(many))
    assert isinstance(found, Names)
    found.append("one more")
    assert found[LISTED_MAX] == str(LISTED_MAX)
    assert found[-1] == "one more"
