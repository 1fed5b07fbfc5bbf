"""What is kept of a judged recall comes back, or is told to be damaged."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.types.judged import Gain, Replay, gains_of, gains_to_text, packed, unpacked
from tests.rows import each_row

NUMS = st.lists(st.integers(1, 2**40), max_size=20, unique=True)


@given(NUMS, st.integers(0, 5), st.integers(0, 2**32 - 1))
def test_a_replay_comes_back_to_three_digits(nums: list[int], features: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    replay = Replay(
        plan="balanced",
        orders={"rules": tuple(nums), "plan:precise": tuple(nums[::-1])},
        nums=tuple(nums),
        offset=rng.normal(size=len(nums)).astype(np.float32),
        names=tuple(f"f{i}" for i in range(features)),
        x=rng.normal(size=(len(nums), features)).astype(np.float32),
    )
    back = unpacked(packed(replay))
    assert (back.plan, back.orders, back.nums, back.names) == (replay.plan, replay.orders, replay.nums, replay.names)
    assert np.array_equal(back.offset, replay.offset)
    assert np.allclose(back.x, replay.x, rtol=2e-3, atol=1e-6)


@given(st.binary(max_size=200))
def test_damage_is_told(data: bytes) -> None:
    for given_data in (data, zlib.compress(data)):
        with pytest.raises(ValueError, match=r"."):
            unpacked(given_data)


def test_a_bomb_is_not_unpacked() -> None:
    with pytest.raises(ValueError, match="too long"):
        unpacked(zlib.compress(b"\0" * 50_000_000))


def test_a_flipped_byte_never_gives_another_shape() -> None:
    x = np.ones((3, 2), dtype=np.float32)
    replay = Replay(plan="p", orders={}, nums=(1, 2, 3), offset=x[:, 0], names=("a", "b"), x=x)
    data = packed(replay)
    for i in range(len(data)):
        broken = data[:i] + bytes([data[i] ^ 0x55]) + data[i + 1 :]
        try:
            back = unpacked(broken)
        except ValueError:
            continue
        assert back.x.shape == (len(back.nums), len(back.names)) and np.isfinite(back.x).all()


@each_row("text", ["", "{}", "[[1, 1, 1]]", '[["a", 1, 1, 1]]', "[[1, 2, 1, 1]]", "[[1, 1, 0, 1]]"])
def test_gains_that_are_none(text) -> None:
    with pytest.raises(ValueError, match=r"."):
        gains_of(text)


def test_gains_come_back() -> None:
    gains = (Gain(num=7, gain=1.0, sure=0.3, place=2), Gain(num=9, gain=0.0))
    assert gains_of(gains_to_text(gains)) == gains
