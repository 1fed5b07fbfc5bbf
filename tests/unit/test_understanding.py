"""What the read path does with what the parser read: overrides, corrections, identifiers, types, the user, the LLM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from recall_integrations import Filters, Memory, MemoryStore, QueryOptimizer, Relation, Scope, TemporalWindow
from recall_integrations.config import PLAN_RULES, PlannerConfig, QueryConfig, RankingConfig, RecallConfig
from recall_integrations.errors import ConfigError, InvalidArgument
from recall_integrations.indexes.columns import TextColumns
from recall_integrations.planning.planner import make_plan
from recall_integrations.types import EntityRef, ParsedQuery
from recall_integrations.types.query import Identifier, Router
from tests.rows import each_row

NOW = datetime(2026, 5, 14, 1, 30, tzinfo=timezone.utc)


def on(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=timezone.utc)  # type: ignore[misc]


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as store:
        yield store


def asking(store: MemoryStore, **sections: object) -> QueryOptimizer:
    return QueryOptimizer(store, config=RecallConfig(**sections), llm=None)  # type: ignore[arg-type]


# --- time: the caller's word goes before the query's ---------------------------------------------------------------


def test_a_window_given_takes_the_place_of_the_one_in_the_text(store: MemoryStore) -> None:
    store.remember_many(
        [
            Memory("The launch went well", id="may", event_at=on(2026, 5, 13, 12)),
            Memory("The launch was moved", id="january", event_at=on(2026, 1, 10)),
        ]
    )
    optimizer = asking(store)
    query = "what about the launch yesterday"
    assert optimizer.recall(query, now=NOW).hits[0].memory.id == "may"
    january = TemporalWindow(start=on(2026, 1, 1), end=on(2026, 2, 1))
    result = optimizer.recall(query, now=NOW, window=january)
    assert result.hits[0].memory.id == "january"
    assert result.query.temporal_window == january and january.confidence == 1.0
    assert optimizer.parse(query, now=NOW, window=False).temporal_window is None
    with pytest.raises(InvalidArgument, match="window must be a TemporalWindow"):
        optimizer.recall(query, window="yesterday")  # type: ignore[arg-type]
    optimizer.close()


def test_dates_are_read_in_the_callers_time_zone(store: MemoryStore) -> None:
    optimizer = asking(store)
    window = optimizer.parse("yesterday", now=NOW, timezone="America/Los_Angeles").temporal_window
    assert window is not None and window.start is not None
    assert window.start == datetime(2026, 5, 12, 7, tzinfo=timezone.utc)  # in California it is still the 13th
    assert optimizer.parse("yesterday", now=NOW).temporal_window != window
    with pytest.raises(InvalidArgument, match="Unknown time zone 'Mars/Olympus'"):
        optimizer.parse("yesterday", timezone="Mars/Olympus")
    optimizer.close()


def test_what_lies_between_two_times_is_in_neither(store: MemoryStore) -> None:
    names = ("february", "march", "april", "may", "june", "july")
    did = ("swam in the lake", "ran ten miles", "did a lot", "painted the hall", "rode a horse", "built a shed")
    at = {name: on(2025, month, 12) for month, name in enumerate(names, start=2)}
    store.remember_many(Memory(f"I {what}", id=n, event_at=at[n]) for n, what in zip(names, did, strict=True))
    optimizer = asking(store)
    for query, inside in (
        ("what did I do in March or in June?", {"march", "june"}),
        ("What did I do in March and June?", {"march", "june"}),
        ("what did I do between March and June?", {"march", "april", "may", "june"}),
    ):
        result = optimizer.recall(query, now=on(2025, 8, 9), k=6)
        window, order = result.query.temporal_window, [hit.memory.id for hit in result.hits]
        assert window is not None and (window.start, window.end) == (on(2025, 3, 1), on(2025, 7, 1))
        assert {name for name in names if window.holds(at[name])} == inside
        assert set(order[: len(inside)]) == inside, query
        assert {hit.memory.id for hit in result.hits if "in the time asked for" in hit.reason} == inside
    optimizer.close()


# --- spelling ------------------------------------------------------------------------------------------------------


def test_a_misspelt_word_finds_what_was_meant(store: MemoryStore) -> None:
    store.remember_many(["The deployment broke on Monday", "Priya plants tomatoes", "The meeting was short"])
    optimizer = asking(store)
    result = optimizer.recall("why did the deplyment break", now=NOW)
    assert "deployment" in result.hits[0].memory.text
    (made,) = result.query.corrections
    assert (made.word, made.spelling) == ("deplyment", "deployment")
    assert result.query.corrected_query == "why did the deployment break"
    assert made.correction in result.query.terms and made.stem not in result.query.terms
    assert next(t for t in result.query.tokens if "corrected" in t.roles).span == (12, 21)
    off = asking(store, query=QueryConfig(spelling=False)).parse("why did the deplyment break", now=NOW)
    assert off.corrections == () and off.corrected_query is None
    optimizer.close()


def test_names_are_not_corrected(store: MemoryStore) -> None:
    store.add_entity("Deplyment")
    store.remember_many(["The deployment broke on Monday", "Priya plants tomatoes"])
    assert asking(store).parse("what did deplyment say", now=NOW).corrections == ()


def test_a_correction_says_nothing_of_the_memories_under_block(store: MemoryStore) -> None:
    store.remember("The deployment broke on Monday")
    optimizer = asking(store)
    result = optimizer.recall("why did the deplyment break", now=NOW, privacy="block")
    assert result.query.corrections == () and result.query.corrected_query is None
    assert "deploy" not in result.query.terms
    optimizer.close()


# --- identifiers, types, recency -----------------------------------------------------------------------------------


def test_what_holds_the_identifier_letter_by_letter_is_first(store: MemoryStore) -> None:
    store.remember_many(
        [
            Memory("ABC ticket 123: the invoice total, invoice rounding and invoice lines are wrong", id="words"),
            Memory("Somebody should look into ABC-123 at last", id="exact"),
            Memory("ABC-1234: the invoice total is wrong", id="longer"),
        ]
    )
    optimizer = asking(store)
    result = optimizer.recall("invoice total of ABC-123", now=NOW)
    assert result.hits[0].memory.id == "exact"
    assert result.plan.exact_match and "exact match of ticket ABC-123" in result.plan.reason
    assert {c.source for c in result.hits[0].contributions} >= {"exact"}
    rules = tuple(r for r in PLAN_RULES if r != "identifiers")
    off = asking(store, planner=PlannerConfig(rules=rules)).recall("invoice total of ABC-123", now=NOW)
    assert not off.plan.exact_match and off.hits[0].memory.id != "exact"
    optimizer.close()


def test_fewer_preferences_than_asked_for_come_first_and_the_rest_follows(store: MemoryStore) -> None:
    store.remember_many(
        [
            *(Memory(f"My preferences list, part {i}", id=f"note-{i}") for i in range(6)),
            Memory("Tea over coffee", id="tea", type="preference"),
            Memory("Dark mode everywhere", id="dark", type="preference"),
        ]
    )
    optimizer = asking(store)
    found = optimizer.recall("what are my preferences?", now=NOW, k=5)
    assert {h.memory.id for h in found.hits[:2]} == {"tea", "dark"} and len(found.hits) == 5
    assert [h.score for h in found.hits] == sorted((h.score for h in found.hits), reverse=True)
    assert len(optimizer.recall("what are my preferences?", now=NOW, k=2).hits) == 2
    optimizer.close()


def test_a_preference_question_without_preferences_is_answered_all_the_same(store: MemoryStore) -> None:
    store.remember("My preferences are in the handbook")
    assert len(asking(store).recall("what are my preferences?", now=NOW).hits) == 1


def test_the_latest_comes_first_when_asked_for(store: MemoryStore) -> None:
    store.remember_many(
        [
            Memory("Status of Kestrel: the parser is done", id="old", event_at=NOW - timedelta(days=90)),
            Memory("Status of Kestrel: the planner is done", id="new", event_at=NOW - timedelta(days=1)),
        ]
    )
    optimizer = asking(store)
    result = optimizer.recall("latest status of Kestrel", now=NOW)
    assert result.plan.time_bias and result.hits[0].memory.id == "new"
    optimizer.close()


# --- the user ------------------------------------------------------------------------------------------------------


def test_the_user_is_in_every_query_and_chooses_no_plan(store: MemoryStore) -> None:
    optimizer, scope = asking(store), Scope(user_id="henrietta")
    store.remember("Tea over coffee", scope=scope)
    parsed = optimizer.parse("what about tea", scope=scope, now=NOW)
    (user,) = parsed.entity_refs
    assert (user.name, user.stage, user.confidence, user.span) == ("henrietta", "implicit", 1.0, (0, 0))
    assert optimizer.plan(parsed).name != "entity_centric" and parsed.features.entity_density == 0
    assert optimizer.parse("what about my tea", scope=scope, now=NOW).entity_refs[0].mention == "my"
    optimizer.close()


def test_who_is_my_manager_starts_from_the_user(store: MemoryStore) -> None:
    scope = Scope(user_id="Henrietta")
    store.remember_many(
        [
            Memory("Since May it is Priya", id="edge", relations=[Relation("Henrietta", "reports_to", "Priya")]),
            *(Memory(f"Every manager should read book {i}", id=f"book-{i}") for i in range(5)),
        ],
        scope=scope,
    )
    optimizer = asking(store)
    mine = optimizer.recall("who is my manager?", scope=scope, now=NOW)
    assert mine.hits[0].memory.id == "edge"
    assert any(c.source == "edge" and c.added > 0 for c in mine.hits[0].contributions)
    nobodys = optimizer.recall("who is a manager?", scope=scope, now=NOW)
    assert not any(c.source == "edge" for h in nobodys.hits for c in h.contributions)
    optimizer.close()


@pytest.mark.parametrize("mode", ["redact", "block"])
def test_a_correction_is_not_shown_where_texts_are_withheld(store: MemoryStore, mode: str) -> None:
    store.remember_many(["write to zbigniewski@corp.example about the invoice", "Tea over coffee"])
    optimizer = asking(store)
    result = optimizer.recall("what about zbignievski", now=NOW, privacy=mode)
    assert "zbigniewski" not in repr((result.query, result.plan))
    optimizer.close()


@pytest.mark.parametrize("mode", ["redact", "block"])
def test_the_users_id_is_not_shown_where_texts_are_withheld(store: MemoryStore, mode: str) -> None:
    scope = Scope(user_id="henrietta@example.org")
    store.remember(Memory("Priya likes tea", actor="henrietta@example.org"), scope=scope)
    optimizer = asking(store)
    result = optimizer.recall("what does Priya like", scope=scope, now=NOW, privacy=mode)
    shown = repr((result.query, result.plan, result.hits[0].reason))
    assert "henrietta" not in shown and "example_org" not in shown
    optimizer.close()


# --- what comes beside a hit ---------------------------------------------------------------------------------------


def test_neighbours_come_in_order_and_only_what_the_filters_let_through(store: MemoryStore) -> None:
    kinds = ["fact", "observation", "fact", "observation", "fact"]
    store.remember_many(
        [
            Memory(f"{word} of the Kestrel", id=str(i), thread="t", position=i, type=kinds[i])
            for i, word in enumerate(["Wings", "Beak", "Colour", "Nest", "Tail"])
        ]
    )
    optimizer = asking(store)
    hit = optimizer.recall("colour of the Kestrel", k=1, now=NOW, context=2).hits[0]
    assert hit.memory.id == "2" and [m.id for m in hit.context] == ["0", "1", "3", "4"]
    facts = Filters(types=["fact"])
    hit = optimizer.recall("colour of the Kestrel", k=1, now=NOW, context=2, filters=facts).hits[0]
    assert [m.id for m in hit.context] == ["0", "4"]
    hidden = optimizer.recall("colour of the Kestrel", k=1, now=NOW, context=1, privacy="block").hits[0]
    assert [m.text for m in hidden.context] == ["", ""]
    with pytest.raises(InvalidArgument, match="context"):
        optimizer.recall("colour", context=-1)
    optimizer.close()


def test_what_says_the_same_again_takes_no_place(store: MemoryStore) -> None:
    store.remember_many(
        [
            Memory("The wifi password is on the fridge in the kitchen", id="a"),
            Memory("The wifi password is on the fridge in the kitchen.", id="b"),
            Memory("The wifi password is not on the fridge in the kitchen", id="denied"),
            Memory("Sam reports to Priya in the wifi team", id="sam"),
            Memory("Priya reports to Sam in the wifi team", id="priya"),
        ]
    )
    optimizer = asking(store)
    result = optimizer.recall("wifi password on the fridge", k=4, now=NOW)
    assert {h.memory.id for h in result.hits} == {"a", "denied", "sam", "priya"}
    assert next(h for h in result.hits if h.memory.id == "a").duplicates == ("b",)
    every = optimizer.recall("wifi password on the fridge", k=5, now=NOW)
    assert len(every.hits) == 5  # five are wanted, and there is nothing else
    assert every.hits[0].memory.id == "a"
    assert "b" in [h.memory.id for h in every.hits[:3]]  # where its own score puts it
    assert not any(h.duplicates for h in every.hits)
    optimizer.close()


def test_many_copies_take_one_place(store: MemoryStore) -> None:
    copies = [Memory("The wifi password is on the fridge", id=f"copy-{i:02}") for i in range(30)]
    store.remember_many(
        [*copies, *(Memory(f"Wifi in room {i} is slow, password unknown", id=f"r{i}") for i in range(9))]
    )
    optimizer = asking(store)
    result = optimizer.recall("wifi password", k=5, now=NOW)
    assert sum(h.memory.id.startswith("copy") for h in result.hits) == 1 and len(result.hits) == 5
    optimizer.close()


def test_nothing_rather_than_noise_where_that_is_asked_for(store: MemoryStore) -> None:
    store.remember_many([f"Note {i} about gardening and tomatoes" for i in range(30)])
    sure = asking(store, ranking=RankingConfig(abstain_below=0.99))
    result = sure.recall("quarterly tax filing of the Kestrel project", now=NOW)
    assert result.hits == () and result.confidence is not None and result.confidence < 0.99
    assert [(d.stage, d.reason) for d in result.degraded] == [("deliver", "abstain")]
    sure.close()


def test_a_ranking_that_fails_leaves_the_order_of_the_arms(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.remember_many(["The deployment broke on Monday", "Priya plants tomatoes"])
    optimizer = asking(store, query=QueryConfig(spelling=False))

    def broken(*_arguments: object) -> int:
        raise OSError("disk")

    monkeypatch.setattr(TextColumns, "frequency", broken)
    result = optimizer.recall("when did the deployment break", now=NOW)
    assert "deployment" in result.hits[0].memory.text
    assert "rank" in {d.stage for d in result.degraded}
    optimizer.close()


@each_row(
    "bad",
    [
        *[{"confidence": float("nan")}, {"confidence": 50}, {"span": (-3, 2)}, {"span": (5, 2)}],
        {"alternatives": ((on(2026, 1, 2), on(2026, 1, 3)), (on(2026, 1, 5), None))},  # begins later than the window
        {"alternatives": ((on(2026, 1, 1), on(2026, 1, 3)), (on(2026, 1, 3), None))},  # no gap
        {"alternatives": ((on(2026, 1, 1), None), (on(2026, 1, 3), None))},
    ],
)
def test_windows_that_make_no_sense(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(bad))):
        TemporalWindow(start=on(2026, 1, 1), **bad)


# --- the language model --------------------------------------------------------------------------------------------


def test_the_language_model_is_asked_about_names_only_if_it_is_allowed(store: MemoryStore) -> None:
    store.add_entity("Sam Okafor")
    store.add_entity("Sam Lindqvist")
    store.remember_many(["Sam Okafor leads the Kestrel launch", "Sam Lindqvist bakes bread"])
    asked: list[str] = []

    def llm(prompt: str) -> str:
        asked.append(prompt)
        return "A: 1\nB: none" if "Mention B" in prompt else "A: 1"

    quiet = QueryOptimizer(store, llm=llm)
    assert all(r.confidence <= 0.85 for r in quiet.parse("did Sam launch Kestrel", now=NOW).entity_refs[:-1])
    assert not asked
    optimizer = QueryOptimizer(store, llm=llm, config=RecallConfig(query=QueryConfig(entity_llm=True)))
    refs = optimizer.parse("did Sam launch Kestrel", now=NOW).entity_refs
    assert len(asked) == 1 and [r.stage for r in refs].count("llm") == 1
    optimizer.parse("did Sam launch Kestrel", now=NOW)
    assert len(asked) == 1  # from the cache
    quiet.close()
    optimizer.close()


def test_a_language_model_that_fails_is_named_and_costs_nothing(store: MemoryStore) -> None:
    store.add_entity("Sam Okafor")
    store.add_entity("Sam Lindqvist")
    store.remember_many(["Sam Okafor leads the Kestrel launch", "Sam Lindqvist bakes bread"])

    def llm(_prompt: str) -> str:
        raise RuntimeError("no credit")

    config = RecallConfig(
        query=QueryConfig(entity_llm=True), planner=PlannerConfig(precise_threshold=0.0, exploratory_threshold=0.0)
    )
    optimizer = QueryOptimizer(store, llm=llm, config=config)
    result = optimizer.recall("did Sam launch Kestrel", now=NOW)
    assert result.hits and ("parse.entities.llm", "error") in {(d.stage, d.reason) for d in result.degraded}
    optimizer.close()


# --- the planner's second half -------------------------------------------------------------------------------------


def named(name: str = "Kestrel") -> EntityRef:
    return EntityRef(entity_id="e", name=name, mention=name, span=(0, 7), confidence=0.9, stage="exact")


def test_graph_bias_needs_somebody_to_start_from() -> None:
    owns = ParsedQuery(original="q", router=Router(mode="hybrid", reason="hybrid: ownership", graph_bias=True))
    assert "graph bias" not in make_plan(owns, RecallConfig()).reason
    plan = make_plan(replace(owns, entity_refs=(named(),)), RecallConfig())
    graph = plan.arm("graph")
    assert graph is not None and graph.weight == 2.0 and "graph bias" in plan.reason


def test_an_identifier_brings_the_lexical_arm_into_a_precise_plan() -> None:
    item = Identifier(text="ABC-123", kind="ticket", span=(0, 7))
    plan = make_plan(ParsedQuery(original="q", specificity=0.9, identifiers=(item,)), RecallConfig())
    assert plan.name == "precise" and plan.arm("lexical") is not None and plan.exact_match


def test_small_talk_drops_bm25_only_where_that_is_switched_on(store: MemoryStore) -> None:
    store.remember_many([f"It is working in the office, day {i}" for i in range(40)])
    query = "is this up and working"
    off, on_ = asking(store), asking(store, planner=PlannerConfig(rules=PLAN_RULES))
    assert off.parse(query, now=NOW).conversational.conversational
    assert off.plan(off.parse(query, now=NOW)).arm("lexical") is not None
    plan = on_.plan(on_.parse(query, now=NOW))
    assert plan.arm("lexical") is None and not plan.rewrite and "conversational, no BM25" in plan.reason
    off.close()
    on_.close()


def test_rules_are_known_ones() -> None:
    with pytest.raises(ConfigError, match="Unknown name 'magic' in planner.rules"):
        PlannerConfig(rules=("magic",))
    config = RecallConfig.from_mapping({"planner": {"rules": ["window_filter", "identifiers"]}})
    assert config.planner.rules == ("identifiers", "window_filter")
    with pytest.raises(ConfigError, match=r"planner\.rules must be a list of names"):
        RecallConfig.from_mapping({"planner": {"rules": "identifiers"}})


def test_the_runner_up_is_the_nearest_other_plan() -> None:
    plan = make_plan(ParsedQuery(original="q", specificity=0.79), RecallConfig())
    assert (plan.name, plan.runner_up, plan.runner_up_margin) == ("balanced", "precise", 0.01)
    plan = make_plan(ParsedQuery(original="q", specificity=0.39), RecallConfig())
    assert (plan.name, plan.runner_up, plan.runner_up_margin) == ("exploratory", "balanced", 0.01)


@pytest.mark.parametrize(("old", "said"), [(0, False), (1, True), (9, True)])
def test_recent_is_a_reason_only_where_most_of_the_scope_is_not(store: MemoryStore, old: int, said: bool) -> None:
    store.remember_many(
        [
            *(Memory(f"The heron stood at pond {i}", event_at=NOW - timedelta(days=400)) for i in range(old)),
            *(Memory(f"A heron flew over roof {i}", event_at=NOW - timedelta(days=i)) for i in range(2)),
            Memory("The heron is a bird", event_at=NOW - timedelta(days=31)),
        ]
    )
    optimizer = asking(store)
    result = optimizer.recall("heron", k=20, now=NOW)
    assert len(result.hits) == old + 3
    recent = {h.memory.text[:12] for h in result.hits if "recent" in h.reason}
    assert recent == ({"A heron flew"} if said else set())
    optimizer.close()


def test_what_was_imported_today_is_not_recent(store: MemoryStore) -> None:
    store.remember_many([f"Heron number {i} was seen" for i in range(6)])
    optimizer = asking(store)
    assert not any("recent" in h.reason for h in optimizer.recall("heron", now=NOW).hits)
    optimizer.close()
