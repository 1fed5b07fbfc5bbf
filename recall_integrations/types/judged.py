"""The record of a recall that somebody judged: numbers, names of features, and no text.

A `Gain` is what was said: of which memory, and how sure that is. A `Replay` is what the same query finds by the
rules, by every other plan, without each arm, and by the versions that served at the time: orders of memories, and the
features of the best candidates. It is made a moment after the judgement, in the background, on the store as it is.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.records import record

FORMAT = 1
RULES = "rules"  # the order of a `Replay` by rules and shipped weights; as a version: none
ORDER_MAX = 20  # places of an order that are kept
CANDIDATES_MAX = 48  # candidates whose features are kept: the best, and those that were judged
GAINS_MAX = 64  # memories of one judgement
_ENTRIES_MAX = 200_000  # numbers of one matrix: a larger one is not ours
Order = tuple[int, ...]


@record(frozen=True, slots=True, kw_only=True)
class Gain:
    """A judgement of one memory."""

    num: int  # of the memory in the store, which names this version of it
    gain: float  # 1 = it helped, 0 = it did not
    sure: float = 1.0  # weight, in (0, 1]: 1 for what a person said of this memory, less for what an app noticed
    place: int = 0  # at which it was shown, from 1; 0 = it was not shown, and whoever named it found it elsewhere


@record(frozen=True, slots=True, kw_only=True)
class Replay:
    """The orders that a query finds, and would have found in other ways."""

    plan: str  # that the rules choose
    # way → numbers of memories, best first; ways are `rules`, `plan:NAME`, `without:ARM`, `version:ID`
    orders: Mapping[str, Order]
    nums: Order = ()  # of the candidates whose features are here, in the order of the rules
    # scores of the candidates by the shipped weights, with what the plan lifts
    offset: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    names: tuple[str, ...] = ()  # of the features
    # features, float32 `(candidates, features)`, as the fixed sum takes them in (`rankers.stepped.entered`)
    x: NDArray[np.float32] = field(default_factory=lambda: np.empty((0, 0), np.float32))


@record(frozen=True, slots=True, kw_only=True)
class Judged:
    """A recall that somebody judged."""

    result_id: str
    at: int  # when it was judged, microseconds
    signature: str  # of the query (`signature.signature_of`)
    version: str = RULES  # that served it; `rules` = none did
    gains: tuple[Gain, ...] = ()
    replay: Replay | None = None  # `None` = it is not made yet, or could not be

    def positive(self) -> bool:
        """Say whether something helped, so that orders can be told apart."""
        return any(one.gain > 0 for one in self.gains)


def gains_to_text(gains: Sequence[Gain]) -> str:
    """Write gains as the column `gains` holds them."""
    return json.dumps([[one.num, round(one.gain, 4), round(one.sure, 4), one.place] for one in gains])


def gains_of(text: str) -> tuple[Gain, ...]:
    """Read gains from the column."""
    rows = json.loads(text)
    if not isinstance(rows, list) or len(rows) > GAINS_MAX:
        raise ValueError("no list of gains")
    return tuple(_gain(row) for row in rows)


def _gain(row: object) -> Gain:
    if not isinstance(row, list) or len(row) != 4 or not all(isinstance(value, int | float) for value in row):
        raise ValueError("no gain")
    num, gain, sure, place = row
    if not (0 <= gain <= 1 and 0 < sure <= 1 and place >= 0):
        raise ValueError("a gain out of its range")
    return Gain(num=int(num), gain=float(gain), sure=float(sure), place=int(place))


def packed(replay: Replay) -> bytes:
    """Write a replay as the column `replay` holds it: some 2 kB. Features are kept to three digits (float16)."""
    kept = replay.x.astype(np.float16)
    head = {
        "format": FORMAT,
        "plan": replay.plan,
        "orders": {name: list(order) for name, order in replay.orders.items()},
        "nums": list(replay.nums),
        "names": list(replay.names),
    }
    said = json.dumps(head, separators=(",", ":")).encode()
    body = replay.offset.astype(np.float32).tobytes() + kept.tobytes()
    return zlib.compress(len(said).to_bytes(4, "big") + said + body, 6)


def unpacked(data: bytes) -> Replay:
    """Read a replay from the column."""
    try:
        engine = zlib.decompressobj()
        whole = engine.decompress(data, 4 * _ENTRIES_MAX)
        if engine.unconsumed_tail:
            raise ValueError("too long")
        length = int.from_bytes(whole[:4], "big")
        head: dict[str, Any] = json.loads(whole[4 : 4 + length])
        body = whole[4 + length :]
        nums, names = tuple(map(int, head["nums"])), tuple(map(str, head["names"]))
        if head["format"] != FORMAT or len(body) != 4 * len(nums) + 2 * len(nums) * len(names):
            raise ValueError("of another format")
        offset = np.frombuffer(body, np.float32, len(nums))
        x = np.frombuffer(body, np.float16, offset=4 * len(nums)).reshape(len(nums), len(names)).astype(np.float32)
        if not (np.isfinite(offset).all() and np.isfinite(x).all()):
            raise ValueError("no finite numbers")
        orders = {str(name): tuple(map(int, order)) for name, order in head["orders"].items()}
    except (zlib.error, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise ValueError(f"{type(e).__name__}: {e}") from e
    return Replay(plan=str(head["plan"]), orders=orders, nums=nums, offset=offset, names=names, x=x)


def place_worth(place: int) -> float:
    """Return `1 / log2(1 + place)`: the worth of a hit at a place (Järvelin and Kekäläinen 2002)."""
    return 1 / math.log2(1 + place)
