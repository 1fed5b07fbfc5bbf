"""The rewrite stage: asks an LLM for alternative phrasings, where that is worth its time, and never waits for long."""

from __future__ import annotations

import statistics
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import replace
from typing import Any

from recall_integrations.rewriting.rewrite import parse_rewrites, prompt_for, skip_reason
from recall_integrations.types import ParsedQuery, RetrievalPlan, RewriteOutcome

REMEMBERED = 32  # recent durations that the budget check looks at


class Rewriting:
    """Threads may share one.

    Args:
        llm: text in, text out; `None` = no rewrites.
        submit: runs a call in a thread that may hang.
        timeout_ms: longest wait.
    """

    def __init__(
        self, llm: Callable[[str], str] | None, submit: Callable[..., Future[Any]], *, timeout_ms: float
    ) -> None:
        self._llm = llm
        self._submit = submit
        self._timeout_ms = timeout_ms
        self._recent_ms: deque[float] = deque(maxlen=REMEMBERED)
        self._lock = threading.Lock()

    def run(
        self, parsed: ParsedQuery, plan: RetrievalPlan, budget_ms: float
    ) -> tuple[ParsedQuery, RewriteOutcome, BaseException | None]:
        """The query with its rewrites, what was done or why nothing was, and the error if there was one.

        Args:
            parsed, plan: the query.
            budget_ms: what the deadline leaves for it.
        """
        if self._llm is None:
            return parsed, RewriteOutcome(), None
        skip = "skip.specific_query" if not plan.rewrite else skip_reason(parsed.original)
        budget = min(self._timeout_ms, budget_ms)
        if skip is None and self._too_slow_for(budget):
            skip = "skip.budget"
        if skip is not None:
            return parsed, RewriteOutcome(strategy="skipped", reason=skip), None
        begin, error = time.perf_counter(), None
        future = self._submit(self._llm, prompt_for(parsed.original))
        try:
            rewrites = parse_rewrites(future.result(timeout=budget / 1e3), parsed.original)
            why = "success" if rewrites else "failure.empty"
        except FutureTimeout:
            rewrites, why = (), "failure.timeout"
            future.cancel()
        except Exception as e:  # noqa: BLE001 - a rewrite is an optimisation; its failure is named in the result
            rewrites, why, error = (), "failure.error", e
        duration = (time.perf_counter() - begin) * 1e3
        with self._lock:
            self._recent_ms.append(duration)
        outcome = RewriteOutcome(
            strategy="llm" if rewrites else "fallback", reason=why, duration_ms=duration, used=bool(rewrites)
        )
        return replace(parsed, rewrites=rewrites), outcome, error

    def _too_slow_for(self, budget_ms: float) -> bool:
        """Whether recent rewrites took longer than there is time. What is refused by fades, so that a model that was
        slow once (cold, say) is tried again."""
        with self._lock:
            if not self._recent_ms or statistics.median(self._recent_ms) <= budget_ms:
                return False
            self._recent_ms.popleft()
            return True
