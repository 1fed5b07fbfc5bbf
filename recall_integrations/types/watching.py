"""Steps of a recall for somebody who watches while it runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Step(Protocol):
    """A step of a recall that is under way: the recall itself, one of its stages, an arm.

    It is called when something begins or ends, in the thread in which that happens; arms work in threads of their own.
    Its errors cost nobody the answer: the result names them.
    """

    def begin(self, name: str, inputs: Mapping[str, Any]) -> Step:
        """Begin a step inside of this one.

        Args:
            name: the stage (`parse`, …, `deliver`), `cache` for an answer that was kept, `arm.<name>`, or `scope` where
                several are searched, with the stages inside.
            inputs: input of the step, as JSON has it. Empty unless `privacy="allow"`.
        """
        ...

    def end(self, outputs: Mapping[str, Any], error: BaseException | None = None) -> None:
        """End the step. Called once.

        Args:
            outputs: output of the step, as JSON has it. Unless `privacy="allow"`, only its problems (`degraded`).
            error: error with which it failed, though the recall may go on.
        """
        ...
