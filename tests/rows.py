"""Run one test over the rows of a table.

    @each_row("text, wanted", [("May 2", 2), ("May 9", 9)])
    def test_a_day_is_read(text: str, wanted: int) -> None:
        assert day_of(text) == wanted

The rows are one test: they try the same rule, and fail together where it breaks. A row that fails hides no other: the
test reports each, with its values. A case that needs a fixture of its own, or takes seconds, is a test of its own, by
`pytest.mark.parametrize`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from _pytest.mark import ParameterSet

Test = Callable[..., None]


def each_row(names: str | Sequence[str], table: Iterable[Any]) -> Callable[[Test], Test]:
    """Return what makes a test out of a function of one row.

    Args:
        names: parameters of the function that a row gives, as in `pytest.mark.parametrize`.
        table: the rows; a tuple each, or a value where there is one name. There is at least one.
    """
    named = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    listed = [row.values if isinstance(row, ParameterSet) else row if len(named) > 1 else (row,) for row in table]
    assert listed, "the table has no rows"
    assert all(len(row) == len(named) for row in listed), f"every row gives {', '.join(named)}"

    def of_all(test: Test) -> Test:
        @functools.wraps(test)
        def over_rows(*args: Any, **given: Any) -> None:
            failed: list[BaseException] = []
            for row in listed:
                try:
                    test(*args, **given, **dict(zip(named, row, strict=True)))
                except (Exception, pytest.fail.Exception) as e:  # noqa: PERF203
                    e.add_note(f"row: {', '.join(map(repr, row))}")
                    failed.append(e)
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(listed)} rows fail", failed)  # noqa: F821

        signature = inspect.signature(test)
        left = [p for name, p in signature.parameters.items() if name not in named]
        assert len(left) == len(signature.parameters) - len(named), f"{test.__name__} takes no {', '.join(named)}"
        over_rows.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return over_rows

    return of_all
