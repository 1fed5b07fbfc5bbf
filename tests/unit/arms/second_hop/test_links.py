from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from recall_integrations.arms.graph import GraphRetriever
from recall_integrations.arms.second_hop import ABOUT, FADING, NAMED, SecondHop, Via
from recall_integrations.indexes.scope_view import Mask, ScopeView
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.text import stems
from recall_integrations.types import Memory, Scope

FILM, PRIYA, CREW, CAST, OTHER = range(5)
TEXTS = (
    "Amber Lantern is a film by Priya Raman, shot in Bath.",
    "Priya Raman was born by the sea.",
    "The crew of Priya Raman slept in tents.",
    "Amber Lantern had a cast of nine.",
    "Harbour lights are bright.",
)
OTHERS = tuple(f"Winter market number {i} opens late." for i in range(31))  # 36 documents: a name may be in six

Hop = Callable[..., SecondHop]


@pytest.fixture
def hop(store: MemoryStore) -> Hop:
    def make(
        texts: Sequence[str] = TEXTS,
        query: str = "Where was the director of the film born?",
        *,
        others: Sequence[str] = OTHERS,
        types: Sequence[str] = (),
        threads: Sequence[str | None] = (),
        allowed: Callable[[ScopeView], Mask] = lambda _view: None,  # type: ignore[assignment, return-value]
    ) -> SecondHop:
        every = [*texts, *others]
        kinds = [*types, *["chunk"] * (len(every) - len(types))]
        of = [*threads, *[None] * (len(every) - len(threads))]
        store.remember_many(
            [
                Memory(text, id=f"m{i:02}", type=kind, thread=thread)
                for i, (text, kind, thread) in enumerate(zip(every, kinds, of, strict=True))
            ]
        )
        scope_id = store.scope_id(Scope())
        assert scope_id is not None
        view = store.view(scope_id)
        graph = GraphRetriever(store.engine, store.entities, hops=2)
        found = graph.second_hop(
            view, lambda rows: [every[row] for row in rows.tolist()], terms=stems(query), allowed=allowed(view)
        )
        assert found is not None
        return found

    return make


def look(hop: SecondHop, *rows: int) -> dict[tuple[int, int], float]:
    hop.look(np.asarray(rows, dtype=np.int64))
    links = hop.links
    pairs = list(zip(links.starts.tolist(), links.rows.tolist(), strict=True))
    assert len(pairs) == len(set(pairs))
    return dict(zip(pairs, links.values.tolist(), strict=True))


def worth(n: int, count: int = 36) -> float:
    return NAMED * (1 - float(np.log(n)) / (FADING * float(np.log(count))))


def test_documents_that_say_a_name_of_the_first(hop: Hop) -> None:
    links = look(hop(), FILM)
    assert links == {
        (FILM, PRIYA): pytest.approx(worth(2) + ABOUT),
        (FILM, CREW): pytest.approx(worth(2)),
    }


def test_half_the_best_name_and_half_of_all(hop: Hop) -> None:
    texts = ("Priya Raman met Sam in Norvik.", "boats bring Sam to Norvik", "boats bring Sam")
    links = look(hop(texts), 0)
    sam, bath = worth(2, 34), worth(1, 34)
    assert links == {(0, 1): pytest.approx((bath + sam + bath) / 2), (0, 2): pytest.approx(sam)}


@pytest.mark.parametrize(("query", "led"), [("Where was Priya Raman born?", False), ("Where was Priya born?", True)])
def test_at_least_half_of_a_name_must_be_new(hop: Hop, query: str, led: bool) -> None:
    assert bool(look(hop(query=query), FILM)) == led


@pytest.mark.parametrize(("said", "led"), [(6, 6), (7, 0)])
def test_what_more_than_the_root_of_all_documents_say_leads_nowhere(hop: Hop, said: int, led: int) -> None:
    texts = ("boats bring Sam", *(f"boat {i} brings Sam" for i in range(said)))
    assert len(look(hop(texts, others=OTHERS[: 36 - len(texts)]), 0)) == led


def test_documents_of_one_subject_or_thread_do_not_lead_to_each_other(hop: Hop) -> None:
    texts = ("Amber Lantern by Sam", "Amber Lantern, cut by Sam", "all by Sam", "and Sam")
    assert set(look(hop(texts, threads=("a", "b", "a", "b")), 0)) == {(0, 3)}


def test_only_documents_lead_and_are_reached(hop: Hop) -> None:
    chat = hop(types=("observation", "chunk", "chunk"))
    assert look(chat, FILM) == {}
    assert set(look(chat, PRIYA)) == {(PRIYA, CREW)}


def test_a_text_without_names_leads_nowhere(hop: Hop) -> None:
    assert look(hop(("no name here", *TEXTS)), 0) == {}


def test_looking_twice_adds_nothing_and_looking_further_does(hop: Hop) -> None:
    found = hop()
    once = look(found, FILM)
    assert look(found, FILM) == once
    more = look(found, FILM, CREW)
    assert set(more) == {*once, (CREW, FILM), (CREW, PRIYA)}


def test_reach_is_best_first_new_allowed_and_limited(hop: Hop) -> None:
    found = hop()
    look(found, FILM, PRIYA)
    none = np.empty(0, dtype=np.int64)
    assert found.reach(none, 10).tolist() == [PRIYA, FILM, CREW]  # of equals the lower id
    assert found.reach(none, 1).tolist() == [PRIYA]
    assert found.reach(np.asarray([PRIYA, OTHER]), 10).tolist() == [FILM, CREW]


def test_without_a_look_nothing_is_reached(hop: Hop) -> None:
    assert hop().reach(np.empty(0, dtype=np.int64), 10).tolist() == []


def test_reach_keeps_to_the_filters(hop: Hop) -> None:
    found = hop(allowed=lambda view: np.arange(view.size) != PRIYA)
    look(found, FILM)
    assert found.reach(np.empty(0, dtype=np.int64), 10).tolist() == [CREW]


def test_via_says_the_best_name_as_it_is_written(hop: Hop) -> None:
    found = hop()
    look(found, FILM)
    assert found.via(FILM, PRIYA) == Via(row=FILM, name="Priya Raman", about=True)
    assert found.via(FILM, CREW) == Via(row=FILM, name="Priya Raman", about=False)


def test_via_says_of_a_long_name_what_both_say(hop: Hop) -> None:
    texts = ("seen at the Bath Kestrel Society", "the old Bath Kestrel Society", "a Bath Kestrel Club")
    found = hop(texts)
    look(found, 0)
    assert [found.via(0, row).name for row in (1, 2)] == ["Bath Kestrel Society", "Bath Kestrel"]


def test_a_scope_of_two_documents(hop: Hop) -> None:
    assert look(hop(("Sam sings", "so says Sam"), others=()), 0) == {(0, 1): pytest.approx(NAMED)}
