"""Rules that choose the plan: a decision list (`RULES`) of small named conditions, tried in order.

Then further readings of the parser change the chosen plan, each by a rule that can be switched off (`planner.rules`):
identifiers, graph_bias, conversational, router_mode, time_bias, type_filter, window_filter, time_filter.

Last, `asked_for` settles on the rows of a scope which session or time the query asks for, and what it decides: if it
decides (`plan.time_filter`), the arms look only at its memories if there are `k` of them; else those come first. If no
memory lies in it, it decides nothing, and every other hit is less probably the right one (`Decided.trust`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import numpy as np

from recall_integrations.config import PlannerConfig, RecallConfig
from recall_integrations.indexes.scope_view import Mask, Rows, ScopeView
from recall_integrations.indexes.windows import Settled, asked_mask, in_order, settle
from recall_integrations.languages import name_of
from recall_integrations.query.by_table.cues import HYBRID
from recall_integrations.query.features import IMPLICIT, MODE_TYPES
from recall_integrations.records import record
from recall_integrations.types import ArmPlan, EntityRef, ParsedQuery, RetrievalPlan, RuleCheck, TemporalWindow
from recall_integrations.types.query import ABOUT, ALL
from recall_integrations.types.roles import ROLE_CODES

RARE_ABOVE = 0.8  # lexical rarity above which `precision` is chosen where no earlier rule decided
PRECISE_LIMIT = 20  # candidates asked of the semantic arm by the `precise` plan
ROUNDING = 3  # decimals of the feature vector that decisions are made on, so that noise cannot flip a plan
WINDOW_CONFIDENCE_MIN = 0.5  # from which a temporal window may filter; below, it only lifts what lies in it
IDENTIFIER_FACTOR = 1.5
GRAPH_FACTOR = 2.0
TEMPORAL_WEIGHT = 2.0  # 1.5 to 3 were no better on questions with a date in chats of people and on phones
IDENTIFIERS_SHOWN = 3
WITHOUT = "searched without it"  # of a time or a session in which nothing lies
Condition = Callable[[ParsedQuery, PlannerConfig], tuple[bool, str, float]]


@record(frozen=True, slots=True, kw_only=True)
class PlanRule:
    """A plan, the condition that chooses it, and the weights of its arms.

    The condition returns: fired, the values in words, the margin.
    """

    plan: str
    condition: Condition
    weights: Mapping[str, float]


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


def _rare(parsed: ParsedQuery, _config: PlannerConfig) -> tuple[bool, str, float]:
    value = round(parsed.features.lexical_rarity, ROUNDING)
    margin = value - RARE_ABOVE
    return margin > 0, f"lexical rarity {value:.3f} {'>' if margin > 0 else '≤'} {RARE_ABOVE:g}", margin


def _vague(parsed: ParsedQuery, config: PlannerConfig) -> tuple[bool, str, float]:
    value = round(parsed.specificity, ROUNDING)
    margin = config.exploratory_threshold - value
    return margin > 0, f"specificity {value:.3f} {'<' if margin > 0 else '≥'} {config.exploratory_threshold:g}", margin


def _always(_parsed: ParsedQuery, _config: PlannerConfig) -> tuple[bool, str, float]:
    return True, "no other rule decided", 0.0


_ALL = {"semantic": 1.0, "lexical": 1.0, "graph": 1.0, "temporal": 1.0, "type_filter": 1.0}
RULES: tuple[PlanRule, ...] = tuple(
    PlanRule(plan=plan, condition=condition, weights=weights)
    for plan, condition, weights in (
        ("precise", _precise, {"semantic": 1.0, "graph": 1.0}),  # the graph where an entity is named
        ("entity_centric", _entity, {"graph": 2.0, "lexical": 1.0, "semantic": 1.0}),  # or its `entity_weight`
        ("temporal", _temporal, {"temporal": TEMPORAL_WEIGHT, "semantic": 1.0, "lexical": 1.0}),
        ("precision", _rare, {"lexical": 2.0, "semantic": 1.0, "graph": 1.0}),
        ("exploratory", _vague, _ALL),
        ("balanced", _always, _ALL),
    )
)


def _weights(rule: PlanRule, parsed: ParsedQuery, config: RecallConfig) -> tuple[dict[str, float], list[str]]:
    """Return the weights of a plan's arms as the readings of the parser change them, and the changes in words."""
    planner, weights, why = config.planner, dict(rule.weights), list[str]()
    rules, router = planner.rules, parsed.router
    if rule.plan == "precise" and not _named(parsed):
        del weights["graph"]
    if rule.plan == "entity_centric":
        weights["graph"] = planner.entity_weight
        specific = round(parsed.specificity, ROUNDING) >= planner.exploratory_threshold
        if config.retrieval.semantic_remote and specific:  # the others are local; embedding would cost a network call
            del weights["semantic"]
    if parsed.identifiers and "identifiers" in rules:
        _raise(weights, "lexical", IDENTIFIER_FACTOR)
        shown = ", ".join(f"{i.kind} {i.text}" for i in parsed.identifiers[:IDENTIFIERS_SHOWN])
        why.append(f"exact match of {shown}")
    if router.graph_bias and _named(parsed) and "graph_bias" in rules:
        _raise(weights, "graph", GRAPH_FACTOR, at_most=planner.entity_weight)
        why.append(f"graph bias ({router.reason})")
    elif router.reason and router.mode != HYBRID and "router_mode" in rules:
        why.append(f"router {router.reason}")
    if parsed.conversational and "conversational" in rules:
        weights.pop("lexical", None)
        why.append(f"conversational, no BM25 ({parsed.conversational.because})")
    if parsed.type_filters and "type_filter" in rules:
        weights.setdefault("type_filter", 1.0)
    if "time_filter" in rules:
        if decides(parsed) or _sure_window(parsed):  # its memories have to be candidates
            weights.setdefault("temporal", TEMPORAL_WEIGHT)
        why.extend(_when(parsed))
    return weights, why


def _raise(weights: dict[str, float], arm: str, factor: float, *, at_most: float = math.inf) -> None:
    """Raise the weight of an arm, to `at_most` at most, and never lower it; add the arm if it is missing."""
    weights[arm] = max(weights[arm], min(weights[arm] * factor, at_most)) if arm in weights else 1.0


def make_plan(parsed: ParsedQuery, config: RecallConfig, *, given: str | None = None) -> RetrievalPlan:
    """Choose the plan. Pure: the same parsed query and configuration give the same plan."""
    planner = config.planner
    checks = []
    for rule in RULES:
        fired, because, margin = rule.condition(parsed, planner)
        margin = round(margin, ROUNDING)
        checks.append(RuleCheck(rule=rule.plan, fired=fired, because=because, margin=margin))
    chosen = next(i for i, check in enumerate(checks) if (check.fired if given is None else check.rule == given))
    name = checks[chosen].rule
    weights, why = _weights(RULES[chosen], parsed, config)
    permitted = {arm: weight for arm, weight in weights.items() if arm in planner.arms}
    limits = {"semantic": PRECISE_LIMIT} if name == "precise" else {}
    typed = "type_filter" in planner.rules and bool(parsed.type_filters)
    timed = "time_filter" in planner.rules and decides(parsed)
    if parsed.memories_in is not None:
        asked, held = name_of(parsed.language), name_of(parsed.memories_in)
        why.append(f"asked in {asked}, while the memories are in {held}: only names and the embedding can find them")
    chatting = "conversational" in planner.rules and parsed.conversational.conversational
    runner_up, distance = _runner_up(checks, chosen) if given is None else (None, None)
    mode = parsed.router.mode
    return RetrievalPlan(
        name=name,
        arms=tuple(
            ArmPlan(name=arm, weight=weight, limit=limits.get(arm) or _limit(arm, planner))
            for arm, weight in (permitted or dict.fromkeys(planner.arms, 1.0)).items()
        ),
        rerank=name in config.rerank.plans,
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


def _limit(arm: str, planner: PlannerConfig) -> int:
    return (planner.lexical_limit if arm == "lexical" else None) or planner.arm_limit


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


DAY = timedelta(hours=25)  # with the hour that comes twice in autumn
ROLE_PLAIN = 0.5  # strength from which a role's words are asked for; "my last session" is .4
# Share of the answers that lie elsewhere if no memory lies in the asked time: people mistake days. Set by hand.
MISTAKEN = 0.2


@record(frozen=True, slots=True, kw_only=True)
class Decided:
    """The decision that the asked time or session makes."""

    plan: RetrievalPlan  # the plan to carry out
    asked: Asked | None = None  # the rows that decide; `None` = none do
    trust: float = 1.0  # factor in (0, 1] of all probabilities, below 1 if no memory lies in the asked time or session


@record(frozen=True, slots=True, kw_only=True)
class Asked:
    """Rows of the time or the session that decides."""

    mask: Mask  # bool `(n,)`: the rows, living and allowed; at least one
    count: int  # number of these rows
    order: Rows | None  # the first of these rows, in the order of the conversation if the plan asks for it; else `None`
    confidence: float  # confidence of the reading, in [0, 1]
    words: str  # reason to show with a hit among these rows

    def searched(self, k: int) -> Mask | None:
        """Return the rows that the arms look at; `None` = all, because there are fewer than `k` of these."""
        if self.count < k:
            return None
        if self.order is None:
            return self.mask
        first = np.zeros_like(self.mask)
        first[self.order] = True
        return first


def settled(parsed: ParsedQuery, view: ScopeView | None) -> tuple[ParsedQuery, Settled | None]:
    """Return the query with its session as the scope has it, and the rows of that session.

    If the query names somebody who never speaks in the scope, it asks about them, and so for more than the talk.
    """
    found: Settled | None = None
    session = parsed.session
    if session is not None:
        if view is None:
            parsed = replace(parsed, session=replace(session, because="there are no sessions here"))
        else:
            window = parsed.temporal_window
            inside = None if window is None else asked_mask(view, window)
            found = settle(session, view, inside)
            parsed = replace(parsed, session=found.session)
    if parsed.talk == ALL and not _speak(parsed, view):
        parsed = replace(parsed, talk=ABOUT)
    return parsed, found


def asked_for(
    parsed: ParsedQuery, plan: RetrievalPlan, found: Settled | None, view: ScopeView, allowed: Mask | None, limit: int
) -> Decided:
    """Decide which rows come first, and how much the probabilities are trusted."""
    trust = _trust(found.session.confidence) if found is not None and found.absent else 1.0
    if not plan.time_filter:
        return Decided(plan=plan, trust=trust)
    window = parsed.temporal_window
    if found is not None and found.mask is not None:
        mask, confidence = found.mask & view.alive, found.session.confidence
        words = f"in the session{'s' if len(found.threads) > 1 else ''} you asked for"
        name = found.session.found
    else:
        assert window is not None
        found = None
        mask, confidence = asked_mask(view, window) & view.alive, window.confidence
        words = f"{'on the day' if _a_day(window) else 'in the time'} you asked for"
        name = f"{'the day' if _a_day(window) else 'the time'} asked for"
    if allowed is not None:
        mask = mask & allowed
    count = int(mask.sum())
    if not count:
        reason = plan.reason.replace(filters(parsed), f"{name}: nothing lies in it; {WITHOUT}")
        without = replace(plan, time_filter=False, in_order=False, reason=reason)
        return Decided(plan=without, trust=min(trust, _trust(confidence)))
    order = _in_order(parsed, found, view, mask, limit) if plan.in_order else None
    asked = Asked(mask=mask, count=count, order=order, confidence=confidence, words=words)
    return Decided(plan=plan, asked=asked, trust=trust)


def _trust(confidence: float) -> float:
    """Return the factor of probabilities if no memory lies in the time or session, read with this confidence."""
    return 1 - confidence * (1 - MISTAKEN)


def _in_order(parsed: ParsedQuery, found: Settled | None, view: ScopeView, mask: Mask, limit: int) -> Rows:
    """Return the first rows; those said by the person or role that the query names come before the others."""
    said = _said_by_named(parsed, view)
    if said is None:
        said = _said_by_role(parsed, view)
    groups = [mask] if said is None or not (mask & said).any() else [mask & said, mask & ~said]
    rows = np.empty(0, dtype=np.int64)
    for group in groups:
        if found is not None:
            part = in_order(found, view, limit - len(rows), group)
        else:
            inside = np.flatnonzero(group)
            part = inside[np.argsort(view.at[inside], kind="stable")][: limit - len(rows)]
        rows = np.concatenate([rows, part])
    return rows


def _names(parsed: ParsedQuery) -> set[str]:
    return {r.name.casefold() for r in parsed.entity_refs if r.stage != IMPLICIT}


def _speak(parsed: ParsedQuery, view: ScopeView | None) -> bool:
    """Say whether everybody whom the query names says something in the scope."""
    names = _names(parsed)
    if not names or view is None:
        return not names
    text = view.text
    codes = [code for code, actor in enumerate(text.actor_names) if actor.casefold() in names]
    speaking = np.unique(text.actors[np.isin(text.actors, codes) & view.alive])
    return names <= {text.actor_names[code].casefold() for code in speaking.tolist()}


def _said_by_named(parsed: ParsedQuery, view: ScopeView) -> Mask | None:
    """Mark the rows that the named people said; `None` if nobody is named."""
    names = _names(parsed)
    if not names:
        return None
    codes = [code for code, actor in enumerate(view.text.actor_names) if actor.casefold() in names]
    return np.isin(view.text.actors, codes)


def _said_by_role(parsed: ParsedQuery, view: ScopeView) -> Mask | None:
    """Mark the rows of the role whose words the query asks for, user or assistant; `None` if that is not plain.

    They go first, and the rows of the other role stay: an answer is read with its question, and `k` hits are due.
    """
    if parsed.asked_role is None or parsed.asked_role_strength < ROLE_PLAIN:
        return None
    said: Mask = view.text.roles == ROLE_CODES[parsed.asked_role]
    return said


def _a_day(window: TemporalWindow) -> bool:
    return window.start is not None and window.end is not None and window.end - window.start <= DAY
