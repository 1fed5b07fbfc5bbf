"""`record`: `dataclasses.dataclass` for a package that has two hundred of them and answers a query with a quarter.

`dataclass` compiles six functions for a class when its module is loaded: half a millisecond before Python 3.13, and a
tenth of a second for the package. Here `dataclasses` collects the fields and lays out the slots as ever; `__init__`,
`__eq__` and `__hash__` are compiled when they are first asked for, as `dataclass` would have written them, and the
others are ordinary functions that all records share. `fields`, `replace`, `asdict`, `pickle`, `copy` and
`inspect.signature` find what they know, and to a type checker `record` is `dataclass`.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Hashable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, fields
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:

    def record(
        cls: type | None = None, /, *, frozen: bool = False, slots: bool = False, kw_only: bool = False, eq: bool = True
    ) -> Any:
        """A dataclass with these of its options, which mean what they mean there.

        A class that inherits from a record, or has an `InitVar`, is made with `dataclass` itself.
        """

        def made(plain: type) -> type:
            return _made(plain, frozen=frozen, slots=slots, kw_only=kw_only, eq=eq)

        return made if cls is None else made(cls)


T = TypeVar("T")
_Slot = tuple[str, Callable[[Any], Any], Callable[[Any, Any], None]]


@functools.cache
def _slots(kind: Hashable) -> dict[str, _Slot]:
    """Return name, reader and writer of each field of a record; empty where it has no slots."""
    assert isinstance(kind, type)
    if hasattr(kind, "__post_init__"):
        raise TypeError(f"{kind.__name__} checks its fields; make it with its constructor.")
    if "__slots__" not in kind.__dict__:
        return {}
    slots = ((f.name, kind.__dict__[f.name]) for f in fields(kind))
    return {name: (name, slot.__get__, slot.__set__) for name, slot in slots}


def maker(kind: type[T]) -> Callable[..., T]:
    """Return a function from all fields of a record, in their order, to the record."""
    new, writers = object.__new__, [write for _, _, write in _slots(cast(Hashable, kind)).values()]
    if len(writers) == 4:  # without a loop it takes half as long
        first, second, third, fourth = writers

        def make_four(a: Any, b: Any, c: Any, d: Any) -> T:
            record = new(kind)
            first(record, a)
            second(record, b)
            third(record, c)
            fourth(record, d)
            return record

        return make_four

    def make(*values: Any) -> T:
        record = new(kind)
        for write, value in zip(writers, values, strict=True):
            write(record, value)
        return record

    return make


if TYPE_CHECKING:  # type checkers see its signature
    import dataclasses

    changed = dataclasses.replace
else:

    def changed(record: T, /, **values: Any) -> T:
        """Change fields of a record, as `dataclasses.replace` does.

        Raises:
            TypeError: the record has no such field, or checks its fields when it is made.
        """
        kind = type(record)
        made = object.__new__(kind)
        slots = _slots(kind)
        if slots:
            for name, read, write in slots.values():
                write(made, values[name] if name in values else read(record))
            fit = values.keys() <= slots.keys()
        else:
            own, before = made.__dict__, record.__dict__
            own.update(before)
            own.update(values)
            fit = len(own) == len(before)
        if not fit:
            known = {f.name for f in fields(kind)}
            raise TypeError(f"{kind.__name__} has no such field: {', '.join(values.keys() - known)}.")
        return made


__all__ = ["record"]


def _made(plain: type, *, frozen: bool, slots: bool, kw_only: bool, eq: bool) -> type:
    own = {name for name, value in plain.__dict__.items() if value is not None}  # what is written in the class stays
    cls: Any = dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(plain)
    params = cls.__dataclass_params__
    params.init, params.repr, params.eq, params.frozen = True, True, eq, frozen
    methods: dict[str, Any] = {"__init__": _Compiled(cls, "__init__", _init), "__repr__": _repr}
    if eq:
        methods["__eq__"] = _Compiled(cls, "__eq__", _eq)
        methods["__hash__"] = _Compiled(cls, "__hash__", _hash) if frozen else None
    if frozen:
        methods["__setattr__"], methods["__delattr__"] = _refusing(cls)
        if slots:
            methods["__getstate__"], methods["__setstate__"] = _state, _restore
    for name, method in methods.items():
        if name not in own:
            setattr(cls, name, method)
    return cls  # type: ignore[no-any-return]


class _Compiled:
    """Stands for a method until it is asked for. `written` gives its source and collects the names that it needs."""

    def __init__(self, cls: Any, name: str, written: Callable[[Any, dict[str, Any]], str]) -> None:
        self._cls, self._name, self._written = cls, name, written

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        cls, name = self._cls, self._name
        known: dict[str, Any] = {}
        lines = self._written(cls, known).replace("\n", "\n ")
        made: dict[str, Any] = {}
        # Of the names of its fields; in the module of the class, where what is written beside the arguments is known.
        where = getattr(sys.modules.get(cls.__module__), "__dict__", {})
        exec(f"def made({', '.join(known)}):\n {lines}\n return {name}", where, made)
        method = made["made"](**known)
        method.__module__, method.__qualname__ = cls.__module__, f"{cls.__qualname__}.{name}"
        if name == "__init__":
            method.__annotations__ = {**{f.name: f.type for f in fields(cls) if f.init}, "return": None}
        if cls.__dict__.get(name) is self:  # two threads put the same
            setattr(cls, name, method)
        return method if instance is None else method.__get__(instance)


class _Factory:
    """Default of an argument whose value is made for each record."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


def _init(cls: Any, known: dict[str, Any]) -> str:
    known.update(_set=object.__setattr__, _FACTORY=_FACTORY)
    body = []
    for f in fields(cls):
        value = _value(f, known)
        if value is not None:
            body.append(
                f"_set(self, {f.name!r}, {value})" if cls.__dataclass_params__.frozen else f"self.{f.name} = {value}"
            )
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    first = [_argument(f) for f in fields(cls) if f.init and not f.kw_only]
    named = [_argument(f) for f in fields(cls) if f.init and f.kw_only]
    arguments = ", ".join(["self", *first, *(["*", *named] if named else [])])
    return f"def __init__({arguments}):\n " + "\n ".join(body or ["pass"])


def _argument(f: Field[Any]) -> str:
    if f.default_factory is not MISSING:
        return f"{f.name}=_FACTORY"
    return f.name if f.default is MISSING else f"{f.name}=_default_{f.name}"


def _value(f: Field[Any], known: dict[str, Any]) -> str | None:
    """Return the expression that sets a field; `None` = it is not set."""
    if f.default_factory is not MISSING:
        known[f"_make_{f.name}"] = f.default_factory
        return f"_make_{f.name}() if {f.name} is _FACTORY else {f.name}" if f.init else f"_make_{f.name}()"
    if f.default is not MISSING:
        known[f"_default_{f.name}"] = f.default
        return f.name if f.init else f"_default_{f.name}"
    return f.name if f.init else None


def _eq(cls: Any, _known: dict[str, Any]) -> str:
    names = [f.name for f in fields(cls) if f.compare]
    return (
        "def __eq__(self, other):\n if other.__class__ is self.__class__:\n"
        f"  return {_tuple('self', names)} == {_tuple('other', names)}\n return NotImplemented"
    )


def _hash(cls: Any, known: dict[str, Any]) -> str:
    known["hash"] = hash  # whatever else the module calls so
    names = [f.name for f in fields(cls) if (f.compare if f.hash is None else f.hash)]
    return f"def __hash__(self):\n return hash({_tuple('self', names)})"


def _tuple(of: str, names: list[str]) -> str:
    return "(" + "".join([f"{of}.{name}," for name in names]) + ")"


@recursive_repr()
def _repr(self: Any) -> str:
    inside = ", ".join([f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr])
    return f"{self.__class__.__qualname__}({inside})"


def _refusing(cls: Any) -> tuple[Callable[[Any, str, Any], None], Callable[[Any, str], None]]:
    """`__setattr__` and `__delattr__` of a frozen class; one that inherits from it may have attributes of its own."""
    names = frozenset([f.name for f in fields(cls)])

    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807 - it becomes one
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807 - it becomes one
        if type(self) is cls or name in names:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__


def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in fields(self)]


def _restore(self: Any, state: list[Any]) -> None:
    for f, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)
