"""A recall as LangChain's callbacks see it: a run for each stage and arm, inside of the retriever's run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForChainRun,
    CallbackManagerForRetrieverRun,
)

from recall_integrations.errors import NotSearched

TAG = "recall:step"  # of every such run: who does not want them excludes it
NOT_SEARCHED = "recall:not_searched"  # a tag of a retriever's run that has ended without having looked at anything


class Run:
    """A step of a recall that callbacks see (`types.watching.Step`)."""

    def __init__(self, run: CallbackManagerForRetrieverRun | CallbackManagerForChainRun) -> None:
        self._run = run

    def begin(self, name: str, inputs: Mapping[str, Any]) -> Run:
        manager = self._run.get_child(TAG)
        return Run(manager.on_chain_start(None, dict(inputs), name=f"recall.{name}"))

    def end(self, outputs: Mapping[str, Any], error: BaseException | None = None) -> None:
        if isinstance(self._run, CallbackManagerForRetrieverRun):
            return  # LangChain ends it
        if error is None:
            self._run.on_chain_end(dict(outputs))
        else:
            self._run.on_chain_error(error)


def run_of(manager: CallbackManagerForRetrieverRun) -> Run | None:
    """Return the step for callbacks of a retriever's run; `None` where there are no callbacks."""
    return Run(manager) if manager.inheritable_handlers else None


def tell_not_searched(
    run: CallbackManagerForRetrieverRun | AsyncCallbackManagerForRetrieverRun,
    told: CallbackManagerForRetrieverRun,
    error: NotSearched,
) -> None:
    """Tell callbacks that the list is empty because nothing could be looked at: by a step that failed, and by a tag."""
    run.tags = [*run.tags, NOT_SEARCHED]  # a list of its own: the other belongs to all runs of the call
    Run(told).begin("searched", {}).end({}, error)
