"""The configurations that are compared, and who says what is relevant.

A judge sees what any of the compared configurations returned, and nothing else (pooling, as at TREC): what none of them
found counts for none. A cosine threshold is no judge. `Cosines` is here to show what one would have said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from recall_integrations.adapters.reranker import resolve_reranker
from recall_integrations.adapters.scopes import scope_text
from recall_integrations.config import RecallConfig, RewritingConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.evaluation import uncached
from recall_integrations.evaluation.questions import Question
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.reranking.gate import LOGIT, PROBABILITY, RELEVANT_FROM, Band, band, has_bands
from recall_integrations.reranking.reranker import Reranker
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.text.shortening import shortened
from recall_integrations.types import Memory, indexed_text

NO_RERANKER = "There is no reranker. Give one to see what it would add."
NO_LLM = "There is no LLM, so expansion is the correction of spelling alone. Give one to see what its phrasings add."


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A configuration that is asked."""

    name: str
    title: str
    optimizer: QueryOptimizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """Compared configurations, the first with all others; the names of skipped ones, with the reason; and notes."""

    asked: tuple[Way, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def close(self) -> None:
        for way in self.asked:
            way.optimizer.close()


def plain(config: RecallConfig) -> RecallConfig:
    """Return the configuration without any other words for the query."""
    never = replace(config.rewriting, ask="never", unsure_below=RewritingConfig().unsure_below)
    return replace(config, query=replace(config.query, spelling=False, entity_llm=False), rewriting=never)


def expanding(config: RecallConfig) -> RecallConfig:
    """Return the configuration with other words for the query, as configured; by default where that says never."""
    asked = RewritingConfig() if config.rewriting.ask == "never" else config.rewriting
    return replace(config, query=replace(config.query, spelling=True), rewriting=asked)


def a_to_d(store: MemoryStore, config: RecallConfig, reranker: Any = None, llm: Any = None) -> Ways:
    """Make the configurations A to D over one base, as far as their models are given."""
    base = uncached(config)
    without, other = plain(base), expanding(base)
    ways = [
        Way(name="A", title="plain", optimizer=QueryOptimizer(store, config=without)),
        Way(name="C", title="expansion", optimizer=QueryOptimizer(store, config=other, llm=llm)),
    ]
    skipped = {"B (reranker)": NO_RERANKER, "D (both)": NO_RERANKER}
    if reranker is not None:
        skipped = {}
        alone = QueryOptimizer(store, config=without, reranker=reranker)
        ways.insert(1, Way(name="B", title="reranker", optimizer=alone))
        both = QueryOptimizer(store, config=other, reranker=reranker, llm=llm)
        ways.append(Way(name="D", title="both", optimizer=both))
    return Ways(asked=tuple(ways), skipped=skipped, notes=() if llm is not None else (NO_LLM,))


def own_ways(
    store: MemoryStore, configurations: Mapping[str, RecallConfig], reranker: Any = None, llm: Any = None
) -> Ways:
    """Make the configurations of a user; the others are compared with the first one."""
    if len(configurations) < 2:
        raise InvalidArgument(f"A comparison needs two configurations at least, not {len(configurations)}.")
    for name, given in configurations.items():
        if not isinstance(given, RecallConfig):
            raise InvalidArgument(f"Configuration {name!r} must be a RecallConfig, not {type(given).__name__}.")
    ways = (
        Way(name=name, title="", optimizer=QueryOptimizer(store, config=uncached(given), reranker=reranker, llm=llm))
        for name, given in configurations.items()
    )
    return Ways(asked=tuple(ways))


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A judge's verdict on a text: its score, whether the text is relevant, and the band where the scale has any."""

    score: float
    relevant: bool
    band: Band | None = None


class Judge:
    """A reranker that says what is relevant.

    Args:
        source: as `QueryOptimizer(reranker=...)` takes it: a cross-encoder's name or path, a framework's reranker, or a
            function from a query and texts to scores.
        threshold: score from which a text is relevant. Default: -10, of ms-marco-MiniLM-L-6-v2, on the logit scale.

    Raises:
        InvalidArgument: it cannot score, or it is of another kind than that model and no threshold is given.
        MissingExtra: a cross-encoder without sentence-transformers.
    """

    def __init__(self, source: object, threshold: float | None = None) -> None:
        found = resolve_reranker(source)
        if found is None:
            raise InvalidArgument("There is no judge. Name a cross-encoder, or give a function that scores texts.")
        self._reranker: Reranker = found
        self._banded = has_bands(found.name)
        if threshold is None and not self._banded:
            raise InvalidArgument(
                f"The threshold {RELEVANT_FROM:g} suits ms-marco-MiniLM-L-6-v2; {found.name!r} has another scale. Say "
                "from which score on a text is relevant: look at the scores of some that you judged yourself."
            )
        self.threshold = RELEVANT_FROM if threshold is None else threshold
        self._given = threshold is not None

    @property
    def name(self) -> str:
        """Name of the model or function."""
        return self._reranker.name

    def verdicts(self, query: str, memories: Sequence[Memory]) -> list[Verdict]:
        """Judge each memory; a memory that the judge drops is not relevant."""
        scores = self._reranker.scores(query, [indexed_text(m.text, m.actor) for m in memories])
        scale = str(getattr(self._reranker, "scale", LOGIT))
        return [self._verdict(score, scale) for score in scores]

    def _verdict(self, score: float | None, scale: str) -> Verdict:
        if score is None:
            return Verdict(score=float("-inf"), relevant=False)
        said = band(score, scale) if self._banded else None
        if self._given or scale != PROBABILITY:
            return Verdict(score=score, relevant=score >= self.threshold, band=said)
        return Verdict(score=score, relevant=said in (Band.HIGHLY_RELEVANT, Band.RELEVANT), band=said)


class Cosines:
    """Cosines between the embeddings of memories and of a query."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._rows: dict[str, dict[str, int]] = {}

    def of(self, question: Question, ids: Sequence[str]) -> dict[str, float]:
        """Return id → cosine; empty where the vectors cannot be read."""
        scope_id = self._store.scope_id(question.scope)
        if scope_id is None or not ids:
            return {}
        view = self._store.view(scope_id)
        name = scope_text(question.scope)
        if name not in self._rows:
            self._rows[name] = {view.ids[row]: row for row in np.flatnonzero(view.alive).tolist()}
        there = [one for one in ids if one in self._rows[name]]
        rows = np.asarray([self._rows[name][one] for one in there], dtype=np.int64)
        query = self._store.embedding.embed_query(shortened(question.text).text)
        found = view.similarity(rows, np.asarray(query, dtype=np.float32))
        return {} if found is None else dict(zip(there, found.tolist(), strict=True))
