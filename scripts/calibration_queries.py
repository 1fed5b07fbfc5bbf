"""Queries to calibrate with: LoCoMo and multi-hop questions, with forms of them that have no answer.

- wrong: a LoCoMo question asked of another conversation; renamed: the same, the speakers' names replaced by those of
  that conversation; unnamed: the names left out, asked of the right and of the wrong conversation.
- removed: a question asked of its own scope without the memories that answer it.

Each LoCoMo question also comes once degraded: without vectors, as plain documents (no actors, threads, positions),
both, or in a scope of one session. A fold is two LoCoMo conversations, the wrong conversation of each is the other,
and a fifth of the multi-hop questions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.embeddings.static import bundled
from recall_integrations.evaluation.datasets import Collection, EvaluationData, Question, load_locomo, load_multihop
from recall_integrations.ranking.calibration import unknown_share
from recall_integrations.ranking.calibration_fit import Bools, Outcome
from recall_integrations.ranking.columns import TextColumns, window_rows
from recall_integrations.ranking.features import FeatureInput, Features, Values, compute
from recall_integrations.ranking.lexicon import query_terms
from scripts.measure_ranking import DENSE, LEXICAL, NOW, WINDOW, Scope

FOLDS = 5
VARIANTS = ("no vectors", "plain", "plain, no vectors", "one session")
HOPS = ("hotpotqa", "musique")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A query with its candidates. `fold`: what it is left out with; `kind`: right, wrong, renamed or removed."""

    dataset: str
    fold: int
    kind: str
    variant: str
    features: Features
    relevant: Bools
    unknown: float

    @property
    def right(self) -> bool:
        return self.kind == "right"

    def outcome(self, scores: Values, weight: float = 1.0) -> Outcome:
        return Outcome(
            features=self.features, scores=scores, relevant=self.relevant, unknown=self.unknown, weight=weight
        )


def gather(
    scope: Scope, question: Question, *, gone: Sequence[int] = (), vectors: bool = True, detail: bool = False
) -> tuple[FeatureInput, float]:
    """Candidates of a question as in `measure_ranking`, without the rows in `gone`; the share that is unknown."""
    removed, lost = np.asarray(sorted(gone), dtype=np.int64), set(gone)

    def frequency(term: str) -> int:
        held = scope.postings.get(term, {})
        return len(held) - sum(row in held for row in lost)

    columns = without(scope.columns, removed) if lost else scope.columns
    parsed, _ = scope.parser.parse(question.text, question.asked_at or NOW, scope.known)
    scores = scope.bm25(parsed.terms)
    scores[removed] = 0
    hits = np.argsort(-scores, kind="stable")[:LEXICAL]
    hits = hits[scores[hits] > 0]
    found = [hits, window_rows(columns, hits, scores[hits], WINDOW)]
    cosines = np.vecdot(scope.vectors, bundled().embed_query(question.text))
    if vectors:
        near = cosines.copy()
        near[removed] = -np.inf
        found.append(np.argsort(-near, kind="stable")[:DENSE])
    terms = query_terms(parsed)
    count = len(scope.ids) - len(removed)
    given = FeatureInput(
        columns=columns,
        rows=np.setdiff1d(np.concatenate(found), removed),
        query=terms,
        frequency=frequency,
        count=count,
        at=scope.at,
        cosine=(lambda rows: cosines[rows]) if vectors else None,
        detail=detail,
    )
    return given, unknown_share(terms.stems, frequency, count)


def without(columns: TextColumns, rows: NDArray[np.int64]) -> TextColumns:
    """The columns with `rows` taken out of their threads; their neighbours become ends."""
    dead = np.zeros(columns.size, dtype=np.bool_)
    dead[rows] = True

    def cut(links: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where((links >= 0) & ~dead[np.maximum(links, 0)], links, -1)

    return replace(columns, before=cut(columns.before), after=cut(columns.after))


def plain(collection: Collection) -> Collection:
    bare = (replace(m, actor=None, thread=None, position=None, entities=()) for m in collection.memories)
    return replace(collection, memories=tuple(bare))


class Maker:
    """Makes the items of a data set."""

    def __init__(self, dataset: str, detail: bool) -> None:
        self.dataset, self.detail = dataset, detail

    def item(
        self, scope: Scope, question: Question, fold: int, kind: str, variant: str = "full", gone: Sequence[int] = ()
    ) -> Item:
        vectors = "no vectors" not in variant
        given, unknown = gather(scope, question, gone=gone, vectors=vectors, detail=self.detail)
        wanted = [scope.row[i] for i in question.relevant if i in scope.row] if kind == "right" else []
        return Item(
            dataset=self.dataset,
            fold=fold,
            kind=kind,
            variant=variant,
            features=compute(given),
            relevant=np.isin(given.rows, wanted),
            unknown=unknown,
        )

    def locomo(self, data: EvaluationData) -> Iterator[Item]:
        talks = [_Talk(c) for c in data.collections]
        for number, talk in enumerate(talks):
            other = talks[number ^ 1]
            names = re.compile("|".join(rf"\b{re.escape(p)}\b" for p in talk.people))
            for n, question in enumerate(q for q in talk.collection.questions if q.relevant):
                moved = replace(question, asked_at=other.asked_at)
                swapped = names.sub(lambda m: other.people[talk.people.index(m[0])], question.text)  # noqa: B023
                unnamed = names.sub(" ", question.text)
                variant, fold = VARIANTS[n % len(VARIANTS)], number // 2
                asked = (("right", question, talk), ("wrong", moved, other))
                for kind, q, at in (*asked, ("renamed", replace(moved, text=swapped), other)):
                    yield self.item(at.scope, q, fold, kind)
                    yield self.item(at.degraded(variant, q, n), q, fold, kind, variant)
                if unnamed != question.text:
                    for kind, q, at in asked:
                        yield self.item(at.scope, replace(q, text=unnamed), fold, kind, "unnamed")
                gone = [talk.scope.row[i] for i in question.relevant]
                yield self.item(talk.scope, question, fold, "removed", gone=gone)

    def multihop(self, data: EvaluationData) -> Iterator[Item]:
        (collection,) = data.collections
        scope = Scope(collection)
        for n, question in enumerate(collection.questions):
            fold, gone = n * FOLDS // len(collection.questions), [scope.row[i] for i in question.relevant]
            for variant in ("full", "no vectors") if gone else ():
                yield self.item(scope, question, fold, "right", variant)
                yield self.item(scope, question, fold, "removed", variant, gone)


class _Talk:
    """A LoCoMo conversation and its degraded forms."""

    def __init__(self, collection: Collection) -> None:
        self.collection, self.scope, self.bare = collection, Scope(collection), Scope(plain(collection))
        self.people = sorted({m.actor for m in collection.memories if m.actor})
        self.asked_at = collection.questions[0].asked_at
        sessions: dict[str, list[Any]] = {}
        for memory in collection.memories:
            sessions.setdefault(memory.thread or "", []).append(memory)
        self.sessions = [Scope(replace(collection, memories=tuple(some))) for some in sessions.values()]
        self.session_of = {i: session for session in self.sessions for i in session.ids}

    def degraded(self, variant: str, question: Question, number: int) -> Scope:
        if variant == "one session":
            mine = question.relevant and question.scope == self.collection.scope
            return self.session_of[question.relevant[0]] if mine else self.sessions[number % len(self.sessions)]
        return self.bare if "plain" in variant else self.scope


def read(folder: Path, detail: bool) -> list[Item]:
    items = list(Maker("locomo", detail).locomo(load_locomo(folder)))
    for name in HOPS:
        items.extend(Maker(name, detail).multihop(load_multihop(folder, name)))
    return items
