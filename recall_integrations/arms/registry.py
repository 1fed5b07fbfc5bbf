"""The registered arms. A registration says how an arm is made, when it is asked, and what its weight scales.
An arm of your own is given to `QueryOptimizer(arms=[ArmSpec(...)])`. With the name of a built-in arm it takes that
arm's place. With another name it is asked in every plan where it applies; its hits become candidates, and its score, as
a share of its ceiling, lifts the candidate by `lift` times the weight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from recall_integrations.arms.base import Arm, InMemory
from recall_integrations.arms.graph import GraphRetriever, KeptGraph
from recall_integrations.arms.retrievers import (
    LexicalRetriever,
    SemanticRetriever,
    TemporalRetriever,
    TypeFilterRetriever,
)
from recall_integrations.config import ARMS, RecallConfig
from recall_integrations.errors import InvalidArgument
from recall_integrations.planning.planner import anchoring
from recall_integrations.records import record
from recall_integrations.resilience.failures import failures
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import ArmPlan, ParsedQuery, RetrievalPlan

MakeArm = Callable[[], Arm]
LIFT = 2.0  # what the best match of an arm of one's own adds; a date that is asked for adds as much


def _applies(_parsed: ParsedQuery, _plan: RetrievalPlan) -> bool:
    return True


@record(frozen=True, slots=True, kw_only=True)
class ArmSpec:
    """Registration of an arm.

    Args:
        name: in plans, results and settings; letters, digits and "_".
        make: from the store and the settings, what makes the arm for a call. Opening an index belongs into that second
            step: if it fails, the arm is left out and named in `degraded`.
        applies: whether a query gives it anything to look for.
        weight: in the plans that ask it; scales `evidence`.
        evidence: what its weight scales besides the ranking features of which it is the `arm`. Default: its own score.
        lift: of one's own arm: what its best match adds to a candidate's rank score.
        reason: of one's own arm: why a hit of it is there, in words ("near the place asked for").
        by_words: whether it needs no vectors, and may begin before they are there.
        by_vector: whether there is nothing to look for without the query's vector.
        by_names: whether a sure window of an entity plan limits it (`window_filter`).
    """

    name: str
    make: Callable[[MemoryStore, RecallConfig], MakeArm]
    applies: Callable[[ParsedQuery, RetrievalPlan], bool] = _applies
    weight: float = 1.0
    evidence: tuple[str, ...] = ()
    lift: float = LIFT
    reason: str = ""
    by_words: bool = False
    by_vector: bool = False
    by_names: bool = False


def _semantic(store: MemoryStore, _config: RecallConfig) -> MakeArm:
    indexes, ready = store.indexes, store.indexes.ready if store.config.vectors.all_in_chroma else None
    return InMemory(
        lambda: SemanticRetriever(lambda: indexes.neighbours, indexes.home_of, indexes.home_until, ready=ready),
        lambda request: request.similarities is not None and ready is None,
    )


def _lexical(_store: MemoryStore, _config: RecallConfig) -> MakeArm:
    return InMemory(LexicalRetriever, lambda _request: True)


def _graph(store: MemoryStore, config: RecallConfig) -> MakeArm:
    settings = config.retrieval
    hops, factor, edges = settings.graph_hops, settings.graph_hop_factor, settings.graph_edges
    arm = GraphRetriever(store.engine, store.entities, hops=hops, hop_factor=factor, edges=edges)
    return InMemory(lambda: KeptGraph(arm), beside=lambda: arm)


def _temporal(store: MemoryStore, _config: RecallConfig) -> MakeArm:
    arm = TemporalRetriever(store.engine)
    return InMemory(lambda: arm)


def _type_filter(_store: MemoryStore, _config: RecallConfig) -> MakeArm:
    arm = TypeFilterRetriever()
    return InMemory(lambda: arm)


BUILT_IN: tuple[ArmSpec, ...] = (
    ArmSpec(name="semantic", make=_semantic, by_vector=True),
    ArmSpec(name="lexical", make=_lexical, applies=lambda parsed, _plan: bool(parsed.terms), by_words=True),
    ArmSpec(
        name="graph",
        make=_graph,
        applies=lambda parsed, plan: plan.name == "exploratory" or bool(anchoring(parsed)),
        evidence=("edge",),
        by_names=True,
    ),
    ArmSpec(
        name="temporal",
        make=_temporal,
        applies=lambda parsed, plan: parsed.temporal_window is not None or plan.time_filter,
    ),
    ArmSpec(name="type_filter", make=_type_filter, applies=lambda _parsed, plan: bool(plan.type_hints)),
)


def registered(own: Iterable[ArmSpec] = ()) -> tuple[ArmSpec, ...]:
    """Return the built-in arms and one's own. One with the name of a built-in arm takes its place."""
    specs = {spec.name: spec for spec in BUILT_IN}
    named: set[str] = set()
    for spec in own:
        if not isinstance(spec, ArmSpec):
            raise InvalidArgument(f"arms must be ArmSpec objects, not {type(spec).__name__}.")
        if not spec.name.isidentifier():
            raise InvalidArgument(f"The name of an arm must be letters, digits and '_', not {spec.name!r}.")
        if spec.name in named:
            raise InvalidArgument(f"There are two arms {spec.name!r}. Give one of them another name.")
        named.add(spec.name)
        specs[spec.name] = spec
    return tuple(specs.values())


def own_lifts(arms: Iterable[ArmSpec]) -> dict[str, float]:
    """Return the lift of the best match of each arm of one's own, by its name."""
    return {spec.name: spec.lift for spec in arms if spec.name not in ARMS}


def worth_asking(arm: ArmPlan, parsed: ParsedQuery, plan: RetrievalPlan, arms: tuple[ArmSpec, ...] = BUILT_IN) -> bool:
    """Say whether the query gives an arm of the plan anything to look for; one's own are in a plan only then."""
    spec = next((s for s in arms if s.name == arm.name), None)
    return spec is None or spec.applies(parsed, plan)


def _wanted(spec: ArmSpec, parsed: ParsedQuery, plan: RetrievalPlan) -> bool:
    """Say whether one's own arm applies. One that fails to say stays in the plan: asking it names the fault."""
    try:
        return spec.applies(parsed, plan)
    except failures():  # raised again by the stage `arms`, which names it in `degraded`
        return True


def with_own(plan: RetrievalPlan, parsed: ParsedQuery, arms: tuple[ArmSpec, ...], limit: int) -> RetrievalPlan:
    """Return a plan that asks one's own arms as well, where they apply."""
    own = [s for s in arms if s.name not in ARMS and _wanted(s, parsed, plan)]
    if not own:
        return plan
    asked = (ArmPlan(name=s.name, weight=s.weight, limit=limit) for s in own)
    names = ", ".join(s.name for s in own)
    return replace(plan, arms=(*plan.arms, *asked), reason=f"{plan.reason}; asks {names} too")
