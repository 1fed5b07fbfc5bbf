from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from recall_integrations.arms.base import ArmRequest, ArmResult
from recall_integrations.arms.retrievers import LexicalRetriever
from recall_integrations.errors import RecallTimeout
from recall_integrations.indexes import bm25
from recall_integrations.indexes.bm25 import Bm25, idf
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.text.analyser import PIVOT
from recall_integrations.types import Filters, Memory, MemoryType, Scope

Ask = Callable[..., ArmRequest]
Ids = Callable[[ArmRequest, ArmResult], list[str]]
U1, U2 = Scope(user_id="u1"), Scope(user_id="u2")


@pytest.mark.parametrize(
    "query",
    [
        'kestrel "unclosed',
        "kestrel AND",
        "kestrel AND NOT OR",
        "body:kestrel",
        "num:1 kestrel",
        "1:kestrel kestrel",
        "kestrel*",
        "kestrel^9999",
        "kestrel~2",
        "(kestrel",
        "[kestrel TO *]",
        "+kestrel -kestrel",
        "kestrel'; DROP TABLE memories; --",
        "kestrel \\",
        "<kestrel> & || !",
        "kestrel\t\n\r{}",
        "KESTREL's",
        "ｋｅｓｔｒｅｌ",
    ],
)
def test_query_text_is_never_syntax(store: MemoryStore, ask: Ask, ids: Ids, query: str) -> None:
    store.remember_many([Memory("a kestrel hovers", id="a"), Memory("an owl sleeps", id="b")])
    request = ask(store, query)
    assert ids(request, LexicalRetriever().search(request)) == ["a"]


@pytest.mark.parametrize("forgotten", [0, 3, 150])
def test_a_large_scope_gives_what_a_small_one_gives(
    store: MemoryStore, ask: Ask, monkeypatch: pytest.MonkeyPatch, forgotten: int
) -> None:
    names = ["Priya", "Priya Raman", "Sam Okafor", "Sam"]
    said = [f"{names[i % 4]} saw kestrel {i % 7} {'kestrel ' * (i % 3)} near harbour {i % 40}" for i in range(300)]
    store.remember_many(Memory(text, id=f"m{i}", actor=names[i % 3], type="event") for i, text in enumerate(said))
    store.remember(Memory("Priya Raman left harbour 7", id="late"))  # a list of its own
    for i in range(forgotten):
        store.forget(f"m{2 * i}")
    queries = [
        "kestrel 3",
        "Priya Raman harbour 7",
        "Sam Okafor kestrel near harbour",
        "saw",
        "Raman kestrel harbour 39",
    ]
    for filters in (None, Filters(types=(MemoryType.EVENT,)), Filters(actors=("Sam Okafor",))):
        for query in queries:
            found = []
            for large in (1_000_000, 0):
                monkeypatch.setattr(bm25, "LARGE", large)
                request = ask(store, query, filters=filters, limit=20)
                found.append(LexicalRetriever().search(request))
            small, big = found
            assert len(small.rows)
            assert small.rows.tolist() == big.rows.tolist()
            assert small.scores.tolist() == big.scores.tolist()


@pytest.mark.parametrize("query", ["\" AND : * '; --", "the of and", "~ ~ ~", "1:1", "🎉", "x" * 100_000])
def test_query_without_a_known_word(store: MemoryStore, ask: Ask, ids: Ids, query: str) -> None:
    store.remember("a kestrel hovers")
    request = ask(store, query)
    assert ids(request, LexicalRetriever().search(request)) == []


def test_a_thousand_words(store: MemoryStore, ask: Ask, ids: Ids) -> None:
    store.remember(Memory("a kestrel hovers", id="a"))
    request = ask(store, "kestrel " + " ".join(f"word{i}" for i in range(1000)))
    assert ids(request, LexicalRetriever().search(request)) == ["a"]


def test_another_scope_with_the_same_words_changes_nothing(store: MemoryStore, ask: Ask, ids: Ids) -> None:
    texts = ["kestrel kestrel hovers", "a kestrel", "an owl"]
    store.remember_many([Memory(t, id=f"m{i}") for i, t in enumerate(texts)], scope=U1)
    request = ask(store, "kestrel hovers", scope=U1)
    alone = LexicalRetriever().search(request)
    assert ids(request, alone) == ["m0", "m1"]
    # As long as the others on average, so that only the document frequencies could tell.
    store.remember_many([Memory("kestrel hovers", id=f"x{i}") for i in range(30)], scope=U2)
    request = ask(store, "kestrel hovers", scope=U1)
    beside = LexicalRetriever().search(request)
    assert ids(request, beside) == ["m0", "m1"]
    np.testing.assert_allclose(beside.scores, alone.scores, rtol=1e-4)


def test_scores_are_bm25_with_the_scopes_own_idf(store: MemoryStore, ask: Ask) -> None:
    """By hand: texts below PIVOT stems all count as PIVOT long, which is the average, so the length norm is 1."""
    store.remember_many(["owl"] * 5, scope=U2)
    store.remember_many(
        [Memory("kestrel kestrel", id="a"), Memory("kestrel owl", id="b"), Memory("merlin", id="c")], scope=U1
    )
    request = ask(store, "kestrel owl", scope=U1)
    result = LexicalRetriever().search(request)
    by_id = {request.view.ids[r]: s for r, s in zip(result.rows.tolist(), result.scores.tolist(), strict=True)}
    k1 = 1.2
    kestrel, owl = math.log(1 + (3 - 2 + 0.5) / 2.5), math.log(1 + (3 - 1 + 0.5) / 1.5)
    assert by_id["a"] == pytest.approx(kestrel * 2 * (k1 + 1) / (2 + k1), rel=1e-4)
    assert by_id["b"] == pytest.approx(kestrel + owl, rel=1e-4)
    assert set(by_id) == {"a", "b"}


def test_short_texts_count_as_long_as_the_pivot(store: MemoryStore, ask: Ask) -> None:
    store.remember_many([Memory("kestrel", id="a"), Memory("kestrel " + "hover " * (PIVOT // 2), id="b")])
    result = LexicalRetriever().search(ask(store, "kestrel"))
    assert result.scores[0] == pytest.approx(result.scores[1])


def test_frequencies_are_the_scopes_own(store: MemoryStore) -> None:
    store.remember_many(["kestrel", "kestrel"], scope=U1)
    store.remember("kestrel", scope=U2)
    one, two = store.scope_id(U1), store.scope_id(U2)
    assert one is not None and two is not None
    assert store.view(one).text.frequency("kestrel") == 2
    assert store.view(two).text.frequency("kestrel") == 1
    assert store.view(one).text.frequency("owl") == 0


def test_forgotten_and_replaced_are_not_found(store: MemoryStore, ask: Ask, ids: Ids) -> None:
    store.remember_many([Memory(f"kestrel {i}", id=f"m{i}") for i in range(4)])
    store.forget("m0")
    store.remember(Memory("an owl", id="m1"))
    request = ask(store, "kestrel")
    assert ids(request, LexicalRetriever().search(request)) == ["m2", "m3"]


def test_ties_are_broken_by_id_also_at_the_cut(store: MemoryStore, ask: Ask, ids: Ids) -> None:
    store.remember_many([Memory("kestrel", id=f"m{i:03}") for i in reversed(range(150))])
    request = ask(store, "kestrel", limit=5)
    assert ids(request, LexicalRetriever().search(request)) == [f"m{i:03}" for i in range(5)]


def test_filter_gets_its_share(store: MemoryStore, ask: Ask, ids: Ids) -> None:
    many = [Memory("kestrel kestrel kestrel", id=f"o{i}") for i in range(150)]
    few = [Memory("one kestrel among owls", id=f"f{i}", type=MemoryType.FACT) for i in range(7)]
    store.remember_many([*many, *few])
    request = ask(store, "kestrel", limit=7, filters=Filters(types=(MemoryType.FACT,)))
    assert ids(request, LexicalRetriever().search(request)) == [f"f{i}" for i in range(7)]


def test_filter_that_nothing_meets_and_a_deadline_that_has_passed(store: MemoryStore, ask: Ask, ids: Ids) -> None:
    store.remember_many([Memory("kestrel", id=f"m{i}") for i in range(60)])
    nothing = Filters(types=(MemoryType.FACT,))
    request = ask(store, "kestrel", limit=3, filters=nothing)
    assert ids(request, LexicalRetriever().search(request)) == []
    with pytest.raises(RecallTimeout):
        LexicalRetriever().search(ask(store, "kestrel", limit=3, filters=nothing, deadline=Deadline.after(0)))


def test_actor_is_indexed_with_the_text(store: MemoryStore, ask: Ask, ids: Ids) -> None:
    store.remember_many([Memory("I went out", id="a", actor="Henrietta"), Memory("I went out", id="b", actor="Sam")])
    request = ask(store, "What did Henrietta do?")
    assert ids(request, LexicalRetriever().search(request)) == ["a"]


def test_other_forms_of_a_word_count_for_less(store: MemoryStore) -> None:
    store.remember_many([Memory("kestrel", id="a"), Memory("merlin", id="b"), Memory("owl", id="c")])
    view = store.view(store.scope_id(Scope()) or 0)
    found = Bm25(view, ["kestrel"], ["merlin", "kestrel"], view.text.frequency).search(10)
    assert found[0].tolist() == [0, 1]
    assert found[1].tolist() == pytest.approx([idf(1, 3), 0.6 * idf(1, 3)], rel=1e-4)


def test_idf() -> None:
    assert idf(1, 1000) == pytest.approx(math.log(1 + 999.5 / 1.5))
    assert idf(1000, 1000) == 0.1
    assert idf(7, 3) == idf(7, 7)
