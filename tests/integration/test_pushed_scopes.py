"""Scopes of PostgreSQL that no node reads whole: the same answers as of a node that reads them, all their life."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest
from click.testing import CliRunner
from sqlalchemy import func, select

from recall_integrations import Filters, Memory, MemoryStore, QueryOptimizer, RecallConfig, Relation, Scope
from recall_integrations.cli import main
from recall_integrations.config import RetrievalConfig
from recall_integrations.database import schema
from recall_integrations.errors import VectorsAway
from recall_integrations.indexes import scope_views
from recall_integrations.indexes.vector_server import VectorServer
from recall_integrations.store import pushing, where
from tests import chroma
from tests.conftest import NOW
from tests.postgres import Postgres

ANN = Scope(user_id="ann")
LARGE = RecallConfig(retrieval=RetrievalConfig(local_max=50))
PEOPLE = ("Priya", "Sam", "User", "assistant")
THINGS = "swans deploy budget kestrel apples trains coffee tea garden lake meeting invoice report".split()
QUERIES = (
    "Who counted the swans?",
    "What did Priya paint in February?",
    "Where do I live?",
    "What happened last week?",
    "Who manages Sam?",
    "not the deploy, the garden",
    "Project Kestrel",
    "What did the assistant say about trains?",
    "my favourite drink",
    "zebra quantum",
    "How many apples?",
    "tell me everything from January 2026",
    "ok",
)
FILTERS = (
    None,
    Filters(types=["fact", "event"]),
    Filters(actors=["priya"]),
    Filters(channels=["slack"]),
    Filters(after=NOW - timedelta(days=60)),
    Filters(metadata={"room": {"$in": [2, 3]}}),
    Filters(metadata={"$not": {"open": True}}),
    Filters(threads=["chat-2"]),
    Filters(roles=["user"]),
    Filters(entities=["Project Kestrel"]),
    Filters(current_only=True),
    Filters(types=["event"], actors=["Sam"], before=NOW - timedelta(days=100)),
)


def said(rng: random.Random, number: int) -> str:
    one, other = rng.sample(THINGS, 2)
    return rng.choice(
        [
            f"{rng.choice(PEOPLE[:2])} counted the {one} and painted the {other}",
            f"I moved the {one} yesterday. Did you see the {other}?",
            f"My favourite drink is {rng.choice(['coffee', 'tea', 'juice'])}",
            f"I live in {rng.choice(['Lisbon', 'Oslo', 'Rome'])} now",
            f"The {one} costs {number} euros, {other} are extra",
            "ok thanks",
            f"What about the {one}?",
        ]
    )


def made(rng: random.Random, number: int) -> Memory:
    """Of any kind but documents: of these the second hop leads to others, where a scope is small enough for it."""
    old = timedelta(days=rng.randint(0, 300), minutes=rng.randint(0, 1_000))
    return Memory(
        said(rng, number),
        id=f"m{number}",
        type=rng.choice(["fact", "preference", "event", "observation", "summary"]),
        actor=rng.choice([None, *PEOPLE]),
        channel=rng.choice([None, "slack", "mail"]),
        event_at=rng.choice([None, NOW - old]),
        created_at=NOW - timedelta(days=400, seconds=number),
        importance=rng.random(),
        thread=rng.choice([None, "chat-1", "chat-2", "chat-3"]),
        metadata=rng.choice([{}, {"room": rng.randint(1, 5)}, {"room": 2, "open": True}]),
        entities=rng.choice([[], ["Project Kestrel"]]),
        relations=rng.choice([[], [Relation("Priya", "manager_of", "Sam")]]),
        expires_at=rng.choice([None, None, None, NOW + timedelta(hours=1)]),
    )


@contextmanager
def node(url: str, config: RecallConfig = LARGE, now: datetime = NOW) -> Iterator[MemoryStore]:
    with MemoryStore.open(url, config=config, clock=lambda: now) as opened:
        assert opened.indexes.settle(60)
        yield opened


def pushed_down(store: MemoryStore, scope: Scope = ANN) -> bool:
    scope_id = store.scope_id(scope)
    assert scope_id is not None
    return store.pushed(scope_id) is not None


@pytest.fixture(scope="module")
def both(postgres: Postgres) -> Iterator[tuple[str, str]]:
    """Two databases with the same memories; of the first the scope is pushed down."""
    rng, url = random.Random(5), postgres.fresh()
    with node(url) as store:
        store.remember_many([made(rng, n) for n in range(150)], scope=ANN)
        store.remember_many([made(rng, n) for n in range(10)], scope=Scope(user_id="bob"))
        store.add_entity("Priya Raman", aliases=["Priya"], scope=ANN)
        assert store.indexes.settle(60)
        for n in range(20, 40):
            store.forget(f"m{n}", scope=ANN)
        store.remember_many([made(rng, n) for n in range(140, 170)], scope=ANN)
    copy = postgres.fresh_of(url)
    yield url, copy
    postgres.drop(url)
    postgres.drop(copy)


def compared(both: tuple[str, str], pairs: list[tuple[str, Filters | None]], now: datetime, **more: int) -> int:
    """How many hits there are, of which ids and scores are the same both ways."""
    count = 0
    with ExitStack() as stack:
        large = stack.enter_context(node(both[0], LARGE, now))
        small = stack.enter_context(node(both[1], RecallConfig(), now))
        assert pushed_down(large) and not pushed_down(small)
        ours, theirs = QueryOptimizer(large, config=LARGE), QueryOptimizer(small)
        scope_id = large.scope_id(ANN)
        assert scope_id is not None
        outline, view = large.outline(scope_id), small.view(scope_id)
        assert outline.text is not None and view.text is not None
        assert (outline.count, outline.mean_length) == (view.count, view.mean_length)
        assert outline.text.kind == view.text.kind
        assert outline.text.mean_log_length == view.text.mean_log_length
        for query, filters in pairs:
            given = {"scope": ANN, "now": NOW, "k": 6, "filters": filters, "time_budget_ms": 30_000, **more}
            one, other = ours.recall(query, **given), theirs.recall(query, **given)  # type: ignore[arg-type]
            assert [hit.memory.id for hit in one.hits] == [hit.memory.id for hit in other.hits], (query, filters)
            assert [hit.score for hit in one.hits] == pytest.approx([hit.score for hit in other.hits], abs=1e-3)
            assert [hit.context for hit in one.hits] == [hit.context for hit in other.hits]
            assert (one.plan.name, one.degraded) == (other.plan.name, other.degraded)
            count += len(one.hits)
    return count


def test_hits_are_those_of_a_node_that_reads_all(both: tuple[str, str]) -> None:
    """One filter for each query."""
    pairs = [(query, FILTERS[n % len(FILTERS)]) for n, query in enumerate(QUERIES)]
    assert compared(both, [*pairs, *((query, None) for query in QUERIES[:4])], NOW) > 40


def test_what_has_ended_is_left_out_of_all_that_is_counted(both: tuple[str, str]) -> None:
    pairs = [(query, FILTERS[-1 - n % len(FILTERS)]) for n, query in enumerate(QUERIES[:8])]
    assert compared(both, pairs, NOW + timedelta(hours=2), context=2) > 10


@pytest.mark.slow
@pytest.mark.parametrize("hours", [0, 2])
def test_hits_of_every_query_with_every_filter(both: tuple[str, str], hours: int) -> None:
    pairs = [(query, filters) for query in QUERIES for filters in FILTERS]
    assert compared(both, pairs, NOW + timedelta(hours=hours)) > 400


def test_nothing_is_read_whole(both: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scope_views.ScopeViews, "_load", lambda *_: pytest.fail("a node reads the scope whole"))
    with node(both[0]) as store:
        found = QueryOptimizer(store, config=LARGE).recall("Who counted the swans?", scope=ANN, now=NOW)
    assert found.hits and not found.degraded


def test_a_name_is_linked_to_earlier_memories(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with node(postgres_url) as store:
        store.remember_many([Memory(f"memory {n} of the lake", id=f"m{n}") for n in range(60)], scope=ANN)
        store.remember(Memory("The Blue Heron sails on Friday", id="heron"), scope=ANN)
        assert store.indexes.settle(60) and pushed_down(store)
        monkeypatch.setattr(scope_views.ScopeViews, "_load", lambda *_: pytest.fail("a node reads the scope whole"))
        store.add_entity("Kestrel Two", aliases=["Blue Heron"], scope=ANN)
        only = Filters(entities=["Kestrel Two"])
        found = QueryOptimizer(store, config=LARGE).recall("Who sails?", scope=ANN, now=NOW, filters=only)
        assert [hit.memory.id for hit in found.hits] == ["heron"]


def tables(store: MemoryStore, scope_id: int) -> list[object]:
    """What is counted of a scope, but for how far."""
    with store.engine.connect() as connection:
        found: list[object] = []
        for table in pushing.TABLES:
            columns = [column for column in table.columns if column.name != "until"]
            rows = connection.execute(select(*columns).where(table.c.scope_id == scope_id)).all()
            found.append(sorted(map(tuple, rows)))
        return found


def test_what_is_kept_is_what_would_be_counted_anew(postgres_url: str) -> None:
    """After writes, replacements and removals, by two nodes; while it is filled, and then."""
    rng = random.Random(11)
    with ExitStack() as stack:
        one, other = (stack.enter_context(node(postgres_url)) for _ in range(2))
        one.remember_many([made(rng, n) for n in range(60)], scope=ANN)
        scope_id = one.scope_id(ANN)
        assert scope_id is not None and one.indexes.settle(60)
        for round_ in range(4):
            for store in (one, other):
                store.remember_many([made(rng, n) for n in rng.sample(range(90), 8)], scope=ANN)
                store.remember(made(rng, 200 + round_), scope=ANN)
                store.forget(f"m{rng.randrange(60)}", scope=ANN)
        assert pushed_down(one) and pushed_down(other)
        kept = tables(one, scope_id)
        assert all(kept)
        with one._write_lock, one.engine.begin() as connection:
            pushing.begin_count(connection, scope_id)
            pushing.add_rows(connection, scope_id, pushing.read_rows(connection, scope_id))
            connection.execute(schema.pushed.update().values(whole=50 + pushing.LIMIT))
        assert tables(one, scope_id) == kept


def test_a_scope_is_filled_in_slices_while_others_write(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a node that was killed has counted the next one does not count again."""
    monkeypatch.setattr(pushing, "SLICE", 7)
    rng = random.Random(2)
    with node(postgres_url, RecallConfig()) as before:
        before.remember_many([made(rng, n) for n in range(80)], scope=ANN)
        scope_id = before.scope_id(ANN)
        assert scope_id is not None
    with MemoryStore.open(postgres_url, config=LARGE, clock=lambda: NOW) as store:
        store._parts.pushing.filling.stop(30)  # as if it had been killed here
        with store.engine.connect() as connection:
            until = connection.execute(select(schema.pushed.c.until)).scalar() or 0
            before_kill = connection.execute(select(func.count()).select_from(schema.postings)).scalar_one()
        store.remember_many(
            [made(rng, n) for n in range(5, 15)], scope=ANN
        )  # replaces what is counted, and what is not
        store.forget("m3", scope=ANN)
        store.forget("m70", scope=ANN)
    with MemoryStore.open(postgres_url, config=LARGE, clock=lambda: NOW) as store:
        for n in range(300, 310):
            store.remember(made(rng, n), scope=ANN)  # beside the one that fills
        assert store.indexes.settle(60) and pushed_down(store)
        kept = tables(store, scope_id)
        with store._write_lock, store.engine.begin() as connection:
            assert (connection.execute(select(schema.pushed.c.until)).scalar() or 0) > until
            pushing.begin_count(connection, scope_id)
            pushing.add_rows(connection, scope_id, pushing.read_rows(connection, scope_id))
            connection.execute(schema.pushed.update().values(whole=50 + pushing.LIMIT))
        assert tables(store, scope_id) == kept
    assert before_kill >= 0


def test_a_scope_that_shrinks_is_read_whole_again_and_one_that_is_emptied_leaves_nothing(postgres_url: str) -> None:
    rng = random.Random(3)
    with ExitStack() as stack:
        store, other = (stack.enter_context(node(postgres_url)) for _ in range(2))
        store.remember_many([made(rng, n) for n in range(60)], scope=ANN)
        assert store.indexes.settle(60) and pushed_down(store) and pushed_down(other)
        scope_id = store.scope_id(ANN)
        assert scope_id is not None
        compared = {"vectors": "compared", "behind": 60, "indexed": 0}
        assert store.stats()["pushed"] == {scope_id: {"memories": 60, "counted": 60, "whole": True, **compared}}
        of_it = {"scopes": 1, "uncounted": 0, "vectors": {"compared": 1}, "vectors_behind": 0}
        assert store.large_scopes() == {**of_it, "failed": "", "left_out": False}
        done = CliRunner().invoke(main, ["db", "check", postgres_url])
        assert done.exit_code == 0 and "PostgreSQL is asked of 1, and no node reads them whole." in done.output
        for n in range(30):
            store.forget(f"m{n}", scope=ANN)
        assert store.indexes.settle(60) and not pushed_down(store) and not pushed_down(other)
        assert store.stats()["pushed"] == {}
        assert not any(tables(store, scope_id))
        assert QueryOptimizer(other, config=LARGE).recall("swans", scope=ANN, now=NOW).hits
        store.remember_many([made(rng, n) for n in range(100, 140)], scope=ANN)
        assert store.indexes.settle(60) and pushed_down(store)
        store.forget(scope=ANN)
        assert store.indexes.settle(60)
        assert not any(tables(store, scope_id))


def test_nodes_with_different_limits_do_not_take_turns_to_count(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one pushed is so for all, until it has shrunk below the least of their limits; and each says that it is."""
    changed: list[str] = []
    for name in ("begin_count", "clear_counts"):
        real = getattr(pushing, name)
        monkeypatch.setattr(pushing, name, lambda *given, do=real, name=name: (changed.append(name), do(*given)))
    rng, higher = random.Random(8), RecallConfig(retrieval=RetrievalConfig(local_max=500))
    with node(postgres_url) as one, node(postgres_url, higher) as two:
        one.remember_many([made(rng, n) for n in range(60)], scope=ANN)
        assert one.indexes.settle(60) and pushed_down(one) and pushed_down(two)
        for n in range(60, 66):
            for store in (two, one):
                store.remember(made(rng, n), scope=ANN)
                assert two.indexes.settle(60) and one.indexes.settle(60) and pushed_down(one) and pushed_down(two)
        assert changed.count("begin_count") == 1, changed
        assert any("local_max of 50" in said and "this node is 500" in said for said in two.stats()["notices"])
        assert not one.stats()["notices"]
        with node(postgres_url, higher) as later:
            assert pushed_down(later) and changed.count("begin_count") == 1
        scope_id = one.scope_id(ANN)
        assert scope_id is not None
        kept = tables(one, scope_id)
        with one._write_lock, one.engine.begin() as connection:
            whole = connection.execute(select(schema.pushed.c.whole)).scalar_one()
            pushing.begin_count(connection, scope_id)
            pushing.add_rows(connection, scope_id, pushing.read_rows(connection, scope_id))
            connection.execute(schema.pushed.update().values(whole=whole))
        assert tables(one, scope_id) == kept, "both count what they write"
        for n in range(30):
            one.forget(f"m{n}", scope=ANN)
        assert one.indexes.settle(60) and two.indexes.settle(60) and not pushed_down(one) and not pushed_down(two)


def test_what_one_node_counts_another_with_a_higher_limit_does_not_stop(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pushing, "SLICE", 5)
    rng, higher = random.Random(9), RecallConfig(retrieval=RetrievalConfig(local_max=500))
    with node(postgres_url, higher) as two:
        scope_id = -1
        with MemoryStore.open(postgres_url, config=LARGE, clock=lambda: NOW) as one:
            one.remember_many([made(rng, n) for n in range(60)], scope=ANN)
            found = one.scope_id(ANN)
            assert found is not None
            scope_id = found
            with one.engine.connect() as connection:
                while not connection.execute(select(schema.pushed.c.until)).scalar():
                    connection.rollback()
            two.remember(made(rng, 60), scope=ANN)
            assert two.indexes.settle(60)
            with one.engine.connect() as connection:
                assert connection.execute(select(schema.pushed.c.until)).scalar(), "it goes on"
            assert one.indexes.settle(60) and pushed_down(one) and pushed_down(two)
    with node(postgres_url, higher) as two:  # alone: its limit holds
        assert not pushed_down(two) and not any(tables(two, scope_id))


def test_reindex_counts_anew(postgres_url: str) -> None:
    rng = random.Random(4)
    with node(postgres_url) as store:
        store.remember_many([made(rng, n) for n in range(60)], scope=ANN)
        scope_id = store.scope_id(ANN)
        assert scope_id is not None and store.indexes.settle(60)
        kept = tables(store, scope_id)
        with store.engine.begin() as connection:
            connection.execute(schema.terms.update().values(held=0))  # somebody was at the tables
        store.reindex()
        assert store.indexes.settle(60) and pushed_down(store)
        assert tables(store, scope_id) == kept


def test_the_nearest_are_asked_of_a_chroma_server(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With filters, behind what it has, and while it is away; what is found without it is found with it."""
    monkeypatch.setattr(where, "COMPARED_MAX", 20)  # so that filters do not leave it out
    large = RecallConfig(retrieval=RetrievalConfig(local_max=50, exact_max=50, cache_mb=0))
    rng = random.Random(6)
    memories = [Memory(said(rng, n), id=f"m{n}", type=rng.choice(["fact", "event"])) for n in range(120)]
    asked: list[int] = []
    real = VectorServer.nearest
    with (
        chroma.running() as server,
        MemoryStore.open(postgres_url, config=large, vectors=server.address) as store,
    ):
        store.remember_many(memories, scope=ANN)
        assert store.indexes.settle(60) and pushed_down(store)
        scope_id = store.scope_id(ANN)
        assert scope_id is not None and store.indexes.home_until(scope_id)
        store.remember(Memory("Sam counted the swans and the herons", id="late", type="fact"), scope=ANN)

        def counted(self: VectorServer, *given: Any, **more: Any) -> Any:
            asked.append(1)
            return real(self, *given, **more)

        monkeypatch.setattr(VectorServer, "nearest", counted)
        optimizer = QueryOptimizer(store, config=store.config)
        pairs = [(query, f) for query in QUERIES[:5] for f in (None, Filters(types=["fact"]))]
        given = {"scope": ANN, "now": NOW, "k": 6, "time_budget_ms": 30_000}
        found = [optimizer.recall(query, filters=filters, **given) for query, filters in pairs]  # type: ignore[arg-type]
        assert len(asked) >= len(pairs) and not any(one.degraded for one in found)
        assert found[0].hits[0].memory.id == "late" or "late" in {hit.memory.id for hit in found[0].hits}
        server.kill()
        away = optimizer.recall(QUERIES[0], **given)  # type: ignore[arg-type]
        assert away.hits and [one.reason for one in away.degraded] == ["vectors.away"]
    with MemoryStore.open(postgres_url, config=LARGE) as store:
        assert store.indexes.settle(60) and pushed_down(store)
        optimizer = QueryOptimizer(store, config=LARGE)
        for (query, filters), one in zip(pairs, found, strict=True):
            exact = {hit.memory.id for hit in optimizer.recall(query, filters=filters, **given).hits}  # type: ignore[arg-type]
            assert len(exact.intersection(hit.memory.id for hit in one.hits)) >= 0.8 * len(exact)


@pytest.mark.parametrize(("most", "filters"), [(20_000, Filters()), (40, Filters()), (40, Filters(types=["fact"]))])
def test_the_newest_are_compared_while_the_server_is_away(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, most: int, filters: Filters
) -> None:
    def away() -> where.Neighbours:
        raise VectorsAway("It does not answer.")

    monkeypatch.setattr(where, "COMPARED_MAX", most)
    rng = random.Random(6)
    memories = [Memory(said(rng, n), id=f"m{n}", type=("fact", "event")[n % 2]) for n in range(120)]
    with node(postgres_url) as store:
        store.remember_many(memories, scope=ANN)
        assert store.indexes.settle(60)
        outline = store.pushed(store.scope_id(ANN) or 0)
        assert outline is not None
        asked = store.conditions(outline, filters, NOW)
        vectors = store.indexes.embedding.embed_documents(["Who counted the swans?"])
        server = where.Server(index=away, home="a", until=outline.upto, seconds=lambda: 1.0)
        with store.connected(30_000) as connection:
            found = where.Nearest(connection, outline, vectors, server, lambda: False)
            exact = where.Nearest(connection, outline, vectors, None, lambda: False)
            nums = found.best(asked, 10).tolist()
            bound = outline.upto - most * (1 if filters == Filters() else 2)
            wanted = [num for num in exact.best(asked, 120).tolist() if num > bound]
            assert found.without == ("vectors.away", "It does not answer.")
            assert nums and set(nums) == set(where._first(*exact.of(wanted), 10).tolist())
