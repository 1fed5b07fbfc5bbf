"""Says what of many examples and parameters the quick suite runs. `-m "slow or server or hypothesis"` runs the others.

`.ci/run` does both. What needs a server (PostgreSQL, PgBouncer or Chroma in a process of its own) is marked
`server`: by `needs_server`, or in its module. Three kinds are thinned:

- `only`: parameters of which each costs seconds; those named are quick.
- `@pytest.mark.sweep(every=N)`: one mechanism that is tried in many places (columns that are damaged, kinds that are
  planted, texts that are repeated); the first and every N-th place after it are quick, the others slow. What is asked
  for by its id is collected alone, so it runs. `N` is odd, so that it goes through each of several parameters.
- `examples`: of a property, a fifth of its examples are quick.

`--one-of-each` leaves of all parameters of a test the first: another release of Python or of a framework changes what
code does, and not which of the values that are given to the same code. It tries whether all code runs there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest

QUICK = "not slow and not server"  # the `-m` of pyproject.toml
SERVERS = frozenset(("postgres", "postgres_url", "bouncer"))  # fixtures
SHARE = 5
_suite = {"is quick": False}


def choose(expression: str) -> None:
    """Says by which `-m` tests are chosen; to be called before test modules are imported."""
    _suite["is quick"] = expression == QUICK


def examples(number: int) -> int:
    """Of so many examples of a property: those that are tried now, at least five of them or all."""
    return min(number, max(5, number // SHARE)) if _suite["is quick"] else number


def only(parameters: Iterable[Any], *quick: Any) -> list[Any]:
    """All parameters; those that are not among `quick` are marked slow."""
    made = list(parameters)
    missing = [wanted for wanted in quick if wanted not in made]
    assert not missing, f"{missing} are no parameters"
    return [each if each in quick else pytest.param(each, marks=pytest.mark.slow) for each in made]


def first_of_each(items: Iterable[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """What `--one-of-each` runs of the tests, and what it does not."""
    kept: list[pytest.Item] = []
    left: list[pytest.Item] = []
    seen: set[str] = set()
    for item in items:
        function = item.nodeid.partition("[")[0]
        (left if function in seen else kept).append(item)
        seen.add(function)
    return kept, left


def needs_server(items: Iterable[pytest.Item]) -> None:
    """Marks what asks for a server: by a fixture, or by a parameter that is called after one."""
    for item in items:
        named = (*getattr(item, "fixturenames", ()), *item.name.partition("[")[2].rstrip("]").split("-"))
        if not SERVERS.isdisjoint(named):
            item.add_marker(pytest.mark.server)


def thin(items: Iterable[pytest.Item]) -> None:
    """Marks slow what a sweep leaves to the slow suite."""
    seen: Counter[str] = Counter()
    for item in items:
        sweep = item.get_closest_marker("sweep")
        if sweep is not None:
            function = item.nodeid.partition("[")[0]
            if seen[function] % sweep.kwargs["every"]:
                item.add_marker(pytest.mark.slow)
            seen[function] += 1
