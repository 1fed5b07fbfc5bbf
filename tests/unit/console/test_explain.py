from __future__ import annotations

import io
import json
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from recall_integrations.config import PlannerConfig, RecallConfig
from recall_integrations.console import demo as demo_data
from recall_integrations.console.demo import demo_optimizer
from recall_integrations.console.explain import asked_arms, explain, show_query
from recall_integrations.delivery.as_data import dumps, explanation_data, result_data
from recall_integrations.delivery.highlights import Mark, marks
from recall_integrations.optimizer import QueryOptimizer
from recall_integrations.planning.planner import make_plan
from recall_integrations.query.findings import ScopeKnowledge
from recall_integrations.query.parser import QueryParser, clean
from recall_integrations.types import (
    Contribution,
    Degradation,
    EntityRef,
    Hit,
    Memory,
    MemoryType,
    ParsedQuery,
    RecallResult,
    Scope,
    TemporalWindow,
)
from recall_integrations.types.query import Correction, QueryToken
from recall_integrations.types.result import Decision
from recall_integrations.types.roles import Role
from tests.quick import examples
from tests.rows import each_row

QUERY = "what did Priya say about the deplyment and ABC-123 yesterday, not the frontend?"
NOW = datetime(2026, 4, 20, 9, tzinfo=timezone.utc)
CONFIG = RecallConfig()
USER = EntityRef(entity_id="u", name="Henrietta", mention="", span=(0, 0), confidence=1.0, stage="implicit")


@pytest.fixture(scope="module")
def optimizer() -> Iterator[QueryOptimizer]:
    with demo_optimizer() as opened:
        opened.store.warm(scope=demo_data.SCOPE)
        yield opened


@pytest.fixture(scope="module")
def result(optimizer: QueryOptimizer) -> RecallResult:
    return optimizer.recall(QUERY, k=3, scope=demo_data.SCOPE)


def console(width: int = 80, **options: object) -> Console:
    return Console(file=io.StringIO(), width=width, highlight=False, emoji=False, markup=False, **options)  # type: ignore[arg-type]


def text_of(target: Console) -> str:
    assert isinstance(target.file, io.StringIO)
    return target.file.getvalue()


def shown(found: RecallResult | ParsedQuery, width: int = 80, config: RecallConfig = CONFIG) -> str:
    target = console(width)
    explain(target, found, config=config)
    return text_of(target)


def line_of(text: str, start: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(start))


def section(text: str, title: str) -> str:
    """The lines below a heading, down to the next one."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(title) and line.endswith("──")) + 1
    last = next((i for i in range(first, len(lines)) if lines[i].endswith("──")), len(lines))
    return "\n".join(lines[first:last])


def query_rows(parsed: ParsedQuery, width: int = 80) -> list[str]:
    target = console(width)
    show_query(target, parsed)
    return [line.rstrip() for line in text_of(target).splitlines() if line.strip()]


def parse(text: str) -> ParsedQuery:
    parser = QueryParser(CONFIG)
    parsed, _ = parser.parse(clean(text, 100_000), NOW, ScopeKnowledge(user=USER))
    return parsed


def marked(text: str, *roles: tuple[str, str]) -> ParsedQuery:
    """A query in which each word of `roles` plays a part."""
    tokens = [
        QueryToken(span=(text.index(word), text.index(word) + len(word)), stem=word, roles=(role,))
        for word, role in roles
    ]
    return ParsedQuery(original=text, tokens=tuple(tokens), now=NOW)


# -- the query with its words marked -----------------------------------------------------------------------------------


def test_a_very_long_query_is_cut() -> None:
    assert "… and 28,000 characters more" in "\n".join(query_rows(marked("x" * 30_000)))


def test_marks_join_the_words_of_one_name_and_of_one_exclusion() -> None:
    ref = EntityRef(entity_id="e", name="P", mention="Project Kestrel", span=(0, 15), confidence=1.0, stage="exact")
    parsed = marked(
        "Project Kestrel Sam not us", ("Project", "entity"), ("Kestrel", "entity"), ("Sam", "entity"),
        ("not", "negated"), ("us", "negated"),
    )  # fmt: skip
    found = marks(replace(parsed, entity_refs=(ref,)))
    assert found == [Mark(0, 15, "entity"), Mark(16, 19, "entity"), Mark(20, 26, "negated")]


def test_what_is_excluded_is_not_marked_as_the_name_that_it_is() -> None:
    ref = EntityRef(entity_id="e", name="K", mention="Project Kestrel", span=(4, 19), confidence=1.0, stage="exact")
    parsed = marked("not Project Kestrel", ("not", "negated"), ("Project", "negated"), ("Kestrel", "negated"))
    assert marks(replace(parsed, entity_refs=(ref,))) == [Mark(0, 19, "negated")]


def test_of_several_parts_the_first_is_shown_and_pairs_of_characters_may_overlap() -> None:
    tokens = (
        QueryToken(span=(0, 2), stem="a", roles=("rare",)),
        QueryToken(span=(1, 3), stem="b", roles=("entity", "rare")),
    )
    assert marks(ParsedQuery(original="東京都", tokens=tokens)) == [Mark(0, 1, "rare"), Mark(1, 3, "entity")]


def test_words_have_the_colours_of_their_roles_where_there_are_colours() -> None:
    for options, coloured in (({}, True), ({"no_color": True}, False)):
        target = console(force_terminal=True, color_system="standard", **options)
        show_query(target, marked("ask Sam now", ("Sam", "entity")))
        assert ("\x1b[30;106mSam" in text_of(target)) is coloured
        assert ("\x1b[30;106m entity " in text_of(target)) is coloured, "the legend"
    assert query_rows(marked("ask Sam", ("Sam", "entity"))) == ["  ask Sam"]


# -- what is said of it ------------------------------------------------------------------------------------------------


def test_it_says_what_each_mark_means(result: RecallResult) -> None:
    text = section(shown(result, 100), "query")
    for words in (
        "Priya ← “Priya”, exact, confidence ", "“yesterday”: from 2026-04-19 to before 2026-04-20, confidence ",
        "filters:", "read at 2026-04-20 09:00 UTC", "frontend: ", "ABC-123 (ticket)",
        "deplyment → deployment (similarity 0.94", "looked for",
    ):  # fmt: skip
        assert words in text


@each_row(
    ("confidence", "filters", "words"),
    [(0.9, True, "filters: "), (0.9, False, "sure enough to filter (≥ 0.5)"), (0.4, False, "only softens")],
)
def test_a_window_filters_or_softens(confidence: float, filters: bool, words: str) -> None:
    window = TemporalWindow(start=NOW, confidence=confidence)
    parsed = ParsedQuery(original="x", temporal_window=window, now=NOW)
    target = console()
    explain(target, parsed, replace(make_plan(parsed, CONFIG), window_filter=filters))
    assert words in text_of(target) and "without a date in the words" in text_of(target)


def test_the_user_is_named_but_is_no_find() -> None:
    parsed = ParsedQuery(original="x", entity_refs=(USER,), now=NOW)
    assert "Henrietta, who asks" in line_of(shown(parsed), "user")
    assert "\nentity  " not in shown(parsed)
    target = console()
    explain(target, RecallResult(hits=(), query=parsed, plan=make_plan(parsed, CONFIG)))
    assert not any(line.startswith("names") for line in text_of(target).splitlines())
    assert "Henrietta" in line_of(text_of(target), "user")


def test_whose_words_are_asked_for_is_shown() -> None:
    parsed = ParsedQuery(original="x", asked_role=Role.ASSISTANT, asked_role_strength=0.9, now=NOW)
    assert "asks what the assistant said, strength 0.90" in line_of(shown(parsed), "role")
    assert "asks what" not in shown(ParsedQuery(original="x", now=NOW))
    target, plan = console(), make_plan(parsed, CONFIG)
    explain(target, RecallResult(hits=(), query=parsed, plan=plan))
    assert "asks what the assistant said" in line_of(text_of(target), "role")
    found = explanation_data(parsed, plan, Scope(), asked=())["parsed"]
    assert (found["asked_role"], found["asked_role_strength"]) == ("assistant", 0.9)


def test_a_correction_says_how_alike_the_words_are() -> None:
    made = Correction(
        word="deplyment", stem="deplyment", correction="deploy", spelling="deployment", similarity=0.93, frequency=4,
    )  # fmt: skip
    parsed = ParsedQuery(original="deplyment", corrections=(made,), now=NOW)
    assert "deplyment → deployment (similarity 0.93)" in shown(parsed)


def test_features_have_their_weights_and_shares(result: RecallResult) -> None:
    config = RecallConfig(planner=PlannerConfig(precise_threshold=0.9, exploratory_threshold=0.25))
    text = section(shown(result, config=config), "features")
    f, whole = result.query.features, result.query.specificity
    row = line_of(text, "time").split()
    assert row[1:] == [f"{f.temporal:.2f}", "×0.25", f"{f.temporal * 0.25:.3f}", f"{f.temporal * 0.25 / whole:.0%}"]
    assert f"{whole:.3f}" in line_of(text, "specificity")
    assert "below 0.25 exploratory, from 0.9 on precise" in text


def test_rules_are_listed_in_order_with_their_margins(result: RecallResult) -> None:
    text = section(shown(result), "rules")
    rows = [line.split()[:3] for line in text.splitlines() if line[:1].isdigit()]
    assert [row[1] for row in rows] == [c.rule for c in result.plan.checks]
    assert [row[1] for row in rows if row[2] == "pass:"] == [result.plan.name]
    assert text.count("pass: chosen") == 1
    for check in result.plan.checks:
        assert f"{check.margin:+.3f}" in text


def test_the_decision_is_explained(result: RecallResult) -> None:
    text = shown(result, 100)
    assert f"{result.plan.runner_up}, {result.plan.runner_up_margin:.3f} away" in line_of(text, "runner-up")
    assert "exact match of ticket ABC-123" in line_of(text, "changed by")
    assert "knowledge: ticket ABC-123" in line_of(text, "router")
    assert "no (domain signal" in line_of(text, "small talk")
    assert "exact match" in line_of(text, "on ") and "exact match" not in line_of(text, "off ")


def test_a_reason_with_semicolons_in_a_name_is_not_taken_apart() -> None:
    ref = EntityRef(entity_id="e", name="A; B", mention="A; B", span=(0, 4), confidence=0.95, stage="exact")
    text = shown(ParsedQuery(original="A; B", entity_refs=(ref,), now=NOW))
    assert "because A; B 0.95 > 0.85" in line_of(text, "plan") and "changed by" not in text


def test_small_talk_whose_rule_is_off_says_so() -> None:
    parsed = replace(parse("how is it going"), specificity=0.1)
    parsed = replace(parsed, conversational=replace(parsed.conversational, conversational=True))
    assert "yes, but its rule is off" in shown(parsed)
    on = replace(CONFIG, planner=PlannerConfig(rules=("conversational",)))
    text = shown(parsed, config=on)
    assert "yes (" in line_of(text, "small talk") and "conversational, no BM25" in line_of(text, "changed by")


def test_types_that_are_asked_for_are_named() -> None:
    parsed = ParsedQuery(
        original="my preferences", type_cues=(MemoryType.PREFERENCE,), type_filters=(MemoryType.PREFERENCE,), now=NOW
    )
    text = section(shown(parsed), "rules")
    assert "preference" in line_of(text, "type cues") and "preference first" in line_of(text, "type filter")


# -- arms and hits -----------------------------------------------------------------------------------------------------


def test_arms_say_what_they_brought_and_how_long_it_took(result: RecallResult) -> None:
    text = section(shown(result), "arms")
    for arm in result.plan.arms:
        assert f"{result.timings_ms[f'arm.{arm.name}']:.2f}" in line_of(text, arm.name)
    first = next(c for c in result.hits[0].contributions if c.source == "lexical")
    assert f"1 (#{first.rank})" in line_of(text, "lexical")
    assert f"all together {result.timings_ms['total']:.1f} ms: " in text.replace("\n", " ")


def test_an_arm_with_nothing_to_look_for_was_not_asked(optimizer: QueryOptimizer) -> None:
    question = "what is the number of my badge"
    for found in (
        optimizer.recall(question, k=1, scope=demo_data.SCOPE),
        optimizer.parse(question, scope=demo_data.SCOPE),
    ):
        plan = optimizer.plan(found.query if isinstance(found, RecallResult) else found)
        silent = {a.name for a in plan.arms} - asked_arms(found, plan)
        assert "graph" in silent  # it names nothing
        text = section(shown(found), "arms")
        assert {line.split()[0] for line in text.splitlines() if "nothing to look for" in line} == silent


def test_an_arm_that_failed_is_named(result: RecallResult) -> None:
    timings = {name: ms for name, ms in result.timings_ms.items() if name != "arm.graph"}
    late = replace(
        result, degraded=(Degradation(stage="graph", reason="timeout", detail="too late"),), timings_ms=timings
    )
    text = shown(late)
    assert "timeout" in line_of(section(text, "arms"), "graph") and "left out: graph (timeout): too late" in text


def test_each_hit_has_its_place_and_score(result: RecallResult) -> None:
    rows = [line.split()[:2] for line in shown(result).partition("best 3")[2].splitlines() if line.strip()]
    assert [row for row in rows if row[0].isdigit()] == [
        [str(i), f"{h.score:.2f}"] for i, h in enumerate(result.hits, 1)
    ]
    assert "Nothing found." in shown(replace(result, hits=()))


def test_what_facts_decided_is_shown_with_what_it_moved_down(result: RecallResult) -> None:
    assert "facts ──" not in shown(result)
    old = replace(
        result.hits[0],
        memory=Memory("My number is 555-0101", id="m1"),
        superseded_by="m2",
        valid_from=NOW - timedelta(days=90),
        valid_to=NOW - timedelta(days=1),
    )
    elsewhere = replace(old, memory=Memory("I lived in Bonn", id="m7"), superseded_by="m8")
    decision = Decision(subject="", slot="phone_number", mode="now", at=NOW, first=("m2", "m3"), beneath=("m1",))
    text = section(shown(replace(result, facts=decision, hits=(old, elsewhere))), "facts")
    assert "phone number  of the user, confidence 0.90" in text
    assert "how it is now, looked at 2026-04-20" in text
    assert line_of(text, "put first").split()[2:] == ["m2,", "m3"]
    assert "m1 by m2, which held from 2026-01-20 to 2026-04-19" in text
    assert "m7" not in text
    other = replace(decision, subject="pri\x1bya", slot="open:locker code", mode="history", beneath=())
    text = section(shown(replace(result, facts=other)), "facts")
    assert "locker code  of pri" in text and "how it changed" in text and "beneath" not in text and "\x1b" not in text


def test_without_a_search_it_says_so(result: RecallResult) -> None:
    text = shown(result.query)
    assert "nothing was searched" in text and "found hits" not in text and "best" not in text


# -- hostile input -----------------------------------------------------------------------------------------------------

AWKWARD = st.text(
    st.one_of(
        st.characters(exclude_categories=("Cs",)),
        st.sampled_from("\x1b\x07\u202e\u200f\u200d\ufe0f\u0301אب日ｱ🎉👨[]#\t\n\u2028 "),
    ),
    min_size=1,
    max_size=120,
)


def harmless(text: str, width: int) -> None:
    for line in text.split("\n"):
        assert cell_len(line) <= width
        assert not any(unicodedata.category(c) == "Cc" or c in "\u202e\u2066\u2028" for c in line)


@settings(max_examples=examples(150), deadline=None)
@given(AWKWARD, st.sampled_from([20, 40, 80, 100]))
def test_any_query_can_be_shown(text: str, width: int) -> None:
    if not text.strip() or not text.translate(dict.fromkeys((*range(0x20), 0x7F), " ")).strip():
        return
    parsed = parse(text)
    harmless(shown(parsed, width), width)
    json.loads(dumps(explanation_data(parsed, make_plan(parsed, CONFIG), Scope(), asked=())))


@settings(max_examples=examples(60), deadline=None)
@given(AWKWARD, st.sampled_from([30, 80]))
def test_whatever_a_store_or_a_user_says_is_shown_as_text(text: str, width: int) -> None:
    ref = EntityRef(entity_id=text, name=text, mention=text, span=(0, len(text)), confidence=0.9, stage="fuzzy")
    made = Correction(word=text, stem=text, correction=text, spelling=text, similarity=0.9, frequency=1)
    parsed = ParsedQuery(
        original=text, rewrites=(text,), entity_refs=(ref, replace(USER, name=text)), negations=(text,),
        predicate_hints=(text,), terms=(text,), corrections=(made,),
        tokens=(QueryToken(span=(0, len(text)), stem=text, roles=("entity", "rare"), rarity=1.0),), now=NOW,
    )  # fmt: skip
    memory = Memory("[bold red]x[/] " + text, id="m")
    object.__setattr__(memory, "actor", text)
    hit = Hit(memory=memory, score=0.5, reason=text, contributions=(Contribution(source="semantic", rank=1, score=1),))
    plan = replace(make_plan(parsed, CONFIG), reason=f"balanced: {text}; {text}", name="balanced")
    result = RecallResult(
        hits=(hit,), query=parsed, plan=plan, degraded=(Degradation(stage="semantic", reason="error", detail=text),),
        timings_ms={"total": 1.0},
    )  # fmt: skip
    written = shown(result, width)
    harmless(written, width)


def test_markup_in_a_query_or_a_memory_is_text(result: RecallResult) -> None:
    memory = Memory("[bold]x[/bold] :smile:", id="m")
    hit = replace(result.hits[0], memory=memory, reason="[red]why[/red]", highlights=())
    text = shown(replace(result, hits=(hit,), query=replace(result.query, original="[bold]x[/bold]", tokens=())))
    assert "  [bold]x[/bold]\n" in text and "[bold]x[/bold] :smile:" in text and "[red]why[/red]" in text


# -- json --------------------------------------------------------------------------------------------------------------


def test_json_has_all_that_search_has_and_more(result: RecallResult) -> None:
    asked = asked_arms(result, result.plan)
    data = json.loads(dumps(explanation_data(result, result.plan, Scope("ann"), asked=asked, k=3)))
    plain = result_data(result, Scope("ann"), 3)
    assert set(data) == {*plain, "searched", "tokens", "runner_up", "switches"}
    assert data["format"] == 1 and data["searched"] is True and data["hits"] == plain["hits"]
    assert {name: data["parsed"][name] for name in plain["parsed"]} == plain["parsed"]
    token = next(t for t in data["tokens"] if t["text"] == "deplyment")
    assert token["roles"] == ["corrected"] and QUERY[slice(*token["span"])] == "deplyment" and 0 <= token["rarity"] <= 1
    assert data["parsed"]["identifiers"] == [{"text": "ABC-123", "kind": "ticket", "span": [43, 50]}]
    assert data["parsed"]["corrections"][0]["spelling"] == "deployment"
    assert set(data["parsed"]["router"]) == {"mode", "reason", "graph_bias", "time_bias"}
    assert data["parsed"]["conversational"]["verdict"] is False
    assert data["runner_up"] == {"plan": result.plan.runner_up, "margin": result.plan.runner_up_margin}
    assert data["switches"]["exact_match"] is True and data["switches"]["prefers"] == ["chunk"]
    assert all(arm["asked"] and arm["ms"] > 0 for arm in data["arms"])


def test_json_without_a_search(result: RecallResult) -> None:
    parsed = replace(result.query, type_hints=())
    plan = replace(result.plan, type_hints=(MemoryType.FACT,))
    asked = asked_arms(parsed, plan)
    data = json.loads(dumps(explanation_data(parsed, plan, Scope(), asked=asked)))
    assert (data["searched"], data["k"], data["hits"], data["timings_ms"]) == (False, None, [], {})
    assert data["parsed"]["type_hints"] == ["fact"]
    assert {a["name"] for a in data["arms"] if a["asked"]} == asked and all(a["ms"] is None for a in data["arms"])


def test_what_moved_a_hit_is_below_it(result: RecallResult) -> None:
    negation = Contribution(source="negation", score=0.8, added=-2.1)
    first = replace(result.hits[0], contributions=(negation,))
    assert "negation 0.8 → -2.100" in shown(replace(result, hits=(first,)))
    still = replace(first, contributions=(replace(negation, added=0.0),))
    assert "negation 0.8" not in shown(replace(result, hits=(still,)))


def test_the_time_of_the_whole_recall_is_not_that_of_the_arms(result: RecallResult) -> None:
    assert " ms" not in line_of(shown(result), "arms ")
