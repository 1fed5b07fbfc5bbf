"""A pytest plugin of `mutation.py`: which test runs which line of the package, and how long each takes.

Writes `{test: {"seconds": s, "lines": {module: [line, …]}}}` as JSON to the file that `MUTATION_LINES` names. Without
it, tests run as they are, but Hypothesis draws the same few examples every time, so that a mutant that is killed
once is killed again.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import settings

EXAMPLES = 40  # of a property, where its test does not say how many
_OUT = os.environ.get("MUTATION_LINES")
_PACKAGE = str(Path("recall_integrations").resolve()) + os.sep
_seen: set[tuple[str, int]] = set()
_tests: dict[str, dict[str, Any]] = {}


def pytest_configure() -> None:
    """Fixes what properties draw, and starts to watch."""
    settings.register_profile("mutants", max_examples=EXAMPLES, derandomize=True, deadline=None)
    settings.load_profile("mutants")
    if _OUT:
        threading.settrace(_called)
        sys.settrace(_called)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A test with what sets it up: a fixture that several share counts for the first of them."""
    _seen.clear()
    begun = time.perf_counter()
    result = yield
    if _OUT:
        lines: dict[str, list[int]] = {}
        for file, line in sorted(_seen.copy()):
            lines.setdefault(file.removeprefix(_PACKAGE), []).append(line)
        _tests[item.nodeid] = {"seconds": time.perf_counter() - begun, "lines": lines}
    return result


def pytest_unconfigure() -> None:
    """Writes what was seen."""
    if _OUT:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        Path(_OUT).write_text(json.dumps(_tests))


def _called(frame: FrameType, _event: str, _given: Any) -> Any:
    return _stepped if frame.f_code.co_filename.startswith(_PACKAGE) else None


def _stepped(frame: FrameType, event: str, _given: Any) -> Any:
    if event == "line":
        _seen.add((frame.f_code.co_filename, frame.f_lineno))
    return _stepped
