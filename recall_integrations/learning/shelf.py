"""The versions of scopes, and what serves each: a text for each version and one for the state.

`store.judgements` says where they are kept, and that a process which is killed leaves them whole.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any, Literal, NamedTuple

from cachetools import LRUCache
from pydantic import TypeAdapter

from recall_integrations.errors import InvalidArgument, StoreError
from recall_integrations.learning.version import Version, VersionId, from_json, valid_id
from recall_integrations.ranking.feature_sum import FixedWeights, SteppedWeights
from recall_integrations.ranking.rank import calibration_of
from recall_integrations.records import record
from recall_integrations.store.judgements import LearnedRows, name_of
from recall_integrations.types import Scope
from recall_integrations.types.judged import RULES

STATE = "state.json"
_SUFFIX = ".json"
NAMES_MAX = 10_000  # names of scopes, in memory
EVENTS_MAX = 200  # the last ones are kept
CHANGE_WAIT_S = 5.0  # seconds to wait for another process that learns
LOOK_SECONDS = 1.0  # seconds until a change that another process made is seen


class Event(NamedTuple):
    """A step of learning.

    Args:
        at: when it was made, microseconds.
        step: `started` a new version serves a share of the recalls; `promoted` it serves all; `rolled_back` it serves
            none any more; `nothing` nothing better was learned.
        version: id of its version.
        because: reason in words, with the figures.
    """

    at: int
    step: str
    version: str
    because: str = ""


@record(frozen=True, slots=True, kw_only=True)
class State:
    """The state of a scope.

    Args:
        serving: the version that serves; `rules` = none.
        candidate: the version that serves a share of the recalls; empty = none.
        since: when `candidate`, else `serving`, began, microseconds.
        learned_at: when something was last learned, microseconds; 0 = never.
        learned_from: number of recalls that were judged by then.
        held_back: whether nothing is learned until somebody promotes a version by hand: it was rolled back by hand.
        made: number of versions that were made.
        events: the last events, oldest first.
    """

    serving: VersionId | Literal["rules"] = RULES
    candidate: VersionId | Literal[""] = ""
    since: int = 0
    learned_at: int = 0
    learned_from: int = 0
    held_back: bool = False
    made: int = 0
    events: tuple[Event, ...] = ()

    def after(self, event: Event, **changes: Any) -> State:
        """Return the state with a step and its changes."""
        return replace(self, events=(*self.events, event)[-EVENTS_MAX:], **changes)


class Shelf:
    """Versions and states of a store. Threads share it; processes and nodes share what is kept."""

    def __init__(self, kept: LearnedRows, key: bytes, timer: Callable[[], float] = time.monotonic) -> None:
        self._kept, self._key, self._timer, self._lock = kept, key, timer, threading.Lock()
        self._naming = threading.Lock()
        self._states: dict[str, tuple[float, object | None, State]] = {}
        self._versions: dict[tuple[str, str], Version] = {}
        self._rankers: dict[tuple[str, str], SteppedWeights | None] = {}
        self._names: LRUCache[Scope, str] = LRUCache(NAMES_MAX)
        self._there: tuple[float, bool] = (-LOOK_SECONDS, False)

    def name_of(self, scope: Scope) -> str:
        """Return the name under which the texts of a scope are kept."""
        with self._naming:
            name = self._names.get(scope)
            if name is None:
                name = self._names[scope] = name_of(scope, self._key)
            return name

    def any(self) -> bool:
        """Say whether anything was ever learned in this store; looked at once a second."""
        now = self._timer()
        looked, there = self._there
        if now - looked >= LOOK_SECONDS:
            try:
                there = bool(self._kept.names())
            except (StoreError, OSError):  # rules are the floor
                there = False
            self._there = now, there
        return there

    def state(self, name: str, *, fresh: bool = False) -> State:
        """Return the state of a scope. A state that cannot be read is that of rules."""
        now, kept = self._timer(), self._states.get(name)
        if kept is not None and not fresh and now - kept[0] < LOOK_SECONDS:
            return kept[2]
        try:
            sign = self._kept.sign(name, STATE)
            same = kept is not None and kept[1] == sign
            state = kept[2] if kept is not None and same else self._read_state(name)
        except (StoreError, ValueError):
            sign, state = None, State()  # rules are the floor
        self._states[name] = now, sign, state
        return state

    def _read_state(self, name: str) -> State:
        text = self._kept.read(name, STATE)
        return State() if text is None else TypeAdapter(State).validate_json(text)

    def version(self, name: str, version_id: str) -> Version | None:
        """Return a version; `None` where there is none that can be read: then rules serve."""
        if version_id == RULES or not valid_id(version_id):
            return None
        kept = self._versions.get((name, version_id))
        if kept is not None:
            return kept
        try:
            found = self.read(name, version_id)
        except (InvalidArgument, StoreError):
            return None
        self._versions[name, version_id] = found
        return found

    def ranker(self, name: str, version: Version) -> SteppedWeights | None:
        """Return the fixed sum with the steps of a version; `None` if it has none, or they are from other weights."""
        key = (name, version.id)
        if key not in self._rankers:
            made = None
            if version.steps and version.ranker == FixedWeights.version:
                calibration = calibration_of(FixedWeights.name, FixedWeights.version)
                made = SteppedWeights(version.steps, f"{name[:8]} {version.id}", calibration)
            self._rankers[key] = made
        return self._rankers[key]

    def read(self, name: str, version_id: str) -> Version:
        """Return a version, or raise with the reason why it cannot be read."""
        text = self._kept.read(name, _file(version_id)) if valid_id(version_id) else None
        if text is None:
            known = ", ".join(self.versions(name)) or "none"
            raise InvalidArgument(f"There is no version {version_id!r} of this scope. Known: {known}.")
        return from_json(text, self._kept.shown(name, _file(version_id)))

    def versions(self, name: str) -> tuple[str, ...]:
        """Return the ids of the versions of a scope, oldest first."""
        there = (file.removesuffix(_SUFFIX) for file in self._kept.texts(name) if file.endswith(_SUFFIX))
        return tuple(sorted((one for one in there if valid_id(one)), key=lambda one: int(one[1:])))

    def put(self, name: str, version: Version) -> None:
        """Write a version. It serves nobody yet."""
        self._kept.put(name, _file(version.id), version.to_json())

    @contextmanager
    def alone(self, wait_s: float = 0.0) -> Iterator[None]:
        """Keep others from learning and from changing what serves, inside. Reentrant."""
        with self._kept.alone(wait_s):
            yield

    def change(self, name: str, change: Callable[[State], State]) -> State:
        """Write a state that is made of the one before."""
        with self._lock, self.alone(CHANGE_WAIT_S):
            state = change(self.state(name, fresh=True))
            self._kept.put(name, STATE, json.dumps(asdict(state), indent=1, ensure_ascii=False) + "\n")
            self._states.pop(name, None)
            self._there = (-LOOK_SECONDS, False)
            return state


def _file(version_id: str) -> str:
    return f"{version_id}{_SUFFIX}"
