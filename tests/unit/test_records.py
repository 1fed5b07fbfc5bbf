"""Records are the dataclasses that they say they are."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field
from typing import Any, Generic, TypeVar, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.records import record
from tests.rows import each_row

T = TypeVar("T")


@record(frozen=True, slots=True, kw_only=True)
class Point:
    """A place."""

    x: int
    y: int = 0
    tags: list[str] = field(default_factory=list, compare=False, repr=False)


@record(slots=True)
class Counter(Generic[T]):
    """Can be changed."""

    count: int
    seen: list[T] = field(default_factory=list, init=False)
    last: int = field(default=-1, init=False)

    def __post_init__(self) -> None:
        self.last = self.count


@record(frozen=True, kw_only=True)
class Pair:
    """Speaks of another."""

    left: Point
    named: dict[str, Any] = field(default_factory=dict, compare=False)


class Named(Point):
    """Has attributes of its own."""


def built(how: Callable[..., Any], **options: Any) -> Any:
    """The same class, made in one way or the other."""

    @how(**options)
    class Same:
        """The same."""

        a: int
        b: Any = 3
        c: Any = field(default_factory=dict, compare=False)
        d: Any = field(default=None, repr=False, kw_only=True)

    return Same


OPTIONS = [
    {"frozen": frozen, "slots": slots, "kw_only": kw_only, "eq": eq}
    for frozen in (True, False)
    for slots in (True, False)
    for kw_only in (True, False)
    for eq in (True, False)
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@given(a=st.integers(), b=st.text() | st.none())
def test_a_record_is_the_dataclass(options: dict[str, bool], a: int, b: str | None) -> None:
    ours, theirs = built(record, **options), built(dataclass, **options)
    one, other = ours(a=a, b=b, d=1), theirs(a=a, b=b, d=1)
    assert repr(one) == repr(other)
    assert dataclasses.asdict(one) == dataclasses.asdict(other)
    assert (one == ours(a=a, b=b, c=1, d=1)) is (other == theirs(a=a, b=b, c=1, d=1))
    assert (one == other) is False
    assert (ours.__hash__ is None) is (theirs.__hash__ is None)
    if options["frozen"] and options["eq"]:
        assert hash(one) == hash(other)
    assert dataclasses.replace(one, a=5).a == 5
    assert one != dataclasses.replace(one, a=a + 1)


@each_row("options", OPTIONS)
def test_what_is_known_of_a_class_is_known(options: dict[str, bool]) -> None:
    ours, theirs = built(record, **options), built(dataclass, **options)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert ours.__doc__ == theirs.__doc__
    assert ours.__match_args__ == theirs.__match_args__
    assert ours.__init__.__qualname__ == theirs.__init__.__qualname__
    assert hasattr(ours(a=1), "__dict__") is hasattr(theirs(a=1), "__dict__") is not options["slots"]
    for name in ("init", "repr", "eq", "frozen"):
        assert getattr(ours.__dataclass_params__, name) == getattr(theirs.__dataclass_params__, name)


def test_what_is_written_beside_the_arguments_is_known() -> None:
    assert inspect.signature(Pair, eval_str=True).parameters["left"].annotation is Point
    assert get_type_hints(Pair.__init__) == {"left": Point, "named": dict[str, Any], "return": type(None)}


def test_a_module_may_call_anything_as_it_likes() -> None:
    assert hash(Pair(left=Point(x=1))) == hash(Pair(left=Point(x=1)))
    assert "made" not in globals()


def test_a_frozen_record_cannot_be_changed() -> None:
    point = Point(x=1)
    with pytest.raises(FrozenInstanceError, match="assign to field 'x'"):
        point.x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="delete field 'x'"):
        del point.x  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        point.z = 2  # type: ignore[attr-defined]
    named: Any = Named(x=1)
    named.z = 2
    assert named.z == 2
    with pytest.raises(FrozenInstanceError):
        named.x = 2


def test_records_are_copied_and_pickled() -> None:
    point = Point(x=1, tags=["a"])
    for same in (pickle.loads(pickle.dumps(point)), copy.deepcopy(point), copy.copy(point)):
        assert same == point
        assert same.tags == ["a"]
    counter: Counter[str] = Counter(2)
    counter.seen.append("b")
    assert pickle.loads(pickle.dumps(counter)) == counter


def test_factories_make_a_value_for_each() -> None:
    assert Point(x=1).tags is not Point(x=1).tags
    assert Counter[int](1).seen is not Counter[int](1).seen
    assert Counter[int](4).last == 4


def test_wrong_arguments_are_named_as_ever() -> None:
    make: Any = Point
    with pytest.raises(TypeError, match=r"Point.__init__\(\) missing 1 required keyword-only argument: 'x'"):
        make()
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        make(x=1, z=2)


def test_a_dataclass_may_inherit_from_a_record() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Longer(Point):
        z: int = 7

    assert dataclasses.asdict(Longer(x=1)) == {"x": 1, "y": 0, "tags": [], "z": 7}


def test_what_a_class_writes_itself_stays() -> None:
    @record(frozen=True, slots=True)
    class Own:
        """Compares by length."""

        text: str

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and len(other.text) == len(self.text)

        def __hash__(self) -> int:
            return len(self.text)

        def __repr__(self) -> str:
            return "own"

    assert Own("ab") == Own("cd")
    assert hash(Own("ab")) == 2
    assert repr(Own("ab")) == "own"


def test_a_record_that_holds_itself_can_be_printed() -> None:
    counter: Counter[Any] = Counter(1)
    counter.seen.append(counter)
    assert repr(counter).endswith("Counter(count=1, seen=[...], last=1)")


def test_a_method_is_compiled_once() -> None:
    ours = built(record, frozen=True)
    assert ours.__init__ is ours.__init__
    assert ours.__eq__ is ours.__dict__["__eq__"]
