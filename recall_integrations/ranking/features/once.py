"""An attribute that is computed at its first read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801  used as a decorator, like `property`
    """An attribute like `functools.cached_property`, which before Python 3.12 takes a lock at each first read.

    Args:
        of: computes the attribute.
    """

    def __init__(self, of: Callable[[Any], T]) -> None:
        self._of, self._name, self.__doc__ = of, of.__name__, of.__doc__

    @overload
    def __get__(self, owner: None, kind: type) -> once[T]: ...

    @overload
    def __get__(self, owner: object, kind: type) -> T: ...

    def __get__(self, owner: object | None, kind: type) -> once[T] | T:
        if owner is None:
            return self
        made = owner.__dict__[self._name] = self._of(owner)  # read from there from now on
        return made
