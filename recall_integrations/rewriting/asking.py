"""The step that asks an LLM for other words where that is worth its time: never twice for the same, never for long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from recall_integrations.adapters.llm import identity_of
from recall_integrations.config import RewritingConfig
from recall_integrations.privacy.door import Door
from recall_integrations.records import record
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
from recall_integrations.rewriting import contract
from recall_integrations.rewriting.answers import parse_rewrites
from recall_integrations.rewriting.contract import Contract
from recall_integrations.rewriting.heuristics import skip_reason
from recall_integrations.rewriting.kept import RewriteCache, key_of
from recall_integrations.rewriting.prompts import PROMPTS, prompt_for
from recall_integrations.types import ParsedQuery, RetrievalPlan, RewriteOutcome, Scope

STAGE = "rewrite"
PHRASINGS_MAX = 3  # so many at most are searched for
Phrasings = tuple[str, ...]
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
        self._llm = llm if settings.ask != "never" else None
        self._guard, self._cache, self._slo = guard, cache, slo
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
        kept = None if self._cache is None else self._cache.get(key)
        if kept is not None:
            return Asking(key, sent, answer=Answer(reason=SUCCESS, value=kept), cached=True)
        with self._lock:
            call = self._under_way.get(key)
            if call is not None and not call.limit.over:  # one that is late may hang for ever
                return Asking(key, sent, call, mine=False)
            why = "" if self._slo is None else self._slo.refuses()
            if why:
                return Asking(key, sent, answer=Answer(reason=SLO, detail=why))
            begun = self._guard.begin(deadline, self._phrasings, key, sent, template)
            if isinstance(begun, Answer):
                return Asking(key, sent, answer=begun)
            self._under_way[key] = begun
        if self._slo is not None:
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
        return answer

    def leave(self, asking: Asking) -> None:
        """Give up a question whose answer nobody needs any more."""
        if asking.call is not None and asking.mine and not asking.call.future.done():
            asking.call.limit.cancel()
            self._guard.ended(asking.call)

    def _learn(self, answer: Answer[Phrasings], *, fair: bool) -> None:
        """Count the call. A late one that had little time says nothing about the model."""
        if self._slo is None or not answer.begun or answer.reason in (CANCELLED, OPEN):
            return
        if answer.reason == TIMEOUT and not fair:
            return
        outcome = contract.SUCCESS if answer.reason == SUCCESS else contract.FAILED
        if answer.reason == EMPTY and not answer.value:  # what is off topic is not empty
            outcome = contract.EMPTY
        self._slo.record(outcome, answer.took_ms)

    def _over(self, key: str, call: Call[Phrasings]) -> None:
        with self._lock:
            if self._under_way.get(key) is call:
                del self._under_way[key]

    def _phrasings(self, key: str, query: str, template: str) -> Phrasings:
        """Ask the model for phrasings. An answer too late for this recall serves the next."""
        assert self._llm is not None
        said = self._llm(prompt_for(query, template))
        found = parse_rewrites(said, query, PHRASINGS_MAX, prompt=template)
        if found and self._cache is not None:
            self._cache.put(key, found)
        return found


def _useless(value: Phrasings) -> Answer[Phrasings]:
    return Answer(reason=EMPTY, value=value, detail="What was found lately cannot be used.")
