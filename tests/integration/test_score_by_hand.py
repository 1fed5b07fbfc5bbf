"""The scores of a worked example, computed once more from the formulas of docs/reference/ranking-features.md.

Only the word lists, the word vectors and the numbers of the calibration are the package's.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from typing import Any

import numpy as np
import pytest

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from recall_integrations.embeddings.static import bundled
from recall_integrations.ranking.calibration import Calibration, hit_inputs, result_inputs
from recall_integrations.ranking.features.compute import FEATURES, Features
from recall_integrations.ranking.features.record import telling
from recall_integrations.text import content, stem, stems

SAID = [
    ("Sam", "Where did you leave the keys for the deployment?"),
    ("Priya", "In the blue drawer, next to the coffee machine"),
    ("Sam", "Found them, the rollout starts at noon"),
    ("Priya", "Kestrel needs a new logo"),
]
QUERY = "Where did Priya put the rollout keys?"
TERMS = {"priya": "priya", "put": "put", "rollout": "rollout", "key": "keys"}  # stem: the word that the query says
ROWS = range(4)
WORDS = [content(text) for _, text in SAID]
DF = {t: sum(t in stems(f"{actor} {text}") for actor, text in SAID) for t in TERMS}
IDF = {t: math.log(1 + (4 - DF[t] + 0.5) / (DF[t] + 0.5)) for t in TERMS}
SHARE = {t: IDF[t] / sum(IDF.values()) for t in TERMS}

SPREAD = (  # these enter as z-scores
    *("bm25_counted", "passage_match", "lead_match", "near_match_w2", "thread_best_soft_match"),
    *("cosine", "cosine_w1"),
)
PLAIN = ("speaker_named", "asked_before", "speaker_prior_match", "is_question", "asking_share", "graph")
AS_THEY_ARE = (*PLAIN, "recency", "importance")


def length_term(length: int, pivot: int) -> float:
    return 1.2 * (0.25 + 0.75 * max(length, pivot) / pivot)


def bm25_term(t: str, row: int) -> float:
    tf = [stem(word) for word in WORDS[row]].count(t)
    return IDF[t] * 2.2 * tf / (tf + length_term(len(WORDS[row]), 30))


def soft_words(t: str, some: Sequence[str]) -> float:
    if t in map(stem, some):
        return 1.0
    word = bundled().embed_query(TERMS[t])
    return max(0.0, *(float(word @ bundled().embed_query(other)) for other in some))


def soft(t: str, row: int) -> float:
    return soft_words(t, WORDS[row])


def near(t: str, row: int) -> float:
    found = soft(t, row)
    return found if found >= 0.5 else 0.0


def weighted(how: Callable[[str, int], float], around: Sequence[int], pivot: int | None = None) -> float:
    best = sum(SHARE[t] * max(how(t, row) for row in around) for t in TERMS)
    return best if pivot is None else best * 2.2 / (1 + length_term(sum(len(WORDS[row]) for row in around), pivot))


def window(row: int, n: int) -> list[int]:
    return [other for other in ROWS if abs(other - row) <= n]


def before(row: int, n: int) -> list[int]:
    """The text n before, if it is by the same actor."""
    return [row - n] if row >= n and SAID[row - n][0] == SAID[row][0] else []


def passages(row: int) -> list[list[str]]:
    return [WORDS[row][first : first + 32] for first in range(0, len(WORDS[row]), 16)]


def weight(name: str) -> float:
    """In a chat of two people, asked a short question."""
    return FEATURES.weights[name].get("always", 0) + FEATURES.weights[name].get("people", 0)


def values() -> dict[str, list[float]]:
    """Every feature of the four texts."""
    bm25 = [sum(bm25_term(t, row) for t in TERMS) for row in ROWS]
    asking = [content(" ".join(re.findall(r"[^.!?]*\?", text))) for _, text in SAID]
    vectors = bundled().embed_documents([f"{actor}: {text}" for actor, text in SAID])
    cosine = [float(vectors[row] @ bundled().embed_query(QUERY)) for row in ROWS]
    asked = [0.0] * 4
    for row in ROWS[1:]:
        if asking[row - 1] and not before(row, 1):
            asked[row] = sum(SHARE[t] for t in TERMS if t in map(stem, asking[row - 1]))
    soft_match = [weighted(soft, [row], 30) for row in ROWS]
    says = {t: telling(TERMS[t]) for t in TERMS}
    most = max(TERMS, key=lambda t: says[t])
    weighty = [t for t in TERMS if IDF[t] >= max(IDF.values()) / 2]
    earlier = [before(row, 1) + before(row, 2) for row in ROWS]
    return {
        "bm25": bm25,
        "bm25_counted": bm25,
        "bm25_of_ceiling": [score / (2.2 * sum(IDF.values())) for score in bm25],
        "idf_coverage": [sum(SHARE[t] for t in TERMS if bm25_term(t, row)) for row in ROWS],
        "passage_match": [max(sum(SHARE[t] * soft_words(t, p) for t in TERMS) for p in passages(row)) for row in ROWS],
        "lead_match": [sum(SHARE[t] for t in TERMS if t in map(stem, WORDS[row][:12])) for row in ROWS],
        "soft_match": soft_match,
        "near_match": [weighted(near, [row]) for row in ROWS],
        "near_match_w1": [weighted(near, window(row, 1), 75) for row in ROWS],
        "near_match_w2": [weighted(near, window(row, 2), 120) for row in ROWS],
        "thread_best_soft_match": [max(soft_match)] * 4,
        "weakest": [min(soft(t, row) for t in weighty) for row in ROWS],
        "focal_match": [sum(says[t] * soft(t, row) for t in TERMS) / sum(says.values()) for row in ROWS],
        "focal_word": [soft(most, row) for row in ROWS],
        "focus": [says[most]] * 4,
        "cosine": cosine,
        "cosine_w1": [float(np.mean([cosine[other] for other in window(row, 1)])) for row in ROWS],
        "speaker_named": [0, 1, 0, 1],
        "asked_before": asked,
        "speaker_prior_match": [max([weighted(near, [other]) for other in own], default=0.0) for own in earlier],
        "is_question": [1, 0, 0, 0],
        "asking_share": [len(asking[row]) / len(WORDS[row]) for row in ROWS],
        "graph": [0, 1, 0, 1],
        "recency": [2 ** (-1 / 30)] * 4,  # one day old, half-life 30 days
        "importance": [0.5] * 4,
    }


def logit(model: Any, inputs: Any) -> Any:
    x = np.clip(inputs, model.low, model.high)
    hidden = 0 if model.hidden is None else model.hidden.out @ np.tanh(model.hidden.into @ x + model.hidden.bias)
    return model.bias + model.weights @ x + hidden


def probability(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


@pytest.mark.usefixtures("no_hurry")
def test_formulas_give_the_scores_that_a_recall_gives() -> None:
    now, yesterday = datetime(2026, 3, 2, tzinfo=timezone.utc), datetime(2026, 3, 1, tzinfo=timezone.utc)
    with MemoryStore.open() as store:
        for i, (actor, text) in enumerate(SAID):
            store.remember(Memory(text, id=f"m{i}", actor=actor, thread="chat", position=i, event_at=yesterday))
        optimizer = QueryOptimizer(store)
        result = optimizer.recall(QUERY, k=4, now=now)
        optimizer.close()
    added = {hit.memory.id: {c.source: c.added for c in hit.contributions} for hit in result.hits}

    value = {name: np.array(own, dtype=float) for name, own in values().items()}
    floors = {one.name: one.floor for one in FEATURES}
    mine = {}
    for name in SPREAD:
        spread = max(np.std(value[name]), floors[name] or 0)
        mine[name] = (value[name] - np.mean(value[name])) / spread * weight(name)
    few = min(1, math.sqrt(len(ROWS) - 1) / 6)
    lifted = {"graph": 2}  # the plan of a query with a name counts it twice
    for name in AS_THEY_ARE:
        mine[name] = value[name] * weight(name) * few * lifted.get(name, 1)
    total = sum(mine.values())
    for row in ROWS:
        assert total[row] == pytest.approx(sum(added[f"m{row}"].values()), abs=0.02)
        for name, own in mine.items():
            assert own[row] == pytest.approx(added[f"m{row}"].get(name, 0), abs=0.01), name

    calibration = Calibration.load("fixed_weights")
    links = np.array([[row + step if 0 <= row + step < 4 else -1 for row in ROWS] for step in (-1, 1, -2, 2)])
    columns = {name: own.astype(np.float32) for name, own in value.items()}
    features = Features(rows=np.arange(4), columns=columns, links=links, gates={"people": 1.0})
    (a, b), size = calibration.per_k, math.log(4 / 10)
    unknown = SHARE["put"]  # no memory holds "put"
    whole = logit(calibration.result, result_inputs(features, total, unknown=unknown)) + a * size + b * size**2
    order = np.argsort(-total)
    each = [probability(logit(calibration.hit, own)) for own in hit_inputs(features, total, order, unknown)]
    chances = sorted(each, reverse=True)
    assert [hit.score for hit in result.hits] == pytest.approx(chances, abs=0.01)
    assert result.confidence == pytest.approx(min(max(probability(whole), chances[0]), sum(chances)), abs=0.01)
