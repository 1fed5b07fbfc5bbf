"""Search once more for other words: with the arms that look for words and meaning, and with the recall's ranker."""

from __future__ import annotations

from dataclasses import replace

from recall_integrations.ranking.fusion import Fused
from recall_integrations.recall.runner import Turn
from recall_integrations.recall.stages.arms import Arms
from recall_integrations.recall.stages.embed import Embed
from recall_integrations.recall.stages.rank import Rank
from recall_integrations.recall.state import RecallState
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.guard import Guard
from recall_integrations.types import Degradation, ParsedQuery
from recall_integrations.types.watching import Step

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
    ) -> tuple[list[Fused], list[Degradation]]:
        """Return what each phrasing finds, in their order, and the problems; phrasings without time left are left out."""
        semantic = state.plan.arm("semantic") is not None
        texts = [text for text, _ in phrasings] if semantic else []
        vectors, problem = self._embed.vectors_of(texts, deadline)
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
            tokens=read.tokens,
            identifiers=read.identifiers,
            entity_refs=tuple(ref for ref in read.entity_refs if ref.entity_id in known),
            temporal_window=None if window is None else replace(window, span=(0, 0)),
            corrections=(),
            corrected_query=None,
        )
