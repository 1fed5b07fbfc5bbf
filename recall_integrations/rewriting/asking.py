"""Ask an LLM for other words where that is worth its time: never twice for the same, never for long."""

from __future__ import annotations

import functools
import hashlib
import json
import statistics
import threading
import time
import unicodedata
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from pydantic import Field, FiniteFloat

from recall_integrations.adapters.llm import identity_of
from recall_integrations.config import RewritingConfig
from recall_integrations.privacy.door import Door
from recall_integrations.records import record
from recall_integrations.resilience.breaker import SharedFile
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.guard import (
    BUSY,
    CANCELLED,
    EMPTY,
    ERROR,
    NO_TIME,
    OPEN,
    SUCCESS,
    TIMEOUT,
    Answer,
    Call,
    Guard,
)
from recall_integrations.rewriting.phrasings import PROMPTS, parse_rewrites, prompt_for, skip_reason
from recall_integrations.types import ParsedQuery, RetrievalPlan, RewriteOutcome, Scope

_ENDS = " \t.?!…。？！"


@record(frozen=True, slots=True)
class Entry:
    """Phrasings, and when they were found, in seconds of the clock."""

    at: FiniteFloat
    texts: tuple[str, ...]


Entries = dict[str, Entry]  # oldest first


def key_of(query: str, *fingerprint: object) -> str:
    """Return a digest of the query and of all that its phrasings depend on besides.

    Queries that differ in case, in white space or in the marks at their end are one.
    """
    text = " ".join(unicodedata.normalize("NFKC", query).casefold().split()).strip(_ENDS)
    said = json.dumps([text, *map(str, fingerprint)], ensure_ascii=False)
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class RewriteCache:
    """A cache of phrasings that threads and, through its file, processes share. It holds digests of queries."""

    def __init__(
        self,
        path: Path | None = None,
        *,
        ttl_s: float = 180.0,
        entries_max: int = 50,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._ttl_s, self._max, self._clock = ttl_s, entries_max, clock
        self._file: SharedFile[Entries] = SharedFile(path, Entries, nothing=dict)

    def get(self, key: str) -> tuple[str, ...] | None:
        """Return the phrasings, if they are still good."""
        entry = self._file.read().get(key)
        return entry.texts if entry is not None and self._good(entry) else None

    def put(self, key: str, texts: tuple[str, ...]) -> None:
        """Keep phrasings, if they are good for any time."""
        if not self._ttl_s:
            return

        def added(entries: Entries) -> Entries:
            others = {k: e for k, e in entries.items() if k != key and self._good(e)}
            more = {**others, key: Entry(self._clock(), texts)}
            return dict(list(more.items())[-self._max :])

        self._file.update(added)

    def _good(self, entry: Entry) -> bool:
        return 0 <= self._clock() - entry.at < self._ttl_s  # a clock put back: not known how old


WINDOW = 50  # calls that are looked at
CALLS_MIN = 20  # fewer say nothing: one empty answer in ten is no pattern
PROBES_MIN = 3  # good ones in a row switch it on again
PROBE_SECONDS = 60.0  # between two probes
FAILED = "failed"
Outcome = Annotated[str, Field(pattern=f"^({SUCCESS}|{EMPTY}|{FAILED})$")]


FALLBACK_MAX = 0.2  # share of the recent calls that may give nothing to search for, whatever the reason
EMPTY_MAX = 0.05  # share of them that may come back empty
MEDIAN_MAX_MS = 1_200.0  # their median time


@record(frozen=True, slots=True, kw_only=True)
class Calls:
    """The record: recent calls as (outcome, milliseconds), and why and since when the step is off."""

    calls: tuple[tuple[Outcome, FiniteFloat], ...] = ()  # oldest first. While it is off, the probes.
    off: str = ""  # why it is off; empty = it is on
    probed: FiniteFloat = 0.0  # when it was switched off, or the last probe; seconds of the clock


class Contract:
    """The record of calls, compared with the limits. Threads and, through its file, processes share it."""

    def __init__(self, path: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._file: SharedFile[Calls] = SharedFile(path, Calls, nothing=Calls)

    def refuses(self) -> str:
        """Return why no call may be made now; empty = one may. While the step is off, one a minute may, as a probe."""
        known = self._file.read()
        return known.off if known.off and 0 <= self._clock() - known.probed < PROBE_SECONDS else ""

    def begun(self) -> None:
        """Note that a call was begun: while the step is off, the probe of this minute."""
        if self._file.read().off:
            self._file.update(lambda kept: replace(kept, probed=self._clock()))

    def record(self, outcome: str, ms: float, *, late: bool = False) -> None:
        """Note that a call has ended; a late one was noted as failed when nobody waited any more."""

        def counted(kept: Calls) -> Calls:
            before = list(kept.calls)
            failed = [place for place, (said, _) in enumerate(before) if said == FAILED]
            if late and failed:
                del before[failed[-1]]
            calls = (*before, (outcome, ms))[-WINDOW:]
            if kept.off:
                return self._probed(replace(kept, calls=calls))
            broken = self._broken(calls)
            return Calls(off=broken, probed=self._clock()) if broken else replace(kept, calls=calls)

        self._file.update(counted)

    def _probed(self, kept: Calls) -> Calls:
        last = kept.calls[-PROBES_MIN:]
        good = [outcome == SUCCESS and ms <= MEDIAN_MAX_MS for outcome, ms in last]
        if not good[-1]:
            return replace(kept, calls=())
        return Calls() if len(good) == PROBES_MIN and all(good) else kept

    def _broken(self, calls: tuple[tuple[str, float], ...]) -> str:
        """Return the part of the contract that is broken, in words; empty = none is."""
        if len(calls) < CALLS_MIN:
            return ""
        n = len(calls)
        fallback = sum(outcome != SUCCESS for outcome, _ in calls) / n
        empty = sum(outcome == EMPTY for outcome, _ in calls) / n
        median = statistics.median(ms for _, ms in calls)
        if fallback > FALLBACK_MAX:
            return f"{fallback:.0%} of the last {n} rewrites gave nothing; at most {FALLBACK_MAX:.0%} may."
        if empty > EMPTY_MAX:
            return f"{empty:.0%} of the last {n} rewrites were empty; at most {EMPTY_MAX:.0%} may be."
        if median > MEDIAN_MAX_MS:
            return f"The last {n} rewrites took {median:.0f} ms (median); at most {MEDIAN_MAX_MS:.0f} are allowed."
        return ""


STAGE = "rewrite"
PHRASINGS_MAX = 3  # so many at most are searched for


class Phrasings(tuple[str, ...]):
    """Texts, and what the call that gave them took by the model's own account."""

    usage: Mapping[str, float] = MappingProxyType({})


# What the guard says → what the outcome says, in the words of the rewrite contract.
REASONS: Mapping[str, str] = {
    SUCCESS: "success",
    EMPTY: "failure.empty",
    TIMEOUT: "failure.timeout",
    ERROR: "failure.error",
    CANCELLED: "failure.cancelled",
    OPEN: "circuit_open",
    NO_TIME: "skip.budget",
    BUSY: "skip.busy",
}
OFF_TOPIC = "failure.off_topic"
UNSURE_BELOW = 0.8  # score of the first hit, from which a careful rewriter is not asked
CACHE_HIT = "cache_hit"
DISABLED, SPECIFIC, PLAN, PRIVACY, SLO, SURE = (
    f"skip.{why}" for why in ("disabled", "specific", "plan", "privacy", "slo", "sure")
)


@record(frozen=True, slots=True)
class Asking:
    """A question to the model, under way or answered."""

    key: str  # of the question
    sent: str  # the query as it was sent to the model
    call: Call[Phrasings] | None = None  # the call under way
    mine: bool = True  # whether this recall began the call, and learns from it
    answer: Answer[Phrasings] | None = None  # the answer, if it is known already
    cached: bool = False  # whether the answer comes from the cache


class Rewriting:
    """The rewriting step. Threads may share one."""

    def __init__(
        self,
        llm: Callable[[str], str] | None,
        guard: Guard,
        settings: RewritingConfig,
        cache: RewriteCache | None = None,
        slo: Contract | None = None,
    ) -> None:
        self._llm = llm if settings.mode != "off" else None
        self._guard, self._cache, self._slo = guard, cache or RewriteCache(), slo or Contract()
        self.settings = settings
        self.template = settings.prompt or PROMPTS[settings.strategy]
        self._identity = identity_of(self._llm)
        self._lock = threading.RLock()  # a call may end before `begin` is back
        self._under_way: dict[str, Call[Phrasings]] = {}

    @property
    def provider(self) -> str:
        """Name of the model; empty = there is none."""
        return "" if self._llm is None else getattr(self._llm, "__name__", type(self._llm).__name__)

    @property
    def wait_ms(self) -> float:
        """Milliseconds that a recall waits for the model beyond its own time, if the caller names none."""
        return self.settings.timeout_ms if self.on else 0.0

    @property
    def on(self) -> bool:
        """True if there is a model to ask."""
        return self._llm is not None

    def skipped(self, reason: str) -> RewriteOutcome:
        """Return the outcome where the model is not asked, with the time saved."""
        if self._llm is None:
            return RewriteOutcome()
        return RewriteOutcome(
            strategy="skipped", reason=reason, provider=self.provider, saved_ms=self._guard.pace.median_ms()
        )

    def needless(self, parsed: ParsedQuery, plan: RetrievalPlan, precise: float, door: Door) -> str | None:
        """Return the reason code why the model need not be asked, whatever is found; `None` = it may be asked."""
        if self._llm is None:
            return DISABLED
        if door.blocked:
            return PRIVACY
        if not plan.rewrite:
            return SPECIFIC if parsed.specificity >= precise else PLAN
        return skip_reason(parsed.original)

    def begin(self, parsed: ParsedQuery, scope: Scope, door: Door, deadline: Deadline) -> Asking:
        """Ask, return the cached answer, or join a call under way. Returns at once."""
        sent = door.query(parsed.original).text
        template = self.template
        key = key_of(sent, template, self._identity, scope, door.mode)
        kept = self._cache.get(key)
        if kept is not None:
            return Asking(key, sent, answer=Answer(reason=SUCCESS, value=Phrasings(kept)), cached=True)
        with self._lock:
            call = self._under_way.get(key)
            if call is not None and not call.limit.over:  # one that is late may hang for ever
                return Asking(key, sent, call, mine=False)
            if why := self._slo.refuses():
                return Asking(key, sent, answer=Answer(reason=SLO, detail=why))
            begun = self._guard.begin(deadline, self._phrasings, key, sent, template)
            if isinstance(begun, Answer):
                return Asking(key, sent, answer=begun)
            self._under_way[key] = begun
        self._slo.begun()
        begun.future.add_done_callback(lambda _: self._over(key, begun))
        return Asking(key, sent, begun)

    def end(self, asking: Asking, deadline: Deadline, useless: Callable[[Phrasings], bool]) -> Answer[Phrasings]:
        """Wait for the answer, and learn from it."""
        if asking.answer is not None:
            value = asking.answer.value
            return _useless(value) if value is not None and useless(value) else asking.answer
        assert asking.call is not None
        if not asking.mine:
            return self._guard.joined(asking.call, deadline, useless)
        answer = self._guard.ended(asking.call, useless)
        self._learn(answer, fair=asking.call.fair)
        if answer.reason == TIMEOUT:
            asking.call.future.add_done_callback(functools.partial(self._arrived, asking.call))
        return answer

    def leave(self, asking: Asking) -> None:
        """Give up a question whose answer nobody needs any more."""
        if asking.call is not None and asking.mine and not asking.call.future.done():
            asking.call.limit.cancel()
            self._guard.ended(asking.call)

    def _learn(self, answer: Answer[Phrasings], *, fair: bool) -> None:
        """Count the call. A late one that had little time says nothing about the model."""
        if not answer.begun or answer.reason in (CANCELLED, OPEN):
            return
        if answer.reason == TIMEOUT and not fair:
            return
        outcome = SUCCESS if answer.reason == SUCCESS else FAILED
        if answer.reason == EMPTY and not answer.value:  # what is off topic is not empty
            outcome = EMPTY
        self._slo.record(outcome, answer.took_ms)

    def _over(self, key: str, call: Call[Phrasings]) -> None:
        with self._lock:
            if self._under_way.get(key) is call:
                del self._under_way[key]

    def _arrived(self, call: Call[Phrasings], future: Future[Phrasings]) -> None:
        """Count an answer that came when nobody waited for it any more: the model works all the same."""
        if not future.cancelled() and future.exception() is None and future.result():
            self._slo.record(SUCCESS, self._guard.arrived(call), late=True)

    def _phrasings(self, key: str, query: str, template: str) -> Phrasings:
        """Ask the model for phrasings. An answer too late for this recall serves the next."""
        assert self._llm is not None
        said = self._llm(prompt_for(query, template))
        found = Phrasings(parse_rewrites(said, query, PHRASINGS_MAX, prompt=template))
        found.usage = getattr(said, "usage", found.usage)
        if found:
            self._cache.put(key, found)
        return found


def _useless(value: Phrasings) -> Answer[Phrasings]:
    return Answer(reason=EMPTY, value=value, detail="What was found lately cannot be used.")
