"""A language model behind a network, by the real clients of both frameworks, with every fault and every plan.

Whatever it does, a recall finds what it finds without one: the same hits with the same scores, in its time, and what
went wrong is said. The server is on loopback (`openai_server.py`); nothing leaves the machine.
"""

from __future__ import annotations

import itertools
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.speed.synthetic import END, PLANS, SCOPE, synthetic_memories
from recall_integrations import MemoryStore, QueryOptimizer, RecallConfig, RecallResult
from recall_integrations.config import BreakerConfig
from recall_integrations.resilience.failures import TRIES
from tests.integration.openai_server import (
    BROKEN,
    CLOSED,
    CUT_OFF,
    EMPTY,
    FAULTS,
    HUNG,
    INSTRUCTION,
    MODEL,
    RATE_LIMITED,
    SERVER_ERROR,
    SLOW,
    UNREACHED,
    WELL,
    WORTHLESS,
    OpenAiServer,
)
from tests.rows import each_row

MEMORIES = 300
K = 10
BUDGET_MS = 10_000.0  # of a recall; far more than the model may take, so that the arms always end in time
PATIENCE_MS = 8_000.0  # for a model that answers at once, on a machine that is busy
IMPATIENCE_MS = 150.0  # for one that does not answer
ARRIVES_S = 10.0
SLACK_MS = 4_000.0  # of a busy machine; a recall that waited for the model would be beyond it, or never end
PAUSE_S = 0.2
FAILURES_MAX = 3

# One for each plan on these memories, all of them unsure, so that a rewrite is worth asking for; read against `END`.
QUERIES = {
    "precise": "What is the jx1267040 preference of Hugo Tanaka from 3 March 2025?",
    "entity_centric": "Which autocurry counterreport preference did Greta Tanaka tell Sam Tanaka yesterday?",
    "temporal": "What happened with the checkout last week?",
    "precision": "who fed the parrot in the aquarium?",
    "exploratory": "things like interview and incident",
    "balanced": "what has Pryia Ramn got on the partner and the shipment?",
}
NEVER_ASKED = ("precise",)  # it says what it is after
VAGUE = tuple(
    f"things like {one} and {other}"
    for one, other in itertools.combinations(("interview", "incident", "payment", "deadline"), 2)
)
ANSWERS = {query: [f"what was said: {query}", f"notes that say {query}"] for query in QUERIES.values()}


@pytest.fixture(scope="module", autouse=True)
def clients() -> None:
    """Loaded when a test runs: it takes seconds, and every process of tests imports this module."""
    pytest.importorskip("langchain_openai", reason="langchain-openai (extra `test`) is not installed")
    pytest.importorskip("llama_index.llms.openai", reason="llama-index-llms-openai (extra `test`) is not installed")


def settings(patience_ms: float = PATIENCE_MS, **breakers: Any) -> RecallConfig:
    """Defaults, but that the model is asked however sure the answer is, about rewrites only, and waited for so long."""
    config = RecallConfig()
    query = replace(config.query, spelling=False)  # it also asks about corrections
    guarded = replace(config, query=query, breakers=BreakerConfig(failures_max=FAILURES_MAX, **breakers))
    return replace(guarded, rewriting=replace(config.rewriting, mode="full", timeout_ms=patience_ms))


def patience(fault: str) -> float:
    return IMPATIENCE_MS if fault in UNREACHED else PATIENCE_MS


# -- clients -----------------------------------------------------------------------------------------------------------


def langchain(server: OpenAiServer, **options: Any) -> Any:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model=MODEL, base_url=server.url, api_key="unused", **{"max_retries": 0, **options})


def llamaindex(server: OpenAiServer, **options: Any) -> Any:
    from llama_index.llms.openai import OpenAI

    return OpenAI(model=MODEL, api_base=server.url, api_key="unused", **{"max_retries": 0, **options})


class AsyncOnly:
    """A client that has one method, and that is a coroutine."""

    def __init__(self, client: Any, method: str) -> None:
        setattr(self, method, getattr(client, method))


def ainvoke_only(server: OpenAiServer, **options: Any) -> Any:
    return AsyncOnly(langchain(server, **options), "ainvoke")


def acomplete_only(server: OpenAiServer, **options: Any) -> Any:
    return AsyncOnly(llamaindex(server, **options), "acomplete")


Client = Callable[..., Any]
CLIENTS: dict[str, Client] = {"langchain": langchain, "llamaindex": llamaindex}
ASYNC_ONLY: dict[str, Client] = {"ainvoke": ainvoke_only, "acomplete": acomplete_only}


@pytest.fixture(params=CLIENTS.values(), ids=CLIENTS)
def client(request: pytest.FixtureRequest) -> Client:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback is asked directly, whatever the machine's settings are."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE", "OPENAI_PROXY", "OPENAI_ORG_ID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[OpenAiServer]:
    with OpenAiServer(ANSWERS) as made:
        yield made


# -- stores ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "store"
    with MemoryStore.open(path) as store:
        store.remember_many(synthetic_memories(MEMORIES), scope=SCOPE)
    return path


Fresh = Callable[[], MemoryStore]


@pytest.fixture
def fresh(template: Path, fast_path: Path) -> Iterator[Fresh]:
    """Opens a store in which nothing ever failed: what is known of a model is kept beside the memories."""
    opened: list[MemoryStore] = []

    def open_() -> MemoryStore:
        path = fast_path / f"store-{len(opened)}"
        shutil.copytree(template, path)
        opened.append(MemoryStore.open(path))
        return opened[-1]

    yield open_
    for store in opened:
        store.close()


@pytest.fixture(scope="module")
def without(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], RecallResult]:
    """What is found without a model."""
    path = tmp_path_factory.mktemp("without") / "store"
    shutil.copytree(template, path)
    found: dict[str, RecallResult] = {}

    def ask(query: str) -> RecallResult:
        if query not in found:
            with MemoryStore.open(path) as store:
                found[query] = recalled(QueryOptimizer(store, config=settings()), query)
        return found[query]

    return ask


Without = Callable[[str], RecallResult]


def recalled(optimizer: QueryOptimizer, query: str) -> RecallResult:
    return optimizer.recall(query, k=K, scope=SCOPE, now=END, time_budget_ms=BUDGET_MS)


def hits(result: RecallResult) -> list[tuple[str | None, float]]:
    return [(hit.memory.id, hit.score) for hit in result.hits]


def timed(ask: Callable[[], RecallResult]) -> tuple[RecallResult, float]:
    begun = time.perf_counter()
    result = ask()
    return result, (time.perf_counter() - begun) * 1e3


# -- what is said ------------------------------------------------------------------------------------------------------


def named(result: RecallResult) -> set[str]:
    return {d.reason for d in result.degraded if d.stage == "rewrite"}


def tries(fault: str) -> int:
    """How often a call with this fault is tried: what may pass in a moment, once more."""
    return TRIES if fault in (RATE_LIMITED, SERVER_ERROR, CUT_OFF, CLOSED) else 1


def assert_asked(server: OpenAiServer, times: int) -> None:
    """The request of a call that was given up may reach the server after the recall, on a busy machine."""
    until = time.monotonic() + ARRIVES_S
    while server.asked < times and time.monotonic() < until:
        time.sleep(0.01)
    assert server.asked == times


def assert_fell_back(result: RecallResult, fault: str) -> None:
    outcome = result.rewrite
    assert (outcome.strategy, outcome.used) == ("fallback", False), outcome
    if fault in UNREACHED:
        assert outcome.reason == "failure.timeout"
    elif fault in BROKEN:
        assert outcome.reason == "failure.error"
    else:
        assert outcome.reason.startswith("failure.")
    assert outcome.duration_ms > 0
    assert named(result), result.degraded
    assert not result.query.rewrites


# -- the tests ---------------------------------------------------------------------------------------------------------


def test_there_is_a_query_for_each_plan(without: Without) -> None:
    assert tuple(QUERIES) == PLANS
    assert {without(query).plan.name: query for query in QUERIES.values()} == QUERIES
    assert all(without(query).hits for query in (*QUERIES.values(), *VAGUE))


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_with_each_plan_a_fault_changes_no_hit(
    fault: str, client: Client, server: OpenAiServer, fresh: Fresh, without: Without
) -> None:
    llm = client(server)
    server.fault = fault
    for plan, query in QUERIES.items():
        asked = server.asked
        optimizer = QueryOptimizer(fresh(), llm=llm, config=settings(patience(fault)))
        result, ms = timed(lambda optimizer=optimizer, query=query: recalled(optimizer, query))
        assert result.plan.name == plan
        assert hits(result) == hits(without(query)), plan
        assert ms < (IMPATIENCE_MS + SLACK_MS if fault in UNREACHED else BUDGET_MS)
        if plan in NEVER_ASKED:
            assert result.rewrite.strategy == "skipped"
            assert result.rewrite.reason.startswith("skip.specific")
            assert (server.asked, named(result)) == (asked, set())
        else:
            assert_fell_back(result, fault)
            assert_asked(server, asked + tries(fault))


@pytest.mark.parametrize("fault", (HUNG, SERVER_ERROR, CUT_OFF, EMPTY, INSTRUCTION))
async def test_awaited_it_is_the_same(
    fault: str, client: Client, server: OpenAiServer, fresh: Fresh, without: Without
) -> None:
    query = QUERIES["exploratory"]
    optimizer = QueryOptimizer(fresh(), llm=client(server), config=settings(patience(fault)))
    server.fault = fault
    begun = time.perf_counter()
    result = await optimizer.arecall(query, k=K, scope=SCOPE, now=END, time_budget_ms=BUDGET_MS)
    assert (time.perf_counter() - begun) * 1e3 < BUDGET_MS
    assert hits(result) == hits(without(query))
    assert_fell_back(result, fault)


@pytest.mark.sweep(every=5)
@pytest.mark.parametrize("fault", FAULTS)
def test_after_three_failures_it_is_not_asked_again(
    fault: str, client: Client, server: OpenAiServer, fresh: Fresh, without: Without
) -> None:
    store = fresh()
    llm, config = client(server), settings(patience(fault))
    optimizer = QueryOptimizer(store, llm=llm, config=config)
    server.fault = fault
    for query in VAGUE[:FAILURES_MAX]:
        assert_fell_back(recalled(optimizer, query), fault)
    asked = FAILURES_MAX * tries(fault)
    assert_asked(server, asked)
    server.fault = WELL
    later = QueryOptimizer(store, llm=llm, config=config)  # another one of this store knows it, too
    for query, asker in zip(VAGUE[FAILURES_MAX:], (optimizer, optimizer, later), strict=True):
        result = recalled(asker, query)
        assert hits(result) == hits(without(query))
        assert result.rewrite.reason == "circuit_open"
        assert result.rewrite.strategy in ("skipped", "fallback")
        assert not result.rewrite.used
        assert named(result)
    assert server.asked == asked


@pytest.mark.parametrize("fault", (SERVER_ERROR, HUNG))
def test_what_has_recovered_is_asked_again(fault: str, client: Client, server: OpenAiServer, fresh: Fresh) -> None:
    store = fresh()
    failing = QueryOptimizer(store, llm=client(server), config=settings(patience(fault), open_s=PAUSE_S))
    server.fault = fault
    for query in VAGUE[:FAILURES_MAX]:
        recalled(failing, query)
    server.fault = WELL
    time.sleep(2 * PAUSE_S)
    again = QueryOptimizer(store, llm=client(server), config=settings(open_s=PAUSE_S))
    result = recalled(again, QUERIES["exploratory"])
    assert (result.rewrite.strategy, result.rewrite.reason) == ("llm", "success")
    assert again.health()
    assert all(health.breaker == "closed" for health in again.health())


def test_a_model_that_is_well_adds_what_its_words_find(
    client: Client, server: OpenAiServer, fresh: Fresh, without: Without
) -> None:
    """It asks for the same in the words of another memory; names and numbers it leaves alone."""
    query = QUERIES["exploratory"]
    before = hits(without(query))
    there = {found for found, _ in before}
    target = next(m for m in synthetic_memories(MEMORIES) if m.id not in there and "interview" in m.text)
    own = " ".join(word for word in target.text.split() if word.isalpha() and word.islower())
    server.answers = OpenAiServer({query: [f"interview and incident, {own}", "which incident at an interview"]}).answers
    result = recalled(QueryOptimizer(fresh(), llm=client(server), config=settings()), query)
    assert (result.rewrite.strategy, result.rewrite.reason, result.rewrite.used) == ("llm", "success", True)
    assert result.rewrite.duration_ms > 0
    assert not result.degraded
    assert len(result.query.rewrites) == 2
    assert server.asked == 1
    assert target.id in {found for found, _ in hits(result)}


ONE, OTHER = "the incident after the interview", "how the interview went wrong"
JSON = f'{{\n  "phrasings": [\n    "{ONE}",\n    "{OTHER}"\n  ]\n}}'
# As a large model, a careful one and one of three billion parameters write.
WRITTEN: list[tuple[str, tuple[str, ...]]] = [
    (f"Sure! Here are two ways:\n\n1. **{ONE}**\n2. **{OTHER}**\n\nWould you like more?", (ONE, OTHER)),
    (f"Here is the JSON:\n\n```json\n{JSON}\n```\n\nThese keep what is \"vague\".", (ONE, OTHER)),
    (f'```json\n["{ONE}", "{OTHER}", "what was said of the inci', (ONE, OTHER)),
    (f'[{{"text": "{ONE}", "why": "time"}}, {{"text": "{OTHER}", "why": "cause"}}]', (ONE, OTHER)),
    (f'- "{ONE}" - asks for the time\n- "{OTHER}" (asks why)\n\nThese phrasings stay close to it.', (ONE, OTHER)),
    (f"1. **By time:** {ONE}\n   - narrower\n2. **By cause**: {OTHER}", (ONE, OTHER)),
    (f'{ONE}\n{OTHER}\n\nRequest: "how is the weather"\nPhrasings:\nrain or sun', (ONE, OTHER)),
    ("Hier sind zwei Formulierungen:\n\n1) der Vorfall im Gespräch\n2) was danach geschah\n\nViel Erfolg damit!",
     ("der Vorfall im Gespräch", "was danach geschah")),
    ("I don't have access to your stored memories, so I can't search them.", ()),
    ("Es tut mir leid, dabei kann ich nicht helfen.", ()),
    ("<think>\nThe user wants\n1. something about", ()),
]  # fmt: skip


@each_row(("written", "phrasings"), WRITTEN)
def test_what_models_write_around_phrasings_is_left_out(
    client: Client, server: OpenAiServer, fresh: Fresh, written: str, phrasings: tuple[str, ...]
) -> None:
    server.content = lambda _prompt: written  # type: ignore[method-assign]
    result = recalled(QueryOptimizer(fresh(), llm=client(server), config=settings()), QUERIES["exploratory"])
    assert result.query.rewrites == phrasings
    assert result.rewrite.reason == ("success" if phrasings else "failure.empty")
    assert result.rewrite.usage == {"tokens_in": 1, "tokens_out": 1}


def test_structured_output_is_read(server: OpenAiServer, fresh: Fresh) -> None:
    from pydantic import BaseModel

    class Phrasings(BaseModel):
        phrasings: list[str]

    server.content = lambda _prompt: JSON  # type: ignore[method-assign]
    as_model = langchain(server).with_structured_output(Phrasings, method="json_schema")
    as_mapping = langchain(server).with_structured_output(Phrasings.model_json_schema(), method="json_schema")
    for llm in (as_model, as_mapping):
        result = recalled(QueryOptimizer(fresh(), llm=llm, config=settings()), QUERIES["exploratory"])
        assert result.query.rewrites == (ONE, OTHER)


@pytest.mark.parametrize("method", ASYNC_ONLY.values(), ids=ASYNC_ONLY)
@pytest.mark.parametrize("fault", [WELL, SERVER_ERROR, HUNG])
def test_a_client_that_only_awaits_is_asked_too(
    method: Client, fault: str, server: OpenAiServer, fresh: Fresh, without: Without
) -> None:
    query = QUERIES["exploratory"]
    optimizer = QueryOptimizer(fresh(), llm=method(server), config=settings(patience(fault)))
    server.fault = fault
    result, ms = timed(lambda: recalled(optimizer, query))
    assert ms < BUDGET_MS
    if fault == WELL:
        assert (result.rewrite.strategy, result.rewrite.reason) == ("llm", "success")
    else:
        assert hits(result) == hits(without(query))
        assert_fell_back(result, fault)


@pytest.mark.parametrize("method", ASYNC_ONLY.values(), ids=ASYNC_ONLY)
async def test_and_awaited(method: Client, server: OpenAiServer, fresh: Fresh) -> None:
    optimizer = QueryOptimizer(fresh(), llm=method(server), config=settings())
    result = await optimizer.arecall(QUERIES["exploratory"], k=K, scope=SCOPE, now=END, time_budget_ms=BUDGET_MS)
    assert (result.rewrite.strategy, result.rewrite.reason) == ("llm", "success")


@pytest.mark.parametrize("fault", (RATE_LIMITED, SERVER_ERROR, SLOW))
def test_the_retries_of_a_client_are_left_behind(
    fault: str, client: Client, server: OpenAiServer, fresh: Fresh, without: Without
) -> None:
    """By default it asks two or three times, with pauses of a second, and longer where the server says so."""
    query = QUERIES["exploratory"]
    llm = client(server, max_retries=2)
    optimizer = QueryOptimizer(fresh(), llm=llm, config=settings(IMPATIENCE_MS))
    server.fault = fault
    result, ms = timed(lambda: recalled(optimizer, query))
    assert ms < IMPATIENCE_MS + SLACK_MS
    assert hits(result) == hits(without(query))
    assert result.rewrite.strategy == "fallback"
    assert result.rewrite.reason == "failure.timeout"
    assert named(result)


def test_a_server_that_is_gone_is_a_reason(client: Client, fresh: Fresh, without: Without) -> None:
    query = QUERIES["exploratory"]
    with OpenAiServer(ANSWERS) as closed:
        llm = client(closed)
    result = recalled(QueryOptimizer(fresh(), llm=llm, config=settings()), query)
    assert hits(result) == hits(without(query))
    assert result.rewrite.reason == "failure.error"
    assert named(result)


def test_a_short_budget_is_kept(client: Client, server: OpenAiServer, fresh: Fresh, without: Without) -> None:
    """The default patience of seconds, in a recall that has less."""
    store, query = fresh(), QUERIES["exploratory"]
    recalled(QueryOptimizer(store, config=settings()), query)  # columns and names are in memory
    optimizer = QueryOptimizer(store, llm=client(server), config=settings(6_000))
    server.fault = HUNG
    result, ms = timed(lambda: optimizer.recall(query, k=K, scope=SCOPE, now=END, time_budget_ms=500))
    assert ms < 500 + SLACK_MS
    assert hits(result) == hits(without(query))
    assert named(result)


def test_the_faults_are_parted() -> None:
    assert sorted(FAULTS) == sorted({*UNREACHED, *BROKEN, *WORTHLESS})
