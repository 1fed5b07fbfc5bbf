from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from recall_integrations.sharing import sealed
from recall_integrations.sharing.sealed import Sealing

ONE = Sealing(b"k" * 32, "here", "recall")


@given(value=st.binary(min_size=1, max_size=50), at=st.integers(0, 65), bit=st.integers(0, 7))
def test_a_value_is_believed_only_as_it_was_put(value: bytes, at: int, bit: int) -> None:
    key = ONE.key("result", "a")
    put = ONE.sealed(key, value)
    assert put is not None
    assert ONE.opened(key, put) == value
    damaged = bytearray(put)
    damaged[at % len(put)] ^= 1 << bit
    assert ONE.opened(key, bytes(damaged)) is None
    assert ONE.opened(ONE.key("result", "b"), put) is None


@pytest.mark.parametrize("other", [Sealing(b"x" * 32, "here", "recall"), Sealing(b"k" * 32, "there", "recall")])
def test_two_stores_have_nothing_in_common(other: Sealing) -> None:
    key = ONE.key("result", "a")
    assert other.key("result", "a") != key
    assert other.opened(key, ONE.sealed(key, b"value")) is None


def test_a_key_says_nothing_of_what_it_is_made_of() -> None:
    key = ONE.key("result", ("Priya", "", "kestrel"), "what did Priya say?")
    assert key.startswith("recall:result:")
    assert len(key) == len("recall:result:") + 32
    assert key != ONE.key("result", ("Priya", "kestrel", ""), "what did Priya say?")


@pytest.mark.parametrize("held", [None, b"", b"short", "text", 7, b"x" * 2_000_000])
def test_what_is_none_of_ours_is_not_there(held: object) -> None:
    assert ONE.opened(ONE.key("result", "a"), held) is None


def test_another_version_of_the_package_finds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    key = ONE.key("result", "a")
    monkeypatch.setattr(sealed, "made_by", lambda: "another")
    assert Sealing(b"k" * 32, "here", "recall").key("result", "a") != key


def test_what_is_too_large_is_not_shared() -> None:
    assert ONE.sealed("k", b"x" * (sealed.VALUE_MAX + 1)) is None
