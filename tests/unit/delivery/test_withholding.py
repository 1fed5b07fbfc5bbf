"""What a result says besides its hits, and who else is told, under the privacy modes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest

from recall_integrations import Memory, MemoryStore, OptimizedRecallRetriever, QueryOptimizer, RecallConfig
from recall_integrations.config import BreakerConfig, PrivacyConfig, QueryConfig, RerankConfig
from recall_integrations.errors import ConfigError, PrivacyViolation, RecallError
from recall_integrations.privacy.door import Door
from recall_integrations.recall import RecallState, Stage, StageEvent, Turn
from recall_integrations.testing import HashEmbedding
from tests.rows import each_row

NOW = datetime(2026, 6, 17, 12, tzinfo=timezone.utc)
PHONE = "+49 170 1234567"
RERANK = RerankConfig(regret_max=0)


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open(embedding=HashEmbedding()) as made:
        made.add_entity("Henrike", aliases=[PHONE])
        made.remember_many(
            [
                Memory(f"Henrike can be reached at {PHONE}", id="a", actor="Lena", thread="t", position=1),
                Memory("The harbour office opens at nine", id="b", actor="Lena", thread="t", position=2),
                Memory(f"{PHONE} called about the harbour office", id="c", actor=PHONE),
            ]
        )
        yield made


def recalled(store: MemoryStore, query: str, mode: str, **given: Any) -> Any:
    optimizer = QueryOptimizer(store, **given)
    result = optimizer.recall(query, now=NOW, privacy=mode, time_budget_ms=60_000)
    optimizer.close()
    return result


def test_what_was_read_from_a_query_speaks_of_the_redacted_one(store: MemoryStore) -> None:
    asked = f"what did {PHONE} say about the harbour office in March, not the pier?"
    query = recalled(store, asked, "redact").query
    plain = recalled(store, asked, "allow").query
    assert query.original == asked.replace(PHONE, "[phone]") or "[phone-1]" in query.original
    for token in query.tokens:
        assert query.original[slice(*token.span)].casefold() in asked.casefold()
    assert query.temporal_window.start == plain.temporal_window.start
    assert query.original[slice(*query.temporal_window.span)] == asked[slice(*plain.temporal_window.span)]
    assert query.negations == plain.negations == ("pier",)
    (ref,) = [r for r in query.entity_refs if r.stage != "implicit"]
    assert ref.name == "Henrike" and ref.mention.startswith("[phone") and ref.entity_id.startswith("ent_")
    assert query.original[slice(*ref.span)] == ref.mention
    assert set(query.terms) < set(plain.terms) and query.specificity == plain.specificity


def test_an_id_goes_with_the_name_that_it_stands_for(store: MemoryStore) -> None:
    with MemoryStore.open(embedding=HashEmbedding()) as named:
        named.remember(Memory("hello there", actor=PHONE))
        named.remember(Memory("hello there", actor="Henrike"))
        first, second, _ = recalled(named, f"what did {PHONE} say to Henrike?", "redact").query.entity_refs
        (known,) = (r for r in recalled(named, "Henrike", "allow").query.entity_refs if r.name == "Henrike")
    assert first.entity_id == "" and "1234567" not in first.name
    assert second == replace(known, span=second.span) and second.entity_id


def test_block_leaves_what_was_counted_and_decided(store: MemoryStore) -> None:
    result = recalled(store, f"what did {PHONE} say about the harbour office in March?", "block")
    plain = recalled(store, f"what did {PHONE} say about the harbour office in March?", "allow")
    query, plan = result.query, result.plan
    assert (query.original, query.tokens, query.terms, query.entity_refs, query.negations) == ("", (), (), (), ())
    assert query.specificity == round(plain.query.specificity, 1)  # more digits count the memories that have a word
    assert query.features.lexical_rarity == round(plain.query.features.lexical_rarity, 1)
    assert query.temporal_window.start == plain.query.temporal_window.start and query.temporal_window.span == (0, 0)
    assert (plan.name, plan.arms, plan.reason) == (plain.plan.name, plain.plan.arms, "")
    assert [(h.memory.id, h.score) for h in result] == [(h.memory.id, round(h.score, 2)) for h in plain]
    assert [(c.rule, c.fired, c.because) for c in plan.checks] == [(c.rule, c.fired, "") for c in plain.plan.checks]


def test_block_does_not_count_the_memories_that_have_a_word() -> None:
    said = set()
    for holding in (10, 11):
        with MemoryStore.open(embedding=HashEmbedding()) as store:
            store.remember_many([Memory(f"{'oysters' if i < holding else 'bread'} at pier {i}") for i in range(100)])
            plan = recalled(store, "oysters", "block").plan
            said.add((plan.name, plan.runner_up_margin, *(check.margin for check in plan.checks)))
    assert len(said) == 1


@pytest.mark.parametrize("strict", [False, True])
def test_a_query_that_cannot_be_redacted_in_time_is_not_shown(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch, strict: bool
) -> None:
    release, read = threading.Event(), Door.query

    def slow(self: Door, text: str) -> Any:
        if len(text) > 2_000 and threading.current_thread().name.startswith("recall-redact"):
            release.wait(60)
        return read(self, text)

    monkeypatch.setattr(Door, "query", slow)
    optimizer = QueryOptimizer(store)
    text = f"{PHONE} " + "harbour " * 300
    try:
        optimizer.recall("harbour")  # has the grammar read
        if strict:
            with pytest.raises(PrivacyViolation) as caught:
                optimizer.recall(text, now=NOW, privacy="redact", time_budget_ms=2_000, strict=True)
            assert "1234567" not in repr(caught.value) + repr(caught.value.result)
            return
        result = optimizer.recall(text, now=NOW, privacy="redact", time_budget_ms=2_000)
        assert result.query.original == "" and result.query.terms == () and len(result.hits) == 3
        assert "1234567" not in repr(result)
        assert [(d.stage, d.reason) for d in result.degraded] == [("privacy", "timeout")]
    finally:
        release.set()
        optimizer.close()


def test_a_reranker_is_given_what_may_be_seen(store: MemoryStore) -> None:
    given: list[str] = []

    def rerank(query: str, texts: list[str]) -> list[float]:
        given.extend([query, *texts])
        return [float(len(text)) for text in texts]

    options: dict[str, Any] = {"reranker": rerank, "config": RecallConfig(rerank=RERANK)}
    query = "is there something about that thing"
    assert recalled(store, query, "allow", **options).rerank.used and any("1234567" in text for text in given)
    given.clear()
    assert recalled(store, query, "redact", **options).rerank.used
    assert given and not any("1234567" in text for text in given) and any("harbour" in text for text in given)
    given.clear()
    outcome = recalled(store, query, "block", **options).rerank
    assert (outcome.reason, outcome.used, given) == ("skip.privacy", False, [])


def test_a_reranker_of_this_process_sees_the_texts(store: MemoryStore) -> None:
    given: list[str] = []

    class Local:
        name, local = "local", True

        def scores(self, query: str, texts: list[str]) -> list[float | None]:
            given.extend(texts)
            return [1.0] * len(texts)

    result = recalled(
        store, "is there something about that thing", "block", reranker=Local(), config=RecallConfig(rerank=RERANK)
    )
    assert result.rerank.used and any("1234567" in text for text in given) and "1234567" not in repr(result)


@each_row("mode", ["allow", "redact", "block"])
def test_a_language_model_is_given_what_may_be_seen(store: MemoryStore, mode: str) -> None:
    given: list[str] = []

    def llm(prompt: str) -> str:
        given.append(prompt)
        return "A: none"

    config = RecallConfig(query=QueryConfig(entity_llm=True))
    recalled(
        store, f"what did Hanrike say, or {PHONE}, about the harbor ofice and all that", mode, llm=llm, config=config
    )
    assert bool(given) == (mode != "block")
    assert any("1234567" in prompt for prompt in given) == (mode == "allow")


def test_observers_get_a_state_only_where_all_may_be_seen(store: MemoryStore) -> None:
    for mode in ("allow", "redact", "block"):
        events: list[StageEvent] = []
        recalled(store, f"who is {PHONE}", mode, observers=[events.append])
        assert {event.state is None for event in events} == {mode != "allow"}
        assert mode == "allow" or "1234567" not in repr(events)


class Quoting(Stage):
    name, after, essential = "quoting", "plan", True

    def run(self, state: RecallState, _turn: Turn) -> RecallState:
        raise ValueError(f"cannot take {state.query.original}")


async def test_what_ends_a_recall_quotes_nothing(store: MemoryStore) -> None:
    config = RecallConfig(breakers=BreakerConfig(failures_max=1_000))
    optimizer = QueryOptimizer(store, stages=[Quoting()], config=config)
    query = f"who is {PHONE}"
    with pytest.raises(ValueError, match="1234567"):
        optimizer.recall(query)
    for mode in ("redact", "block"):
        with pytest.raises(RecallError) as caught:
            optimizer.recall(query, privacy=mode)
        assert "1234567" not in str(caught.value)
        assert mode == "block" or str(caught.value).startswith("ValueError: cannot take who is [phone")
        assert caught.value.__cause__ is caught.value.__context__ is None
        with pytest.raises(RecallError) as caught:
            await optimizer.arecall(query, privacy=mode)
        assert "1234567" not in str(caught.value)
        with pytest.raises(RecallError, match="time zone") as caught:
            optimizer.recall("harbour", privacy=mode, timezone=query)
        assert "1234567" not in str(caught.value) and caught.value.__context__ is None
    optimizer.close()


async def test_frameworks_get_nothing_rather_than_empty_texts(store: MemoryStore) -> None:
    retriever = OptimizedRecallRetriever(optimizer=QueryOptimizer(store), privacy="block")
    assert retriever.invoke("harbour") == [] and await retriever.ainvoke("harbour") == []
    assert retriever.retrieve("harbour") == [] and await retriever.aretrieve("harbour") == []
    assert retriever.batch(["harbour", "office"]) == [[], []]
    assert len(retriever.recall("harbour").hits) == 3 and len(retriever.invoke("harbour", privacy="redact")) == 3
    plain = OptimizedRecallRetriever(optimizer=QueryOptimizer(store))
    assert plain.invoke("harbour", privacy="block") == [] and len(plain.retrieve("harbour")) == 3
    retriever.close()
    plain.close()


def test_patterns_of_the_user_act_in_a_recall(store: MemoryStore) -> None:
    config = RecallConfig(privacy=PrivacyConfig(patterns={"place": "(?i)harbour"}))
    optimizer = QueryOptimizer(store, config=config)
    result = optimizer.recall("the harbour office", privacy="redact", now=NOW)
    assert "harbour" not in repr(result).casefold() and "[place-1]" in result.query.original
    assert "[place-1]" in repr(result.hits)
    assert "harbour" in repr(optimizer.recall("the harbour office", now=NOW))
    optimizer.close()


@each_row(
    ("given", "message"),
    [
        ({"badge": "("}, r"privacy\.patterns\.badge is no regular expression"),
        ({"badge": "x*"}, "finds the empty text"),
        ({"Badge!": "x"}, "lower-case"),
        ({"badge": 3}, "must be a regular expression"),
        (["x"], "mapping"),
        ({3: "x"}, "lower-case"),
    ],
)
def test_patterns_that_cannot_be_used(given: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        RecallConfig.from_mapping({"privacy": {"patterns": given}})
