"""Parts of a recall that can be told to fail: what a user may bring (LLM, reranker, embedding, arms), and how.

Everything goes in by the front door: `llm=`, `reranker=`, `embedding=` and `arms=`. What hangs waits until it is let
go, so that a run can end, and that threads at the end can be compared with those at the start.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from recall_integrations.arms.base import Arm, ArmRequest, ArmResult, InMemory
from recall_integrations.arms.retrievers import BUILT_IN, ArmSpec, MakeArm
from recall_integrations.config import RecallConfig
from recall_integrations.embeddings.static import bundled
from recall_integrations.errors import InvalidArgument
from recall_integrations.store.memory_store import MemoryStore

T = TypeVar("T")
WELL, HANGS, LATE, RAISES, NOTHING, GARBAGE = "works", "hangs", "is late", "raises", "gives nothing", "gives garbage"
MODES = (WELL, HANGS, LATE, RAISES, NOTHING, GARBAGE)
LATE_S = 0.05
OWN = "own"
ARM_NAMES = (*(spec.name for spec in BUILT_IN), OWN)


class Gate:
    """Where what hangs waits. Threads share it."""

    def __init__(self) -> None:
        self._open = threading.Event()

    def wait(self, seconds: float | None = None) -> None:
        """Until `let_go`, or so many seconds."""
        self._open.wait(seconds)

    def let_go(self) -> None:
        """Everybody who waits goes on; who comes later waits again."""
        before, self._open = self._open, threading.Event()
        before.set()


class Part:
    """Something that works, or fails as it is told.

    Args:
        gate: where it waits when it hangs or is late.
        mode: of `MODES`; may be changed at any time.
    """

    def __init__(self, gate: Gate, mode: str = WELL) -> None:
        if mode not in MODES:
            raise InvalidArgument(f"A part {', '.join(MODES)}; not {mode!r}.")
        self._gate, self.mode = gate, mode

    def act(self, well: Callable[[], T], nothing: Any = None, garbage: Any = None) -> T:
        """What it gives: the result of `well`, or what its mode says.

        Raises:
            RuntimeError: it is told to, or it hung and was let go.
        """
        mode = self.mode
        if mode == HANGS:
            self._gate.wait()
            raise RuntimeError("It hung, and was let go.")
        if mode == RAISES:
            raise RuntimeError("It was told to fail.")
        if mode == LATE:
            self._gate.wait(LATE_S)
        if mode == NOTHING:
            return nothing  # type: ignore[no-any-return]
        return garbage if mode == GARBAGE else well()


class Llm(Part):
    """A language model that says every question again, in another order of its words."""

    def __call__(self, prompt: str) -> str:
        return self.act(lambda: _said_again(prompt), "", "]}{" * 50)


def _said_again(prompt: str) -> str:
    """The query stands in the prompt as a JSON string, in a line of its own."""
    asked = next((line for line in prompt.splitlines() if line.startswith("Request: ")), None)
    if asked is None:  # of names
        return "A: none"
    words = str(json.loads(asked.removeprefix("Request: "))).split()
    return " ".join([*words[1:], *words[:1]]) + "\n" + " ".join(reversed(words))


class Scores(Part):
    """A reranker that turns the order round."""

    def __call__(self, _query: str, texts: list[str]) -> list[float]:
        return self.act(lambda: [float(i) for i in range(len(texts))], [], [float("nan")] * len(texts))


class Vectors(Part):
    """The bundled model as if it were behind a network. Wrong are three numbers instead of its 256."""

    fingerprint, remote = "resilience", True

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        wrong = np.ones((len(texts), 3), dtype=np.float32)
        return self.act(lambda: bundled().embed_documents(list(texts)), np.zeros((0, 0), dtype=np.float32), wrong)


class Breakable:
    """An arm around another one.

    Args:
        arm: asked while the part works.
        part: says how it fails.
    """

    def __init__(self, arm: Arm, part: Part) -> None:
        self.name, self._arm, self._part = arm.name, arm, part

    def search(self, request: ArmRequest) -> ArmResult:
        """As the inner arm, if the part lets it."""
        return self._part.act(lambda: self._arm.search(request), ArmResult.empty(self.name), "no result")


class Silent:
    """An arm of one's own that finds nothing."""

    name = OWN

    def search(self, _request: ArmRequest) -> ArmResult:
        return ArmResult.empty(OWN)


def arm_of(name: str, part: Part) -> ArmSpec:
    """A built-in arm that can be told to fail, or one of one's own.

    An arm that only computes in memory stays in the caller's thread, so it must not hang; told to hang from the start
    it gets a thread, as one that reads a disk or a network has.

    Raises:
        InvalidArgument: there is no such arm.
    """
    if name == OWN:
        return ArmSpec(name=OWN, make=lambda _store, _config: lambda: Breakable(Silent(), part))
    built = next((spec for spec in BUILT_IN if spec.name == name), None)
    if built is None:
        raise InvalidArgument(f"There is no arm {name!r}. Known: {', '.join(ARM_NAMES)}.")
    here, spec = part.mode not in (HANGS, LATE), built

    def make(store: MemoryStore, config: RecallConfig) -> MakeArm:
        real = spec.make(store, config)

        def broken() -> Arm:
            return Breakable(real(), part)

        return InMemory(broken) if here and isinstance(real, InMemory) else broken

    return replace(spec, make=make)
