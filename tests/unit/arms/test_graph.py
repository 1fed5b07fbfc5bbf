from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from recall_integrations.arms.base import ArmRequest, ArmResult
from recall_integrations.arms.graph import GraphRetriever
from recall_integrations.errors import RecallTimeout
from recall_integrations.query.features import IMPLICIT
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.types import EntityRef, Filters, Memory, MemoryType, Relation, Scope

Ask = Callable[..., ArmRequest]
Ids = Callable[[ArmRequest, ArmResult], list[str]]


def arm(store: MemoryStore, **limits: Any) -> GraphRetriever:
    given: dict[str, Any] = {"hops": 2, "neighbours": 10, "mentions": 50, **limits}
    return GraphRetriever(store.engine, store.entities, **given)


def by_id(request: ArmRequest, result: ArmResult) -> dict[str, float]:
    return {request.view.ids[r]: s for r, s in zip(result.rows.tolist(), result.scores.tolist(), strict=True)}


def support(request: ArmRequest, result: ArmResult) -> dict[str, float]:
    rows, scores = result.support_rows.tolist(), result.support_scores.tolist()
    assert rows == sorted(rows)
    return {request.view.ids[r]: s for r, s in zip(rows, scores, strict=True)}


@pytest.fixture
def family(store: MemoryStore) -> MemoryStore:
    """Priya - manager_of -> Sam - lives_with -> Kim - likes -> Chess, and nobody knows Lee."""
    store.remember_many(
        [
            Memory("she left early", id="priya", actor="Priya"),
            Memory("he came late", id="sam", actor="Sam"),
            Memory("it rained", id="kim", entities=("Kim",)),
            Memory("a long game", id="chess", entities=("Chess",)),
            Memory("nothing", id="lee", actor="Lee"),
            Memory("the chart", id="edge1", relations=(Relation("Priya", "manager_of", "Sam"),)),
            Memory("the lease", id="edge2", relations=(Relation("Sam", "lives_with", "Kim"),)),
            Memory("the club", id="edge3", relations=(Relation("Kim", "likes", "Chess"),)),
        ]
    )
    return store


def test_named_entity_brings_its_memories(family: MemoryStore, ask: Ask, ids: Ids) -> None:
    request = ask(family, "Lee", entities={"Lee": 0.9})
    assert ids(request, arm(family).search(request)) == ["lee"]


def test_a_hop_is_worth_as_much_as_the_settings_say(family: MemoryStore, ask: Ask) -> None:
    request = ask(family, "Priya", entities={"Priya": 0.9})
    found = {f: by_id(request, arm(family, hop_factor=f).search(request)) for f in (0.5, 0.25)}
    assert all(scores["sam"] == pytest.approx(f * scores["priya"], rel=1e-5) for f, scores in found.items())


def test_edges_are_walked_two_hops_at_most(family: MemoryStore, ask: Ask, ids: Ids) -> None:
    request = ask(family, "Priya", entities={"Priya": 1.0})
    one = set(ids(request, arm(family, hops=1).search(request)))
    two = set(ids(request, arm(family, hops=2).search(request)))
    assert one == {"priya", "edge1", "sam", "edge2"}  # Sam's mentions, the second edge is one of them
    assert two == {"priya", "edge1", "sam", "edge2", "kim", "edge3"}  # but not what Kim likes


def test_edges_of_other_types_than_those_named_are_not_walked(family: MemoryStore, ask: Ask, ids: Ids) -> None:
    request = ask(family, "Priya", entities={"Priya": 1.0})
    found = set(ids(request, arm(family, edges=("manager_of",)).search(request)))
    assert found == {"priya", "edge1", "sam", "edge2"}  # what mentions Sam, and nothing over the lease
    assert set(ids(request, arm(family, edges=("likes",)).search(request))) == {"priya", "edge1"}


def test_nearer_counts_more(family: MemoryStore, ask: Ask) -> None:
    request = ask(family, "Priya", entities={"Priya": 1.0})
    connected = support(request, arm(family).search(request))
    assert connected["edge1"] == pytest.approx(1.0)  # states the edge and mentions the anchor
    assert connected["priya"] > connected["sam"] > connected["kim"] > 0


def test_hinted_predicate_counts_more(store: MemoryStore, ask: Ask) -> None:
    store.remember_many(
        [
            Memory("one", id="likes", relations=(Relation("Priya", "likes", "Tea"),)),
            Memory("two", id="manages", relations=(Relation("Priya", "manager_of", "Sam"),)),
        ]
    )
    request = ask(store, "x", entities={"Priya": 1.0})
    plain = support(request, arm(store).search(request))
    assert plain["likes"] == pytest.approx(plain["manages"])
    request = ask(store, "x", entities={"Priya": 1.0}, hints=["manager_of"])
    hinted = support(request, arm(store).search(request))
    assert hinted["manages"] > hinted["likes"]


def test_less_sure_edges_and_names_count_less(store: MemoryStore, ask: Ask) -> None:
    store.remember_many(
        [
            Memory("one", id="sure", relations=(Relation("Priya", "r", "A", 1.0),)),
            Memory("two", id="unsure", relations=(Relation("Priya", "r", "B", 0.2),)),
            Memory("three", id="sam", actor="Sam"),
        ]
    )
    request = ask(store, "x", entities={"Priya": 1.0, "Sam": 0.3})
    connected = support(request, arm(store).search(request))
    assert connected["sure"] > connected["unsure"] > connected["sam"]


def test_expansion_is_bounded(store: MemoryStore, ask: Ask) -> None:
    relations = [Memory(f"edge {i}", id=f"e{i}", relations=(Relation("Hub", "r", f"N{i}"),)) for i in range(12)]
    spokes = [Memory(f"about {i} {j}", id=f"n{i}-{j}", entities=(f"N{i}",)) for i in range(12) for j in range(4)]
    store.remember_many([*spokes, *relations])
    request = ask(store, "x", entities={"Hub": 1.0}, limit=1000)
    found = by_id(request, arm(store, neighbours=3, mentions=2).search(request))
    reached = {i.split("-")[0] for i in found if i.startswith("n")}
    assert len(reached) == 3
    assert len([i for i in found if i.startswith("n")]) <= 3 * 2
    assert {f"e{i}" for i in range(12)} <= set(found)


def test_circles_end(store: MemoryStore, ask: Ask, ids: Ids) -> None:
    circle = [Relation("A", "r", "B"), Relation("B", "r", "A"), Relation("A", "r", "A")]
    store.remember(Memory("round", id="m", relations=tuple(circle)))
    request = ask(store, "x", entities={"A": 1.0})
    assert ids(request, arm(store).search(request)) == ["m"]


def test_filters_forgotten_and_other_scopes(family: MemoryStore, ask: Ask, ids: Ids) -> None:
    family.remember(Memory("other", id="other", actor="Priya"), scope=Scope(user_id="u"))
    family.remember(Memory("fact", id="fact", actor="Priya", type=MemoryType.FACT))
    family.forget("priya")
    family.remember(Memory("replaced, no relation", id="edge1"))
    request = ask(family, "Priya", entities={"Priya": 1.0})
    assert ids(request, arm(family).search(request)) == ["fact"]
    request = ask(family, "Priya", entities={"Priya": 1.0}, filters=Filters(types=(MemoryType.EVENT,)))
    assert ids(request, arm(family).search(request)) == []


def test_mentions_in_memory_follow_the_store(family: MemoryStore, ask: Ask, ids: Ids) -> None:
    graph = arm(family)
    request = ask(family, "Lee", entities={"Lee": 1.0})
    assert set(ids(request, graph.search(request))) == {"lee"}
    family.remember(Memory("Lee was here", id="lee2"))
    newer = ask(family, "Lee", entities={"Lee": 1.0})
    assert set(ids(newer, graph.search(newer))) == {"lee", "lee2"}
    assert set(ids(request, graph.search(request))) == {"lee"}, "an older view shows what it showed"
    family.forget("lee")
    newest = ask(family, "Lee", entities={"Lee": 1.0})
    assert set(ids(newest, graph.search(newest))) == {"lee2"}
    family.add_entity("Lee Young", aliases=["Lee"])
    merged = ask(family, "Lee", entities={"Lee": 1.0})
    assert set(ids(merged, graph.search(merged))) == {"lee2"}


def test_without_an_entity_only_exploration_finds_something(family: MemoryStore, ask: Ask) -> None:
    request = ask(family, "x")
    assert not len(arm(family).search(request).rows)
    exploring = ask(family, "x", plan="exploratory")
    assert len(arm(family).search(exploring).rows)


def test_unknown_entity_and_empty_scope(store: MemoryStore, ask: Ask) -> None:
    store.add_entity("Priya")
    request = ask(store, "Priya", entities={"Priya": 1.0})
    assert not len(arm(store).search(request).rows)
    store.remember("hello")
    request = ask(store, "Priya", entities={"Priya": 1.0})
    ref = replace(request.parsed.entity_refs[0], entity_id="ent_of_yesterday")
    request = replace(request, parsed=replace(request.parsed, entity_refs=(ref,)))
    assert not len(arm(store).search(request).rows)


def test_late_is_late(family: MemoryStore, ask: Ask) -> None:
    with pytest.raises(RecallTimeout):
        arm(family).search(ask(family, "x", entities={"Priya": 1.0}, deadline=Deadline.after(0)))


def test_scores_lie_between_0_and_1_without_vectors_too(family: MemoryStore, ask: Ask) -> None:
    request = ask(family, "Priya", entities={"Priya": 1.0, "Sam": 1.0}, vectors=False)
    scores = arm(family).search(request).scores
    assert len(scores) and np.isfinite(scores).all() and scores.min() >= 0 and scores.max() <= 1


def test_there_is_no_second_hop_without_living_documents(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def hop(graph: GraphRetriever) -> object:
        scope_id = store.scope_id(Scope())
        assert scope_id is not None
        return graph.second_hop(store.view(scope_id), lambda rows: ["Kestrel"] * len(rows), terms=("who",))

    graph = arm(store)
    store.remember(Memory("Kestrel", type="observation"))
    assert hop(graph) is None
    store.remember(Memory("Kestrel", id="d", type="chunk"))
    assert hop(graph) is not None
    monkeypatch.setattr("recall_integrations.arms.graph.WORDS_MAX", 1)
    assert hop(graph) is None  # too many words
    monkeypatch.undo()
    store.forget("d")
    assert hop(graph) is None


def test_names_are_read_once_and_holders_made_once(store: MemoryStore) -> None:
    store.remember_many([Memory(f"Kestrel {i}", type="chunk") for i in range(3)])
    graph, read = arm(store), []
    scope_id = store.scope_id(Scope())
    assert scope_id is not None
    view = store.view(scope_id)

    def texts(rows: np.ndarray[Any, Any]) -> list[str]:
        read.extend(rows.tolist())
        return ["Kestrel"] * len(rows)

    for rows in ([0], [0, 1], [1]):
        hop = graph.second_hop(view, texts, terms=())
        assert hop is not None
        hop.look(np.asarray(rows))
    assert read == [0, 1]
    assert len({id(h) for h in graph._holders.values()}) == 1


def test_scopes_and_names_that_are_kept_are_bounded(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall_integrations.arms.graph.SCOPES_KEPT", 2)
    monkeypatch.setattr("recall_integrations.arms.graph.SAID_KEPT", 2)
    graph = arm(store)
    for user in "abc":
        scope = Scope(user_id=user)
        store.remember(Memory("Kestrel", type="chunk"), scope=scope)
        scope_id = store.scope_id(scope)
        assert scope_id is not None
        hop = graph.second_hop(store.view(scope_id), lambda rows: ["Kestrel"] * len(rows), terms=())
        assert hop is not None
        hop.look(np.asarray([0]))
    assert len(graph._holders) == len(graph._said) == 2


def test_what_is_known_of_a_name_counts_by_how_sure_it_is(store: MemoryStore, ask: Ask) -> None:
    store.remember_many([Memory("one", id="priya", actor="Priya"), Memory("two", id="sam", actor="Sam")])
    request = ask(store, "x", entities={"Priya": 0.9, "Sam": 0.3})
    found = support(request, arm(store).search(request))
    assert found["priya"] == pytest.approx(0.9 / 1.2)  # of what both together would be worth
    assert found["sam"] == pytest.approx(0.3 / 1.2)


def test_edges_of_a_name_count_by_how_sure_it_is(store: MemoryStore, ask: Ask) -> None:
    store.remember_many(
        [
            Memory("one", id="priya", relations=(Relation("Priya", "r", "A"),)),
            Memory("two", id="sam", relations=(Relation("Sam", "r", "B"),)),
        ]
    )
    request = ask(store, "x", entities={"Priya": 1.0, "Sam": 0.25})
    found = support(request, arm(store, hops=1).search(request))
    # each is a mention (w), states an edge (2 · .5 · w) and mentions its other end (.5 · w)
    assert found["sam"] / found["priya"] == pytest.approx(0.25)


def test_of_a_name_that_is_meant_twice_the_surer_counts(store: MemoryStore, ask: Ask) -> None:
    store.remember_many([Memory("one", id="priya", actor="Priya"), Memory("two", id="sam", actor="Sam")])
    request = ask(store, "x", entities={"Priya": 0.3, "Sam": 0.5})
    again = replace(request.parsed.entity_refs[0], confidence=0.9, span=(5, 9))
    for refs in ((again, *request.parsed.entity_refs), (*request.parsed.entity_refs, again)):
        twice = replace(request, parsed=replace(request.parsed, entity_refs=refs))
        found = support(twice, arm(store).search(twice))
        assert found["priya"] / found["sam"] == pytest.approx(0.9 / 0.5)


def test_what_states_the_edge_asked_for_is_named(family: MemoryStore, ask: Ask) -> None:
    request = ask(family, "x", entities={"Priya": 1.0}, hints=["manager_of"])
    result = arm(family).search(request)
    assert [request.view.ids[row] for row in result.stated_rows] == ["edge1"]
    for other in (ask(family, "x", entities={"Priya": 1.0}), ask(family, "x", entities={"Lee": 1.0}, hints=["likes"])):
        assert not len(arm(family).search(other).stated_rows)


def test_a_predicate_without_a_named_anchor_starts_from_the_user(family: MemoryStore, ask: Ask) -> None:
    """ "who is my manager": the user is meant and not named. Without a predicate nothing leads from the user."""
    request = ask(family, "x", entities={"Priya": 0.8}, hints=["manager_of"])
    (named,) = request.parsed.entity_refs
    mine = replace(named, stage=IMPLICIT, mention="my")

    def asked(*refs: EntityRef, hints: tuple[str, ...] = ("manager_of",), plan: str = "balanced") -> ArmResult:
        parsed = replace(request.parsed, entity_refs=refs, predicate_hints=hints)
        changed = replace(request, parsed=parsed, plan=replace(request.plan, name=plan))
        return arm(family).search(changed)

    assert [request.view.ids[row] for row in asked(mine).stated_rows] == ["edge1"]
    assert not len(asked(mine, hints=()).rows)
    assert not len(asked(replace(mine, mention="")).rows)  # nobody says "my"
    sam = replace(named, entity_id=family.entities(request.view.scope_id).index.lookup("Sam")[0])
    assert [request.view.ids[row] for row in asked(mine, sam, hints=("lives_with",)).stated_rows] == ["edge2"]
    nobody = asked(plan="exploratory")  # starts from what was said of late: no answer is stated by that
    assert len(nobody.rows) and not len(nobody.stated_rows)


def test_edges_in_memory_follow_the_store(store: MemoryStore, ask: Ask) -> None:
    """What is read after a write is what is new, each edge once: as if all were read anew."""
    store.remember(Memory("one", id="a", relations=(Relation("Priya", "r", "A"), Relation("Priya", "q", "B"))))
    old = arm(store)
    first = ask(store, "x", entities={"Priya": 1.0})
    assert set(support(first, old.search(first))) == {"a"}
    for text, other in (("two", "C"), ("three", "D")):
        store.remember(Memory(text, id=text, relations=(Relation("Priya", "r", other, 0.5),)))
        request = ask(store, "x", entities={"Priya": 1.0})
        found = support(request, old.search(request))
        known = store.entities(request.view.scope_id)
        known.edges.clear()
        known.mentions.clear()
        assert found == pytest.approx(support(request, arm(store).search(request)))
        old.search(request)
    assert set(found) == {"a", "two", "three"}


def test_nothing_starts_where_all_was_forgotten(store: MemoryStore, ask: Ask) -> None:
    store.remember_many([Memory("one", id="a", actor="Priya"), Memory("two", id="b", actor="Sam")])
    graph = arm(store)
    request = ask(store, "x", plan="exploratory")
    assert len(graph.search(request).rows) == 2
    store.forget("a")
    store.forget("b")
    for entities in ({}, {"Priya": 1.0}):
        request = ask(store, "x", plan="exploratory", entities=entities)
        assert not len(graph.search(request).rows)


def test_exploration_starts_from_what_two_hundred_newest_memories_mention(store: MemoryStore, ask: Ask) -> None:
    store.remember_many([Memory("early", id="old", actor="Priya"), *(Memory(f"note {i}") for i in range(199))])
    request = ask(store, "x", plan="exploratory")
    assert by_id(request, arm(store).search(request)).keys() == {"old"}
    store.remember("note 199")
    request = ask(store, "x", plan="exploratory")
    assert not len(arm(store).search(request).rows)


def test_what_is_kept_of_entities_and_scopes_is_bounded(
    store: MemoryStore, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("ENTITIES_KEPT", "RECENTS_KEPT"):
        monkeypatch.setattr(f"recall_integrations.arms.graph.{limit}", 2)
    graph, names = arm(store, hops=1), ("Priya", "Sam", "Kim", "Lee")
    for user in "abc":
        scope = Scope(user_id=user)
        store.remember_many([Memory(name, id=name, actor=name) for name in names], scope=scope)
        exploring = ask(store, "x", scope=scope, plan="exploratory")
        assert len(graph.search(exploring).rows) == 3
        known = store.entities(exploring.view.scope_id)
        for name in names:
            request = ask(store, "x", scope=scope, entities={name: 1.0})
            assert by_id(request, graph.search(request)).keys() == {name}
            assert len(known.mentions) <= 2 and len(known.edges) <= 2
    assert len(graph._recents) <= 2
