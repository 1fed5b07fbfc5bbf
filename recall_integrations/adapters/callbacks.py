"""A recall as LangChain's callbacks see it: a run for each stage and arm, inside of the retriever's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.callbacks import CallbackManagerForChainRun, CallbackManagerForRetrieverRun

TAG = "recall:step"  # of every such run: who does not want them excludes it


class Run:
    """A step of a recall that is told to callbacks (`types.watching.Step`).

    Args:
        run: the one that it belongs to.
    """

    def __init__(self, run: CallbackManagerForRetrieverRun | CallbackManagerForChainRun) -> None:
        self._run = run

    def begin(self, name: str, inputs: Mapping[str, Any]) -> Run:
        """A run of a stage or an arm begins."""
        manager = self._run.get_child(TAG)
        return Run(manager.on_chain_start(None, dict(inputs), name=f"recall.{name}"))

    def end(self, outputs: Mapping[str, Any], error: BaseException | None = None) -> None:
        """It has ended."""
        if isinstance(self._run, CallbackManagerForRetrieverRun):
            return  # LangChain ends it
        if error is None:
            self._run.on_chain_end(dict(outputs))
        else:
            self._run.on_chain_error(error)


def run_of(manager: CallbackManagerForRetrieverRun) -> Run | None:
    """What tells the callbacks of a run of a retriever; `None` where there are none."""
    return Run(manager) if manager.inheritable_handlers else None
