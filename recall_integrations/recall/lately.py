"""The last recalls of an optimizer, kept in memory, so that somebody can say whether they helped."""

from __future__ import annotations

import itertools
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable

from recall_integrations.records import changed, record
from recall_integrations.resilience import forking
from recall_integrations.types import RecallResult, Scope
from recall_integrations.types.judged import RULES
from recall_integrations.types.observing import RecallRequest

RESULTS_MAX = 2_000  # recalls of an optimizer that are remembered for feedback
_PREFIX_BYTES = 6


@record(frozen=True, slots=True, kw_only=True)
class Recalled:
    """A recall that was answered."""

    request: RecallRequest  # the recall's arguments
    shown: tuple[tuple[Scope, str], ...]  # scope and id of each hit, in order
    version: str = RULES  # name of the version that answered: `rules`, `v3`
    signature: Callable[[], str]  # makes the signature of the query when somebody asks


class Lately:
    """Remembers recalls. Threads share it. A forked child begins other ids, and remembers nothing yet."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._depth = forking.depth()
        self._prefix, self._counter = secrets.token_hex(_PREFIX_BYTES), itertools.count(1)
        self._kept: OrderedDict[str, Recalled] = OrderedDict()
        self._lock = threading.Lock()

    def new_id(self) -> str:
        """Return the id of a result: distinct from all that were ever given."""
        if self._depth != forking.depth():
            self._begin()
        return f"{self._prefix}-{next(self._counter):x}"

    def note(
        self, result_id: str, request: RecallRequest, result: RecallResult, version: str, signature: Callable[[], str]
    ) -> None:
        """Remember a recall."""
        where = request.scope
        shown = tuple([(hit.scope or where, hit.memory.id or "") for hit in result.hits])
        if request.watch is not None:  # whoever watches is not kept alive
            request = changed(request, watch=None)
        kept = Recalled(request=request, shown=shown, version=version, signature=signature)
        with self._lock:
            self._kept[result_id] = kept
            if len(self._kept) > RESULTS_MAX:
                self._kept.popitem(last=False)

    def get(self, result_id: str) -> Recalled | None:
        """Return a recall; `None` = it is not remembered, or not any more."""
        with self._lock:
            return self._kept.get(result_id)

    def forget(self) -> None:
        """Forget all recalls."""
        with self._lock:
            self._kept.clear()
