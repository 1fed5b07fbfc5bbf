"""Rules that choose the plan: a decision list of small named conditions, tried in order.

1 precise         specificity >= 0.8
2 entity_centric  an entity reference with confidence > 0.85
3 temporal        a temporal window, or a session of the conversation
4 precision       lexical rarity > 0.8, even under the exploratory threshold
5 exploratory     specificity < 0.4
6 balanced        otherwise

Then further readings of the parser change the chosen plan, each by a rule that can be switched off (`rules`):

identifiers     lexical weight x 1.5, or added; memories that hold one letter by letter are lifted
graph_bias      ownership and dependency questions that name an entity: graph weight x 2 at most, or added
conversational  nothing that BM25 could look for: no lexical arm, no rewrites
router_mode     a small lift for the memory types of the mode
time_bias       "what happened", "latest": recency counts more
type_filter     "my preferences": other types come after those, if there are such memories
window_filter   an entity plan with a sure window drops the memories outside of it
time_filter     a sure window or a session adds the temporal arm; if the query asks for a session, or for what was said
                in the window, the memories in it come first
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

from recall_integrations.config import PlannerConfig, RecallConfig
from recall_integrations.languages import name_of
from recall_integrations.query.features import HYBRID, IMPLICIT, MODE_TYPES
from recall_integrations.records import record
from recall_integrations.types import ArmPlan, EntityRef, ParsedQuery, RetrievalPlan, RuleCheck
from recall_integrations.types.making import maker
from recall_integrations.types.readings import ALL

ROUNDING = 3  # decimals of the feature vector that decisions are made on, so that noise cannot flip a plan
WINDOW_CONFIDENCE_MIN = 0.5  # from which a temporal window may filter; below, it only lifts what lies in it
IDENTIFIER_FACTOR = 1.5
GRAPH_FACTOR = 2.0
TEMPORAL_WEIGHT = 2.0  # 1.5 to 3 were no better on questions with a date in chats of people and on phones
IDENTIFIERS_SHOWN = 3
WITHOUT = "searched without it"  # of a time or a session in which nothing lies
_check = maker(RuleCheck)
Condition = Callable[[ParsedQuery, PlannerConfig], tuple[bool, str, float]]


@record(frozen=True, slots=True, kw_only=True)
class PlanRule:
    """A plan and the condition that chooses it. The condition returns: fired, the values in words, the margin."""

    plan: str
    condition: Condition


def _precise(parsed: ParsedQuery, config: PlannerConfig) -> tuple[bool, str, float]:
    value = round(parsed.specificity, ROUNDING)
    margin = value - config.precise_threshold
    return margin >= 0, f"specificity {value:.3f} {'≥' if margin >= 0 else '<'} {config.precise_threshold:g}", margin


def _entity(parsed: ParsedQuery, config: PlannerConfig) -> tuple[bool, str, float]:
    named = [r for r in parsed.entity_refs if r.stage != IMPLICIT]
    if not named:
        return False, "no entity named", -config.entity_confidence_min
    best = max(named, key=lambda r: r.confidence)
    margin = round(best.confidence, ROUNDING) - config.entity_confidence_min
    sign = ">" if margin > 0 else "≤"
    return margin > 0, f"{best.name} {best.confidence:.2f} {sign} {config.entity_confidence_min:g}", margin


def _temporal(parsed: ParsedQuery, _config: PlannerConfig) -> tuple[bool, str, float]:
    window, session = parsed.temporal_window, parsed.session
    if session is not None and session.found:
        return True, f"{session.found}, confidence {session.confidence:.2f}", session.confidence
    if window is None:
        return False, "no temporal window", -1.0
    return True, f"temporal window, confidence {window.confidence:.2f}", window.confidence


def _rare(parsed: ParsedQuery, config: PlannerConfig) -> tuple[bool, str, float]:
    value = round(parsed.features.lexical_rarity, ROUNDING)
    margin = value - config.rarity_promotion
    return margin > 0, f"lexical rarity {value:.3f} {'>' if margin > 0 else '≤'} {config.rarity_promotion:g}", margin


def _vague(parsed: ParsedQuery, config: PlannerConfig) -> tuple[bool, str, float]:
    value = round(parsed.specificity, ROUNDING)
    margin = config.exploratory_threshold - value
    return margin > 0, f"specificity {value:.3f} {'<' if margin > 0 else '≥'} {config.exploratory_threshold:g}", margin


def _always(_parsed: ParsedQuery, _config: PlannerConfig) -> tuple[bool, str, float]:
    return True, "no other rule decided", 0.0


RULES: tuple[PlanRule, ...] = (
    PlanRule(plan="precise", condition=_precise),
    PlanRule(plan="entity_centric", condition=_entity),
    PlanRule(plan="temporal", condition=_temporal),
    PlanRule(plan="precision", condition=_rare),
    PlanRule(plan="exploratory", condition=_vague),
    PlanRule(plan="balanced", condition=_always),
)


def make_plan(parsed: ParsedQuery, config: RecallConfig, *, given: str | None = None) -> RetrievalPlan:
    """Choose the plan. Pure: the same parsed query and configuration give the same plan.

    Args:
        parsed: the query.
        config: the whole configuration, not only that of the planner.
        given: name of a plan to take whatever the rules choose, to measure the worth of choosing.
    """
    planner = config.planner
    checks = []
    for rule in RULES:
        fired, because, margin = rule.condition(parsed, planner)
        checks.append(_check(rule.plan, fired, because, round(margin, ROUNDING)))
    chosen = next(i for i, check in enumerate(checks) if (check.fired if given is None else check.rule == given))
    name = checks[chosen].rule
    arms, why = _adjusted(_ARMS[name](parsed, config), parsed, planner)
    typed = "type_filter" in planner.rules and bool(parsed.type_filters)
    if typed and not any(a.name == "type_filter" for a in arms):
        arms = (*arms, ArmPlan(name="type_filter", limit=planner.arm_limit))
    timed = "time_filter" in planner.rules and decides(parsed)
    if "time_filter" in planner.rules:
        arms = _with_time(arms, parsed, planner)
        why.extend(_when(parsed))
    if parsed.memories_in is not None:
        asked, held = name_of(parsed.language), name_of(parsed.memories_in)
        why.append(f"asked in {asked}, while the memories are in {held}: only names and the embedding can find them")
    chatting = "conversational" in planner.rules and parsed.conversational.conversational
    runner_up, distance = _runner_up(checks, chosen) if given is None else (None, None)
    mode = parsed.router.mode
    return RetrievalPlan(
        name=name,
        arms=_permitted(arms, planner),
        rerank=name == "exploratory",
        diversity=name == "exploratory",
        type_hints=parsed.type_filters if typed else parsed.type_cues,
        type_filter=typed,
        window_filter="window_filter" in planner.rules and name == "entity_centric" and _sure_window(parsed),
        time_filter=timed,
        in_order=timed and parsed.talk == ALL and not parsed.negations,
        exact_match="identifiers" in planner.rules and bool(parsed.identifiers),
        prefers=MODE_TYPES[mode] if "router_mode" in planner.rules and mode != HYBRID else (),
        time_bias="time_bias" in planner.rules and parsed.router.time_bias and parsed.temporal_window is None,
        rewrite=round(parsed.specificity, ROUNDING) < planner.precise_threshold and not chatting,
        reason="; ".join([f"{name}: {checks[chosen].because if given is None else 'given'}", *why]),
        checks=tuple(checks),
        runner_up=runner_up,
        runner_up_margin=distance,
    )


def _with_time(arms: tuple[ArmPlan, ...], parsed: ParsedQuery, config: PlannerConfig) -> tuple[ArmPlan, ...]:
    """Add the temporal arm if the query has a session or a sure window, to make the memories in it candidates."""
    if any(a.name == "temporal" for a in arms) or not (decides(parsed) or _sure_window(parsed)):
        return arms
    return (*arms, ArmPlan(name="temporal", weight=TEMPORAL_WEIGHT, limit=config.arm_limit))


def _permitted(arms: tuple[ArmPlan, ...], config: PlannerConfig) -> tuple[ArmPlan, ...]:
    """Return the arms that the configuration permits; if the plan has none of these, all that it permits."""
    kept = tuple([arm for arm in arms if arm.name in config.arms])
    return kept or tuple(ArmPlan(name=name, limit=config.arm_limit) for name in config.arms)


def _runner_up(checks: Sequence[RuleCheck], chosen: int) -> tuple[str | None, float | None]:
    """Return the plan that the smallest change of a value would have chosen instead, and that change.

    An earlier rule would have had to fire; for the next one that fires, the chosen rule would have had to fail.
    """
    near = [(-(check.margin or 0.0), i) for i, check in enumerate(checks[:chosen])]
    later = next((i for i in range(chosen + 1, len(checks)) if checks[i].fired), None)
    if later is not None:
        near.append((checks[chosen].margin or 0.0, later))
    if not near:
        return None, None
    distance, place = min(near)
    return checks[place].rule, round(distance, ROUNDING)


def _adjusted(
    arms: tuple[ArmPlan, ...], parsed: ParsedQuery, config: PlannerConfig
) -> tuple[tuple[ArmPlan, ...], list[str]]:
    """Apply the rules on identifiers, graph bias and small talk; return the arms and the reasons that fired."""
    why = []
    if parsed.identifiers and "identifiers" in config.rules:
        arms = _raised(arms, "lexical", IDENTIFIER_FACTOR, config.arm_limit)
        shown = ", ".join(f"{i.kind} {i.text}" for i in parsed.identifiers[:IDENTIFIERS_SHOWN])
        why.append(f"exact match of {shown}")
    if parsed.router.graph_bias and _named(parsed) and "graph_bias" in config.rules:
        arms = _raised(arms, "graph", GRAPH_FACTOR, config.arm_limit, at_most=config.entity_weight)
        why.append(f"graph bias ({parsed.router.reason})")
    elif parsed.router.reason and parsed.router.mode != HYBRID and "router_mode" in config.rules:
        why.append(f"router {parsed.router.reason}")
    if parsed.conversational and "conversational" in config.rules:
        arms = tuple(a for a in arms if a.name != "lexical")
        why.append(f"conversational, no BM25 ({parsed.conversational.because})")
    return arms, why


def _raised(
    arms: tuple[ArmPlan, ...], name: str, factor: float, limit: int, *, at_most: float = math.inf
) -> tuple[ArmPlan, ...]:
    """Raise the weight of an arm, to `at_most` at most, and never lower it; add the arm if it is missing."""
    if not any(a.name == name for a in arms):
        return (*arms, ArmPlan(name=name, limit=limit))
    return tuple(
        _arm(a.name, max(a.weight, min(a.weight * factor, at_most)), a.limit) if a.name == name else a for a in arms
    )


def anchoring(parsed: ParsedQuery) -> tuple[EntityRef, ...]:
    """Return the references that the graph starts from: the named ones; else the user, for "who is *my* manager"."""
    named = tuple(r for r in parsed.entity_refs if r.stage != IMPLICIT)
    if named or not parsed.predicate_hints:
        return named
    return tuple(r for r in parsed.entity_refs if r.mention)


def decides(parsed: ParsedQuery) -> bool:
    """Say whether the time or the session that the query asks for decides which hits come first.

    A session always does. A window does if the query asks what was said in it. What somebody *did* in May may be told
    in June: there the window only lifts.
    """
    if parsed.session is not None and parsed.session.found:
        return True
    return bool(parsed.talk) and _sure_window(parsed)


def _when(parsed: ParsedQuery) -> list[str]:
    """Describe the effect of the time that the query asks for, in words."""
    session = parsed.session
    missing = [] if session is None or session.found or not session.because else [f"{session.because}; {WITHOUT}"]
    return [*missing, filters(parsed)] if decides(parsed) else missing


def filters(parsed: ParsedQuery) -> str:
    """Name the deciding time or session, for the plan's reason; `asked_for` replaces it if that is empty."""
    session = parsed.session
    found = session is not None and bool(session.found)
    asked = f"{session.found} filters" if session is not None and found else "the time asked for filters"
    reason = f" ({session.because})" if session is not None and found and session.because else ""
    return f"{asked}{reason}{', in the order of the conversation' if parsed.talk == ALL else ''}"


def _sure_window(parsed: ParsedQuery) -> bool:
    window = parsed.temporal_window
    return window is not None and round(window.confidence, ROUNDING) >= WINDOW_CONFIDENCE_MIN


def _named(parsed: ParsedQuery) -> bool:
    return any(r.stage != IMPLICIT for r in parsed.entity_refs)


@functools.lru_cache(maxsize=256)
def _arm(name: str, weight: float, limit: int) -> ArmPlan:
    return ArmPlan(name=name, weight=weight, limit=limit)


def _arms(config: RecallConfig, **weights: float) -> tuple[ArmPlan, ...]:
    limit = config.planner.arm_limit
    return tuple([_arm(name, weight, limit) for name, weight in weights.items()])


def _precise_arms(parsed: ParsedQuery, config: RecallConfig) -> tuple[ArmPlan, ...]:
    semantic = ArmPlan(name="semantic", weight=1.0, limit=config.planner.precise_limit)
    return (semantic, *_arms(config, graph=1.0)) if _named(parsed) else (semantic,)


def _entity_arms(parsed: ParsedQuery, config: RecallConfig) -> tuple[ArmPlan, ...]:
    specific = round(parsed.specificity, ROUNDING) >= config.planner.exploratory_threshold
    if config.retrieval.semantic_remote and specific:  # graph and BM25 are local; embedding would cost a network call
        return _arms(config, graph=config.planner.entity_weight, lexical=1.0)
    return _arms(config, graph=config.planner.entity_weight, lexical=1.0, semantic=1.0)


def _temporal_arms(_parsed: ParsedQuery, config: RecallConfig) -> tuple[ArmPlan, ...]:
    return _arms(config, temporal=TEMPORAL_WEIGHT, semantic=1.0, lexical=1.0)


def _precision_arms(_parsed: ParsedQuery, config: RecallConfig) -> tuple[ArmPlan, ...]:
    return _arms(config, lexical=2.0, semantic=1.0, graph=1.0)


def _all_arms(_parsed: ParsedQuery, config: RecallConfig) -> tuple[ArmPlan, ...]:
    return _arms(config, semantic=1.0, lexical=1.0, graph=1.0, temporal=1.0, type_filter=1.0)


_ARMS: dict[str, Callable[[ParsedQuery, RecallConfig], tuple[ArmPlan, ...]]] = {
    "precise": _precise_arms,
    "entity_centric": _entity_arms,
    "temporal": _temporal_arms,
    "precision": _precision_arms,
    "exploratory": _all_arms,
    "balanced": _all_arms,
}
