"""Feedback as the frameworks have it: by the run of a callback, or in LangSmith's format."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from cachetools import FIFOCache

from recall_integrations.adapters.shapes import RESULT
from recall_integrations.errors import InvalidArgument

RUNS_MAX = 2_000
OF_RUN_MAX = 64  # recalls of one run
# What the ratings of users go by. Others (`toxicity`, …) say nothing of a recall.
KEYS = ("user_score", "user_rating", "thumbs", "helpful", "helpfulness", "rating", "feedback")
_IDS = ("helpful", "wrong", "cited")
_WORDS = {"up": True, "down": False, "thumbs_up": True, "thumbs_down": False}


class Runs:
    """The results of the last runs of callbacks, by the ids of a run, its parent and its trace. Threads share it."""

    def __init__(self, most: int = RUNS_MAX) -> None:
        self._results: FIFOCache[str, tuple[str, ...]] = FIFOCache(most)  # what is noted anew goes last
        self._lock = threading.Lock()

    def note(self, manager: Any, result_id: str) -> None:
        own = manager.run_id
        traces = (getattr(handler, "order_map", {}).get(own, (None,))[0] for handler in manager.handlers)
        ids = dict.fromkeys(str(one) for one in (own, manager.parent_run_id, *traces) if one is not None)
        with self._lock:
            for one in ids:
                self._results[one] = (*self._results.get(one, ()), result_id)[-OF_RUN_MAX:]

    def of(self, run_id: object) -> str | None:
        """Return the result of a run; `None` = no such run is known."""
        with self._lock:
            found = self._results.get(str(run_id), ())
        if len(found) > 1:
            raise InvalidArgument(
                f"{len(found)} recalls belong to the run {run_id}. Name the result of one of them: {RESULT} in the "
                "metadata of its documents."
            )
        return found[0] if found else None


def langsmith_said(given: Any, keys: Sequence[str] = KEYS) -> tuple[tuple[str, ...], dict[str, Any]] | None:
    """Read feedback in LangSmith's format: a mapping, or one of its records.

    Return ids of the run and its trace, and arguments of `feedback`; `None` = its key is none of `keys`, and nothing
    corrects it.
    """

    def read(name: str) -> Any:
        return given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)

    runs = tuple(str(one) for name in ("run_id", "trace_id") if (one := read(name)) is not None)
    said: dict[str, Any] = {}
    for holder in (read("correction"), read("value")):
        if isinstance(holder, Mapping):
            listed = {name: ids for name in _IDS if isinstance(ids := holder.get(name), list | tuple) and ids}
            said |= {name: list(ids) for name, ids in listed.items() if name not in said}
    if read("key") in keys:
        value, score = read("value"), read("score")
        if score is None and not isinstance(value, Mapping):
            score = _WORDS.get(value.strip().lower(), value) if isinstance(value, str) else value
        if score is not None:
            said["rating"] = _score(score)
    if not said:
        return None
    if not runs:
        raise InvalidArgument("Feedback names the run that it is about: run_id.")
    return runs, said


def _score(score: object) -> float | bool:
    if isinstance(score, bool) or (isinstance(score, int | float) and 0 <= score <= 1):
        return score
    raise InvalidArgument(f"score must be from 0 to 1, true or false, not {score!r:.40}. Divide it by its largest.")


def result_of(runs: Runs, given: Any) -> Any:
    """Return the argument for `QueryOptimizer.feedback`, given a result or the id of a run."""
    if isinstance(given, UUID | str):
        return runs.of(given) or str(given)
    return given
