from __future__ import annotations

import io
import json
import math
from dataclasses import replace
from datetime import datetime, timedelta, timezone

from rich.console import Console

from recall_integrations.console.explain import explain as show_explained
from recall_integrations.console.rendering import show_result, window_words
from recall_integrations.delivery.as_data import dumps, result_data
from recall_integrations.text.shortening import plain
from recall_integrations.types import (
    ArmPlan,
    CacheOutcome,
    Contribution,
    Degradation,
    EntityRef,
    Hit,
    Memory,
    MemoryType,
    ParsedQuery,
    RecallResult,
    RetrievalPlan,
    RuleCheck,
    Scope,
    TemporalWindow,
)
from tests.rows import each_row

DAY = datetime(2026, 3, 1, tzinfo=timezone.utc)
RESULT = RecallResult(
    hits=(
        Hit(
            memory=Memory("The answer [bold]is[/bold] 42 :smile:", id="m-1", actor="Priya", event_at=DAY),
            score=0.8125,
            reason="says: answer",
            contributions=(Contribution(source="lexical", rank=1, score=7.5, added=0.5),),
        ),
    ),
    query=ParsedQuery(
        original="what is the answer?",
        entity_refs=(
            EntityRef(
                entity_id="e", name="Project Kestrel", mention="Kestral", span=(0, 1), confidence=0.83, stage="fuzzy"
            ),
        ),
        temporal_window=TemporalWindow(start=DAY, end=DAY + timedelta(days=1), span=(0, 1), confidence=0.9),
        type_hints=(MemoryType.FACT,),
        negations=("meetings",),
        terms=("answer",),
        specificity=0.5,
        now=DAY,
    ),
    plan=RetrievalPlan(
        name="balanced",
        arms=(ArmPlan(name="lexical", weight=2.0), ArmPlan(name="temporal")),
        reason="balanced: no other rule decided",
        checks=(
            RuleCheck(rule="precise", fired=False, because="specificity 0.500 < 0.8", margin=-0.3),
            RuleCheck(rule="balanced", fired=True, because="no other rule decided", margin=0.0),
        ),
    ),
    degraded=(Degradation(stage="semantic", reason="timeout", detail="late"),),
    timings_ms={"parse": 0.5, "arm.lexical": 1.25, "total": 3.0},
)


def shown(result: RecallResult = RESULT, *, explain: bool = False, width: int = 80) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False, markup=False, emoji=False)
    if explain:
        show_explained(console, result)
    else:
        show_result(console, result, Scope("ann"))
    return out.getvalue()


def test_a_result_says_what_why_and_how_long() -> None:
    text = shown()
    for words in (
        "Project Kestrel (“Kestral”)", "from 2026-03-01 to before 2026-03-02", "fact", "meetings", "balanced",
        "because no other rule decided", "lexical ×2", "temporal (nothing to look for)", "3.0 ms", "0.81",
        "Priya: The answer", "says: answer", "id m-1", "2026-03-01", "left out: semantic (timeout): late",
    ):  # fmt: skip
        assert words in text


def test_explain_adds_rules_arms_and_contributions() -> None:
    text = shown(explain=True)
    for words in (
        "specificity 0.500 < 0.8",
        "pass: chosen",
        "lexical #1 7.5 → +0.500",
        "not asked",
        "1.25",
        "looked for",
    ):
        assert words in text
        assert words not in shown()


def test_explain_shows_what_moved_a_hit_and_hides_what_added_next_to_nothing() -> None:
    parts = (
        Contribution(source="cosine", score=0.3, added=-0.25),
        Contribution(source="importance", score=0.5, added=-0.0004),
        Contribution(source="negation", score=0.7, added=-2.1),
        Contribution(source="diversity", score=-0.5, added=-0.5),
    )
    hit = replace(RESULT.hits[0], contributions=parts)
    text = shown(replace(RESULT, hits=(hit,)), explain=True, width=160)
    assert "cosine 0.3 → -0.250; negation 0.7 → -2.100; diversity -0.500" in text
    assert "importance" not in text
    data = result_data(replace(RESULT, hits=(hit,)), Scope("ann"), 5)["hits"][0]["contributions"]
    (negation,) = [part for part in data if part["source"] == "negation"]
    assert {**negation, "name": ""} == {"source": "negation", "name": "", "rank": None, "score": 0.7, "added": -2.1}
    assert negation["name"]


def test_memory_text_is_never_markup() -> None:
    assert "[bold]is[/bold] 42 :smile:" in shown()


@each_row("hostile", ["\x1b[2Jgone", "a\x07b", "\x9b31m", "a\u202eb", "a\x00b"])
def test_memory_text_cannot_steer_the_terminal(hostile: str) -> None:
    hit = replace(RESULT.hits[0], memory=Memory(f"before {hostile} after", id="x"), reason=f"says: {hostile}")
    text = shown(replace(RESULT, hits=(hit,)))
    assert not set(text) & set("\x1b\x07\x9b\u202e\x00")
    assert "before" in text and "after" in text


def test_lines_fit(width: int = 60) -> None:
    assert max(len(line) for line in shown(explain=True, width=width).splitlines()) <= width


def test_nothing_found_is_said() -> None:
    assert "Nothing found in the scope ann/-/-" in shown(replace(RESULT, hits=()))


def test_withheld_text_is_said() -> None:
    memory = replace(RESULT.hits[0].memory)
    object.__setattr__(memory, "text", "")
    assert "(text withheld)" in shown(replace(RESULT, hits=(replace(RESULT.hits[0], memory=memory),)))


def test_plain_is_one_line_and_cut() -> None:
    assert plain("a\n\tb  c") == "a b c"
    assert plain("x" * 50, 10) == "x" * 9 + "…"


def test_windows_in_words() -> None:
    def window(start: datetime | None, end: datetime | None) -> str:
        return window_words(TemporalWindow(start=start, end=end, span=(0, 0), confidence=1.0))

    assert window(DAY, None) == "from 2026-03-01"
    assert window(None, DAY) == "before 2026-03-01"
    assert (
        window(DAY + timedelta(hours=9), DAY + timedelta(hours=10))
        == "from 2026-03-01 09:00 to before 2026-03-01 10:00"
    )


def test_json_has_the_documented_keys_and_no_number_that_json_lacks() -> None:
    odd = replace(RESULT.hits[0].contributions[0], score=math.inf)
    result = replace(RESULT, hits=(replace(RESULT.hits[0], contributions=(odd,)),), confidence=None)
    data = json.loads(dumps(result_data(result, Scope("ann"), 5)))
    assert list(data) == [
        "format", "query", "scope", "k", "now", "plan", "reason", "confidence", "searched", "hits", "parsed", "arms",
        "rules", "rewrite", "rerank", "facts", "cache", "degraded", "notes", "timings_ms", "id", "version",
    ]  # fmt: skip
    assert data["scope"] == "ann/-/-" and data["now"] == "2026-03-01T00:00:00+00:00"
    assert list(data["hits"][0]) == [
        *("id", "score", "reason", "scope", "memory", "contributions", "duplicates", "context"),
        *("superseded_by", "valid_from", "valid_to", "highlights"),
    ]
    assert data["hits"][0]["contributions"] == [
        {"source": "lexical", "name": "found by its words", "rank": 1, "score": None, "added": 0.5}
    ]
    assert list(data["parsed"]) == [
        "entities", "window", "session", "talk", "negations", "predicate_hints", "type_hints", "terms", "rewrites",
        "specificity", "features",
        "asked_role", "asked_role_strength", "asides",
    ]  # fmt: skip
    assert data["parsed"]["window"]["end"] == "2026-03-02T00:00:00+00:00"
    assert data["rules"][0] == {"rule": "precise", "fired": False, "because": "specificity 0.500 < 0.8", "margin": -0.3}


def test_what_the_result_cache_did_is_said_where_there_is_one() -> None:
    def shown(cache: CacheOutcome) -> str:
        console = Console(file=io.StringIO(), width=120)
        show_result(console, replace(RESULT, cache=cache), Scope())
        return console.file.getvalue()

    assert "cache" not in shown(CacheOutcome())
    assert "cache  miss (kept)" in shown(CacheOutcome(strategy="miss", reason="kept"))
    assert "cache  hit (same), 1.2 s old" in shown(CacheOutcome(strategy="hit", reason="same", age_ms=1_234.0))
