"""Versions of what was learned: steps, weights of arms and plans; where they are kept; which one answers a recall.

A version is a text of JSON. A scope has one text for each of its versions and one for its state; `store.judgements`
says where they are kept, and that a process which is killed leaves them whole. A version on trial answers a stable
share of the queries.

A signature is six properties of a parsed query, none of which is a word of it: whether it names entities, asks for a
time, for types, holds a negation, how specific it is (three buckets, at the thresholds of the planner's defaults) and
how long (two): 2⁴ · 3 · 2 = 96.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, field, replace
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError

from recall_integrations.errors import InvalidArgument, StoreError
from recall_integrations.patterns import regex
from recall_integrations.query.features import IMPLICIT
from recall_integrations.ranking.feature_sum import STEP_MAX, FixedWeights, SteppedWeights
from recall_integrations.ranking.rank import calibration_of
from recall_integrations.records import record
from recall_integrations.store.judgements import LearnedRows, name_of
from recall_integrations.types import ParsedQuery, RetrievalPlan, Scope
from recall_integrations.types.judged import RULES
from recall_integrations.types.query import PLANS

VAGUE, SPECIFIC = 0.4, 0.8  # bounds of the three buckets of specificity
LONG = 7  # words from which a query is long
_HAS = ("names", "time", "types", "negation")


def signature_of(parsed: ParsedQuery) -> str:
    """Return the signature of a query, readable: `names+time, specific, short`."""
    has = (
        any(ref.stage != IMPLICIT for ref in parsed.entity_refs),
        parsed.temporal_window is not None or parsed.session is not None,
        bool(parsed.type_cues or parsed.type_filters),
        bool(parsed.negations),
    )
    named = "+".join(name for name, there in zip(_HAS, has, strict=True) if there) or "plain"
    specificity = round(parsed.specificity, 3)
    bucket = "vague" if specificity < VAGUE else "middling" if specificity < SPECIFIC else "specific"
    return f"{named}, {bucket}, {'long' if len(parsed.original.split()) >= LONG else 'short'}"


WEIGHT_MIN, WEIGHT_MAX = 0.1, 3.0  # of an arm
FORMAT = "recall-version-1"
_ID = regex(r"v[0-9]{1,9}")
VersionId = Annotated[str, Field(pattern=r"^v[0-9]{1,9}$")]
Step = Annotated[float, Field(ge=-STEP_MAX, le=STEP_MAX, strict=True)]
Weight = Annotated[float, Field(ge=WEIGHT_MIN, le=WEIGHT_MAX, strict=True)]
Plan = Annotated[str, Field(pattern=f"^({'|'.join(PLANS)})$")]
Count = Annotated[int, Field(ge=0, strict=True)]


@record(frozen=True, slots=True, kw_only=True)
class Version:
    """The steps, weights and plans that were learned at one time.

    Args:
        id: `v1`, `v2`, … within its scope.
        parent: the version that served when it was made; `rules` = none.
        judged: number of recalls that it was made from.
        steps: feature → step from the shipped weight.
        arms: arm → factor of its weight in every plan, in [0.1, 3.0].
        plans: signature → name of the plan that replaces the rules'.
        ranker: version of the shipped weights that the steps are from.
    """

    id: VersionId
    parent: str = RULES
    judged: Count = 0
    steps: Mapping[str, Step] = field(default_factory=dict)
    arms: Mapping[str, Weight] = field(default_factory=dict)
    plans: Mapping[str, Plan] = field(default_factory=dict)
    ranker: str = ""

    def to_json(self) -> str:
        """Write the version as `from_json` reads it."""
        return json.dumps({"format": FORMAT, **asdict(self)}, indent=2, ensure_ascii=False, sort_keys=True) + "\n"

    def applied(self, plan: RetrievalPlan) -> RetrievalPlan:
        """Return a plan with the weights of its arms."""
        if not self.arms:
            return plan
        arms = tuple(
            replace(arm, weight=round(arm.weight * self.arms[arm.name], 6)) if arm.name in self.arms else arm
            for arm in plan.arms
        )
        return replace(plan, arms=arms)


def from_json(text: str, where: str) -> Version:
    """Read a version."""
    try:
        fields = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as e:
        raise InvalidArgument(
            f"{where} cannot be read as JSON: {e}. `recall learn STORE rollback` goes back to rules."
        ) from e
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise InvalidArgument(f"{where} must be a mapping with format {FORMAT!r}. Another version may have written it.")
    try:
        return TypeAdapter(Version).validate_python(fields)
    except ValidationError as e:
        first = e.errors(include_url=False)[0]
        raise InvalidArgument(f"{where}: {'.'.join(map(str, first['loc']))} is damaged: {first['msg']}.") from e


def valid_id(text: str) -> bool:
    """Say whether a text is the id of a version."""
    return _ID.fullmatch(text) is not None


STATE = "state.json"
_SUFFIX = ".json"
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
        self._states: dict[str, tuple[float, object | None, State]] = {}
        self._versions: dict[tuple[str, str], Version] = {}
        self._rankers: dict[tuple[str, str], SteppedWeights | None] = {}
        self._there: tuple[float, bool] = (-LOOK_SECONDS, False)

    def name_of(self, scope: Scope) -> str:
        """Return the name under which the texts of a scope are kept."""
        return name_of(scope, self._key)

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

    def alone(self, wait_s: float = 0.0) -> AbstractContextManager[None]:
        """Keep others from learning and from changing what serves, inside. Reentrant."""
        return self._kept.alone(wait_s)

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


_WHOLE = 2**64


@record(frozen=True, slots=True, kw_only=True)
class Served:
    """The version that answers a recall."""

    version: Version | None = None  # the version; `None` = the rules answer
    ranker: FixedWeights | None = None  # the fixed sum with its steps; `None` = it has none

    @property
    def label(self) -> str:
        """Label of the version in results and replays: `rules`, `v3`."""
        return RULES if self.version is None else self.version.id


BY_RULES = Served()


def share_of(name: str, version: str, text: str) -> float:
    """Return a number in [0, 1) that is always the same for a scope, a version and a query."""
    said = f"{name}\0{version}\0{' '.join(text.casefold().split())}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(said, digest_size=8).digest(), "big") / _WHOLE


def served(shelf: Shelf, scope: Scope, text: str, share: float) -> Served:
    """Return the version that answers a query."""
    if not shelf.any():
        return BY_RULES
    name = shelf.name_of(scope)
    state = shelf.state(name)
    if state.candidate and share_of(name, state.candidate, text) < share:
        version = shelf.version(name, state.candidate)
        if version is not None:
            return Served(version=version, ranker=shelf.ranker(name, version))
    version = shelf.version(name, state.serving)
    return BY_RULES if version is None else Served(version=version, ranker=shelf.ranker(name, version))


def to_replay(shelf: Shelf, scope: Scope) -> tuple[Served, ...]:
    """Return the versions whose orders a replay notes: what serves a scope and what is tried there."""
    if not shelf.any():
        return ()
    name = shelf.name_of(scope)
    state = shelf.state(name)
    versions = [shelf.version(name, one) for one in (state.serving, state.candidate)]
    return tuple(Served(version=one, ranker=shelf.ranker(name, one)) for one in versions if one is not None)
