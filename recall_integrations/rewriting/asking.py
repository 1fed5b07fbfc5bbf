"""Asks an LLM for other words, where that is worth its time: never twice for the same, never waiting for long."""

from __future__ import annotations

import functools
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
from recall_integrations.sharing.phrasings import SharedPhrasings
from recall_integrations.types import ParsedQuery, RetrievalPlan, RewriteOutcome, Scope

STAGE = "rewrite"
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
    """A question that is under way, or its answer.

    Args:
        key: of the question.
        sent: the query as the model was given it.
        call: under way.
        mine: whether this recall began it, and learns from it.
        answer: what is known already.
        cached: whether the answer was kept from before.
    """

    key: str
    sent: str
    call: Call[Phrasings] | None = None
    mine: bool = True
    answer: Answer[Phrasings] | None = None
    cached: bool = False


class Rewriting:
    """Threads may share one.

    Args:
        llm: text in, text out; `None` = no rewrites.
        guard: what calls it.
        settings: what is asked for, and when.
        cache: phrasings that were found lately; `None` = none are kept.
        slo: whether rewriting keeps its contract; `None` = nobody looks.
        others: phrasings that processes share through a Redis; `None` = none are.

    Attributes:
        template: what is asked, with `{query}` in it.
    """

    def __init__(
        self,
        llm: Callable[[str], str] | None,
        guard: Guard,
        settings: RewritingConfig,
        cache: RewriteCache | None = None,
        slo: Contract | None = None,
        others: SharedPhrasings | None = None,
    ) -> None:
        self._others = others
        self._llm = llm if settings.ask != "never" else None
        self._guard, self._cache, self._slo = guard, cache, slo
        self.settings = settings
        self.template = settings.prompt or PROMPTS[settings.strategy]
        self._identity = identity_of(self._llm)
        self._lock = threading.RLock()  # a call may end before `begin` is back
        self._under_way: dict[str, Call[Phrasings]] = {}

    @property
    def provider(self) -> str:
        """What the model is called; empty = there is none."""
        return "" if self._llm is None else getattr(self._llm, "__name__", type(self._llm).__name__)

    @property
    def on(self) -> bool:
        """Whether there is a model to ask."""
        return self._llm is not None

    def skipped(self, reason: str) -> RewriteOutcome:
        """What is said where nothing is asked, and what that saved."""
        if self._llm is None:
            return RewriteOutcome()
        return RewriteOutcome(
            strategy="skipped", reason=reason, provider=self.provider, saved_ms=self._guard.pace.median_ms()
        )

    def needless(self, parsed: ParsedQuery, plan: RetrievalPlan, precise: float, door: Door) -> str | None:
        """Why nothing is asked, whatever is found, as a reason code; `None` = it may be asked.

        Args:
            parsed, plan: the query.
            precise: specificity from which a query needs no other words.
            door: what may leave the recall.
        """
        if self._llm is None:
            return DISABLED
        if door.blocked:
            return PRIVACY
        if not plan.rewrite:
            return SPECIFIC if parsed.specificity >= precise else PLAN
        return skip_reason(parsed.original)

    def begin(self, parsed: ParsedQuery, scope: Scope, door: Door, deadline: Deadline) -> Asking:
        """Ask, or find what was asked lately, or join who is asking. Returns at once, but for a look at what is shared.

        Args:
            parsed: the query.
            scope: whose query it is: what was found for one tenant is nothing that another sees.
            door: what the model is given goes through it.
            deadline: of the answer.
        """
        sent = door.query(parsed.original).text
        template = self.template
        key = key_of(sent, template, self._identity, self.settings.phrasings_max, scope, door.mode)
        kept = None if self._cache is None else self._cache.get(key)
        if kept is None and self._others is not None:
            kept = self._others.get(key, deadline)
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
        """Wait for the answer, and learn from it.

        Args:
            asking: begun here.
            deadline: of whoever waits.
            useless: whether none of the phrasings can be searched for; that counts as a failure.
        """
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
        """Nobody needs the answer any more."""
        if asking.call is not None and asking.mine and not asking.call.future.done():
            asking.call.limit.cancel()
            self._guard.ended(asking.call)

    def _learn(self, answer: Answer[Phrasings], *, fair: bool) -> None:
        """Count the call. One that had little time and was late says nothing of the model."""
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
        """What the model says. One that comes too late for this recall is there for the next."""
        ask = functools.partial(self._said, query, template)
        found = ask() if self._others is None else self._others.asked_once(key, ask)
        if found and self._cache is not None:
            self._cache.put(key, found)
        return found

    def _said(self, query: str, template: str) -> Phrasings:
        assert self._llm is not None
        return parse_rewrites(
            self._llm(prompt_for(query, template)), query, self.settings.phrasings_max, prompt=template
        )


def _useless(value: Phrasings) -> Answer[Phrasings]:
    return Answer(reason=EMPTY, value=value, detail="What was found lately cannot be used.")
