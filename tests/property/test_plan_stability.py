"""Plans are stable: what the planner decides on is rounded, and no way of writing the same question changes it.

The property, precisely. The normalised vector of a query is its four features rounded to three decimals; the
specificity follows from it. Queries with the same normalised vector, the same confidences of references (rounded
alike), the same window and the same readings (cues, identifiers, router, small talk) get the same plan. So a value may
be off by anything less than half a unit of the third decimal around a rounded value. Rounding has edges of its own: a
value on the edge between two of them (.7995) may fall on either side, and if a threshold lies there, so does the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import cycle

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from recall_integrations.config import RecallConfig, RetrievalConfig
from recall_integrations.planning.planner import make_plan
from recall_integrations.query.by_table.cues import type_cues
from recall_integrations.query.features import ROUNDING, normalised, router_mode, specificity
from recall_integrations.types import (
    EntityRef,
    MemoryType,
    ParsedQuery,
    QueryFeatures,
    RetrievalPlan,
    TemporalWindow,
)
from recall_integrations.types.query import ConversationalVerdict, Identifier, Router
from tests.quick import examples
from tests.rows import each_row

NOW = datetime(2024, 5, 15, 12, 0, tzinfo=timezone.utc)
UNIT = 10**-ROUNDING
CONFIG = RecallConfig()


def acts(plan: RetrievalPlan) -> RetrievalPlan:
    """All of a plan that has an effect."""
    return replace(plan, reason="", checks=(), runner_up=None, runner_up_margin=None)


# -- the planner ---------------------------------------------------------------------------------------------------

# Thousandths, more often those beside a threshold than chance would give.
grid = st.one_of(st.integers(0, 1000), st.sampled_from([399, 400, 401, 799, 800, 801, 849, 850, 851])).map(
    lambda n: n / 1000
)
noise = st.floats(-0.499, 0.499).map(lambda share: share * UNIT)
vectors = st.builds(
    QueryFeatures,
    entity_density=grid,
    temporal=grid,
    lexical_rarity=grid,
    type_cues=st.sampled_from([0, 0.2, 0.4, 0.6]),
)
windows = st.one_of(
    st.none(),
    st.sampled_from([0.4, 0.499, 0.5, 0.97]).map(
        lambda c: TemporalWindow(start=NOW - timedelta(days=2), end=NOW, span=(0, 4), confidence=c)
    ),
)
stages = st.sampled_from(["exact", "alias", "fuzzy", "llm", "implicit"])
refs = st.lists(st.tuples(grid, noise, stages), max_size=3)
types = st.lists(st.sampled_from(list(MemoryType)), max_size=2, unique=True).map(tuple)
readings = st.fixed_dictionaries(
    {
        "temporal_window": windows,
        "type_cues": types,
        "type_filters": types,
        "identifiers": st.sampled_from([(), (Identifier(text="ABC-1", kind="ticket", span=(0, 5)),)]),
        "router": st.builds(
            Router,
            mode=st.sampled_from(["knowledge", "neural", "hybrid"]),
            reason=st.sampled_from(["", "x"]),
            graph_bias=st.booleans(),
            time_bias=st.booleans(),
        ),
        "conversational": st.builds(ConversationalVerdict, conversational=st.booleans()),
    }
)
configs = st.sampled_from([CONFIG, RecallConfig(retrieval=RetrievalConfig(semantic_remote=True))])


def beside(value: float, off: float) -> float:
    """A value that is off by a little, and still one between 0 and 1."""
    return min(max(value + off, 0.0), 1.0)


def ref(i: int, confidence: float, stage: str) -> EntityRef:
    return EntityRef(entity_id=f"e{i}", name="Priya", mention="Priya", span=(0, 5), confidence=confidence, stage=stage)


def query(vector: QueryFeatures, named: tuple[EntityRef, ...], read: dict[str, object]) -> ParsedQuery:
    return ParsedQuery(
        original="q",
        entity_refs=named,
        features=vector,
        specificity=specificity(normalised(vector)),
        **read,  # type: ignore[arg-type]
    )


@settings(max_examples=examples(500), deadline=None)
@given(vector=vectors, off=st.tuples(noise, noise, noise, noise), named=refs, read=readings, config=configs)
def test_the_same_normalised_vector_gives_the_same_plan(
    vector: QueryFeatures,
    off: tuple[float, ...],
    named: list[tuple[float, float, str]],
    read: dict[str, object],
    config: RecallConfig,
) -> None:
    values = (vector.entity_density, vector.temporal, vector.lexical_rarity, vector.type_cues)
    density, temporal, rarity, cues = (beside(v, e) for v, e in zip(values, off, strict=True))
    near = QueryFeatures(entity_density=density, temporal=temporal, lexical_rarity=rarity, type_cues=cues)
    assert normalised(near) == normalised(vector)
    one = query(vector, tuple(ref(i, c, stage) for i, (c, _, stage) in enumerate(named)), read)
    other = query(near, tuple(ref(i, beside(c, e), stage) for i, (c, e, stage) in enumerate(named)), read)
    assert acts(make_plan(one, config)) == acts(make_plan(other, config))


@settings(max_examples=examples(300), deadline=None)
@given(value=grid, off=noise, window=windows, config=configs)
@example(value=0.8, off=-0.0004, window=None, config=CONFIG)
@example(value=0.4, off=-0.0004, window=None, config=RecallConfig(retrieval=RetrievalConfig(semantic_remote=True)))
def test_noise_in_the_specificity_changes_nothing(
    value: float, off: float, window: TemporalWindow | None, config: RecallConfig
) -> None:
    for named in ((), (ref(0, 0.9, "exact"),)):
        base = ParsedQuery(original="q", specificity=value, temporal_window=window, entity_refs=named)
        assert acts(make_plan(base, config)) == acts(make_plan(replace(base, specificity=beside(value, off)), config))


@given(value=grid, off=noise)
@example(value=0.5, off=-0.0004)
@example(value=0.5, off=0.0004)
def test_noise_in_the_confidence_of_a_window_changes_nothing(value: float, off: float) -> None:
    def plan(confidence: float) -> RetrievalPlan:
        window = TemporalWindow(start=NOW - timedelta(days=2), end=NOW, span=(0, 4), confidence=confidence)
        return acts(
            make_plan(ParsedQuery(original="q", temporal_window=window, entity_refs=(ref(0, 0.9, "exact"),)), CONFIG)
        )

    assert plan(value) == plan(beside(value, off))


def test_the_edge_between_two_rounded_values_is_where_a_plan_may_change() -> None:
    def plan(value: float) -> str:
        return make_plan(ParsedQuery(original="q", specificity=value), CONFIG).name

    assert plan(0.7996) == plan(0.8) == plan(0.8004) == "precise"
    assert plan(0.7994) == plan(0.799) == "balanced"


# -- the whole path ------------------------------------------------------------------------------------------------

TEXTS: tuple[tuple[str | None, str, tuple[str, ...], str], ...] = (
    ("Priya Raman", "Priya recommended PostgreSQL as the database for Project Kestrel.", ("Project Kestrel",), "fact"),
    ("Sarah Lindqvist", "I report to Priya and I own the budget.", ("Priya Raman",), "fact"),
    ("Priya Raman", "Deadlines for the MVP moved to June.", (), "event"),
    (None, "Inbox3 was migrated in March and the queue was slow.", ("Inbox3",), "event"),
    (None, "The backend team is Sam, Sarah and Henrietta.", ("backend team",), "fact"),
    (None, "I prefer async updates over meetings.", (), "preference"),
    (None, "My badge number is 4711.", (), "fact"),
    (None, "Merged the OAuth PR after two reviews.", (), "event"),
    (None, "The deployment of Kestrel waits for ticket ABC-123.", ("Project Kestrel",), "observation"),
    (None, "The frontend release notes are in docs/release.md.", (), "chunk"),
    ("Sam Ortiz", "We talked about the release deadlines and the budget.", (), "observation"),
)
COMMON = (
    "The meeting about the release was moved.",
    "We talked about our API and the work on it.",
    "What happened with the release?",
    "The team said the deadlines are tight.",
    "I work on the API every week.",
    "We did something about deadlines.",
)
NAMES = {
    "Priya Raman": ["Priya"],
    "Sarah Lindqvist": ["Sarah"],
    "Sam Ortiz": ["Sam"],
    "Project Kestrel": ["Kestrel"],
    "Inbox3": [],
    "backend team": [],
}

QUERIES = (
    "what did Priya say yesterday about the MVP?",
    "who is Sarah's manager?",
    "did I finish the OAuth PR?",
    "something about our API",
    "what's my badge number?",
    "what was happening with Inbox3 in March?",
    "who is on the backend team?",
    "what did I work on last Tuesday and Wednesday?",
    "what are my preferences?",
    "what database did Priya recommend for Project Kestrel?",
    "something about deadlines",
    "notes about the release, not the frontend",
    "who owns Project Kestrel?",
    "what happened with the release last week?",
    "where are the release notes?",
    "what did Priya say about deadlines?",
    "what does Sam think about the budget?",
)
IDENTIFIED = "what is the state of ABC-123?"  # letters in another case are another identifier

CASE: dict[str, Callable[[str], str]] = {
    "lower": str.lower,
    "upper": str.upper,
    "title": str.title,
    "swapped": str.swapcase,
    "sentence": lambda q: q[:1].upper() + q[1:],
}
SURFACE: dict[str, Callable[[str], str]] = {
    "no mark": lambda q: q.rstrip("?"),
    "two marks": lambda q: q + "?",
    "exclamation": lambda q: q.rstrip("?") + "!!",
    "dots": lambda q: q.rstrip("?") + "...",
    "stop": lambda q: q.rstrip("?") + ".",
    "spaced mark": lambda q: q.rstrip("?") + " ?",
    "parentheses": lambda q: f"({q})",
    "typographic": lambda q: q.replace("'", "’"),
    "padded": lambda q: f"  {q} \n",
    "double spaces": lambda q: q.replace(" ", "  "),
    "tabs": lambda q: q.replace(" ", "\t"),
    "no-break spaces": lambda q: q.replace(" ", "\u00a0"),
}
POLITE: dict[str, Callable[[str], str]] = {
    "please": lambda q: f"please, {q}",
    "Please": lambda q: f"Please {q}",
    "tell me": lambda q: f"can you tell me {q}",
    "could you": lambda q: f"Could you please tell me {q}",
    "I'd like": lambda q: f"I'd like to know {q}",
    "hey": lambda q: f"hey, {q}",
    "thanks": lambda q: f"{q} Thanks!",
    "at the end": lambda q: q.rstrip("?") + ", please?",
}

# The same question in another order, or in other words. Words are the scope's: one that no memory holds is rare.
SAME = (
    (
        "what did Priya say yesterday about the MVP?",
        "about the MVP, what did Priya say yesterday?",
        "yesterday, what did Priya say about the MVP?",
        "what did Priya say about the MVP yesterday?",
        "the MVP: what did Priya say about it yesterday?",
    ),
    (
        "what happened with the release last week?",
        "last week, what happened with the release?",
        "with the release, what happened last week?",
    ),
    (
        "what was happening with Inbox3 in March?",
        "in March, what was happening with Inbox3?",
        "with Inbox3, what was happening in March?",
    ),
    (
        "what database did Priya recommend for Project Kestrel?",
        "for Project Kestrel, what database did Priya recommend?",
        "Priya recommended what database for Project Kestrel?",
        "which database did Priya suggest for Kestrel?",
    ),
    (
        "what did I work on last Tuesday and Wednesday?",
        "last Tuesday and Wednesday, what did I work on?",
        "what did I work on last Wednesday and Tuesday?",
    ),
    (
        "notes about the release, not the frontend",
        "not the frontend, notes about the release",
        "release notes, not the frontend",
        "notes about the release, excluding the frontend",
        "notes about the release except the frontend",
    ),
    (
        "who is on the backend team?",
        "who's on the backend team?",
        "on the backend team, who is there?",
        "who are the members of the backend team?",
        "the backend team: who is on it?",
        "who belongs to the backend team?",
    ),
    (
        "who is Sarah's manager?",
        "who's Sarah's manager?",
        "who is the manager of Sarah?",
        "who manages Sarah?",
        "who does Sarah report to?",
        "Sarah's manager is who?",
    ),
    (
        "did I finish the OAuth PR?",
        "have I finished the OAuth PR?",
        "the OAuth PR, did I finish it?",
        "did I complete the OAuth PR?",
    ),
    ("something about our API", "anything about our API", "stuff about our API", "something on our API"),
    ("what's my badge number?", "what is my badge number?", "my badge number?", "what is the number of my badge?"),
    ("what are my preferences?", "my preferences", "which preferences do I have?"),
    (
        "who owns Project Kestrel?",
        "who is the owner of Project Kestrel?",
        "Project Kestrel is owned by whom?",
        "who is responsible for Project Kestrel?",
    ),
    (IDENTIFIED, "what's the state of ABC-123?", "ABC-123: what is its state?", "state of ABC-123"),
    (
        "what did Priya say about deadlines?",
        "about deadlines, what did Priya say?",
        "what has Priya said about deadlines?",
    ),
)


@pytest.fixture(scope="module")
def optimizer(module_embedding: object) -> Iterator[QueryOptimizer]:
    with MemoryStore.open(embedding=module_embedding) as store:
        for name, aliases in NAMES.items():
            store.add_entity(name, aliases=aliases)
        telling = [
            Memory(text, id=f"m{i}", actor=actor, entities=names, type=kind, event_at=NOW - timedelta(days=10 + i))
            for i, (actor, text, names, kind) in enumerate(TEXTS)
        ]
        common = [
            Memory(f"{text} {i}", id=f"c{i}", event_at=NOW - timedelta(days=i))
            for i, text in zip(range(120), cycle(COMMON), strict=False)
        ]
        store.remember_many([*telling, *common])
        made = QueryOptimizer(store)
        yield made
        made.close()


def planned(optimizer: QueryOptimizer, text: str) -> RetrievalPlan:
    return acts(optimizer.plan(optimizer.parse(text, now=NOW)))


@each_row("way", [*CASE, *SURFACE, *POLITE])
def test_case_punctuation_space_and_politeness_change_no_plan(optimizer: QueryOptimizer, way: str) -> None:
    change = (CASE | SURFACE | POLITE)[way]
    changed = [q for q in QUERIES if planned(optimizer, q) != planned(optimizer, change(q))]
    assert changed == []


@each_row("way", [*SURFACE, *POLITE, "upper"])
def test_an_identifier_is_one_in_any_surroundings(optimizer: QueryOptimizer, way: str) -> None:
    change = (CASE | SURFACE | POLITE)[way]
    assert planned(optimizer, IDENTIFIED) == planned(optimizer, change(IDENTIFIED))
    assert planned(optimizer, IDENTIFIED).exact_match


@each_row("same", SAME)
def test_order_and_wording_change_no_plan(optimizer: QueryOptimizer, same: tuple[str, ...]) -> None:
    plans = {text: planned(optimizer, text) for text in same}
    assert {text: plan for text, plan in plans.items() if plan != plans[same[0]]} == {}


@settings(max_examples=examples(150), deadline=None)
@given(data=st.data())
def test_ways_of_writing_combine(optimizer: QueryOptimizer, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(QUERIES))
    written = text
    for ways in (CASE, SURFACE):
        written = ways[data.draw(st.sampled_from(list(ways)))](written)
    assert planned(optimizer, text) == planned(optimizer, written)


@each_row("text", QUERIES)
def test_the_specificity_follows_from_the_normalised_vector(optimizer: QueryOptimizer, text: str) -> None:
    parsed = optimizer.parse(text, now=NOW)
    assert round(parsed.specificity, 9) == round(specificity(normalised(parsed.features)), 9)


# -- what makes it so ----------------------------------------------------------------------------------------------


@each_row("text", QUERIES)
def test_cues_and_intents_do_not_look_at_white_space(text: str) -> None:
    for spaced in (text.replace(" ", "  "), text.replace(" ", "\u00a0"), f"\t{text}\n"):
        assert type_cues(spaced) == type_cues(text)
        assert router_mode(spaced) == router_mode(text)


def test_a_question_may_begin_after_a_courtesy() -> None:
    plain = type_cues("who is on the backend team?")
    assert plain[0] == 0.6
    for before in ("please, ", "can you tell me ", "hey, ", "the backend team: ", "do you know "):
        assert type_cues(f"{before}who is on the backend team?") == plain
    assert type_cues("the people who are on the backend team")[0] == 0
