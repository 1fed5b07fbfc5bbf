"""What somebody who looks on while a recall runs is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class Step(Protocol):
    """A step of a recall that is under way: the recall itself, one of its stages, an arm.

    It is called when something begins or ends, in the thread in which it does; arms work in threads of their own. What
    it raises costs nobody the answer: the result names it.
    """

    def begin(self, name: str, inputs: Mapping[str, Any]) -> Step:
        """A step inside of this one begins.

        Args:
            name: the stage (`parse`, …, `deliver`), `cache` for an answer that was kept, `arm.<name>`, or `scope` where
                several are searched, with the stages inside.
            inputs: what it is given, as JSON has it. Empty unless `privacy="allow"`.
        """
        ...

    def end(self, outputs: Mapping[str, Any], error: BaseException | None = None) -> None:
        """It has ended. Called once.

        Args:
            outputs: what it found, as JSON has it. Unless `privacy="allow"`, only what did not work (`degraded`).
            error: what it failed with, though the recall may go on.
        """
        ...
