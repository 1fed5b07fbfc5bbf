"""Rules that choose the plan: a decision list of small named conditions, tried in order (seed 000).

1 precise         specificity >= 0.8
2 entity_centric  an entity reference with confidence > 0.85
3 temporal        a temporal window
4 precision       lexical rarity > 0.8, even under the exploratory threshold
5 exploratory     specificity < 0.4
6 balanced        otherwise
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from recall_integrations.config import PlannerConfig, RecallConfig
from recall_integrations.query.features import IMPLICIT
from recall_integrations.records import ArmPlan, ParsedQuery, RetrievalPlan, RuleCheck

ROUNDING = 3  # decimals of the feature vector that decisions are made on, so that noise cannot flip a plan
Condition = Callable[[ParsedQuery, PlannerConfig], tuple[bool, str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A plan and the condition that chooses it. The condition gives: fired, the values in words, the margin."""

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
    window = parsed.temporal_window
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


RULES: tuple[Rule, ...] = (
    Rule(plan="precise", condition=_precise),
    Rule(plan="entity_centric", condition=_entity),
    Rule(plan="temporal", condition=_temporal),
    Rule(plan="precision", condition=_rare),
    Rule(plan="exploratory", condition=_vague),
    Rule(plan="balanced", condition=_always),
)


def make_plan(parsed: ParsedQuery, config: RecallConfig) -> RetrievalPlan:
    """Choose the plan. Pure: the same parsed query and configuration give the same plan."""
    planner = config.planner
    tried = [(rule, *rule.condition(parsed, planner)) for rule in RULES]
    checks = tuple(
        RuleCheck(rule=rule.plan, fired=fired, because=because, margin=round(margin, ROUNDING))
        for rule, fired, because, margin in tried
    )
    chosen = next(check for check in checks if check.fired)
    later = [c for c in checks[checks.index(chosen) + 1 :] if c.fired]
    arms = _ARMS[chosen.rule](parsed, config)
    return RetrievalPlan(
        name=chosen.rule,
        arms=arms,
        rerank=chosen.rule == "exploratory",
        diversity=chosen.rule == "exploratory",
        type_hints=parsed.type_cues,
        window_filter=chosen.rule == "entity_centric" and _sure_window(parsed, planner),
        rewrite=round(parsed.specificity, ROUNDING) < planner.precise_threshold,
        reason=f"{chosen.rule}: {chosen.because}",
        checks=checks,
        runner_up=later[0].rule if later else None,
    )


def _sure_window(parsed: ParsedQuery, config: PlannerConfig) -> bool:
    return parsed.temporal_window is not None and parsed.temporal_window.confidence >= config.window_confidence_min


def _named(parsed: ParsedQuery) -> bool:
    return any(r.stage != IMPLICIT for r in parsed.entity_refs)


def _arms(config: RecallConfig, **weights: float) -> tuple[ArmPlan, ...]:
    limit = config.planner.arm_limit
    return tuple(ArmPlan(name=name, weight=weight, limit=limit) for name, weight in weights.items())


def _precise_arms(parsed: ParsedQuery, config: RecallConfig) -> tuple[ArmPlan, ...]:
    semantic = ArmPlan(name="semantic", weight=1.0, limit=config.planner.precise_limit)
    return (semantic, *_arms(config, graph=1.0)) if _named(parsed) else (semantic,)


def _entity_arms(parsed: ParsedQuery, config: RecallConfig) -> tuple[ArmPlan, ...]:
    specific = parsed.specificity >= config.planner.exploratory_threshold
    if config.retrieval.semantic_remote and specific:  # graph and BM25 are local; embedding would cost a network call
        return _arms(config, graph=config.planner.entity_weight, lexical=1.0)
    return _arms(config, graph=config.planner.entity_weight, lexical=1.0, semantic=1.0)


def _temporal_arms(_parsed: ParsedQuery, config: RecallConfig) -> tuple[ArmPlan, ...]:
    return _arms(config, temporal=2.0, semantic=1.0, lexical=1.0)


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
