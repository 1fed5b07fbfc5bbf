"""`RecallClient` against a server on loopback: an app moves from embedded to served by one line."""

from __future__ import annotations

import asyncio
import copy
import logging
import pickle
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever
from llama_index.core.schema import QueryBundle

from recall_integrations import (
    Filters,
    Memory,
    MemoryStore,
    OptimizedRecallRetriever,
    QueryOptimizer,
    RecallResult,
    Relation,
    Scope,
    TemporalWindow,
    errors,
)
from recall_integrations.adapters.shapes import RESULT
from recall_integrations.delivery.highlights import Marking
from recall_integrations.serving import RecallClient, start
from recall_integrations.serving.app import create_app
from recall_integrations.serving.client import AT_ONCE
from recall_integrations.serving.served import Limits, Served
from recall_integrations.serving.tokens import Tokens
from recall_integrations.types import RecallResult as Result

U1, U2 = Scope("u1"), Scope("u 2/x", "agent")
NOW = datetime(2026, 3, 20, 12, tzinfo=timezone.utc)
SAID = [
    ("Priya", "The deploy slipped to March 12, since the certificate had expired"),
    ("Sam", "Call me at 415-555-0132 about the deploy"),
    ("Priya", "I prefer written updates over meetings"),
    ("Sam", "数据库在周二迁移了"),
    ("Priya", "We adopted a puppy. " + "Nothing else happened on that day in the office. " * 15),
]
QUERIES = ["what did Priya say about the deploy in March?", "数据库迁移", "do they have a dog?", "not meetings", "zzz"]


@contextmanager
def running(served: Served) -> Iterator[str]:
    """A server in a thread; its address."""
    listener = start.listening("127.0.0.1", 0)
    server = start.server_of(served, stop_s=5)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield start.address_of(listener)
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()


def fill(store: MemoryStore) -> None:
    at = datetime(2026, 3, 1, tzinfo=timezone.utc)
    store.remember_many(
        [
            Memory(
                text,
                id=f"m{i}",
                actor=actor,
                event_at=at + timedelta(days=3 * i),
                thread="t",
                position=i,
                metadata={"n": i, "tags": ["a", None]},
                relations=[Relation("Priya", "works_with", "Sam")],
                refs=["doc:1"],
            )
            for i, (actor, text) in enumerate(SAID)
        ],
        scope=U1,
    )
    store.add_entity("Priya Raman", aliases=["Priya", "PR"], scope=U1)
    store.remember(Memory("Another tenant's deploy", id="x/1 ä"), scope=U2)


@pytest.fixture(scope="module")
def optimizer() -> Iterator[QueryOptimizer]:
    with MemoryStore.open() as store:
        fill(store)
        yield QueryOptimizer(store, clock=lambda: NOW)


@pytest.fixture(scope="module")
def address(optimizer: QueryOptimizer) -> Iterator[str]:
    with running(Served(store=optimizer.store, optimizer=optimizer)) as address:
        yield address


@pytest.fixture(scope="module")
def client(address: str) -> Iterator[RecallClient]:
    with RecallClient(address, k=3, scope=U1) as client:
        yield client


def same(found: RecallResult, own: RecallResult) -> None:
    """All but how long it took."""
    assert found.hits == own.hits
    assert [(h.score, h.reason, h.contributions, h.highlights) for h in found] == [
        (h.score, h.reason, h.contributions, h.highlights) for h in own
    ]
    assert found.timings_ms.keys() == own.timings_ms.keys() - {"load"}  # whoever comes first waits for the scope
    assert replace(found, hits=(), timings_ms={}, parts=()) == replace(own, hits=(), timings_ms={}, parts=())
    assert [part.query for part in found.parts] == [part.query for part in own.parts]


# -- one line ----------------------------------------------------------------------------------------------------------


def unnamed(data: dict[str, Any]) -> dict[str, Any]:
    """Without the id of the result: every answer has another one."""
    assert data["metadata"].pop(RESULT)
    return data


def script(retriever: OptimizedRecallRetriever) -> dict[str, Any]:
    """What an app does with a retriever, whichever line made it."""
    return {
        "documents": [[unnamed(d.model_dump()) for d in retriever.invoke(query)] for query in QUERIES],
        "fewer": retriever.invoke(QUERIES[0], k=1, document_format="dated", timezone="Asia/Tokyo"),
        "batch": retriever.batch(QUERIES[:2]),
        "stream": list(retriever.stream(QUERIES[1])),
        "async": asyncio.run(_async(retriever)),
        "nodes": [[(unnamed(n.node.to_dict()), n.score) for n in retriever.retrieve(query)] for query in QUERIES],
        "aggregated": [n.score for n in retriever.retrieve(QueryBundle("x", custom_embedding_strs=["the deploy"]))],
        "redacted": [d.page_content for d in retriever.invoke(QUERIES[0], privacy="redact")],
        "bound": (retriever | (lambda documents: [d.id for d in documents])).invoke(QUERIES[0]),
        "prompts": retriever.get_prompts(),
    }


async def _async(retriever: OptimizedRecallRetriever) -> Any:
    documents = await retriever.ainvoke(QUERIES[0])
    nodes = await retriever.aretrieve(QUERIES[0])
    events = [e["event"] async for e in retriever.astream_events(QUERIES[0], version="v2")]
    own = [event for event in events if "retriever" in event]  # the steps of a served recall are on the server
    return documents, [n.score for n in nodes], own


def test_the_same_script_has_the_same_results(optimizer: QueryOptimizer, address: str) -> None:
    embedded = OptimizedRecallRetriever(optimizer=optimizer, k=3, scope=U1, highlights=True)
    served = RecallClient(address, k=3, scope=U1, highlights=True)
    assert script(served) == script(embedded)


def test_it_is_a_retriever_of_both_frameworks(client: RecallClient) -> None:
    assert isinstance(client, OptimizedRecallRetriever)
    assert isinstance(client, LangChainRetriever) and isinstance(client, LlamaIndexRetriever)
    assert isinstance(client.optimizer, QueryOptimizer)


# -- recalls -----------------------------------------------------------------------------------------------------------

MARCH = datetime(2026, 3, 1, tzinfo=timezone.utc)
CALLS: list[dict[str, Any]] = [
    {},
    {"k": 1, "context": 1},
    {"filters": {"n": {"$gte": 1}, "actors": ["sam"]}},
    {
        "filters": Filters(
            after=datetime(2026, 3, 3, tzinfo=timezone.utc), roles=(), metadata={"tags": {"$contains": "a"}}
        )
    },
    {"window": TemporalWindow(start=MARCH)},
    {
        "window": TemporalWindow(
            start=MARCH, alternatives=((MARCH, MARCH + timedelta(days=1)), (MARCH + timedelta(days=9), None))
        )
    },
    {"window": False, "timezone": "Europe/Berlin"},
    {"privacy": "redact"},
    {"privacy": "block", "context": 1},
    {"tokens_max": 12},
    {"score_min": 0.3},
    {"scopes": [U1, U2]},
    {"time_budget_ms": 60_000},
    {"now": datetime(2026, 3, 13, 8, tzinfo=timezone(timedelta(hours=2)))},
    {"scope": {"user_id": "nobody"}},
]


@pytest.mark.parametrize("given", CALLS, ids=[",".join(call) or "plain" for call in CALLS])
@pytest.mark.parametrize("query", QUERIES[:2])
def test_a_recall_is_the_same_to_the_last_digit(
    optimizer: QueryOptimizer, client: RecallClient, query: str, given: dict[str, Any]
) -> None:
    own = optimizer.recall(query, **{"k": 3, "scope": None if "scopes" in given else U1, **given})
    same(client.recall(query, **given), own)


def test_highlights_are_made_here_and_only_when_they_are_read(client: RecallClient, monkeypatch: Any) -> None:
    asked: list[str | None] = []
    make = Marking.__call__
    monkeypatch.setattr(Marking, "__call__", lambda self, memory: asked.append(memory.id) or make(self, memory))
    first = client.recall(QUERIES[0], k=2)
    assert asked == []
    assert first.hits[0].highlights and asked == [first.hits[0].memory.id]


async def test_asynchronously_too(optimizer: QueryOptimizer, client: RecallClient) -> None:
    found = await asyncio.gather(*(client.arecall(query) for query in QUERIES * 4))
    for result, query in zip(found, QUERIES * 4, strict=True):
        same(result, optimizer.recall(query, k=3, scope=U1))


async def test_a_vector_travels_to_the_last_bit(optimizer: QueryOptimizer, client: RecallClient) -> None:
    vector = optimizer.store.embedding.embed_query("the deploy")
    same(client.recall("x", query_vector=vector), optimizer.recall("x", k=3, scope=U1, query_vector=vector))


@pytest.mark.parametrize(
    ("query", "given"),
    [
        *[("", {}), (7, {}), ("x", {"k": 0}), ("x", {"k": "5"}), ("x", {"privacy": "none"})],
        *[
            ("x", {"now": datetime(2026, 1, 1)}),
            ("x", {"filters": {"year": {"$near": 1}}}),
            ("x", {"timezone": "Mars"}),
        ],
        *[("x", {"window": "March"}), ("x", {"score_min": 2}), ("x", {"context": -1})],
        ("x", {"time_budget_ms": float("nan")}),
    ],
)
def test_what_cannot_be_used_is_an_error_of_its_kind(
    optimizer: QueryOptimizer, client: RecallClient, query: Any, given: dict[str, Any]
) -> None:
    with pytest.raises(errors.InvalidInput):
        optimizer.recall(query, **given)
    with pytest.raises(errors.InvalidInput):
        client.recall(query, **given)


def test_a_strict_recall_brings_what_was_found(optimizer: QueryOptimizer) -> None:
    class Broken(QueryOptimizer):
        def recall(self, query: str, **given: Any) -> RecallResult:
            error = errors.DegradationFailed("The LLM failed.")
            error.result, error.options = optimizer.recall(query, **{**given, "strict": False}), ("return_minimal",)
            raise error

    with (
        running(Served(store=optimizer.store, optimizer=Broken(optimizer.store))) as address,
        RecallClient(address, scope=U1, on_error="empty") as client,
        pytest.raises(errors.DegradationFailed, match="The LLM failed") as caught,
    ):
        client.recall(QUERIES[0], strict=True, now=NOW)
    assert isinstance(caught.value.result, Result) and caught.value.options == ("return_minimal",)
    assert caught.value.result.hits == optimizer.recall(QUERIES[0], scope=U1).hits


async def test_the_application_itself_may_be_asked(optimizer: QueryOptimizer) -> None:
    app = create_app(Served(store=optimizer.store, optimizer=optimizer))
    client = RecallClient("http://localhost", async_transport=httpx.ASGITransport(app), scope=U1, k=3)
    same(await client.arecall(QUERIES[0]), optimizer.recall(QUERIES[0], scope=U1, k=3))
    await client.aclose()


# -- writing -----------------------------------------------------------------------------------------------------------


def test_what_is_written_is_there(address: str, optimizer: QueryOptimizer) -> None:
    scope, told = Scope("writer"), []
    with RecallClient(address, scope=scope) as client:
        one = client.remember("A plain text")
        memories = [Memory(f"Number {i}", id=f"n{i}", metadata={"i": i}, event_at=NOW) for i in range(1_100)]
        ids = client.remember_many(memories, progress=lambda *given: told.append(given))
        assert ids == [m.id for m in memories] and told[-1] == ("Remembering", 1_100, 1_100)
        assert client.count() == 1_101 == optimizer.store.count(scope=scope)
        assert client.count(filters={"i": {"$lt": 10}}) == 10
        assert client.get(one) == optimizer.store.get(one, scope=scope) and client.get("nothing") is None
        assert client.get("n7", scope=U1) is None
        assert client.remember("A plain text", on_duplicate="skip") == one
        assert client.remember_many(iter(["again", "and again"])) != []
        assert client.forget("n0") == 1 and client.forget(["n1", "n2", "n2"]) == 2 and client.forget("n0") == 0
        assert client.forget(filters={"i": {"$gte": 500}}) == 600
        assert client.forget(scope=scope) == 500 and client.count() == 0
        with pytest.raises(errors.InvalidMemory, match="remember_many takes an iterable"):
            client.remember_many("one")
        with pytest.raises(errors.InvalidMemory):
            client.remember("")
        with pytest.raises(errors.InvalidArgument, match="Say what to forget"):
            RecallClient(address).forget()


async def test_a_conversation_is_remembered() -> None:
    answer = '{"text": "I live in Berlin", "turns": [1], "type": "fact"}'
    said = {"role": "user", "content": "I live in Berlin", "timestamp": NOW, "name": "Ana"}
    with MemoryStore.open() as store:
        optimizer = QueryOptimizer(store, llm=lambda _prompt: answer)
        with running(Served(store=store, optimizer=optimizer)) as address, RecallClient(address, scope=U2) as client:
            silent = {"role": "assistant", "content": [{"type": "image"}]}
            found = client.remember_conversation([said, silent], thread="t", time_budget_ms=60_000)
            assert [item.decision for item in found.items] == ["new"] and found.skipped == (1,)
            kept = store.get(found.turns[0], scope=U2)
            assert kept is not None and (kept.actor, kept.event_at, kept.thread) == ("Ana", NOW, "t")
            again = await client.aremember_conversation([said, silent], thread="t")
            assert again.turns == found.turns and again.items == ()
            hidden = client.remember_conversation(["No"], privacy="block")
            assert hidden.unread == hidden.turns and hidden.thread != "t"
            assert client.remember_conversation(["Later"], thread="u", wait=False).thread == "u"
            optimizer.flush()
            assert client.remember_conversation([]).items == optimizer.remember_conversation([]).items == ()
            with pytest.raises(errors.InvalidMemory, match="Item 1 is Memory"):
                client.remember_conversation(["a", Memory("b")])  # type: ignore[list-item]
            with pytest.raises(errors.InvalidArgument, match="does not travel"):
                client.optimizer.remember_conversation(["a"])


def test_a_conversation_that_waits_too_long_says_what_to_do() -> None:
    read = threading.Event()
    with MemoryStore.open() as store:
        optimizer = QueryOptimizer(store, llm=lambda _prompt: str(read.wait(30)))
        with running(Served(store=store, optimizer=optimizer)) as address:
            client = RecallClient(address, timeout=0.5, retries=1)
            with pytest.raises(errors.RecallTimeout, match=r"wait=False.*thread='t'"):
                client.remember_conversation(["I live in Berlin"], thread="t")
            assert client.remember_conversation([], thread="u").thread == "u"  # waits behind nobody
            read.set()
            optimizer.flush()
            assert store.count() == 1


def test_ids_and_scopes_of_any_letters(client: RecallClient, optimizer: QueryOptimizer) -> None:
    assert client.get("x/1 ä", scope=U2) == optimizer.store.get("x/1 ä", scope=U2)
    assert [h.memory.id for h in client.recall("deploy", scope=U2).hits] == ["x/1 ä"]


# -- tokens, privacy ---------------------------------------------------------------------------------------------------


def test_with_a_token_the_scope_is_its_own(optimizer: QueryOptimizer, tmp_path: Path, caplog: Any) -> None:
    tokens = Tokens(tmp_path / "tokens.json")
    secret, _ = tokens.add(scopes=["u1"], privacy="redact")
    caplog.set_level(logging.DEBUG)
    with running(Served(store=optimizer.store, optimizer=optimizer, tokens=tokens)) as address:
        client = RecallClient(address, token=secret, k=2)
        found = client.recall(QUERIES[0])
        assert found.hits and all(hit.scope == U1 for hit in found.hits)
        assert "415-555" not in str(client.recall("call Sam", k=5))
        with pytest.raises(errors.ServerRefused, match="does not reach"):
            client.recall("x", scope=U2)
        with pytest.raises(errors.ServerRefused):
            RecallClient(address, token="rk_no_such_token").recall("x")
        with pytest.raises(errors.ServerRefused):
            RecallClient(address).recall("x")
        shown = f"{client!r} {client} {client.optimizer!r} {client.model_dump()} {client.remote.wire!r}"
        assert secret not in shown and secret not in caplog.text
        client.close()


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def gone() -> str:
    listener = start.listening("127.0.0.1", 0)
    address = start.address_of(listener)
    listener.close()
    return address


async def test_a_server_that_is_away_is_named_or_nothing_is_found() -> None:
    address = gone()
    client = RecallClient(address, retries=0, timeout=3)
    for ask in (lambda: client.recall("x"), lambda: client.invoke("x"), lambda: client.count()):
        with pytest.raises(errors.ServerUnavailable, match=address):
            ask()
    lenient = RecallClient(address, retries=0, on_error="empty")
    for found in (lenient.recall("x"), await lenient.arecall("x")):
        assert (found.hits, found.query.original, found.confidence) == ((), "x", 0.0)
        assert [(d.stage, d.reason) for d in found.degraded] == [("server", "unavailable"), ("recall", "not_searched")]
        assert address in found.degraded[0].detail
    assert lenient.invoke("x") == [] and await lenient.aretrieve("x") == []
    with pytest.raises(errors.ServerUnavailable):
        lenient.remember("x")
    with pytest.raises(errors.ServerUnavailable):
        lenient.recall("x", strict=True)


def test_the_deadline_holds_here_too() -> None:
    asked: list[dict[str, Any]] = []

    def page(request: httpx.Request) -> httpx.Response:
        import json

        asked.append(json.loads(request.content))
        raise httpx.ReadTimeout("late", request=request)

    client = RecallClient("http://localhost", transport=httpx.MockTransport(page))
    with pytest.raises(errors.RecallTimeout):
        client.recall("x", time_budget_ms=40)
    assert 1 <= asked[0]["time_budget_ms"] <= 40
    empty = RecallClient("http://localhost", transport=httpx.MockTransport(page), on_error="empty")
    late = empty.recall("x")
    assert [(d.stage, d.reason) for d in late.degraded] == [("server", "timeout"), ("recall", "not_searched")]
    assert not late.searched


@pytest.mark.parametrize(
    "make",
    [
        lambda: RecallClient(),
        lambda: RecallClient("nowhere"),
        lambda: RecallClient("http://localhost", timeout=0),
        lambda: RecallClient("http://localhost", timeout=True),
        lambda: RecallClient("http://localhost", on_error="ignore"),
        lambda: RecallClient("http://localhost", k=0),
        lambda: RecallClient("http://localhost", store=1),
        lambda: RecallClient("http://localhost", token=""),
    ],
)
def test_arguments_are_checked_when_it_is_made(make: Callable[[], RecallClient]) -> None:
    with pytest.raises(errors.InvalidArgument):
        make()


@pytest.mark.parametrize("reply", [[], {}, {"result": 7}, {"result": {"hits": 3}}, {"result": {"hits": []}}])
def test_a_reply_that_is_none_is_an_error(reply: Any) -> None:
    page = httpx.MockTransport(lambda _request: httpx.Response(200, json=reply))
    with pytest.raises(errors.ServerError):
        RecallClient("http://localhost", transport=page).recall("x")


def test_what_lives_on_the_server_says_so(client: RecallClient) -> None:
    for ask in (lambda: client.optimizer.parse("x"), lambda: setattr(client.optimizer, "rewrite_prompt", "{query}")):
        with pytest.raises(errors.InvalidArgument, match="does not travel"):
            ask()
    assert client.optimizer.stages == () and client.optimizer.health() == ()


async def test_agents_may_recall_through_it(address: str) -> None:
    mcp = pytest.importorskip("mcp")
    from recall_integrations.frameworks.mcp import memory_server

    with RecallClient(address, scope=U1) as client:
        async with mcp.Client(memory_server(client.optimizer, scope=U1)) as agent:
            found = await agent.call_tool("recall", {"query": QUERIES[0]})
    assert not found.is_error and "certificate" in found.content[0].text


def test_copies_ask_the_same_server(client: RecallClient) -> None:
    own = client.recall(QUERIES[0]).hits
    for other in (copy.deepcopy(client), pickle.loads(pickle.dumps(client)), client.with_config(tags=["a"]).bound):
        assert other.recall(QUERIES[0]).hits == own
        assert (other.k, other.scope) == (3, U1)


def test_threads_may_share_one(client: RecallClient) -> None:
    own, found = client.recall(QUERIES[0]).hits, []
    threads = [threading.Thread(target=lambda: found.append(client.recall(QUERIES[0]).hits)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [own] * 8


# -- facts -------------------------------------------------------------------------------------------------------------

PHONE = "what is my phone number?"


def told(memory_id: str, month: int, slot: str, value: str, **more: Any) -> Memory:
    at = datetime(2026, month, 5, tzinfo=timezone.utc)
    fact = {"slot": slot, "value": value, **more}
    whose = f"{more['subject']}'s" if more.get("subject") else "My"
    return Memory(f"{whose} {slot.replace('_', ' ')} is {value}", id=memory_id, event_at=at, metadata={"fact": fact})


@pytest.fixture(scope="module")
def facts_served() -> Iterator[Served]:
    with MemoryStore.open() as store:
        store.remember_many(
            [
                told("m1", 1, "phone_number", "555-0101"),
                told("m2", 6, "phone_number", "555-0202"),
                told("p1", 2, "employer", "Initech", subject="Priya"),
            ],
            scope=U1,
        )
        store.remember(told("x1", 2, "home", "Rome"), scope=U2)
        yield Served(store=store, optimizer=QueryOptimizer(store))


@pytest.fixture(scope="module")
def facts_client(facts_served: Served) -> Iterator[RecallClient]:
    with running(facts_served) as address, RecallClient(address, scope=U1) as client:
        yield client


def test_the_client_has_the_same_facts_as_the_store(facts_served: Served, facts_client: RecallClient) -> None:
    march, store = datetime(2026, 3, 1, tzinfo=timezone.utc), facts_served.store
    tries: list[dict[str, Any]] = [
        {},
        {"history": True},
        {"subject": ""},
        {"subject": "Priya"},
        {"slot": "phone_number", "as_of": march},
        {"scope": U2},
    ]
    for asked in tries:
        given = {"scope": U1, **asked}
        assert facts_client.facts(**given) == list(store.facts(**given))
    assert facts_client.facts() == list(store.facts(U1))
    with pytest.raises(errors.InvalidArgument, match="as_of"):
        facts_client.facts(as_of=datetime(2026, 3, 1))


def test_the_client_reads_all_pages(facts_client: RecallClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall_integrations.serving.client.AT_ONCE", 1)
    assert AT_ONCE > 1 and len(facts_client.facts(history=True)) == 3
    assert Limits().memories_max >= AT_ONCE


def test_a_recall_through_the_client_carries_them(facts_served: Served, facts_client: RecallClient) -> None:
    own = facts_served.optimizer
    march = datetime(2026, 3, 1, tzinfo=timezone.utc)
    tries: list[dict[str, Any]] = [{}, {"as_of": march}, {"filters": Filters(current_only=True)}]
    for asked in tries:
        given = {"now": datetime(2026, 9, 1, tzinfo=timezone.utc), **asked}
        here, there = own.recall(PHONE, scope=U1, **given), facts_client.recall(PHONE, **given)
        assert there.facts == here.facts and there.facts is not None
        assert [(h.memory.id, h.superseded_by, h.valid_from, h.valid_to, h.reason) for h in there] == [
            (h.memory.id, h.superseded_by, h.valid_from, h.valid_to, h.reason) for h in here
        ]
    documents = {d.id: d.metadata for d in facts_client.invoke(PHONE, k=2)}
    assert documents["m1"]["recall_superseded_by"] == "m2"
    assert documents["m1"]["recall_valid_to"] == documents["m2"]["recall_valid_from"] == "2026-06-05T00:00:00+00:00"
    assert "recall_superseded_by" not in documents["m2"]
    nodes = {n.node.node_id: n.node.metadata for n in facts_client.retrieve(PHONE)}
    assert nodes["m1"]["recall_superseded_by"] == "m2"


# -- feedback ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def judging() -> Iterator[tuple[Served, RecallClient]]:
    with MemoryStore.open() as store:
        said = ["Priya runs the deploy", "Sam drinks tea"]
        store.remember_many([Memory(text, id=f"m{i}") for i, text in enumerate(said, start=1)], scope=U1)
        served = Served(store=store, optimizer=QueryOptimizer(store))
        with running(served) as address, RecallClient(address, k=2, scope=U1) as client:
            yield served, client


@pytest.mark.parametrize("by", ["result", "id", "document", "run", "langsmith"])
def test_feedback_reaches_the_recall_on_the_server(judging: tuple[Served, RecallClient], by: str) -> None:
    served, client = judging
    run = uuid.uuid4()
    result = client.recall("deploy")
    documents = client.invoke("deploy", config={"run_id": run})
    before = sum(served.store.judgements.counts().values())
    kept: Any
    if by == "langsmith":
        kept = client.feedback_from({"run_id": run, "key": "user_score", "score": 1})
    else:
        names = {"result": result, "id": result.id, "document": documents[0].metadata[RESULT], "run": run}
        kept = client.feedback(names[by], helpful=["m1", "gone"])
        assert kept.ignored == ("gone",) and kept.kinds == ("helpful",)
    assert kept.gains == {U1: {"m1": 1.0}} and not kept.anew
    assert sum(served.store.judgements.counts().values()) == before + 1


def test_feedback_that_cannot_be_used_is_an_error_of_its_kind(judging: tuple[Served, RecallClient]) -> None:
    client = judging[1]
    result = client.recall("deploy")
    with pytest.raises(errors.NotFound):
        client.feedback("never", helpful=["m1"])
    assert client.feedback("never", helpful=["m1"], query="deploy", now=NOW).anew
    for wrong in ({}, {"helpful": "m1"}, {"rating": 7}, {"rating": float("nan")}, {"helpful": ["m1"], "wrong": ["m1"]}):
        with pytest.raises(errors.InvalidArgument):
            client.feedback(result, **wrong)
    for stays in (client.optimizer.learn, client.optimizer.learner, lambda: client.optimizer.scopes_of(result.id)):
        with pytest.raises(errors.InvalidArgument, match="does not travel"):
            stays()
    page = httpx.MockTransport(lambda _request: httpx.Response(200, json={"ids": []}))
    with pytest.raises(errors.ServerError):
        RecallClient("http://localhost", transport=page).feedback("r", rating=True)
