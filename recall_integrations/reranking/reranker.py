"""Any reranker of a user, behind one interface.

A reranker reads the query together with each candidate and is slower and better than the ranking before it. It may be
a sentence-transformers cross-encoder (by name or path), a LangChain document compressor, a
LlamaIndex node postprocessor or a function. Frameworks are imported only if the object's class comes from one.

Compressors and postprocessors may reorder, rescore, rewrite and drop what they get, so each candidate carries a marker
and is recognised by that, never by its text: two memories may say the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Protocol, runtime_checkable

from recall_integrations.errors import RecallError
from recall_integrations.records import record
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.failures import failures


class RerankError(RecallError):
    """The reranker raised, or returned something that cannot be used as scores."""

    code: ClassVar[str] = "RERANK_ERROR"


@runtime_checkable
class Reranker(Protocol):
    """A function from a query and texts to scores.

    `name` names it in messages and metrics.
    """

    @property
    def name(self) -> str: ...

    def scores(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """Return one score for each text, in order; higher is better, on the reranker's own scale; `None` = dropped."""
        ...


@record(frozen=True, slots=True, kw_only=True)
class Judged:
    """The answer of a reranker."""

    scores: tuple[float | None, ...]  # one for each text; `None` = dropped by it, or not scored
    unscored: frozenset[int] = frozenset()  # indices of the texts that the reranker had no time for


@runtime_checkable
class TimedReranker(Reranker, Protocol):
    """A reranker that looks at the deadline itself and returns the scores it has by then."""

    def scores_until(self, query: str, texts: Sequence[str], deadline: Deadline) -> Judged:
        """Score as `scores` does, but stop when the deadline is over. Texts come best first: score them in order."""
        ...


@runtime_checkable
class LoadedReranker(Reranker, Protocol):
    """A reranker with a model that takes long to load."""

    @property
    def ready(self) -> bool: ...

    def warm(self) -> None:
        """Load the model. Called off the hot path, in a thread; calling it again does nothing."""
        ...


def judge(reranker: Reranker, query: str, texts: Sequence[str], deadline: Deadline) -> Judged:
    """Return the scores of the texts, checked; within the deadline if the reranker can."""
    if isinstance(reranker, TimedReranker):
        return called(reranker.name, reranker.scores_until, query, texts, deadline)  # type: ignore[no-any-return]
    found = called(reranker.name, reranker.scores, query, texts)
    return Judged(scores=tuple(checked_scores(found, len(texts), reranker.name)))


def checked_scores(found: object, n: int, name: str) -> list[float | None]:
    """Return `found` as a list of `n` finite floats or `None`."""
    tolist = getattr(found, "tolist", None)  # numpy, torch
    values = listed(tolist() if callable(tolist) else found, name)
    if len(values) != n:
        raise RerankError(
            f"The reranker {name} returned {len(values)} scores for {n} texts. It must return one for each."
        )
    return [None if value is None else number(value, name) for value in values]


def number(value: object, name: str) -> float:
    """Return a score as a finite float. Raises `RerankError`."""
    if isinstance(value, list) and len(value) == 1:  # shape (n, 1)
        value = value[0]
    if isinstance(value, list | tuple):
        raise RerankError(f"The reranker {name} gives {len(value)} numbers for a text; use a model with one output.")
    try:
        number = math.nan if isinstance(value, str | bytes | bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError) as e:
        raise RerankError(f"The reranker {name} returned {value!r} as a score; it must be a number.") from e
    if not math.isfinite(number):
        raise RerankError(f"The reranker {name} returned {value!r} as a score; it must be a finite number.")
    return number


def called(name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return the result of a function; its errors become `RerankError`."""
    try:
        return function(*args, **kwargs)
    except RecallError:
        raise
    except failures() as e:  # foreign code: whatever it raises becomes one named error
        raise RerankError(f"The reranker {name} failed: {type(e).__name__}: {e}") from e


def listed(found: object, name: str) -> list[Any]:
    """Return the answer of a reranker as a list. Raises `RerankError`."""
    if isinstance(found, str | bytes) or not isinstance(found, Iterable):
        raise RerankError(f"The reranker {name} returned {type(found).__name__}, not a list.")
    return list(found)
