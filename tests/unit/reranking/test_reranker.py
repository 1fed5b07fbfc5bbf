from __future__ import annotations

import subprocess
import sys
import threading
import types
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import BaseDocumentCompressor, Document
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from recall_integrations.adapters import reranker as adapters
from recall_integrations.adapters.reranker import CrossEncoderReranker, batches, resolve_reranker
from recall_integrations.errors import InvalidArgument, MissingExtra, RecallError
from recall_integrations.reranking.reranker import Reranker, RerankError, judge
from recall_integrations.resilience.deadline import Deadline
from tests.rows import each_row

TEXTS = ["tea", "coffee", "tea", "water"]


class Compressor(BaseDocumentCompressor):
    change: Callable[[list[Document], str], Any]

    def compress_documents(self, documents: Sequence[Document], query: str, callbacks: Any = None) -> Any:
        return self.change(list(documents), query)


class Postprocessor(BaseNodePostprocessor):
    change: Callable[[list[NodeWithScore]], Any]

    def _postprocess_nodes(self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None) -> Any:
        assert query_bundle is not None
        return self.change(nodes)


def scores(source: object, texts: Sequence[str] = TEXTS) -> list[float | None]:
    reranker = resolve_reranker(source)
    assert isinstance(reranker, Reranker)
    assert reranker.name
    return reranker.scores("drinks", texts)


def rescored(document: Document, score: object) -> Document:
    return Document(page_content="rewritten", metadata={**document.metadata, "relevance_score": score})


def test_none_is_none() -> None:
    assert resolve_reranker(None) is None


@each_row("source", [3, object(), Compressor, ["x"], b"x"])
def test_what_cannot_rerank_is_refused(source: object) -> None:
    with pytest.raises(InvalidArgument, match="cannot rerank"):
        resolve_reranker(source)


def test_a_reranker_is_taken_as_it_is() -> None:
    reranker = resolve_reranker(lambda q, t: [0.0] * len(t))
    assert resolve_reranker(reranker) is reranker


# -- functions


def test_a_function() -> None:
    seen: list[tuple[str, list[str]]] = []

    def length(query: str, texts: list[str]) -> list[float]:
        seen.append((query, texts))
        return [float(len(t)) for t in texts]

    assert scores(length) == [3, 6, 3, 5]
    assert seen == [("drinks", TEXTS)]


@each_row("give", [np.array([1, 2, 3, 4.5], np.float32), (1, 2, 3, 4.5), np.array([[1], [2], [3], [4.5]])])
def test_arrays_and_tuples_are_scores(give: object) -> None:
    assert scores(lambda q, t: give) == [1, 2, 3, 4.5]


def test_a_function_may_drop() -> None:
    assert scores(lambda q, t: [None, 1, None, 2]) == [None, 1, None, 2]


@each_row(
    "give",
    [[1, 2, 3], [], None, 5, "abcd", [1, 2, 3, float("nan")], [1, 2, 3, float("inf")], [1, 2, 3, "4"], np.ones((4, 2))],
)
def test_what_is_no_list_of_scores_is_an_error(give: object) -> None:
    with pytest.raises(RerankError, match="<lambda>"):
        scores(lambda q, t: give)


def test_its_exception_becomes_ours() -> None:
    def broken(query: str, texts: list[str]) -> list[float]:
        raise RuntimeError("no connection")

    with pytest.raises(RecallError, match=r"broken failed: RuntimeError: no connection") as caught:
        scores(broken)
    assert isinstance(caught.value.__cause__, RuntimeError)


@each_row(
    "source",
    [
        lambda q, t: 1 / 0,
        Compressor(change=lambda d, q: 1 / 0),
        Postprocessor(change=lambda n: 1 / 0),
    ],
)
def test_no_texts_ask_nobody(source: object) -> None:
    assert scores(source, []) == []


# -- LangChain


def test_a_compressor_that_scores_and_reorders() -> None:
    give = [0.1, 0.9, 0.2, 0.4]
    change = lambda d, q: [rescored(d[i], np.float32(give[i])) for i in (1, 3, 2, 0)]  # noqa: E731
    assert scores(Compressor(change=change)) == pytest.approx(give)


def test_a_compressor_that_only_reorders_and_drops() -> None:
    assert scores(Compressor(change=lambda d, q: [d[3], d[0]])) == [0.75, None, None, 1.0]


def test_equal_texts_are_told_apart() -> None:
    assert scores(Compressor(change=lambda d, q: [rescored(d[2], 0.7)])) == [None, None, 0.7, None]


def test_ids_help_where_metadata_is_lost() -> None:
    change = lambda d, q: [Document(page_content="", id=x.id) for x in reversed(d)]  # noqa: E731
    assert scores(Compressor(change=change)) == [0.25, 0.5, 0.75, 1.0]


def test_scores_on_some_documents_only_are_not_mixed_with_ranks() -> None:
    assert scores(Compressor(change=lambda d, q: [rescored(d[1], 123), d[0]])) == [0.75, 1.0, None, None]


def test_pieces_of_a_text_count_as_their_best() -> None:
    change = lambda d, q: [rescored(d[0], 0.2), rescored(d[0], 0.8), rescored(d[1], 0.5)]  # noqa: E731
    assert scores(Compressor(change=change)) == [0.8, 0.5, None, None]


def test_a_compressor_may_drop_everything() -> None:
    assert scores(Compressor(change=lambda d, q: [])) == [None] * 4


@each_row(
    "change",
    [
        lambda d, q: [Document(page_content=x.page_content) for x in d],
        lambda d, q: [rescored(d[0], float("nan"))],
        lambda d, q: [rescored(d[0], "high")],
        lambda d, q: None,
    ],
)
def test_a_compressor_that_returns_nonsense_is_an_error(change: Any) -> None:
    with pytest.raises(RerankError, match="Compressor"):
        scores(Compressor(change=change))


# -- LlamaIndex


def test_a_postprocessor_that_scores() -> None:
    def change(nodes: list[NodeWithScore]) -> list[NodeWithScore]:
        return [NodeWithScore(node=n.node, score=len(n.text) / 10) for n in nodes[:3]]

    assert scores(Postprocessor(change=change)) == [0.3, 0.6, 0.3, None]


def test_a_postprocessor_that_only_reorders() -> None:
    assert scores(Postprocessor(change=lambda n: n[::-1])) == [0.25, 0.5, 0.75, 1.0]


def test_a_postprocessor_that_scores_in_place() -> None:
    def change(nodes: list[NodeWithScore]) -> list[NodeWithScore]:
        for place, node in enumerate(nodes):
            node.score = float(place)
        return nodes

    assert scores(Postprocessor(change=change)) == [0, 1, 2, 3]


def test_a_node_it_adds_is_left_out() -> None:
    extra = NodeWithScore(node=TextNode(text="tea"), score=9.0)
    assert scores(Postprocessor(change=lambda n: [extra, n[1]]))[1] is not None
    with pytest.raises(RerankError, match="ids"):
        scores(Postprocessor(change=lambda n: [extra]))


def test_a_real_postprocessor() -> None:
    assert scores(SimilarityPostprocessor(similarity_cutoff=0.6)) == [1.0, 0.75, None, None]


# -- cross-encoders


class Identity:
    pass


class FakeCrossEncoder:
    """Scores are lengths. Its time is `now`; a pair takes a second for each of its characters, padding included."""

    loaded = 0
    now = 0.0
    batches: ClassVar[list[list[str]]] = []

    def __init__(self, name: str) -> None:
        if name == "missing":
            raise OSError("no such model")
        self.columns = 2 if name == "labels" else 1
        self.activation_fn = Identity()
        type(self).loaded += 1

    def predict(self, pairs: list[tuple[str, str]], batch_size: int, show_progress_bar: bool = True) -> np.ndarray:
        assert not show_progress_bar and batch_size == len(pairs)
        type(self).batches.append([text for _, text in pairs])
        type(self).now += len(pairs) * max(len(query) + len(text) for query, text in pairs)
        found = np.array([len(text) for _, text in pairs], dtype=np.float32)
        return found if self.columns == 1 else np.stack([found, found], axis=1)


@pytest.fixture
def cross_encoders(monkeypatch: pytest.MonkeyPatch) -> type[FakeCrossEncoder]:
    module = types.ModuleType("sentence_transformers")
    module.CrossEncoder = FakeCrossEncoder  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    FakeCrossEncoder.loaded, FakeCrossEncoder.now, FakeCrossEncoder.batches = 0, 0.0, []
    return FakeCrossEncoder


def test_a_cross_encoder_is_loaded_once_and_late(cross_encoders: type[FakeCrossEncoder]) -> None:
    reranker = resolve_reranker("some/model")
    assert reranker is not None
    assert cross_encoders.loaded == 0
    assert reranker.scores("q", TEXTS) == reranker.scores("q", TEXTS) == [3, 6, 3, 5]
    assert cross_encoders.loaded == 1


def test_a_cross_encoder_is_loaded_once_by_many_threads(cross_encoders: type[FakeCrossEncoder]) -> None:
    reranker = CrossEncoderReranker("some/model")
    assert not reranker.ready and reranker.scale == "unknown"
    threads = [threading.Thread(target=reranker.warm) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert reranker.ready and reranker.scale == "logit"
    assert cross_encoders.loaded == 1


def test_batches_hold_pairs_of_like_length_and_the_best_come_first(
    cross_encoders: type[FakeCrossEncoder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapters, "BATCH", 3)
    texts = ["x" * n for n in (90, 1, 80, 2, 70, 3)]
    reranker = CrossEncoderReranker("some/model")
    reranker.warm()
    cross_encoders.batches.clear()
    assert reranker.scores("q", texts) == [90, 1, 80, 2, 70, 3]
    assert [sorted(map(len, batch)) for batch in cross_encoders.batches] == [[70, 80, 90], [1, 2, 3]]


@given(st.lists(st.integers(0, 50), max_size=40), st.integers(1, 9))
def test_batches_hold_each_pair_once(tokens: list[int], size: int) -> None:
    made = batches(tokens, size)
    assert sorted(i for batch in made for i in batch) == list(range(len(tokens)))
    assert all(0 < len(batch) <= size for batch in made)
    assert [min(batch) for batch in made] == sorted(min(batch) for batch in made)


def test_a_cross_encoder_stops_before_the_batch_that_would_be_late(
    cross_encoders: type[FakeCrossEncoder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapters, "BATCH", 2)
    reranker = CrossEncoderReranker("some/model")
    reranker.warm()
    texts = ["x" * 9, "x" * 9, "x" * 19, "x" * 19, "x" * 29, "x" * 29]  # 20, 40 and 60 seconds
    for seconds, scored in ((20, 2), (59, 2), (60, 4), (119, 4), (120, 6)):
        deadline = Deadline.after(seconds * 1e3, clock=lambda: cross_encoders.now)
        judged = reranker.scores_until("q", texts, deadline)
        assert judged.unscored == set(range(scored, 6))
        assert judged.scores == (9, 9, 19, 19, 29, 29)[:scored] + (None,) * (6 - scored)


def test_a_cross_encoder_that_comes_too_late_scores_nothing(cross_encoders: type[FakeCrossEncoder]) -> None:
    reranker = CrossEncoderReranker("some/model")
    reranker.warm()
    assert reranker.scores_until("q", TEXTS, Deadline.after(0)).unscored == {0, 1, 2, 3}
    cancelled = Deadline.after(None)
    cancelled.cancel()
    assert reranker.scores_until("q", TEXTS, cancelled).unscored == {0, 1, 2, 3}


def test_a_cross_encoder_with_several_labels_is_refused_when_it_is_loaded(
    cross_encoders: type[FakeCrossEncoder],
) -> None:
    reranker = CrossEncoderReranker("labels")
    with pytest.raises(RerankError, match="one output"):
        reranker.warm()
    assert not reranker.ready


# -- under a deadline


def test_rerankers_that_know_no_deadline_are_judged_whole() -> None:
    reranker = resolve_reranker(lambda q, t: [None, 1, 2, 3])
    assert reranker is not None
    judged = judge(reranker, "q", TEXTS, Deadline.after(0))
    assert judged.scores == (None, 1, 2, 3) and not judged.unscored


def test_what_a_foreign_reranker_gives_is_checked() -> None:
    class Foreign:
        name = "foreign"

        def scores(self, query: str, texts: Sequence[str]) -> list[float | None]:
            return [1.0]

    with pytest.raises(RerankError, match="foreign returned 1 scores for 4 texts"):
        judge(Foreign(), "q", TEXTS, Deadline.after(None))


def test_a_model_that_cannot_be_loaded(cross_encoders: type[FakeCrossEncoder]) -> None:
    with pytest.raises(RerankError, match="no such model"):
        scores("missing")


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra, match=r"\[sentence-transformers\]"):
        scores("some/model")


def test_without_the_package_it_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "sentence_transformers", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra):
        resolve_reranker("some/model")


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(InvalidArgument):
        resolve_reranker(" ")


def test_a_function_needs_no_framework() -> None:
    code = (
        "import sys; from recall_integrations.adapters.reranker import resolve_reranker as r;"
        "r(lambda q, t: []).scores('q', []);"
        "print([m for m in ('langchain_core', 'llama_index', 'sentence_transformers', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
