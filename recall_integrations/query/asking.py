"""Estimate from words alone whether they ask how things are, are small talk, or only put a question.

Three logistic models over the bundled vector of the query, fitted by `scripts/fit_asking.py`; they know English.
"""

from __future__ import annotations

import json
import math
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recall_integrations.embeddings.static import bundled

STATE, SMALL_TALK, FRAMING = "asking", "small_talk", "framing"  # the models, and the names of their files
USUAL = 0.6
LOGIT_MAX = 8.0
TELLING = 250.0  # length of a token's addend from which it tells what a text is about: the rarer, the longer
WORD_MIN = 0.1  # probability of such a token in a framing
_MARKS = " ,:;.-?!…–—<>/\"'{}*#"
CHARS_MAX = 1_024  # of a query that are read


def weights_file(model: str) -> Path:
    """Return the file of the weights of a model."""
    return Path(__file__).with_name(f"{model}.json")


@cache
def _model(name: str) -> tuple[NDArray[np.float64], float]:
    """Read the weights of the 256 numbers of a vector, and the bias: the logit if all of them are 0."""
    kept = json.loads(weights_file(name).read_text(encoding="utf-8"))
    return np.asarray(kept["weights"], dtype=np.float64), float(kept["bias"])


def bare(query: str) -> str:
    """Cut a query, and leave out the marks at its end: a "?" or its absence says nothing of the user's wish."""
    return query.strip()[:CHARS_MAX].rstrip(" ?!.…¿¡。？！")


def asks_state(query: str, language: str | None) -> float:
    """Estimate the probability that a query asks how things are, and not what happened, why, or how to do something."""
    return _probability(STATE, bare(query)) if language in ("en", "", None) else USUAL


def small_talk(query: str, language: str | None) -> float:
    """Estimate the probability that a query asks for nothing ("alright, cheers, bye"); 0 if it is not English."""
    return _probability(SMALL_TALK, bare(query)) if language in ("en", "", None) else 0.0


def stripped(words: str) -> str:
    """Cut words, and leave out the marks around them."""
    return words[:CHARS_MAX].strip(_MARKS)


def framing(words: str) -> float:
    """Estimate the probability that English words only put a question: "I was wondering", "answer from my notes".

    It is 0 where a word that tells what a text is about puts none by itself: "I forgot my piano teacher's number".
    """
    said = stripped(words)
    found = _probability(FRAMING, said)
    return 0.0 if found >= WORD_MIN and _has_topic(said) else found


@lru_cache(maxsize=256)
def _has_topic(words: str) -> bool:
    """Say whether a rare token of some words is surely no part of a framing."""
    weights, bias = _model(FRAMING)
    ids = bundled().ids_of(words)
    if not ids:
        return True
    rows = bundled().weighted(np.asarray(ids, dtype=np.int64))
    lengths = np.sqrt((rows * rows).sum(axis=1))
    least = math.log(WORD_MIN / (1 - WORD_MIN))
    return bool(((lengths >= TELLING) & (rows @ weights / np.maximum(lengths, 1) + bias < least)).any())


@lru_cache(maxsize=256)
def _probability(model: str, query: str) -> float:
    weights, bias = _model(model)
    logit = float(bundled().embed_query(query) @ weights) + bias
    return 1 / (1 + math.exp(-min(max(logit, -LOGIT_MAX), LOGIT_MAX)))
