"""`RemoteOptimizer`: recalls that a server answers, for whatever takes a `QueryOptimizer`."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from recall_integrations.adapters.filters import as_filters
from recall_integrations.adapters.scopes import parse_scope, scope_text
from recall_integrations.config import RecallConfig
from recall_integrations.delivery.as_data import packed_record, record_of, with_marks
from recall_integrations.errors import (
    InvalidArgument,
    InvalidQuery,
    RecallError,
    RecallTimeout,
    ServerError,
    ServerUnavailable,
)
from recall_integrations.judging.feedback import ids_of
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.recall.checking import checked_window
from recall_integrations.serving.wire import Asked, Wire
from recall_integrations.types import (
    TEXT_CHARS_MAX,
    Degradation,
    ParsedQuery,
    RecallResult,
    RetrievalPlan,
    ScopeLike,
    TemporalWindow,
    checked_scope,
    checked_scopes,
    checked_text,
)
from recall_integrations.types.numbers import is_number, real, whole
from recall_integrations.types.observing import Feedback
from recall_integrations.types.result import NOT_SEARCHED

if TYPE_CHECKING:
    from recall_integrations.resilience.guard import Health

GRACE_S = 0.25  # beyond the deadline of a recall, for the way there and back
ON_ERROR = ("raise", "empty")
_STAYS = "is the server's: it does not travel. Ask where the store is open."


def _on_the_server(name: str, instead: str = "") -> Callable[..., NoReturn]:
    """Return a method that raises: what it needs is on the server only."""

    def method(_self: object, *_args: object, **_given: object) -> NoReturn:
        raise InvalidArgument(f"{name} {_STAYS} {instead}".rstrip())

    return method


@contextmanager
def understood(address: str) -> Iterator[None]:
    """Turn errors of reading a reply, inside of the block, into `ServerError`."""
    try:
        yield
    except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as e:
        raise ServerError(f"{address} does not answer as a recall server does. Is that its address?") from e


class RemoteStore:
    """The part of a served store that retrievers use."""

    def __init__(self, wire: Wire, timeout: float) -> None:
        self._wire, self._timeout = wire, timeout
        self.known: Mapping[str, Any] = {}

    @property
    def embedding(self) -> RemoteStore:
        """The embedding of the store: this object."""
        return self

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the embedding; empty until the server has answered for the first time."""
        return str(self.known.get("embedding", ""))

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a vector. Asks the server if it has not answered yet."""
        known = self.known or self._wire.ask(Asked(method="GET", path="/about", seconds=self._timeout))
        with understood(self._wire.address):
            found = int(known["dimensions"])
        self.known = known
        return found

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, `(n, dimensions)`."""
        given = list(texts)
        found = self._wire.ask(Asked(method="POST", path="/embed", body={"texts": given}, seconds=self._timeout))
        with understood(self._wire.address):
            return np.asarray(found["vectors"], dtype=np.float32).reshape(len(given), -1)


class RemoteOptimizer(QueryOptimizer):
    """Recalls that a server answers. Threads and event loops may share it.

    `recall` takes what `QueryOptimizer.recall` takes and gives the same answer: hits, scores, reasons, contributions,
    highlights, plan, timings. Some parts are on the server only: `parse`, `plan`, `stages`, prompts.
    """

    def __init__(self, wire: Wire, timeout: float = 30.0, on_error: str = "raise") -> None:
        if not is_number(timeout) or not 0 < timeout < float("inf"):
            raise InvalidArgument(f"timeout must be a positive number of seconds, not {timeout!r}.")
        if on_error not in ON_ERROR:
            raise InvalidArgument(f'on_error must be "raise" or "empty", not {str(on_error)[:40]!r}.')
        self.wire, self.timeout, self.on_error = wire, float(timeout), on_error
        self.store: Any = RemoteStore(wire, self.timeout)
        self._settings = RecallConfig()
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"RemoteOptimizer({self.wire.address!r})"

    def __reduce__(self) -> Any:
        return type(self), (self.wire, self.timeout, self.on_error)

    @property
    def config(self) -> RecallConfig:
        """The defaults, with the server's time zone once it has answered; its other settings do not travel."""
        return self._settings

    has_llm = False  # here; the server's own is asked by the server

    # -- recalls ---------------------------------------------------------------------------------------------------

    def recall(self, query: str, *, watch: object = None, **given: Any) -> RecallResult:
        """See `QueryOptimizer.recall`.

        With `privacy="allow"`, the default, the server uses the least strict mode that it allows this client. `watch`
        is told nothing: the steps are on the server.
        """
        asked = self._asked(query, given)
        try:
            return self._read(self.wire.ask(asked))
        except RecallError as e:
            return self._instead(e, query, given)

    async def arecall(self, query: str, *, watch: object = None, **given: Any) -> RecallResult:
        """Recall without blocking the event loop. Cancelling it ends the request."""
        asked = self._asked(query, given)
        try:
            return self._read(await self.wire.aask(asked))
        except RecallError as e:
            return self._instead(e, query, given)

    def _asked(self, query: str, given: Mapping[str, Any]) -> Asked:
        body, budget = body_of(query, **given), given.get("time_budget_ms")

        def budgeted(left: float) -> Mapping[str, Any]:
            return {**body, "time_budget_ms": max(1.0, (left - GRACE_S) * 1e3)}

        seconds = self.timeout if budget is None else float(budget) / 1e3 + GRACE_S
        written = body if budget is None else budgeted
        return Asked(method="POST", path="/recall/record", body=written, seconds=seconds)

    def _read(self, reply: Any) -> RecallResult:
        if not isinstance(reply, dict) or "result" not in reply:
            raise ServerError(f"{self.wire.address} does not answer as a recall server does. Is that its address?")
        known = reply.get("server")
        if isinstance(known, dict) and known != self.store.known:
            with self._lock:
                self.store.known = known
                if known.get("timezone", self._settings.timezone) != self._settings.timezone:
                    self._settings = replace(self._settings, timezone=known["timezone"])
        return with_marks(record_of(RecallResult, reply["result"]), reply.get("marks"))

    def _instead(self, error: RecallError, query: str, given: Mapping[str, Any]) -> RecallResult:
        """Return a result in place of an error, unless the error is raised."""
        if isinstance(error.result, dict):  # of a `strict` recall
            error.result = record_of(RecallResult, error.result)
        away = isinstance(error, ServerUnavailable) or (isinstance(error, RecallTimeout) and error.result is None)
        if self.on_error == "raise" or not away or given.get("strict"):
            raise error
        reason = "timeout" if isinstance(error, RecallTimeout) else "unavailable"
        return RecallResult(
            hits=(),
            query=ParsedQuery(original=query if given.get("privacy", "allow") == "allow" else "", now=given.get("now")),
            plan=RetrievalPlan(name="balanced", arms=(), reason="The server was not asked to the end."),
            degraded=(
                Degradation(stage="server", reason=reason, detail=str(error)),
                Degradation(stage="recall", reason=NOT_SEARCHED),
            ),
            confidence=0.0,
        )

    # -- feedback --------------------------------------------------------------------------------------------------

    def feedback(
        self,
        result: RecallResult | str,
        *,
        helpful: Iterable[str] = (),
        wrong: Iterable[str] = (),
        cited: Iterable[str] = (),
        rating: float | bool | None = None,
        asked_again: bool = False,
        scope: ScopeLike | None = None,
        query: str | None = None,
        now: datetime | None = None,
        privacy: str = "allow",
    ) -> Feedback:
        """See `QueryOptimizer.feedback`; the server decides how much of a query's text it keeps."""
        said = {"helpful": helpful, "wrong": wrong, "cited": cited}
        given = {name: ids_of(ids, name) for name, ids in said.items()}
        body: dict[str, Any] = {name: ids for name, ids in given.items() if ids}
        body |= {"result_id": result.id if isinstance(result, RecallResult) else result}
        asked = {"rating": rating, "asked_again": asked_again or None, "query": query}
        body |= {name: value for name, value in asked.items() if value is not None}
        if scope is not None:
            body["scope"] = scope_text(checked_scope(scope))
        if now is not None:
            body["now"] = time_data(now, "now")
        reply = self.wire.ask(Asked(method="POST", path="/feedback", body=body, seconds=self.timeout))
        with understood(self.wire.address):
            gains = {
                parse_scope(where): {str(one): float(gain) for one, gain in of_ids.items()}
                for where, of_ids in reply["kept"].items()
            }
            ignored = tuple(map(str, reply["ignored"]))
            kinds = tuple(name for name in (*given, "rating", "asked_again") if name in body)
            return Feedback(
                result_id=str(reply["result_id"]), gains=gains, ignored=ignored, anew=bool(reply["anew"]), kinds=kinds
            )

    # -- what lives on the server ----------------------------------------------------------------------------------

    scopes_of: Any = _on_the_server("scopes_of")
    learn: Any = _on_the_server("learn")  # or it does so by itself (`mode: learned`)
    learner: Any = _on_the_server("learner")
    remember_conversation: Any = _on_the_server("remember_conversation", "Or ask the RecallClient.")
    remember_in_background: Any = _on_the_server("remember_in_background", "Or ask the RecallClient with wait=False.")
    parse: Any = _on_the_server("parse", "Or read recall(...).query.")
    plan: Any = _on_the_server("plan", "Or read recall(...).plan.")
    reload: Any = _on_the_server("reload")  # it reads its settings anew by itself

    def config_of(self, scope: Any) -> RecallConfig:
        """Return `config`: the settings that the server has for a scope do not travel."""
        return self._settings

    @property
    def stages(self) -> tuple[Any, ...]:
        """Empty: the stages are on the server."""
        return ()

    @property
    def rewrite_prompt(self) -> str | None:
        """`None`: the prompt is on the server."""
        return None

    @rewrite_prompt.setter
    def rewrite_prompt(self, template: str) -> None:
        raise InvalidArgument(f"The prompt {_STAYS}")

    def load(self, **_given: Any) -> float:
        """Do nothing and return 0: the server loads by itself."""
        return 0.0

    def warm(self, timeout: float | None = None) -> None:
        """Do nothing: the server warms up by itself."""

    def health(self) -> tuple[Health, ...]:
        """Return nothing: the components are on the server; see `GET /health/retrieval`."""
        return ()

    def close(self) -> None:
        self.wire.close()


# -- arguments as JSON -------------------------------------------------------------------------------------------------


def body_of(query: str, **given: Any) -> dict[str, Any]:
    """Return the arguments of a recall as the server reads them; arguments not given are left out."""
    body: dict[str, Any] = {"query": checked_text(query, "The query", InvalidQuery, limit=TEXT_CHARS_MAX)}
    for name, value in given.items():
        if name not in _WRITTEN:
            raise TypeError(f"recall() got an unexpected keyword argument {name!r}")
        if value is None or (name, value) in (("privacy", "allow"), ("strict", False)):
            continue
        written = _WRITTEN[name](value)
        if isinstance(written, float) and not math.isfinite(written):
            raise InvalidArgument(f"{name} must be a finite number, not {written}.")
        if written is not None:
            body[name] = written
    return body


def filters_data(given: Any) -> dict[str, Any] | None:
    """Return filters as the server reads them; `None` = they hold no condition."""
    return packed_record(as_filters(given)) or None


def time_data(given: Any, name: str) -> str:
    """Return a time as the server reads it."""
    if not isinstance(given, datetime) or given.tzinfo is None:
        raise InvalidArgument(f"{name} must be a time with a time zone, such as datetime.now(timezone.utc).")
    return given.isoformat()


def _window(given: Any) -> dict[str, Any] | bool | None:
    window = checked_window(given)
    if window is None or window is False:
        return window
    if window.confidence != TemporalWindow().confidence:
        raise InvalidArgument("The confidence of a window does not travel. Leave it out, or ask where the store is.")
    ends = {name: at.isoformat() for name in ("start", "end") if (at := getattr(window, name)) is not None}
    times = [[None if at is None else at.isoformat() for at in each] for each in window.alternatives]
    return {**ends, "alternatives": times} if times else ends


_WRITTEN: dict[str, Callable[[Any], Any]] = {  # argument of a recall → what writes it
    **dict.fromkeys(("k", "tokens_max", "context"), whole),
    **dict.fromkeys(("timezone", "strict", "score_min", "time_budget_ms", "privacy"), real),
    "scope": lambda given: scope_text(checked_scope(given)),
    "scopes": lambda given: list(map(scope_text, checked_scopes(given) or ())),
    "filters": filters_data,
    "now": lambda given: time_data(given, "now"),
    "as_of": lambda given: time_data(given, "as_of"),
    "window": _window,
    "query_vector": lambda given: np.asarray(given, dtype=np.float64).ravel().tolist(),
}
