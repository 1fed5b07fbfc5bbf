"""Versions as they are kept, in files and in a database alike, and which of them answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import pytest

from recall_integrations import MemoryStore
from recall_integrations.database.schema import get_meta, put_meta
from recall_integrations.errors import InvalidArgument, StoreLocked
from recall_integrations.learning.versions import (
    EVENTS_MAX,
    LOOK_SECONDS,
    STATE,
    Event,
    Shelf,
    Version,
    from_json,
    served,
    share_of,
    to_replay,
)
from recall_integrations.ranking.feature_sum import FixedWeights
from recall_integrations.store.judgements import LearnedRows
from recall_integrations.types import ArmPlan, RetrievalPlan, Scope
from tests.rows import each_row

ANN, BOB = Scope(user_id="ann"), Scope(user_id="bob")
V1 = Version(
    id="v1",
    steps={"passage_match": 0.5},
    arms={"lexical": 1.1},
    plans={"plain, vague, short": "precision"},
    judged=40,
    ranker=FixedWeights.version,
)


class Timer:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def timer() -> Timer:
    return Timer()


@pytest.fixture(params=["directory", pytest.param("postgres", marks=pytest.mark.server)])
def place(request, tmp_path) -> str:
    return str(tmp_path) if request.param == "directory" else request.getfixturevalue("postgres_url")


@pytest.fixture
def kept(place) -> Iterator[LearnedRows]:
    with MemoryStore.open(place) as store:
        yield store.learned


@pytest.fixture
def shelf(kept, timer) -> Shelf:
    return Shelf(kept, b"key", timer)


def put(shelf: Shelf, scope: Scope = ANN, version: Version = V1, **state: object) -> str:
    name = shelf.name_of(scope)
    shelf.put(name, version)
    shelf.change(name, lambda old: old.after(Event(at=1, step="started", version=version.id), **state))
    return name


def test_a_version_comes_back_as_it_was(shelf, kept) -> None:
    name = put(shelf)
    assert shelf.read(name, "v1") == V1 and from_json(V1.to_json(), "x") == V1
    assert shelf.versions(name) == ("v1",) and kept.names() == (name,)
    assert "ann" not in name and name != shelf.name_of(BOB) == Shelf(kept, b"key").name_of(BOB)
    assert Shelf(kept, b"another").name_of(ANN) != name


@each_row(
    ("change", "said"),
    [
        ({"format": "x"}, "must be a mapping with format"),
        ({"id": "../v1"}, ": id is damaged"),
        ({"steps": {"passage_match": 99}}, "steps.passage_match is damaged: Input should be less than or equal to 3"),
        ({"steps": {"passage_match": "1"}}, "steps.passage_match is damaged"),
        ({"arms": {"lexical": 0}}, "arms.lexical is damaged"),
        ({"plans": {"plain": "magic"}}, "plans.plain is damaged"),
        ({"plans": []}, "plans is damaged"),
        ({"judged": -1}, "judged is damaged"),
    ],
)
def test_a_file_that_was_changed_is_refused_with_a_reason(change, said) -> None:
    with pytest.raises(InvalidArgument, match="f.json") as found:
        from_json(json.dumps({**json.loads(V1.to_json()), **change}), "f.json")
    assert said in str(found.value)


def test_no_json_says_how_to_go_back() -> None:
    with pytest.raises(InvalidArgument, match="recall learn STORE rollback"):
        from_json("{", "f.json")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"serving": "../x", "candidate": ""}', '{"serving": 7}', "\0"])
def test_a_damaged_state_is_that_of_rules(shelf, kept, timer, text, place) -> None:
    name = put(shelf, serving="v1")
    assert served(shelf, ANN, "x", 0.1).label == "v1"
    if "\0" in text and place.startswith("postgres"):
        pytest.skip("PostgreSQL holds no NUL")
    kept.put(name, STATE, text)
    timer.now += LOOK_SECONDS
    assert served(shelf, ANN, "x", 0.1).label == "rules"


def test_a_damaged_version_is_not_served(shelf, kept) -> None:
    name = put(shelf, serving="v1")
    kept.put(name, "v1.json", "{")
    assert served(shelf, ANN, "x", 0.1).version is None
    with pytest.raises(InvalidArgument, match="v1.json cannot be read"):
        shelf.read(name, "v1")
    with pytest.raises(InvalidArgument, match="Known: v1"):
        shelf.read(name, "v2")


def test_nothing_learned_costs_one_look_a_second(shelf, kept, monkeypatch) -> None:
    assert served(shelf, ANN, "x", 0.1).label == "rules"
    monkeypatch.setattr(kept, "names", lambda: pytest.fail("it looked again"))
    assert served(shelf, ANN, "x", 0.1).label == "rules"


def test_another_process_promotes_and_it_is_seen_within_a_second(shelf, kept, timer) -> None:
    assert served(shelf, ANN, "x", 0.1).label == "rules"
    put(Shelf(kept, b"key", timer), serving="v1")
    timer.now += LOOK_SECONDS
    answer = served(shelf, ANN, "x", 0.1)
    assert answer.label == "v1" and answer.ranker is not None
    assert answer.ranker.steps == {"passage_match": 0.5}


def test_what_is_tried_gets_its_share_of_the_queries_always_the_same(shelf) -> None:
    put(shelf, candidate="v1")
    texts = [f"query {i}" for i in range(3_000)]
    tried = [served(shelf, ANN, text, 0.1).label == "v1" for text in texts]
    assert 0.08 < sum(tried) / len(tried) < 0.12
    assert tried == [served(shelf, ANN, f"  {text.upper()} ", 0.1).label == "v1" for text in texts]
    assert not any(served(shelf, BOB, text, 0.1).label == "v1" for text in texts)
    assert share_of("a", "v1", "x") != share_of("a", "v2", "x")


def test_a_replay_notes_what_serves_and_what_is_tried_in_its_scope(shelf) -> None:
    put(shelf, BOB, Version(id="v2", ranker=FixedWeights.version), serving="v2", candidate="v1")
    shelf.put(shelf.name_of(BOB), V1)
    assert [one.label for one in to_replay(shelf, BOB)] == ["v2", "v1"] and to_replay(shelf, ANN) == ()


def test_steps_from_other_weights_are_not_taken(shelf) -> None:
    put(shelf, version=Version(id="v1", steps={"passage_match": 0.5}, ranker="fixed-weights-0"), serving="v1")
    assert served(shelf, ANN, "x", 0.1).ranker is None


def test_a_plan_with_the_weights_of_a_version() -> None:
    plan = RetrievalPlan(name="balanced", arms=(ArmPlan(name="lexical", weight=2.0), ArmPlan(name="graph", weight=1.0)))
    assert [arm.weight for arm in V1.applied(plan).arms] == [2.2, 1.0]
    assert V1.plans == {"plain, vague, short": "precision"}


def test_events_are_bounded_and_forgetting_removes_all(shelf, kept) -> None:
    name = put(shelf)
    for i in range(EVENTS_MAX + 5):
        shelf.change(name, lambda old, i=i: old.after(Event(at=i, step="nothing", version="", because="é")))
    state = shelf.state(name, fresh=True)
    assert len(state.events) == EVENTS_MAX and state.events[-1].because == "é"
    other = put(shelf, BOB)
    kept.remove(name)
    assert kept.names() == (other,) and shelf.state(name, fresh=True).serving == "rules"


def test_one_learns_at_a_time(shelf, place) -> None:
    with MemoryStore.open(place) as store:
        another = Shelf(store.learned, b"key")
        with shelf.alone(), pytest.raises(StoreLocked, match="Another process is learning"), another.alone():
            pass
        with another.alone():  # it was given back
            pass


def test_who_learns_may_change_what_serves(shelf) -> None:
    with shelf.alone():
        name = put(shelf, serving="v1")
        assert shelf.state(name, fresh=True).serving == "v1"
    put(shelf, BOB, serving="v1")


def test_what_is_learned_meanwhile_ends_no_write(kept) -> None:
    """SQLite ends a transaction that has read and then writes, where another one wrote in between."""
    writing = threading.Thread(target=kept.put, args=("scope", "one.json", "{}"))
    with kept._held.turn, kept._held.engine.begin() as connection:
        get_meta(connection, "embedding")
        writing.start()
        writing.join(0.3)
        put_meta(connection, "of this test", "1")
    writing.join()
    assert kept.read("scope", "one.json") == "{}"
