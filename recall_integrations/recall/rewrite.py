"""`ask`, `rewrite`: search once more for an LLM's words, with the arms for words and meaning and the same ranker."""

from __future__ import annotations

import functools
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.scope_view import Rows
from recall_integrations.ranking.arranging.arrange import with_phrasings
from recall_integrations.ranking.fusion import Fused
from recall_integrations.recall.plan import Parse
from recall_integrations.recall.rank import Rank
from recall_integrations.recall.runner import RecallState, Stage, Turn, degradation
from recall_integrations.recall.search import Arms, Embed
from recall_integrations.records import changed
from recall_integrations.resilience.admission import SIMPLE
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.failures import failures
from recall_integrations.resilience.guard import CANCELLED, EMPTY, NO_TIME, SUCCESS, Answer, Guard
from recall_integrations.rewriting.asking import (
    CACHE_HIT,
    OFF_TOPIC,
    PHRASINGS_MAX,
    REASONS,
    SURE,
    UNSURE_BELOW,
    Asking,
    Phrasings,
    Rewriting,
    instructs,
)
from recall_integrations.types import Degradation, ParsedQuery, RewriteOutcome
from recall_integrations.types.observing import Step

BY_WORDS = ("semantic", "lexical")  # the other arms look for names, times and types, which stay the query's


class Again:
    """Searches a recall's scope for phrasings of its query. Threads may share one."""

    def __init__(self, embed: Embed, arms: Arms, rank: Rank, outside: Guard | None = None) -> None:
        self._embed, self._arms, self._rank, self._outside = embed, arms, rank, outside

    def search(
        self,
        state: RecallState,
        phrasings: list[tuple[str, ParsedQuery]],
        deadline: Deadline,
        step: Step | None = None,
        *,
        memories: bool = False,
    ) -> tuple[list[Fused], list[Degradation]]:
        """Return what each phrasing finds, in their order, and the problems, if some were not begun in time.

        `memories`: the phrasings are made-up memories, and compared with others as such.
        """
        semantic = state.plan.arm("semantic") is not None
        texts = [text for text, _ in phrasings] if semantic else []
        vectors, problem = self._embed.vectors_of(texts, deadline, memories=memories)
        problems = [] if problem is None else [problem]
        arms = tuple(arm for arm in state.plan.arms if arm.name in BY_WORDS)
        found: list[Fused] = []
        for i, (_, read) in enumerate(phrasings):
            if deadline.over:
                problems.append(Degradation(stage="", reason="timeout", detail=f"{len(phrasings) - i} were not begun."))
                break
            before = replace(
                state,
                parsed=self._as_asked(state.query, read),
                planned=replace(state.plan, arms=arms),
                vectors=vectors[i][None, :] if vectors else None,
                similarities=None,
                results=(),
                fused=None,
                confidence=None,
                degraded=(),
            )
            own = deadline.child(deadline.remaining_ms() / (len(phrasings) - i))
            after = self._ranked(self._arms.run(before, Turn(own, step=step)), own)
            problems += after.degraded
            if after.fused is not None:
                found.append(after.fused)
        return found, problems

    def _ranked(self, state: RecallState, deadline: Deadline) -> RecallState:
        if self._outside is None:
            return self._rank.run(state, Turn(deadline))
        answer = self._outside.call(deadline, self._rank.run, state, Turn(deadline))
        if answer.value is not None:
            return answer.value
        return state.degraded_by(Degradation(stage="rank", reason=answer.code, detail=answer.detail))

    @staticmethod
    def _as_asked(asked: ParsedQuery, read: ParsedQuery) -> ParsedQuery:
        """Return the query with the words of a phrasing; names, time, exclusions and the rest stay the query's."""
        known = {ref.entity_id for ref in asked.entity_refs}
        window = asked.temporal_window
        return replace(
            asked,
            original=read.original,
            terms=read.terms,
            stems=read.stems,
            weaker_terms=read.weaker_terms,
            asides=read.asides,
            tokens=read.tokens,
            identifiers=read.identifiers,
            entity_refs=tuple(ref for ref in read.entity_refs if ref.entity_id in known),
            temporal_window=None if window is None else replace(window, span=(0, 0)),
            corrections=(),
            corrected_query=None,
        )


STAGE = "rewrite"
PARTIAL = "partial"
NO_MEMORIES = "skip.no_memories"
FAILED = "failure.error"
SEARCH_MS = 15.0  # milliseconds for a phrasing, before anything is known
SHARE_MAX = 0.5  # share of the time that is left, kept for what comes after the LLM


class Ask(Stage):
    """Begins to ask the LLM, beside the search for the query itself."""

    name = "ask"
    level = SIMPLE - 1

    def __init__(self, rewriting: Rewriting, precise: float) -> None:
        self._rewriting, self._precise = rewriting, precise

    def run(self, state: RecallState, turn: Turn) -> RecallState:
        """Return the state with `asking`."""
        if self._rewriting.needless(state.query, state.plan, self._precise, state.door) is not None:
            return state
        deadline = patience(state, turn.deadline)
        return replace(state, asking=self._rewriting.begin(state.query, state.request.scope, state.door, deadline))


class Rewrite(Stage):
    """Adds what phrasings find. Without it the answer is what the query itself found."""

    name = STAGE
    level = SIMPLE - 1

    def __init__(self, rewriting: Rewriting, parse: Parse, again: Again, precise: float) -> None:
        self._rewriting, self._parse, self._again, self._precise = rewriting, parse, again, precise

    def applies(self, _state: RecallState) -> bool:
        """Return true: every recall tells the outcome of its rewrite."""
        return True

    def fallback(self, state: RecallState) -> RecallState:
        """Skip the rewrite for want of time; or as failed, where `degraded` names that already."""
        failed = any(problem.stage == STAGE for problem in state.degraded)
        return self._skipped(state, FAILED if failed else NO_TIME)

    def run(self, state: RecallState, turn: Turn) -> RecallState:
        """Return the state with `rewrite`, `parsed.rewrites`, `fused` and `phrased`."""
        why = self._needless(state)
        if why is not None:
            return self._skipped(state, why)
        deadline, began = patience(state, turn.deadline), time.monotonic()
        asking = state.asking or self._rewriting.begin(state.query, state.request.scope, state.door, deadline)
        reader = _Reader(self._parse, state)
        answer = self._rewriting.end(asking, deadline, reader.useless)
        if state.request.llm_wait_ms:
            turn.deadline.extend(time.monotonic() - began)
        state = replace(state, rewrite=self._outcome(asking, answer, reader)).degraded_by(*_problems(answer, reader))
        if answer.reason != SUCCESS:
            return state
        return self._searched(state, reader, turn)

    def _needless(self, state: RecallState) -> str | None:
        """Return why nothing is asked; `None` = something is."""
        why = self._rewriting.needless(state.query, state.plan, self._precise, state.door)
        if why is not None:
            return why
        if state.view is None or state.fused is None:
            return NO_TIME if state.loading else NO_MEMORIES
        first = state.candidates.scores[:1]
        sure = self._rewriting.settings.mode == "careful" and bool((first >= UNSURE_BELOW).any())
        return SURE if sure else None

    def _skipped(self, state: RecallState, why: str) -> RecallState:
        if state.asking is not None:
            self._rewriting.leave(state.asking)
        outcome = self._rewriting.skipped(why)
        return changed(state, rewrite=replace(outcome, strategy="fallback") if why == FAILED else outcome)

    def _outcome(self, asking: Asking, answer: Answer[Phrasings], reader: _Reader) -> RewriteOutcome:
        used = answer.reason == SUCCESS
        reason = REASONS.get(answer.reason, answer.reason)
        if answer.reason == EMPTY and answer.value:
            reason = OFF_TOPIC
        if used and asking.cached:
            reason = CACHE_HIT
        strategy = ("cache" if asking.cached else "llm") if used else "fallback" if answer.begun else "skipped"
        outcome = self._rewriting.skipped(reason)
        return replace(
            outcome,
            strategy=strategy,
            duration_ms=answer.took_ms,
            used=used,
            saved_ms=None if answer.begun and not asking.cached else outcome.saved_ms,
            refused=reader.refused.total(),
            usage=answer.value.usage if answer.value is not None and asking.mine else {},
        )

    def _searched(self, state: RecallState, reader: _Reader, turn: Turn) -> RecallState:
        """Return the state with what the phrasings find."""
        settings, k, before = self._rewriting.settings, state.request.k, state.candidates
        made_up = settings.strategy == "hypothetical"
        found, problems = self._again.search(state, reader.kept, turn.deadline, turn.step, memories=made_up)
        near = None if settings.mode == "full" else functools.partial(_near, state)
        fused, ways = with_phrasings(before, found, state.scope, k=k, near=near)
        texts = tuple(text for text, _ in reader.kept)
        moved = sum(old != new for old, new in zip(before.rows[:k].tolist(), fused.rows[:k].tolist(), strict=False))
        moved += max(0, min(k, len(fused.rows)) - len(before.rows))
        state = replace(
            state,
            parsed=replace(state.query, rewrites=texts),
            fused=fused,
            phrased={row: texts[which] for row, which in ways.items()},
            rewrite=replace(state.rewrite, moved=moved),
        )
        if not problems:
            return state
        said = "; ".join(dict.fromkeys(f"{p.stage}: {p.reason}".strip(": ") for p in problems))
        return state.degraded_by(Degradation(stage=STAGE, reason=PARTIAL, detail=f"Not all was searched for: {said}."))


def _near(state: RecallState, rows: Rows) -> NDArray[np.floating]:
    """Return the cosines of rows with the query; all equal where they are not at hand."""
    return np.ones(len(rows)) if state.similarities is None else state.similarities.of(rows)


def patience(state: RecallState, deadline: Deadline) -> Deadline:
    """Return the deadline of the LLM: what it finds has to be searched for, ranked and delivered as well."""
    if state.request.llm_wait_ms:
        return deadline.later(state.request.llm_wait_ms / 1e3)
    left = deadline.remaining_ms()
    later = min(SHARE_MAX * left, SEARCH_MS * (PHRASINGS_MAX + 1))
    return deadline.child(None if left == float("inf") else left - later)


class _Reader:
    """The phrasings of one recall that can be searched for."""

    def __init__(self, parse: Parse, state: RecallState) -> None:
        self._parse, self._state = parse, state
        self.kept: list[tuple[str, ParsedQuery]] = []
        self.refused: Counter[str] = Counter()
        self.failed: Degradation | None = None

    def useless(self, texts: Sequence[str]) -> bool:
        """Say whether no phrasing can be searched for; those that can are in `kept`. Never raises."""
        self.kept, self.refused = [], Counter()
        if any(map(instructs, texts)) and not instructs(self._state.query.original):
            self.refused["instructions"] = len(texts)  # who repeats an attack is not asked what else there is
            return True
        for text in texts:
            read = self._read(text)
            if read is None:
                self.refused["cannot be read"] += 1
            else:
                self.kept.append((text, read))
        return not self.kept

    def _read(self, text: str) -> ParsedQuery | None:
        try:
            return self._parse.phrase(text, self._state.request)
        except failures() as e:  # the fault is in our reading; the recall goes on without
            self.failed = degradation(STAGE, e)
            return None


def _problems(answer: Answer[Phrasings], reader: _Reader) -> list[Degradation]:
    problems = [] if reader.failed is None else [reader.failed]
    if answer.reason in (SUCCESS, CANCELLED):
        return problems
    detail, code = answer.detail, answer.code
    if answer.reason == EMPTY and answer.value:
        said = ", ".join(f"{why} ({n})" for why, n in sorted(reader.refused.items()))
        code, detail = "off_topic", f"Nothing that the LLM gave can be searched for: {said}."
    return [*problems, Degradation(stage=STAGE, reason=code, detail=detail)]
