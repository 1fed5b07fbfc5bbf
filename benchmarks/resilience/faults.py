"""The faults, each a few parts that fail in some way, and an optimizer that has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from benchmarks.resilience.parts import (
    ARM_NAMES,
    GARBAGE,
    HANGS,
    LATE,
    NOTHING,
    OWN,
    RAISES,
    Gate,
    Llm,
    Part,
    Scores,
    Vectors,
    arm_of,
)
from recall_integrations.config import BreakerConfig, RecallConfig, RewritingConfig
from recall_integrations.errors import InvalidArgument

if TYPE_CHECKING:
    from recall_integrations import MemoryStore, QueryOptimizer

LLM, RERANKER, EMBEDDER = "llm", "reranker", "embedder"
NONE = "none"
ALL = "everything"
NEVER_OPEN = 1_000  # failures in a row, the most that can be set


@dataclass(frozen=True, slots=True)
class Fault:
    """Parts and how each fails.

    Args:
        name: for tables and options.
        modes: part → how it fails: `llm`, `reranker`, `embedder`, or the name of an arm.
    """

    name: str
    modes: Mapping[str, str] = field(default_factory=dict)

    @property
    def remote(self) -> bool:
        """Whether the store needs the embedding that can fail."""
        return EMBEDDER in self.modes


def _each(part: str, *modes: str) -> list[Fault]:
    return [Fault(f"{part} {mode}", {part: mode}) for mode in modes]


FAULTS: tuple[Fault, ...] = (
    Fault(NONE),
    *_each(LLM, HANGS, LATE, RAISES, NOTHING),
    *_each(EMBEDDER, HANGS, RAISES, GARBAGE),
    *_each(RERANKER, HANGS, RAISES, GARBAGE),
    *_each("lexical", HANGS, RAISES),
    *_each("semantic", RAISES),
    *_each(OWN, HANGS),
    Fault(f"{ALL} {HANGS}", dict.fromkeys((LLM, RERANKER, EMBEDDER, *ARM_NAMES), HANGS)),
)


def chosen(names: Sequence[str]) -> tuple[Fault, ...]:
    """The faults of these names, or of these parts; all of them if there are no names.

    Raises:
        InvalidArgument: no fault is called so.
    """
    if not names:
        return FAULTS
    for name in names:
        if not any(_is_called(fault, name) for fault in FAULTS):
            raise InvalidArgument(f"There is no fault {name!r}. Known: {', '.join(f.name for f in FAULTS)}.")
    return tuple(fault for fault in FAULTS if any(_is_called(fault, name) for name in names))


def _is_called(fault: Fault, name: str) -> bool:
    return name in (fault.name, fault.name.partition(" ")[0])


def settings(*, entity_llm: bool, breakers: bool) -> RecallConfig:
    """Defaults, but that the LLM is asked however sure the answer is, and what it said is not kept; for whether it is
    also asked about names, and whether breakers may open."""
    config = RecallConfig()
    query = replace(config.query, entity_llm=entity_llm)
    return replace(
        config,
        rewriting=RewritingConfig(mode="full", cache_s=0),
        query=query,
        breakers=config.breakers if breakers else BreakerConfig(failures_max=NEVER_OPEN),
    )


def optimizer_with(
    store: MemoryStore, modes: Mapping[str, str], gate: Gate, config: RecallConfig
) -> tuple[QueryOptimizer, dict[str, Part]]:
    """An optimizer whose parts fail so, and these parts. The embedding is the store's, so it is not among them."""
    from recall_integrations import QueryOptimizer

    parts: dict[str, Part] = {}
    if LLM in modes:
        parts[LLM] = Llm(gate, modes[LLM])
    if RERANKER in modes:
        parts[RERANKER] = Scores(gate, modes[RERANKER])
    arms = {name: Part(gate, modes[name]) for name in ARM_NAMES if name in modes}
    optimizer = QueryOptimizer(
        store,
        llm=parts.get(LLM),
        reranker=parts.get(RERANKER),
        config=config,
        arms=[arm_of(name, part) for name, part in arms.items()],
    )
    return optimizer, {**parts, **arms}


def vectors(gate: Gate) -> Vectors:
    """The embedding that can fail; it works until it is told otherwise."""
    return Vectors(gate)
