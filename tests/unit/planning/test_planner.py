"""The decision list on stated parses: the worked examples of the sources, and every edge of every rule."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone

import pytest

from recall_integrations.config import ARMS, PlannerConfig, RecallConfig, RetrievalConfig
from recall_integrations.planning.planner import RULES, make_plan
from recall_integrations.types import EntityRef, MemoryType, ParsedQuery, QueryFeatures, TemporalWindow
from recall_integrations.types.query import PLANS, Identifier, Router
from tests.rows import each_row

DAY = TemporalWindow(
    start=datetime(2026, 3, 1, tzinfo=timezone.utc),
    end=datetime(2026, 4, 1, tzinfo=timezone.utc),
    span=(0, 8),
    confidence=0.95,
)
IMPLICIT = TemporalWindow(start=DAY.start, end=DAY.end, span=(0, 0), confidence=0.3)


def ref(name: str, confidence: float, stage: str = "exact") -> EntityRef:
    return EntityRef(
        entity_id=f"ent_{name.lower()}",
        name=name,
        mention=name,
        span=(0, len(name)),
        confidence=confidence,
        stage=stage,
    )


def parsed(specificity: float, *refs: EntityRef, rarity: float = 0.3, window=None, cues=()) -> ParsedQuery:
    return ParsedQuery(
        original="q",
        entity_refs=refs,
        temporal_window=window,
        specificity=specificity,
        features=QueryFeatures(lexical_rarity=rarity),
        type_cues=cues,
    )


WORKED = [
    ("what's my manager's communication style?", parsed(0.78, ref("Priya", 0.94)), "entity_centric"),
    ("something about deadlines", parsed(0.22), "exploratory"),
    ("what did Priya say yesterday about the MVP?", parsed(0.85, ref("Priya", 0.94), window=DAY), "precise"),
    ("Who is Sarah's manager?", parsed(0.49, ref("Sarah", 0.93), rarity=0.35), "entity_centric"),
    ("Did I finish the OAuth PR?", parsed(0.65, ref("OAuth", 0.81), ref("PR", 0.74), window=IMPLICIT), "temporal"),
    ("Something about our API", parsed(0.068, rarity=0.15), "exploratory"),
    ("What's my badge number", parsed(0.29, rarity=0.92), "precision"),
    (
        "What was happening with Inbox3 in March?",
        parsed(0.728, ref("Inbox3", 0.97), rarity=0.45, window=DAY),
        "entity_centric",
    ),
    ("what's my API key for the Recall SDK?", parsed(0.65, rarity=0.9), "precision"),
    ("who is on the backend team?", parsed(0.72, ref("backend team", 0.91)), "entity_centric"),
    (
        "what did I work on last Tuesday and Wednesday?",
        parsed(0.71, ref("user", 1.0, "implicit"), window=DAY),
        "temporal",
    ),
    ("what are my general preferences?", parsed(0.28, cues=(MemoryType.PREFERENCE,)), "exploratory"),
    (
        "what database did Priya recommend for Project Kestrel?",
        parsed(0.84, ref("Priya", 0.96), ref("Project Kestrel", 0.89)),
        "precise",
    ),
]


@each_row(("query", "given", "expected"), WORKED)
def test_worked_examples(query, given, expected):
    plan = make_plan(given, RecallConfig())
    assert plan.name == expected
    assert plan.reason.startswith(expected)


EDGES = [
    (parsed(0.8), "precise"),
    (parsed(0.7994, ref("A", 0.9)), "entity_centric"),
    (parsed(0.5, ref("A", 0.85)), "balanced"),
    (parsed(0.5, ref("A", 0.851)), "entity_centric"),
    (parsed(0.5, ref("A", 0.62, "fuzzy")), "balanced"),
    (parsed(0.5, window=DAY), "temporal"),
    (parsed(0.5, rarity=0.8), "balanced"),
    (parsed(0.5, rarity=0.801), "precision"),
    (parsed(0.39), "exploratory"),
    (parsed(0.4), "balanced"),
]


def test_names_of_plans_are_those_of_the_rules() -> None:
    assert tuple(rule.plan for rule in RULES) == PLANS


@each_row(("given", "expected"), EDGES)
def test_thresholds(given, expected):
    assert make_plan(given, RecallConfig()).name == expected


@each_row("name", [rule.plan for rule in RULES])
def test_a_given_plan_is_taken_whatever_the_rules_choose(name):
    chosen = {expected: given for given, expected in EDGES}
    assert {*chosen} == {rule.plan for rule in RULES}
    for given in chosen.values():
        plan = make_plan(given, RecallConfig(), given=name)
        assert plan.name == name and plan.reason.startswith(f"{name}: given") and plan.runner_up is None
        assert plan.rerank == plan.diversity == (name == "exploratory")
    as_chosen, as_given = make_plan(chosen[name], RecallConfig()), make_plan(chosen[name], RecallConfig(), given=name)
    assert as_given == replace(as_chosen, reason=as_given.reason, runner_up=None, runner_up_margin=None)


@each_row("given", [g for _, g, _ in WORKED] + [g for g, _ in EDGES])
def test_the_safety_semantic_runs_in_every_plan(given):
    assert make_plan(given, RecallConfig()).arm("semantic") is not None


def test_only_a_remote_embedder_lets_a_specific_entity_plan_skip_it():
    remote = RecallConfig(retrieval=RetrievalConfig(semantic_remote=True))
    assert make_plan(parsed(0.49, ref("Sarah", 0.93)), remote).arm("semantic") is None
    assert make_plan(parsed(0.3, ref("Sarah", 0.93)), remote).arm("semantic") is not None
    assert make_plan(parsed(0.2), remote).arm("semantic") is not None


def test_templates():
    config = RecallConfig()
    precise = make_plan(parsed(0.9, ref("A", 0.9)), config)
    assert [a.name for a in precise.arms] == ["semantic", "graph"] and precise.arm("semantic").limit == 20
    assert [a.name for a in make_plan(parsed(0.9), config).arms] == ["semantic"]
    assert make_plan(parsed(0.5, ref("A", 0.9)), config).arm("graph").weight == 2.0
    assert {a.name for a in make_plan(parsed(0.5, window=DAY), config).arms} >= {"temporal", "semantic"}
    assert {a.name for a in make_plan(parsed(0.5, rarity=0.9), config).arms} == {"lexical", "semantic", "graph"}
    everything = {"semantic", "lexical", "graph", "temporal", "type_filter"}
    for given in (parsed(0.1), parsed(0.5)):
        plan = make_plan(given, config)
        assert {a.name for a in plan.arms} == everything and {a.weight for a in plan.arms} == {1.0}


@each_row("arm", ARMS)
def test_an_arm_that_may_not_be_asked_is_in_no_plan(arm):
    config = RecallConfig(planner=PlannerConfig(arms=tuple(other for other in ARMS if other != arm)))
    asking = replace(
        parsed(0.5, ref("Sam", 0.9)),
        identifiers=(Identifier(text="ABC-123", kind="ticket", span=(0, 7)),),
        router=Router(graph_bias=True, reason="ownership"),
        type_filters=(MemoryType.PREFERENCE,),
    )  # rules would bring the lexical, graph and type filter arms
    given = [*(g for _, g, _ in WORKED), *(g for g, _ in EDGES), asking]
    assert {make_plan(g, config).name for g in given} == {rule.plan for rule in RULES}
    for g in given:
        full, plan = make_plan(g, RecallConfig()), make_plan(g, config)
        assert plan == replace(full, arms=tuple(a for a in full.arms if a.name != arm) or plan.arms)
        assert {a.name for a in plan.arms} <= set(config.planner.arms) and plan.arms
    assert make_plan(asking, RecallConfig()).arm(arm) is not None or arm == "temporal"


def test_rerank_and_diversity_are_for_exploratory_plans():
    for given, expected in EDGES:
        plan = make_plan(given, RecallConfig())
        assert plan.rerank == plan.diversity == (expected == "exploratory")


def test_an_entity_plan_filters_by_a_sure_window_only():
    assert make_plan(parsed(0.7, ref("Inbox3", 0.97), window=DAY), RecallConfig()).window_filter
    assert not make_plan(parsed(0.7, ref("Inbox3", 0.97), window=IMPLICIT), RecallConfig()).window_filter
    assert not make_plan(parsed(0.7, ref("Inbox3", 0.97)), RecallConfig()).window_filter


def test_type_hints_come_from_the_plan():
    plan = make_plan(parsed(0.28, cues=(MemoryType.PREFERENCE,)), RecallConfig())
    assert plan.type_hints == (MemoryType.PREFERENCE,)


def test_thresholds_come_from_the_configuration():
    config = RecallConfig(planner=PlannerConfig(precise_threshold=0.9, exploratory_threshold=0.3))
    assert make_plan(parsed(0.85), config).name == "balanced"
    assert make_plan(parsed(0.35), config).name == "balanced"


def test_every_rule_is_accounted_for():
    plan = make_plan(parsed(0.3, ref("A", 0.9), rarity=0.9, window=DAY), RecallConfig())
    assert [c.rule for c in plan.checks] == [
        "precise",
        "entity_centric",
        "temporal",
        "precision",
        "exploratory",
        "balanced",
    ]
    assert [c.fired for c in plan.checks] == [False, True, True, True, True, True]
    assert plan.runner_up == "temporal"
    assert plan.checks[0].margin == pytest.approx(-0.5)


def test_noise_in_the_last_digits_does_not_flip_a_plan():
    assert make_plan(parsed(0.8 - 1e-9), RecallConfig()).name == make_plan(parsed(0.8), RecallConfig()).name


TICKET = (Identifier(text="ABC-123", kind="ticket", span=(0, 7)),)


@each_row(
    ("given", "weight"),
    [
        (parsed(0.5, rarity=0.9), 3.0),  # precision: 2 · 1.5
        (parsed(0.5, window=DAY), 1.5),
        (parsed(0.5), 1.5),
        (parsed(0.9), 1.0),  # precise: has none, and gets one
    ],
)
def test_an_identifier_raises_the_lexical_arm(given, weight):
    plain, plan = (make_plan(g, RecallConfig()) for g in (given, replace(given, identifiers=TICKET)))
    assert plan.arm("lexical").weight == weight
    assert plan.arm("lexical").limit == RecallConfig().planner.arm_limit
    assert [a for a in plan.arms if a.name != "lexical"] == [a for a in plain.arms if a.name != "lexical"]
    assert plan.exact_match and not plain.exact_match
    assert "exact match of ticket ABC-123" in plan.reason


def graph_asked(given: ParsedQuery) -> ParsedQuery:
    return replace(given, router=Router(mode="neural", graph_bias=True, reason="ownership"))


@each_row(
    ("given", "entity_weight", "weight"),
    [
        (parsed(0.5, ref("Sam", 0.5)), 2.0, 2.0),  # balanced: 1 · 2
        (parsed(0.5, ref("Sam", 0.5)), 1.5, 1.5),  # no more than in a plan about an entity
        (parsed(0.5, ref("Sam", 0.5)), 0.5, 1.0),  # and never lowered
        (parsed(0.5, ref("Sam", 0.9)), 2.0, 2.0),  # is there already
        (parsed(0.5, ref("Sam", 0.5), window=DAY), 2.0, 1.0),  # temporal: has none, and gets one
    ],
)
def test_an_ownership_question_raises_the_graph_arm(given, entity_weight, weight):
    config = RecallConfig(planner=PlannerConfig(entity_weight=entity_weight))
    plan = make_plan(graph_asked(given), config)
    assert plan.arm("graph").weight == weight
    assert "graph bias (ownership)" in plan.reason


def test_the_graph_arm_is_raised_only_where_an_entity_is_named():
    given = parsed(0.5, ref("user", 1.0, "implicit"))
    plan = make_plan(graph_asked(given), RecallConfig())
    assert plan.arm("graph").weight == 1.0 and "graph bias" not in plan.reason


def test_a_rule_that_is_switched_off_raises_nothing():
    rules = tuple(r for r in PlannerConfig().rules if r not in ("identifiers", "graph_bias"))
    given = replace(graph_asked(parsed(0.5, ref("Sam", 0.5))), identifiers=TICKET)
    plan = make_plan(given, RecallConfig(planner=PlannerConfig(rules=rules)))
    assert {a.weight for a in plan.arms} == {1.0} and not plan.exact_match


def test_the_runner_up_is_the_plan_that_the_smallest_change_would_have_chosen():
    plan = make_plan(parsed(0.79, ref("A", 0.5), window=DAY), RecallConfig())  # .01 short of precise
    assert (plan.name, plan.runner_up, plan.runner_up_margin) == ("temporal", "precise", 0.01)
    plan = make_plan(parsed(0.5, ref("A", 0.86), window=DAY), RecallConfig())  # .01 over the entity rule's threshold
    assert (plan.name, plan.runner_up, plan.runner_up_margin) == ("entity_centric", "temporal", 0.01)
