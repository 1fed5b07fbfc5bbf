"""What a privacy mode withholds comes out nowhere.

Identifiers made by their own rules are planted in every place of memories and queries, and looked for in everything
that leaves a recall: the result, both frameworks' documents, JSON and the terminal, logs, observers, errors, what a
reranker and a language model were given, and the files beside the database. `RECALL_LEAK_CASES` sets how many are
planted.

Whether a text holds an identifier is for the recogniser to say (its own tests ask for every context). Here each is
planted where it is recognised, and whatever is recognised once may not be said anywhere else.
"""

from __future__ import annotations

import logging
import os
import random
import re
import string
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import StringIO
from itertools import cycle, islice
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from llama_index.core.schema import MetadataMode
from rich.console import Console

from recall_integrations import Memory, MemoryStore, OptimizedRecallRetriever, QueryOptimizer, RecallConfig, Relation
from recall_integrations.arms.base import ArmRequest, ArmResult
from recall_integrations.arms.retrievers import ArmSpec
from recall_integrations.config import BreakerConfig, QueryConfig, RerankConfig
from recall_integrations.console import explain as explanation
from recall_integrations.console import rendering
from recall_integrations.delivery import as_data
from recall_integrations.errors import RecallError
from recall_integrations.privacy.door import Door
from recall_integrations.recall import RecallState, Stage, StageEvent, Turn
from recall_integrations.testing import HashEmbedding
from recall_integrations.types import Scope
from tests.quick import only

CASES = int(os.environ.get("RECALL_LEAK_CASES", "288"))
BATCH = 24  # memories of a store
PARTS = 3  # of which the first is quick
MODES = ("redact", "block")
GIVEN = ("what the reranker was given", "what the language model was given")
DOCUMENTS = ("a LangChain document", "a LlamaIndex node")

# -- what is planted -----------------------------------------------------------------------------------------------


def email(rng: random.Random) -> str:
    name = "".join(rng.choices("bcdfghjklmnpqrstvwxz", k=9))
    return f"{name}@{''.join(rng.choices('bcdfgklmnprst', k=7))}.example.org"


def key(rng: random.Random) -> str:
    return "sk-" + "".join(rng.choices(string.ascii_letters + string.digits, k=30))


def phone(rng: random.Random) -> str:
    return f"+49 {rng.choice([151, 160, 170, 171, 175])} {rng.randrange(10**6, 10**7)}"


def card(rng: random.Random) -> str:
    body = "4" + "".join(rng.choices(string.digits, k=14))
    total = sum(d if i % 2 else (2 * d - 9 if d > 4 else 2 * d) for i, d in enumerate(map(int, reversed(body))))
    number = body + str(-total % 10)
    return " ".join(number[i : i + 4] for i in range(0, 16, 4))


KINDS = {"email": email, "key": key, "phone": phone, "card": card}

TEXTS: dict[str, str] = {
    "alone": "{x}",
    "start": "{x} is what the harbour office has",
    "end": "the harbour office has {x}",
    "middle": "the harbour office has {x} and nothing else",
    "json": '{{"office": "harbour", "contact": "{x}", "floor": 3}}',
    "csv": "office,floor,contact\nharbour, 3, {x}\npier, 4, none",
    "url": "see https://harbour.example/office?contact= {x} for more",
    "chat": "[17.06.26, 12:03] Lena: the harbour office has {x}\n[17.06.26, 12:04] Sam: thanks",
    "colon": "the harbour office:{x}",
    "bracket": "the harbour office ({x}).",
    "quoted": 'the harbour office said "{x}", twice',
    "markdown": "## Harbour\n\n- office: **{x}**\n- floor: 3",
    "code": 'def office():\n    return "{x}"  # of the harbour',
}


@dataclass(frozen=True)
class Planted:
    """An identifier, the memory that holds it, and what must not come out."""

    kind: str
    place: str
    value: str
    memory: Memory
    canary: str = ""

    def forms(self) -> tuple[str, ...]:
        """As it is, in lower case, and without what parts it."""
        packed = "".join(filter(str.isalnum, self.value)).casefold()
        digits = "".join(filter(str.isdigit, self.value))
        name = (self.value.partition("@")[0],) if self.kind == "email" else ()
        return tuple({self.value, self.value.casefold(), packed, *name, *((digits,) if len(digits) > 8 else ())})

    def words(self) -> set[str]:
        """The words that it is made of, of those that do not stand for anything else."""
        return {word.casefold() for word in re.findall(r"\w{4,}", self.value)} - {"example"}


def planted(rng: random.Random, number: int, place: str, kind: str) -> Planted:
    """An identifier in a memory; as an alias, or in queries only, in none. Each text holds a word of its own."""
    value, canary = KINDS[kind](rng), f"zq{rng.randrange(10**9):09}canary"
    fields = {"thread": "t", "position": number, **(FIELDS[place](value) if place in FIELDS else {})}
    if place in ("alone", "start"):
        return Planted(kind, place, value, Memory(TEXTS[place].format(x=value), id=f"m{number}", **fields))
    text = TEXTS.get(place, "Henrike has the new door of the harbour office").format(x=value)
    return Planted(kind, place, value, Memory(f"{canary} {text}", id=f"m{number}", **fields), canary)


FIELDS: dict[str, Callable[[str], dict[str, Any]]] = {
    "actor": lambda x: {"actor": x},
    "named actor": lambda x: {"actor": f"Lena {x}"},
    "channel": lambda x: {"channel": x},
    "thread": lambda x: {"thread": x},
    "ref": lambda x: {"refs": [f"mail: {x}", "doc:harbour.md"]},
    "entity": lambda x: {"entities": [x, "Harbour Office"]},
    "relation": lambda x: {"relations": [Relation("Harbour Office", "reached_by", x)]},
    "subject": lambda x: {"relations": [Relation(x, "works_at", "Harbour Office")]},
    "metadata": lambda x: {"metadata": {"contact": x}},
    "metadata key": lambda x: {"metadata": {x: "harbour"}},
    "metadata inside": lambda x: {"metadata": {"office": [{"contact": [f"write to {x}"]}]}},
    "title": lambda x: {"metadata": {"title": f"Harbour {x}"}},
}
PLACES = (*TEXTS, *FIELDS, "alias", "query")
QUERIES = (
    "what does the harbour office have?",
    "{x}",
    "what is the harbour's {x} for, not the pier?",
    "who is {x} and what did they say last week",
    "harbor ofice {x}",
    "something about that thing",
)


def recognised(item: Planted) -> bool:
    """Whether it is found where it stands."""
    door = Door("redact")
    seen = repr(door.memory(item.memory))
    query = all(item.value not in door.text(query.format(x=item.value)) for query in QUERIES)
    return query and not any(form in seen or form in packed(seen) for form in item.forms())


def batches(part: int = 0) -> Iterator[tuple[int, list[Planted]]]:
    """Some of all pairs of kind and place, then all over again with other identifiers; every third of these lots."""
    pairs = cycle([(place, kind) for place in PLACES for kind in KINDS])
    for seed, start in enumerate(range(0, CASES, BATCH)):
        rng = random.Random(seed)
        chosen = list(islice(pairs, min(BATCH, CASES - start)))
        if seed % PARTS != part:
            continue
        yield seed, [planted(rng, number, place, kind) for number, (place, kind) in enumerate(chosen)]


# -- where it might come out ---------------------------------------------------------------------------------------


@dataclass
class Ways:
    """Everything that left, by way."""

    said: list[tuple[str, str]] = field(default_factory=list)

    def tell(self, way: str, what: object) -> None:
        self.said.append((way, what if isinstance(what, str) else repr(what)))

    def leaks(self, items: Sequence[Planted], mode: str) -> list[str]:
        found = []
        for way, text in self.said:
            whole, lower = packed(text), text.casefold()
            for item in items:
                if any(form in text or form in lower or form in whole for form in item.forms()):
                    found.append(f"{mode}: {item.kind} planted in {item.place} came out in {way}")
                if mode == "block" and item.canary and item.canary in lower:
                    found.append(f"{mode}: the text of a memory came out in {way}")
        return found


def packed(text: str) -> str:
    """Only letters and digits: a number comes out in whatever way it is parted."""
    return "".join(filter(str.isalnum, text)).casefold()


class Records(logging.Handler):
    def __init__(self, ways: Ways) -> None:
        super().__init__(logging.DEBUG)
        self.ways = ways

    def emit(self, record: logging.LogRecord) -> None:
        self.ways.tell(f"the log of {record.name}", record.getMessage())
        if record.exc_info:
            self.ways.tell("a log's traceback", "".join(traceback.format_exception(*record.exc_info)))


class Quoting:
    """A reranker and a language model that keep what they are given, and in every other call raise and quote it."""

    def __init__(self, ways: Ways) -> None:
        self.ways, self.calls = ways, 0

    def rerank(self, query: str, texts: list[str]) -> list[float]:
        self.ways.tell(GIVEN[0], f"{query}\n" + "\n".join(texts))
        self.calls += 1
        if self.calls % 2:
            raise ValueError(f"cannot score {query!r} against {texts[self.calls % len(texts)]!r}")
        return [1.0 / (1 + i) for i in range(len(texts))]

    def ask(self, prompt: str) -> str:
        self.ways.tell(GIVEN[1], prompt)
        self.calls += 1
        if self.calls % 2:
            raise ValueError(f"cannot answer {prompt!r}")
        return "the office at the harbour\nthe harbour's office"


class QuotingArm:
    """Raises what it is asked, with a memory."""

    name = "quoting"

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    def search(self, request: ArmRequest) -> ArmResult:
        raise RuntimeError(f"no place for {request.parsed.original!r} in {random.choice(self.texts)!r}")


class QuotingStage(Stage):
    """Raises what it sees; one that is essential ends the recall with it."""

    name, after = "quoting_stage", "rank"

    def __init__(self, texts: Sequence[str], *, essential: bool) -> None:
        self.texts, self.essential = texts, essential

    def run(self, state: RecallState, turn: Turn) -> RecallState:
        cause = KeyError(random.choice(self.texts))
        raise ValueError(f"{state.request.text}: {random.choice(self.texts)}") from cause


def optimizer_of(store: MemoryStore, ways: Ways, items: Sequence[Planted], essential: bool = False) -> QueryOptimizer:
    texts = [repr(item.memory) for item in items]
    fake = Quoting(ways)

    def told(event: StageEvent) -> None:
        ways.tell("an observer's event", event)
        if event.state is not None:
            raise AssertionError("an observer was given the state")
        raise LookupError(f"observed {event.stage}")

    return QueryOptimizer(
        store,
        llm=fake.ask,
        reranker=fake.rerank,
        arms=[ArmSpec(name="quoting", make=lambda _store, _config: lambda: QuotingArm(texts))],
        stages=[QuotingStage(texts, essential=essential)],
        observers=[told],
    )


CONFIG = RecallConfig(
    query=QueryConfig(entity_llm=True),
    rerank=RerankConfig(regret_max=0),
    breakers=BreakerConfig(failures_max=1_000),
)
SCOPE = Scope(user_id="harbour.master@pier.example")


class Callbacks(BaseCallbackHandler):
    """LangChain's own: what is retrieved, and what is raised, as tracers see it."""

    def __init__(self, ways: Ways) -> None:
        self.ways = ways

    def on_retriever_end(self, documents: Any, **_given: Any) -> None:
        self.ways.tell("LangChain's callbacks", documents)

    def on_retriever_error(self, error: BaseException, **_given: Any) -> None:
        self.ways.tell("LangChain's callbacks", error)


def ask_all(store: MemoryStore, items: Sequence[Planted], mode: str, rng: random.Random) -> Ways:
    """Everything that leaves while questions are asked in a mode."""
    ways = Ways()
    with listening(ways):
        optimizer = optimizer_of(store, ways, items)
        options: dict[str, Any] = {"scope": SCOPE, "privacy": mode, "time_budget_ms": 60_000, "context": 1}
        for item in rng.sample(list(items), 3):
            query = rng.choice(QUERIES[1:5]).format(x=item.value)
            result = optimizer.recall(query, k=len(items), **options)
            shown_result(ways, result)
            read = set(re.findall(r"\w+", repr((replace(result.query, now=None), result.plan)).casefold()))
            if read & item.words():
                ways.tell("the words of the query", item.value)
            assert len(result.hits) == len(items)
        through_frameworks(ways, optimizer, rng.choice(QUERIES).format(x=rng.choice(items).value), options, mode)
        raised(ways, lambda: optimizer.recall(query, strict=True, **options))
        essential = optimizer_of(store, ways, items, essential=True)
        raised(ways, lambda: essential.recall(query, **options))
        raised(ways, lambda: optimizer.recall(query, **options | {"timezone": query, "k": 3}))
        ways.tell("stats", store.stats())
        ways.tell("health", optimizer.health())
        for path in store.path.iterdir():
            if path.is_file() and not path.name.startswith("recall.db"):  # the database is the record itself
                ways.tell(f"the file {path.name}", path.name + path.read_text(errors="replace"))
        optimizer.close()
    return ways


def shown_result(ways: Ways, result: Any) -> None:
    """A result as itself, as data, and on a terminal."""
    ways.tell("the result", result)
    ways.tell("--json", as_data.dumps(as_data.result_data(result, Scope(), 3)))
    asked = explanation.asked_arms(result, result.plan)
    ways.tell("explain --json", as_data.dumps(as_data.explanation_data(result, result.plan, Scope(), asked=asked, k=3)))
    out = StringIO()
    console = Console(file=out, width=500)
    rendering.show_result(console, result, Scope())
    explanation.explain(console, result)
    ways.tell("the terminal", out.getvalue())


def through_frameworks(ways: Ways, optimizer: QueryOptimizer, query: str, options: dict[str, Any], mode: str) -> None:
    retriever = OptimizedRecallRetriever(optimizer=optimizer, k=6, **options)
    documents = retriever.invoke(query, config={"callbacks": [Callbacks(ways)]})
    nodes = retriever.retrieve(query)
    if mode == "block":
        assert documents == [] and nodes == []
    for document in documents:
        ways.tell(DOCUMENTS[0], f"{document!r} {document.model_dump_json()} {document}")
    for node in nodes:
        content = node.node.get_content(metadata_mode=MetadataMode.ALL)
        ways.tell(DOCUMENTS[1], f"{node!r} {node.model_dump_json()} {content} {node.node.hash}")


def raised(ways: Ways, run: Callable[[], object]) -> None:
    with pytest.raises(RecallError) as caught:
        run()
    error: BaseException | None = caught.value
    frames = traceback.extract_tb(error.__traceback__) if error else []
    assert frames
    ways.tell("an error", f"{error!r} {error} {error.__dict__} {getattr(error, 'result', None)!r}")
    ways.tell("a traceback", "".join(traceback.format_exception(error)))
    while error is not None:
        error = error.__cause__ or error.__context__
        ways.tell("what caused an error", f"{error!r} {error}")


@contextmanager
def listening(ways: Ways) -> Iterator[None]:
    root, handler = logging.getLogger(), Records(ways)
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)


def store_of(items: Sequence[Planted]) -> MemoryStore:
    store = MemoryStore.open(embedding=HashEmbedding(), config=CONFIG)
    store.add_entity("Henrike", aliases=["Rike", *(item.value for item in items if item.place == "alias")], scope=SCOPE)
    store.remember_many([item.memory for item in items], scope=SCOPE)
    return store


# -- the property --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", only(range(PARTS), 0))
def test_nothing_withheld_comes_out_anywhere(part: int, capsys: pytest.CaptureFixture[str]) -> None:
    count, outputs, left_out, leaks = 0, 0, 0, []
    used: dict[str, set[str]] = {mode: set() for mode in MODES}
    for seed, made in batches(part):
        items = [item for item in made if recognised(item)]
        left_out += len(made) - len(items)
        with store_of(items) as store:
            for mode in MODES:
                ways = ask_all(store, items, mode, random.Random(seed))
                leaks += ways.leaks(items, mode)
                outputs += len(ways.said)
                used[mode].update(way for way, _ in ways.said)
        count += len(items)
    with capsys.disabled():
        told = f"{left_out} not recognised where they stand, {outputs} outputs looked at"
        print(f"\nzero leak: {count} planted, {told}")
    assert leaks == []
    assert count >= 0.8 * (count + left_out) > 0
    assert used["redact"] >= {"the result", "--json", "the terminal", "an error", "a traceback", *DOCUMENTS, *GIVEN}
    assert not used["block"] & {*DOCUMENTS, *GIVEN}


def test_what_is_looked_for_is_found_where_nothing_is_withheld() -> None:
    """The same with `allow`: else the test above might look in the wrong places."""
    _, made = next(iter(batches()))
    items = [item for item in made if item.place not in ("alias", "query")]
    ways = Ways()
    with store_of(items) as store:
        optimizer = QueryOptimizer(store, reranker=Quoting(ways).rerank, observers=[lambda e: ways.tell("event", e)])
        with listening(ways):
            shown_result(ways, optimizer.recall(QUERIES[2].format(x=items[0].value), scope=SCOPE, k=len(items)))
        optimizer.close()
    leaks = ways.leaks(items, "allow")
    for item in items:
        assert f"allow: {item.kind} planted in {item.place} came out in the result" in leaks
    for way in ("event", "--json", "the terminal", "what the reranker was given"):
        assert any(leak.endswith(way) for leak in leaks), way
