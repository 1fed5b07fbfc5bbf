"""Makes and changes frozen records in a fraction of the time that `dataclasses` takes: for what a recall makes often.

`__init__` of a frozen record sets each field through `object.__setattr__`, and `dataclasses.replace` reads all of them
by name first. Here the slots are written directly; for a record with many fields and without slots, its dictionary is
copied as a whole, which for 30 of them takes a third of the time. Only for records that check nothing when made.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar, cast

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
    """Return a function from all fields of a record, in their order, to the record.

    Raises:
        TypeError: the record checks its fields when it is made.
    """
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
