from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest

from recall_integrations.errors import InvalidFilter
from recall_integrations.types import Filters
from recall_integrations.types.filters import Instant, conditions_of, instant, keys_of
from tests.meeting import matches
from tests.rows import each_row

NOON = datetime(2026, 3, 12, 12, tzinfo=timezone.utc)
MISSING = object()


def meets(condition: Any, value: Any = MISSING) -> bool:
    return matches(conditions_of({"k": condition}), {} if value is MISSING else {"k": value})


@each_row(
    ("condition", "yes", "no"),
    [
        (1, [1, 1.0], [True, "1", 2, None, [1]]),
        (True, [True], [1, "true"]),
        ("a", ["a"], ["A", "ab", ["a"]]),
        ({"$eq": None}, [None], [0, "", False]),
        ({"$eq": [1, "a"]}, [[1, "a"]], [["a", 1], [True, "a"], 1]),
        ({"$eq": {"a": 1}}, [{"a": 1.0}], [{"a": True}, {"a": 1, "b": 2}]),
        ({"$in": [1, "a", None]}, [1, "a", None], [True, "1"]),
        ({"$in": []}, [], [1, None]),
        ({"$in": np.asarray([1, 2])}, [1, 2.0], [3]),
        ({"$gt": 1}, [1.5, 2, 2**60, 10**30], [1, True, "2", None, [2]]),
        ({"$lte": 1}, [1, -5, -(10**400)], [1.001, False]),
        ({"$gte": 2**53}, [2**53, 2**53 + 1], [2**53 - 1]),
        ({"$gt": 2**53}, [2**53 + 1], [2**53]),
        ({"$lt": 2**60 + 1}, [2**60], [2**60 + 1]),
        ({"$gte": 1, "$lt": 2}, [1, 1.5], [2, 0.5]),
        ({"$gt": "m"}, ["n", "ma"], ["m", "a", 5]),
        ({"$gte": "2026-03-12"}, ["2026-03-12", "2026-03-12T00:00:01Z"], ["2026-03-11T23:59:59", "later", 2027]),
        ({"$lt": NOON}, ["2026-03-12", "2026-03-12T12:30+01:00"], ["2026-03-12T12:00:00.000Z", "2026-03-12 13:00"]),
        (NOON, ["2026-03-12T12:00Z", "2026-03-12T14:00:00,0+0200"], ["2026-03-12"]),
        ({"$in": [NOON, 3]}, ["2026-03-12T12:00", 3], ["2026-03-12"]),
        (date(2026, 3, 12), ["2026-03-12"], ["2026-03-13"]),
        ({"$exists": True}, [None, 0, "", []], []),
        ({"$empty": False}, [0, False, {}, " "], [None, "", []]),
        ({"$contains": "a"}, [["a", 1], "cat"], [["cat"], "b", 5, {"a": 1}]),
        ({"$contains": 1}, [[1.0]], [[True], ["1"], "1"]),
        ({"$contains_any": ["a", 1]}, [["a"], [1], "bat"], [["b"], 5]),
        ({"$contains_all": ["a", "b"]}, [["b", "a", "c"], "tab"], [["a"], "a", 5]),
        ({"$contains_all": []}, [[], "x"], [5]),
        ({"$text_match": "Cat"}, ["a Cat"], ["a cat", ["Cat"]]),
        ({"$text_match_insensitive": "ÉT"}, ["été"], ["ete", ["été"]]),
    ],
)
def test_what_operators_mean(condition: Any, yes: list[Any], no: list[Any]) -> None:
    for value in yes:
        assert meets(condition, value), value
        assert not meets({"$not": condition}, value), value
    for value in no:
        assert not meets(condition, value), value
        assert meets({"$not": condition}, value), value
    assert not meets(condition)
    assert meets({"$not": condition})


@each_row(
    ("condition", "opposite"),
    [
        ({"$ne": 1}, {"$eq": 1}),
        ({"$nin": [1, 2]}, {"$in": [1, 2]}),
        ({"$not_contains": "a"}, {"$contains": "a"}),
        ({"$exists": False}, {"$exists": True}),
        ({"$empty": True}, {"$empty": False}),
    ],
)
def test_only_opposites_are_true_of_a_missing_key(condition: Any, opposite: Any) -> None:
    assert meets(condition) and not meets(opposite)
    for value in (1, 2, "a", "", None, ["a"], []):
        assert meets(condition, value) != meets(opposite, value)


def test_joined() -> None:
    condition = conditions_of(
        {"a": 1, "$or": [{"b": 2}, {"$and": [{"c": 3}, {"d": 4}]}], "$nor": [{"e": 5}], "$not": {"f": 6, "g": 7}}
    )
    assert keys_of(condition) == ("e", "f", "g", "b", "c", "d", "a")
    assert matches(condition, {"a": 1, "b": 2, "f": 6})
    assert matches(condition, {"a": 1, "c": 3, "d": 4})
    for bad in ({"a": 1, "c": 3}, {"b": 2}, {"a": 1, "b": 2, "e": 5}, {"a": 1, "b": 2, "f": 6, "g": 7}):
        assert not matches(condition, bad)


def test_order_of_keys_does_not_matter() -> None:
    one, other = {"a": {"$gt": 1, "$lt": 3}, "b": 2}, {"b": 2, "a": {"$lt": 3, "$gt": 1}}
    assert conditions_of(one) == conditions_of(other)
    assert Filters(metadata=one).condition == conditions_of(other)


@each_row(
    ("given", "said"),
    [
        ({"a": [1]}, r"a list. Write \{'\$in'"),
        ({"a": None}, "is null"),
        ({"a": {}}, "is empty"),
        ({"a": {"b": 1}}, r"'b' is no operator.*\$eq"),
        ({"a": {"$near": 1}}, r"'\$near' is no operator"),
        ({"a": {"$gt": True}}, "number, a text or a time"),
        ({"a": {"$gt": [1]}}, "must be text"),
        ({"a": {"$in": "abc"}}, "list of values"),
        ({"a": {"$exists": 1}}, "true or false"),
        ({"a": {"$text_match": 1}}, "must be text"),
        ({"a": NOON.replace(tzinfo=None)}, "naive"),
        ({"a": object()}, "must be text"),
        ({"$xor": [1]}, r"there is no \$xor"),
        ({"$and": {"a": 1}}, "list of conditions"),
        ({"$or": []}, "list of conditions"),
        ({"$or": [1]}, "must be a mapping"),
        ({"$not": 1}, "must be a mapping"),
        ({"": 1}, "empty or blank"),
        ({"a": {"$or": [1]}}, "no operator"),
    ],
)
def test_what_cannot_be_read_is_named(given: Any, said: str) -> None:
    with pytest.raises(InvalidFilter, match=said):
        Filters(metadata=given)


def test_a_key_may_look_like_an_operator() -> None:
    assert matches(conditions_of({"$ref": {"$eq": "x"}}), {"$ref": "x"})
    with pytest.raises(InvalidFilter, match=r"\{'\$ref': \{'\$eq'"):
        conditions_of({"$ref": "x"})


def test_bounds() -> None:
    deep: Any = {"a": 1}
    for _ in range(5_000):
        deep = {"$not": deep}
    nested: Any = 1
    for _ in range(5_000):
        nested = [nested]
    under: Any = 1
    for _ in range(5_000):
        under = {"$not": under}
    for given in (deep, {"a": {"$eq": nested}}, {"a": under}):
        with pytest.raises(InvalidFilter, match="deeper"):
            Filters(metadata=given)
    with pytest.raises(InvalidFilter, match="more than 1,000"):
        Filters(metadata={"$or": [{"a": i} for i in range(1_001)]})
    Filters(metadata={"a": {"$in": list(range(100_000))}})


@each_row(
    ("text", "moment"),
    [
        ("2026-03-12", NOON - timedelta(hours=12)),
        ("2026-03-12T12:00:00.123456789Z", NOON + timedelta(microseconds=123_456)),
        ("2026-03-12T12:00:00.5", NOON + timedelta(seconds=0.5)),
        ("2026-03-12 14:00 +02:00", NOON + timedelta()),
        ("2026-02-30", None),
        ("2026-03", None),
        ("12:00", None),
        ("2026-03-12T25:00", None),
        ("2026-03-12T12:00+99:00", None),
        ("２０２６-03-12", None),
        (20260312, None),
    ],
)
def test_times(text: Any, moment: datetime | None) -> None:
    assert instant(text) == (None if moment is None else round(moment.timestamp() * 1e6))
    if moment is not None:
        assert conditions_of({"k": moment}).operand == Instant(round(moment.timestamp() * 1e6))  # type: ignore[union-attr]
