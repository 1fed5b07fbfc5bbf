from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.peers import frameworks
from benchmarks.speed.synthetic import synthetic_memories
from recall_integrations.errors import InvalidArgument
from recall_integrations.types import Memory

MODULES = {
    "dense": (),
    "bm25": ("bm25s",),
    "bm25-unstemmed": ("bm25s",),
    "langchain": ("langchain_classic", "langchain_community", "langchain_chroma"),
    "langchain-tuned": ("langchain_classic", "langchain_community", "langchain_chroma"),
    **{
        f"llamaindex-{variant}": ("llama_index.retrievers.bm25", "llama_index.vector_stores.chroma")
        for variant in frameworks.LLAMAINDEX_MODES
    },
}


def made(kind: str, embedding: Any) -> frameworks.Peer:
    if kind == "dense":
        return frameworks.DenseOnly(embedding)
    if kind.startswith("bm25"):
        return frameworks.StemmedBM25(stemmed=kind == "bm25")
    if kind.startswith("llamaindex"):
        return frameworks.LlamaIndexFusion(embedding, variant=kind.removeprefix("llamaindex-"))
    return frameworks.LangChainEnsemble(embedding, tuned=kind == "langchain-tuned")


@pytest.fixture(params=sorted(MODULES))
def peer(request: pytest.FixtureRequest, embedding: Any) -> Iterator[frameworks.Peer]:
    for module in MODULES[request.param]:
        pytest.importorskip(module, reason=f"{module} (extra `bench`) is not installed")
    built = made(request.param, embedding)
    yield built
    built.close()


@pytest.fixture
def memories() -> list[Memory]:
    return list(synthetic_memories(30, seed=5))


def test_a_text_finds_itself(peer: frameworks.Peer, memories: list[Memory]) -> None:
    peer.build(memories)
    for memory in memories[:10]:
        assert peer.search(frameworks.indexed_text(memory), 5)[0] == memory.id


def test_results_are_known_unique_bounded_and_reproducible(peer: frameworks.Peer, memories: list[Memory]) -> None:
    peer.build(memories)
    for k in (1, 3, 10, 50):
        found = peer.search("budget deadline with Priya Raman", k)
        assert len(found) <= k
        assert len(set(found)) == len(found)
        assert set(found) <= {m.id for m in memories}
        assert found == peer.search("budget deadline with Priya Raman", k)


def test_building_again_replaces_the_collection(peer: frameworks.Peer, memories: list[Memory]) -> None:
    peer.build(memories)
    peer.build([Memory(text="A lone heron by the lake", id="only", actor="Ann"), Memory(text="Bread", id="other")])
    assert "only" in peer.search("heron lake", 2)
    assert set(peer.search(frameworks.indexed_text(memories[0]), 10)) <= {"only", "other"}


def test_the_speaker_is_part_of_the_indexed_text(peer: frameworks.Peer) -> None:
    actors = ("Ben", "Cleo", "Dan", "Zora", "Eve")
    peer.build([Memory(text="I drink tea.", id=name, actor=name) for name in actors])
    assert peer.search("Zora: drink", 1) == ["Zora"]


def test_equal_texts_stay_two_memories(peer: frameworks.Peer) -> None:
    peer.build([Memory(text="Thanks a lot, goodbye!", id=i) for i in ("a", "b")] + [Memory(text="Bread", id="c")])
    assert {"a", "b"} <= set(peer.search("goodbye! lot,", 3))


def test_a_query_without_any_known_word_does_not_raise(peer: frameworks.Peer, memories: list[Memory]) -> None:
    peer.build(memories)
    assert len(peer.search("the of and", 5)) <= 5
    assert len(peer.search("Zwxqj", 5)) <= 5


def test_two_peers_of_a_kind_do_not_share_memories(embedding: Any, memories: list[Memory]) -> None:
    pytest.importorskip("langchain_chroma", reason="langchain-chroma (extra `bench`) is not installed")
    pytest.importorskip("langchain_classic", reason="langchain-classic (extra `bench`) is not installed")
    pytest.importorskip("langchain_community", reason="langchain-community (extra `bench`) is not installed")
    first, second = frameworks.LangChainEnsemble(embedding), frameworks.LangChainEnsemble(embedding)
    first.build(memories[:15])
    second.build(memories[15:])
    assert set(first.search("budget", 30)) <= {m.id for m in memories[:15]}
    first.close()
    assert second.search(frameworks.indexed_text(memories[20]), 1) == [memories[20].id]
    second.close()


@pytest.mark.parametrize(
    "name", ["langchain", *(f"llamaindex-{v}" for v in frameworks.LLAMAINDEX_MODES if v != "default")]
)
def test_settings_of_a_framework_share_an_index_and_answer_the_same(
    name: str, embedding: Any, memories: list[Memory]
) -> None:
    for module in MODULES[name]:
        pytest.importorskip(module, reason=f"{module} (extra `bench`) is not installed")
    if name == "langchain":
        first = frameworks.LangChainEnsemble(embedding)
        beside: Any = frameworks.LangChainEnsemble(embedding, tuned=True, beside=first)
        alone: Any = frameworks.LangChainEnsemble(embedding, tuned=True)
    else:
        first = frameworks.LlamaIndexFusion(embedding)
        variant = name.removeprefix("llamaindex-")
        beside = frameworks.LlamaIndexFusion(embedding, variant=variant, beside=first)
        alone = frameworks.LlamaIndexFusion(embedding, variant=variant)
    for part in (memories[:20], memories[10:]):
        for one in (first, beside, alone):
            one.build(part)
        assert beside._collection is None and alone._collection is not None
        for query in ("budget deadline", "Priya Raman", frameworks.indexed_text(part[3])):
            assert beside.search(query, 5) == alone.search(query, 5)
    beside.build(memories[:10])  # over others than the first: an index of its own
    assert beside._collection is not None
    assert set(beside.search("budget", 30)) <= {m.id for m in memories[:10]}
    for one in (first, beside, alone):
        one.close()


def test_memories_need_ids_of_their_own(embedding: Any) -> None:
    for bad in ([], [Memory(text="x")], [Memory(text="x", id="1"), Memory(text="y", id="1")]):
        with pytest.raises(InvalidArgument, match="id of its own"):
            frameworks.DenseOnly(embedding).build(bad)


def test_ties_are_broken_by_id(embedding: Any) -> None:
    dense = frameworks.DenseOnly(embedding)
    dense.build([Memory(text="same words", id=i) for i in ("c", "a", "b")])
    assert dense.search("same words", 2) == ["a", "b"]
    assert [p.name for p in frameworks.default_peers(embedding)] == list(
        dict.fromkeys(p.name for p in frameworks.default_peers(embedding))
    )


def test_only_the_stemmed_one_stems() -> None:
    pytest.importorskip("bm25s", reason="bm25s (extra `bench`) is not installed")
    memories = [Memory(text="Sarah bakes bread.", id="a"), Memory(text="Sam sails.", id="b")]
    found = {}
    for stemmed in (True, False):
        peer = frameworks.StemmedBM25(stemmed=stemmed)
        peer.build(memories)
        found[stemmed] = peer.search("baking", 2)
        assert peer.search("The Bread", 2) == ["a"]
    assert found == {True: ["a"], False: []}


def test_a_tuned_peer_asks_each_arm_for_more(embedding: Any) -> None:
    pytest.importorskip("llama_index.retrievers.bm25", reason="llama-index (extra `bench`) is not installed")
    default, tuned = (frameworks.LlamaIndexFusion(embedding, variant=v) for v in ("default", "tuned"))
    memories = list(synthetic_memories(40, seed=5))
    for peer in (default, tuned):
        peer.build(memories)
    asked = {}
    for peer in (default, tuned):
        peer.search("budget deadline", 3)
        asked[peer.name] = (peer._bm25.similarity_top_k, peer._by_k[3]._retrievers[0].similarity_top_k)
        peer.close()
    assert asked == {"LlamaIndex fusion": (3, 3), "LlamaIndex fusion, tuned": (40, 50)}


def test_an_unknown_variant_is_refused(embedding: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"Unknown variant 'best'.*relative"):
        frameworks.LlamaIndexFusion(embedding, variant="best")
