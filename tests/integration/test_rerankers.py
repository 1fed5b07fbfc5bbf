"""Real rerankers: a tiny cross-encoder made here (nothing is downloaded), and those of LangChain and LlamaIndex."""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import RunnableLambda
from llama_index.core.llms import MockLLM
from llama_index.core.postprocessor import LLMRerank, LongContextReorder, SimilarityPostprocessor
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle

from recall_integrations.adapters import reranker as adapters
from recall_integrations.adapters.reranker import CrossEncoderReranker, resolve_reranker
from recall_integrations.config import RerankConfig
from recall_integrations.reranking.reranker import RerankError, judge
from recall_integrations.reranking.reranking import Reranked, RerankRequest, RerankStage
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.guard import Guard

TOKENS = 48
WORDS = "priya sam sarah kestrel likes tea coffee in the morning project ships on friday who what when ?".split()
TEXTS = [
    "Priya likes tea",
    "Sam likes coffee in the morning",
    "Project Kestrel ships on Friday",
    "Sarah likes tea in the morning",
    "the project ships",
]
QUERY = "who likes tea ?"


def made(folder: Path, *, labels: int = 1, activation: str | None = None, seed: int = 7) -> Path:
    """A BERT of one layer with random weights, saved as sentence-transformers would."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("sentence_transformers")
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import WordPiece
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    marks = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    vocabulary = {word: i for i, word in enumerate([*marks.values(), *WORDS, "##s", "##ing"])}
    words = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    words.normalizer = normalizers.BertNormalizer(lowercase=True)
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words.post_processor = processors.BertProcessing(("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"]))
    PreTrainedTokenizerFast(tokenizer_object=words, model_max_length=TOKENS, **marks).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=TOKENS,
        num_labels=labels,
        initializer_range=0.15,  # so large that scores differ clearly
    )
    if activation is not None:
        config.sentence_transformers = {"activation_fn": activation, "version": "6.0.0"}
    torch.manual_seed(seed)
    BertForSequenceClassification(config).eval().save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(
        tmp_path_factory.mktemp("models") / "ms-marco-MiniLM-L-1", activation="torch.nn.modules.linear.Identity"
    )


@pytest.fixture(scope="module")
def squeezed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("models") / "squeezed")


@pytest.fixture(scope="module")
def reranker(model: Path) -> CrossEncoderReranker:
    loaded = CrossEncoderReranker(model)
    loaded.warm()
    return loaded


def reranked(source: object, texts: Sequence[str] = TEXTS, **settings: Any) -> Reranked:
    found = resolve_reranker(source)
    assert found is not None
    stage = RerankStage(found, RerankConfig(**settings), Guard("rerank", limit_ms=60_000.0))
    loading = stage.warm()
    if loading is not None:
        wait([loading], 60)
    return stage.run(
        RerankRequest(
            query=QUERY,
            calibrated=np.linspace(0.7, 0.2, len(texts)),
            texts=lambda n: texts[:n],
            k=3,
            allowed=True,
            deadline=Deadline.after(None),
        )
    )


# -- the cross-encoder


def test_scores_are_those_of_the_model(model: Path, reranker: CrossEncoderReranker) -> None:
    from sentence_transformers import CrossEncoder

    expected = CrossEncoder(str(model)).predict([(QUERY, text) for text in TEXTS], show_progress_bar=False)
    assert reranker.scores(QUERY, TEXTS) == pytest.approx(expected.tolist(), abs=1e-5)
    assert len({round(s, 3) for s in expected.tolist()}) == len(TEXTS)


def test_logits_and_probabilities(model: Path, squeezed: Path) -> None:
    """Two models with equal weights: one gives logits, one squeezes them. Same order, same bands."""
    logits, probabilities = CrossEncoderReranker(model), CrossEncoderReranker(squeezed)
    raw, small = logits.scores(QUERY, TEXTS), probabilities.scores(QUERY, TEXTS)
    assert (logits.scale, probabilities.scale) == ("logit", "probability")
    assert small == pytest.approx([1 / (1 + np.exp(-s)) for s in raw], abs=1e-5)
    one, other = reranked(model), reranked(squeezed)
    assert one.order.tolist() == other.order.tolist() == np.argsort(-np.array(raw)).tolist()


def test_the_stage_with_the_model(model: Path) -> None:
    done = reranked(model)
    assert (done.outcome.reason, done.outcome.scored) == ("success", 5)
    assert all(j.band is not None for j in done.judged.values())  # by the name of its folder
    lowest = min(j.score for j in done.judged.values())
    assert len(reranked(model, threshold=lowest + 1e-6).order) == len(TEXTS) - 1


def test_several_labels_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RerankError, match="one output"):
        CrossEncoderReranker(made(tmp_path / "labels", labels=3)).warm()


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    done = reranked(tmp_path)
    assert done.outcome.reason == "failure.load" and done.order.tolist() == [0, 1, 2, 3, 4]
    assert str(tmp_path) in done.degraded[0].detail


# -- what it reads


def test_a_long_text_does_not_push_the_query_out(reranker: CrossEncoderReranker) -> None:
    """What is beyond the length changes nothing; another query does."""
    long = "sam likes coffee " * 400
    longer = reranker.scores(QUERY, [long, long + "priya likes tea"])
    assert longer[0] == pytest.approx(longer[1])
    assert reranker.scores("when ships kestrel ?", [long])[0] != pytest.approx(longer[0], abs=1e-3)


@pytest.mark.parametrize("text", ["", "   ", "☃" * 500, "x" * 100_000, "tea\x00tea"])
def test_odd_texts_have_scores(reranker: CrossEncoderReranker, text: str) -> None:
    assert all(score is not None for score in reranker.scores(QUERY, [text, "tea"]))


# -- under load


def test_threads_get_the_scores_of_their_own_query(reranker: CrossEncoderReranker) -> None:
    queries = [" ".join(WORDS[i : i + 4]) for i in range(8)]
    alone = [reranker.scores(q, TEXTS) for q in queries]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda q: reranker.scores(q, TEXTS), queries * 4))
    assert len(together) == 32
    for i, found in enumerate(together):
        assert found == pytest.approx(alone[i % 8], abs=1e-4)


def test_a_deadline_between_batches(reranker: CrossEncoderReranker, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller leaves during the second of three batches: what was scored until then is kept."""
    deadline, predict, calls = Deadline.after(None), reranker._model.predict, []

    def leaving(pairs: Any, **options: Any) -> Any:
        calls.append(pairs)
        if len(calls) == 2:
            deadline.cancel()
        return predict(pairs, **options)

    monkeypatch.setattr(reranker._model, "predict", leaving, raising=False)
    monkeypatch.setattr(adapters, "BATCH", 2)
    judged = reranker.scores_until(QUERY, TEXTS, deadline)
    assert len(calls) == 2 and len(judged.unscored) == 1
    assert [i for i, s in enumerate(judged.scores) if s is None] == sorted(judged.unscored)


def test_what_the_model_does_not_read_takes_no_time(
    reranker: CrossEncoderReranker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts of any length come after short ones, as a batch of them takes no longer than the model's length."""
    now = [0.0]

    def slow(pairs: Any, **_options: Any) -> Any:
        now[0] += max(min(TOKENS, len(query.split()) + len(text.split())) for query, text in pairs)
        return [0.5] * len(pairs)

    monkeypatch.setattr(reranker._model, "predict", slow, raising=False)
    texts = ["sam likes coffee"] * 8 + ["sam likes coffee " * 1_000] * 8
    deadline = Deadline.after(2_000 * TOKENS, clock=lambda: now[0])
    assert not reranker.scores_until(QUERY, texts, deadline).unscored


def test_waiting_for_another_recall_ends_with_the_deadline(reranker: CrossEncoderReranker) -> None:
    with reranker._running:
        judged = reranker.scores_until(QUERY, TEXTS, Deadline.after(20))
    assert judged.unscored == set(range(5))
    assert not reranker.scores_until(QUERY, TEXTS, Deadline.after(None)).unscored


# -- LangChain


class Counting(Embeddings):
    """Words as dimensions; equal words are close."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(text.casefold().split().count(word)) + 0.01 for word in WORDS] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


def test_langchain_embeddings_filter_scores_and_drops() -> None:
    filters = pytest.importorskip("langchain_classic.retrievers.document_compressors")
    pytest.importorskip("langchain_community")
    done = reranked(filters.EmbeddingsFilter(embeddings=Counting(), k=2))
    assert done.order[:2].tolist() == [0, 3]
    assert sorted(done.judged) == [0, 3]
    assert all(0 < j.score <= 1 for j in done.judged.values())
    assert done.order[2:].tolist() == [1, 2, 4]  # dropped: behind, in the order before


def test_langchain_listwise_rerank_reorders_without_scores() -> None:
    rerankers = pytest.importorskip("langchain_classic.retrievers.document_compressors.listwise_rerank")
    backwards = RunnableLambda(lambda given: given["documents"][::-1])
    done = reranked(rerankers.LLMListwiseRerank(reranker=backwards, top_n=3))
    assert done.order.tolist() == [4, 3, 2, 0, 1]


def test_langchain_cross_encoder_that_loses_its_scores() -> None:
    rerankers = pytest.importorskip("langchain_classic.retrievers.document_compressors")
    crossing = pytest.importorskip("langchain_classic.retrievers.document_compressors.cross_encoder")

    class Longest(crossing.BaseCrossEncoder):  # type: ignore[name-defined,misc]
        def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
            return [float(len(text)) for _, text in text_pairs]

    done = reranked(rerankers.CrossEncoderReranker(model=Longest(), top_n=5))
    assert done.order.tolist() == sorted(range(5), key=lambda i: -len(TEXTS[i]))


def test_langchain_pipeline_that_removes_duplicates() -> None:
    compressors = pytest.importorskip("langchain_classic.retrievers.document_compressors")
    transformers = pytest.importorskip("langchain_community.document_transformers")
    pipeline = compressors.DocumentCompressorPipeline(
        transformers=[
            transformers.EmbeddingsRedundantFilter(embeddings=Counting()),
            compressors.EmbeddingsFilter(embeddings=Counting(), k=5),
        ]
    )
    done = reranked(pipeline, [TEXTS[0], TEXTS[1], TEXTS[0], TEXTS[2]])
    assert sorted(done.order.tolist()) == [0, 1, 2, 3]
    (dropped,) = {0, 1, 2, 3} - set(done.judged)
    assert dropped in (0, 2) and done.order[-1] == dropped


def test_a_compressor_may_change_what_it_gets_as_it_likes() -> None:
    class Rude(BaseDocumentCompressor):
        def compress_documents(self, documents: Sequence[Document], query: str, callbacks: Any = None) -> Any:
            for i, document in enumerate(documents):
                document.page_content = "gone"
                document.metadata["relevance_score"] = float(i)
            return list(documents)

    texts = list(TEXTS)
    assert reranked(Rude(), texts).order.tolist() == [4, 3, 2, 1, 0]
    assert texts == TEXTS


def test_a_compressor_that_raises_is_a_named_degradation() -> None:
    class Broken(BaseDocumentCompressor):
        def compress_documents(self, documents: Sequence[Document], query: str, callbacks: Any = None) -> Any:
            raise ConnectionError("no route to host")

    done = reranked(Broken())
    assert done.order.tolist() == [0, 1, 2, 3, 4] and done.outcome.reason == "failure.error"
    assert done.degraded[0].detail == "RerankError: The reranker Broken failed: ConnectionError: no route to host"


# -- LlamaIndex


def test_llama_index_sentence_transformer_rerank(model: Path, reranker: CrossEncoderReranker) -> None:
    pytest.importorskip("sentence_transformers")
    from llama_index.core.postprocessor import SentenceTransformerRerank

    own = reranker.scores(QUERY, TEXTS)
    theirs = SentenceTransformerRerank(model=str(model), top_n=2, device="cpu", keep_retrieval_score=True)
    for _ in range(2):  # it writes into its nodes: each call gets its own
        done = reranked(theirs)
        best = sorted(range(5), key=lambda i: -own[i])[:2]  # type: ignore[operator]
        assert done.order[:2].tolist() == best
        assert [done.judged[i].score for i in best] == pytest.approx([own[i] for i in best], abs=1e-4)
        assert len(done.judged) == 2


def test_llama_index_similarity_cut_keeps_the_order_and_drops_the_end() -> None:
    done = reranked(SimilarityPostprocessor(similarity_cutoff=0.5))
    assert done.order.tolist() == [0, 1, 2, 3, 4]
    assert sorted(done.judged) == [0, 1, 2]


def test_llama_index_reorder_without_scores() -> None:
    done = reranked(LongContextReorder())
    assert sorted(done.order.tolist()) == [0, 1, 2, 3, 4] and done.order.tolist() != [0, 1, 2, 3, 4]


def test_llama_index_llm_rerank_whose_llm_talks_nonsense() -> None:
    done = reranked(LLMRerank(llm=MockLLM(max_tokens=5), top_n=2))
    assert sorted(done.order.tolist()) == [0, 1, 2, 3, 4]
    assert done.outcome.reason in ("success", "failure.error")


def test_nodes_are_never_shared_between_calls() -> None:
    seen: list[list[NodeWithScore]] = []

    class Rude(BaseNodePostprocessor):
        def _postprocess_nodes(self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None) -> Any:
            seen.append(nodes)
            for node in nodes:
                assert "seen" not in node.node.metadata
                node.node.metadata["seen"] = True
                node.score = None
            return nodes[::-1]

    rude = Rude()
    for _ in range(2):
        assert reranked(rude).order.tolist() == [4, 3, 2, 1, 0]
    assert not {id(n.node) for n in seen[0]} & {id(n.node) for n in seen[1]}


def test_a_postprocessor_that_raises_is_a_named_degradation() -> None:
    class Broken(BaseNodePostprocessor):
        def _postprocess_nodes(self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None) -> Any:
            raise ValueError("no key")

    done = reranked(Broken())
    assert done.outcome.reason == "failure.error" and "ValueError: no key" in done.degraded[0].detail


def test_adapters_are_safe_in_threads() -> None:
    adapter = resolve_reranker(SimilarityPostprocessor(similarity_cutoff=0.5))
    assert adapter is not None
    barrier, found = threading.Barrier(4), []

    def run(texts: list[str]) -> None:
        barrier.wait()
        found.append((len(texts), judge(adapter, QUERY, texts, Deadline.after(None)).scores))

    threads = [threading.Thread(target=run, args=(copy.copy(TEXTS[:n]),)) for n in (2, 3, 4, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(len(scores) == n for n, scores in found) and len(found) == 4
