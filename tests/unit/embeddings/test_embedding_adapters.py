"""`resolve_embedding` and the adapters behind it."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from llama_index.core import MockEmbedding
from llama_index.core.base.embeddings.base import BaseEmbedding

from recall_integrations.adapters import embedding as adapters
from recall_integrations.adapters.embedding import PROBE, CallableAdapter, resolve_embedding
from recall_integrations.embeddings.base import Embedding
from recall_integrations.embeddings.static import BUNDLED, StaticEmbedding, bundled
from recall_integrations.errors import EmbeddingError, InvalidArgument, MissingExtra
from tests.rows import each_row

ROOT = Path(__file__).resolve().parents[3]
HERE = __name__.split(".")[0]


def numbers(texts: Sequence[str]) -> list[list[float]]:
    """Three numbers a text, of length other than 1."""
    return [[float(len(text)), 3.0, float(text.count("e"))] for text in texts]


class Notes(Embeddings):
    """A LangChain embedding that notes its calls and tells queries from documents."""

    model = "notes-1"

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(list(texts))
        return [[0.0, 2.0, 0.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        self.calls.append(text)
        return [5.0, 0.0, 0.0]


class Pages(BaseEmbedding):
    """A LlamaIndex embedding that tells queries from texts."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return [0.0, 4.0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return [3.0, 0.0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class OwnProtocol:
    fingerprint = "own"
    dimensions = 2
    remote = True

    def embed_documents(self, texts: Sequence[str]) -> Any:
        return np.zeros((len(texts), 2), dtype=np.float32)

    def embed_query(self, text: str) -> Any:
        return np.zeros(2, dtype=np.float32)


# -- what is accepted ----------------------------------------------------------------------------------------------


def test_none_is_the_bundled_model() -> None:
    assert resolve_embedding() is bundled()


def test_an_embedding_is_returned_as_it_is() -> None:
    own = OwnProtocol()
    assert resolve_embedding(own) is own
    static = StaticEmbedding()
    assert resolve_embedding(static) is static
    adapted = resolve_embedding(numbers)
    assert resolve_embedding(adapted) is adapted


def test_recognising_an_embedding_does_not_evaluate_it() -> None:
    class Lazy(OwnProtocol):
        @property
        def dimensions(self) -> int:  # type: ignore[override]
            raise AssertionError("evaluated")

    lazy = Lazy()
    assert resolve_embedding(lazy) is lazy


@pytest.mark.parametrize("as_type", [str, Path])
def test_a_model2vec_folder_needs_no_torch(as_type: Callable[[Path], Any]) -> None:
    found = resolve_embedding(as_type(BUNDLED))
    assert isinstance(found, StaticEmbedding)
    assert found.fingerprint == bundled().fingerprint


async def _asynchronous(texts: list[str]) -> list[list[float]]:
    return numbers(texts)


class _AsyncCall:
    async def __call__(self, texts: list[str]) -> list[list[float]]:
        return numbers(texts)


@each_row(
    ("source", "says"),
    [
        (3, "cannot be a int. Pass None"),
        ({"model": "x"}, "cannot be a dict"),
        (object(), "LangChain Embeddings, a LlamaIndex BaseEmbedding"),
        ("  ", "empty name"),
        (Notes, r"not the class Notes. Write Notes\(\.\.\.\)"),
        (_asynchronous, "async"),
        (_AsyncCall(), "async"),
        (Path("no/such/model"), "There is no model"),
    ],
)
def test_everything_else_is_refused(source: object, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        resolve_embedding(source)


def test_a_name_without_the_extra_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra, match=r"\[sentence-transformers\]") as caught:
        resolve_embedding("all-MiniLM-L6-v2")
    assert isinstance(caught.value.__cause__, ImportError)


def test_no_framework_is_imported_for_a_callable() -> None:
    code = """
        import sys
        from recall_integrations.adapters.embedding import resolve_embedding
        assert resolve_embedding(lambda texts: [[1.0, 0.0]] * len(texts)).dimensions == 2
        found = {"langchain_core", "llama_index", "sentence_transformers", "torch", "tokenizers"} & set(sys.modules)
        assert not found, found
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


# -- frameworks ----------------------------------------------------------------------------------------------------


def test_langchain_queries_and_documents_go_to_their_own_method(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapters, "BATCH_SIZE", 2)
    notes = Notes()
    embedding = resolve_embedding(notes)
    assert isinstance(embedding, Embedding)
    notes.calls.clear()
    assert embedding.embed_query("who?").tolist() == [1.0, 0.0, 0.0]
    assert notes.calls == ["who?"]
    notes.calls.clear()
    assert embedding.embed_documents(["a", "b", "c", "d", "e"]).tolist() == [[0.0, 1.0, 0.0]] * 5
    assert notes.calls == [["a", "b"], ["c", "d"], ["e"]]


def test_langchain_rows_keep_their_order_and_length() -> None:
    model = DeterministicFakeEmbedding(size=12)
    texts = [f"text {n}" for n in range(150)]
    rows = resolve_embedding(model).embed_documents(texts)
    raw = np.asarray(model.embed_documents(texts))
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, raw / np.linalg.norm(raw, axis=1, keepdims=True), atol=1e-6)


def test_llama_index_queries_and_texts_go_to_their_own_method() -> None:
    embedding = resolve_embedding(Pages(model_name="pages-2"))
    assert embedding.embed_query("who?").tolist() == [1.0, 0.0]
    assert embedding.embed_documents(["a"] * 70).tolist() == [[0.0, 1.0]] * 70
    assert embedding.fingerprint == f"llama_index:{HERE}.Pages:pages-2:2"


def test_llama_index_mock() -> None:
    embedding = resolve_embedding(MockEmbedding(embed_dim=4))
    assert embedding.dimensions == 4
    assert embedding.embed_query("x").tolist() == [0.5] * 4
    assert embedding.remote is False


# -- dimensions, fingerprints, remoteness --------------------------------------------------------------------------


def test_dimensions_are_found_once_and_late() -> None:
    notes = Notes()
    embedding = resolve_embedding(notes)
    assert notes.calls == []
    assert (embedding.dimensions, embedding.dimensions) == (3, 3)
    assert notes.calls == [[PROBE]]


def test_no_probe_where_something_was_embedded() -> None:
    notes = Notes()
    embedding = resolve_embedding(notes)
    embedding.embed_query("who?")
    assert embedding.dimensions == 3
    assert notes.calls == ["who?"]


def test_no_texts_give_no_rows() -> None:
    assert resolve_embedding(numbers).embed_documents([]).shape == (0, 3)


def test_fingerprints_name_class_model_and_dimensions() -> None:
    assert resolve_embedding(Notes()).fingerprint == f"langchain:{HERE}.Notes:notes-1:3"
    assert resolve_embedding(numbers).fingerprint == f"callable:{__name__}.numbers:3"
    fake = DeterministicFakeEmbedding(size=5)
    assert resolve_embedding(fake).fingerprint == "langchain:langchain_core.DeterministicFakeEmbedding:-:5"
    other = Notes()
    other.model = "notes-2"  # type: ignore[misc]
    assert resolve_embedding(other).fingerprint != resolve_embedding(Notes()).fingerprint


def test_fingerprints_of_callables() -> None:
    class Model:
        model_name = "m-7"

        def __call__(self, texts: list[str]) -> list[list[float]]:
            return numbers(texts)

        def encode(self, texts: list[str]) -> list[list[float]]:
            return numbers(texts)

    where = f"callable:{__name__}.test_fingerprints_of_callables.<locals>."
    assert resolve_embedding(lambda texts: numbers(texts)).fingerprint == f"{where}<lambda>:3"
    assert resolve_embedding(Model()).fingerprint == f"{where}Model:m-7:3"
    assert resolve_embedding(Model().encode).fingerprint == f"{where}Model.encode:3"
    assert resolve_embedding(functools.partial(numbers)).fingerprint == f"callable:partial({__name__}.numbers):3"


def test_an_object_may_set_its_own_fingerprint() -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return numbers(texts)

    embed.fingerprint = "house-model-v2"  # type: ignore[attr-defined]
    assert resolve_embedding(embed).fingerprint == "house-model-v2:3"


def test_a_local_model_may_be_moved_but_not_exchanged(tmp_path: Path) -> None:
    def named(folder: str, content: str) -> str:
        path = tmp_path / folder / "model"
        path.mkdir(parents=True)
        (path / "config.json").write_text(content)
        notes = Notes()
        notes.model = str(path)  # type: ignore[misc]
        return resolve_embedding(notes).fingerprint

    first = named("here", "{}")
    assert str(tmp_path) not in first
    assert named("there", "{}") == first
    assert named("other", "[]") != first


def test_fingerprints_are_the_same_in_every_process(tmp_path: Path) -> None:
    code = """
        from recall_integrations.adapters.embedding import resolve_embedding
        from langchain_core.embeddings import FakeEmbeddings
        def embed(texts): return [[1.0, 0.0]] * len(texts)
        class Own(FakeEmbeddings): model: str = "own"
        for source in (None, embed, lambda texts: embed(texts), Own(size=3)):
            print(resolve_embedding(source).fingerprint)
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(code), encoding="utf-8")
    printed = []
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", "import program"],
            env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}", "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        printed.append(done.stdout.split())
    assert printed[0] == printed[1]
    assert printed[0] == [
        bundled().fingerprint,
        "callable:program.embed:2",
        "callable:program.<lambda>:2",
        "langchain:program.Own:own:3",
    ]


def _class(name: str, base: type = Embeddings, **fields: Any) -> Any:
    methods = {"embed_documents": lambda self, texts: [], "embed_query": lambda self, text: []}
    return type(name, (base,), {**methods, **fields})()


@each_row(
    ("source", "remote"),
    [
        (_class("OpenAIEmbeddings"), True),
        (_class("MyOwnEmbeddings"), True),
        (_class("MyOwnEmbeddings", remote=False), False),
        (_class("HuggingFaceEmbeddings"), False),
        (_class("HuggingFaceEmbeddings", remote=True), True),
        (_class("HuggingFaceEndpointEmbeddings"), True),
        (_class("HuggingFaceInferenceAPIEmbeddings"), True),
        (_class("FastEmbedEmbeddings"), False),
        (_class("LlamaCppEmbeddings"), False),
        (_class("OllamaEmbeddings"), False),
        (_class("OllamaEmbeddings", base_url="http://localhost:11434"), False),
        (_class("OllamaEmbeddings", base_url="127.0.0.1:11434"), False),
        (_class("OllamaEmbeddings", base_url="https://gpu.example.org"), True),
        (_class("CacheBackedEmbeddings", underlying_embeddings=_class("HuggingFaceEmbeddings")), False),
        (_class("CacheBackedEmbeddings", underlying_embeddings=_class("OpenAIEmbeddings")), True),
        (_class("Tuned", type(_class("HuggingFaceEmbeddings"))), False),
        (DeterministicFakeEmbedding(size=2), False),
        (Pages(), True),
        (numbers, False),
        (_class("HuggingFaceEmbedding", Pages), False),
    ],
)
def test_remoteness(source: object, remote: bool) -> None:
    assert resolve_embedding(source).remote is remote


def test_a_callable_declares_remoteness() -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return numbers(texts)

    embed.remote = True  # type: ignore[attr-defined]
    assert resolve_embedding(embed).remote is True


def test_a_cache_has_the_name_of_what_it_caches() -> None:
    from langchain_core.stores import InMemoryByteStore

    classic = pytest.importorskip("langchain_classic.embeddings", reason="langchain-classic comes with the bench extra")
    cached = classic.CacheBackedEmbeddings.from_bytes_store(
        Notes(), InMemoryByteStore(), namespace="notes", key_encoder="sha256"
    )
    embedding = resolve_embedding(cached)
    assert embedding.fingerprint.endswith(f"CacheBackedEmbeddings:{HERE}.Notes:notes-1:3")
    assert embedding.embed_documents(["a", "b"]).tolist() == [[0.0, 1.0, 0.0]] * 2


# -- models that misbehave -----------------------------------------------------------------------------------------


@each_row(
    "answer",
    [
        np.array([[3.0, 4.0]], dtype=np.float16),
        np.array([[3, 4]], dtype=np.int64),
        [(3, 4)],
        [np.array([3.0, 4.0])],
        [[3e300, 4e300]],
        [[3e-320, 4e-320]],
    ],
)
def test_numbers_of_any_kind_become_unit_rows(answer: Any) -> None:
    row = resolve_embedding(lambda _: answer).embed_query("x")
    assert row.dtype == np.float32
    assert row.tolist() == pytest.approx([0.6, 0.8], rel=1e-3)


def test_a_zero_vector_stays_zero() -> None:
    assert resolve_embedding(lambda texts: [[0.0, 0.0]] * len(texts)).embed_query("x").tolist() == [0.0, 0.0]


@each_row(
    ("answer", "says"),
    [
        ([[1.0, 2.0]], r"must return 2 vectors.*shape \(1, 2\)"),
        ([[1.0, 2.0]] * 3, r"shape \(3, 2\)"),
        ([1.0, 2.0], r"shape \(2,\)"),
        ([[[1.0]], [[2.0]]], r"shape \(2, 1, 1\)"),
        ([[], []], r"shape \(2, 0\)"),
        ([[1.0, 2.0], [1.0]], "not an array of numbers"),
        ([[1.0, 2.0], None], "not an array of numbers"),
        ([[1.0, 2.0], [1.0, float("nan")]], "vector 1 holds NaN"),
        ([[float("inf"), 2.0], [1.0, 1.0]], "vector 0 holds NaN or infinity"),
        ([["1.0", "2.0"], ["1.0", "2.0"]], "returned a list, which is not an array of numbers"),
        ([[1j, 2.0], [1.0, 1.0]], "not an array of numbers"),
        ([[True, False], [True, True]], "not an array of numbers"),
        (None, "returned None"),
        ({"data": []}, "returned a dict"),
        ((row for row in [[1.0], [2.0]]), "returned a generator"),
    ],
)
def test_a_wrong_answer_is_named(answer: Any, says: str) -> None:
    embedding = resolve_embedding(lambda _: answer)
    with pytest.raises(EmbeddingError, match=says):
        embedding.embed_documents(["a", "b"])


def test_an_awaitable_in_disguise_is_named() -> None:
    with pytest.raises(EmbeddingError, match="awaitable"):
        resolve_embedding(lambda texts: _asynchronous(texts)).embed_query("x")


def test_changing_dimensions_are_named() -> None:
    embedding = resolve_embedding(lambda texts: [[1.0] * len(texts[0])] * len(texts))
    assert embedding.embed_query("ab").shape == (2,)
    with pytest.raises(EmbeddingError, match="3 dimensions after vectors of 2"):
        embedding.embed_query("abc")


def test_queries_and_documents_of_different_length_are_named() -> None:
    class Uneven(Notes):
        def embed_query(self, text: str) -> list[float]:
            return [1.0, 0.0]

    embedding = resolve_embedding(Uneven())
    embedding.embed_documents(["a"])
    with pytest.raises(EmbeddingError, match="2 dimensions after vectors of 3"):
        embedding.embed_query("b")


@each_row("kind", [Notes, Pages, None])
def test_an_exception_of_the_model_becomes_ours(kind: type | None) -> None:
    cause = RuntimeError("quota is used up")

    def fail(*_: Any, **__: Any) -> Any:
        raise cause

    if kind is None:
        source: Any = fail
    else:
        names = ("embed_documents", "embed_query", "_get_text_embedding", "_get_query_embedding")
        source = type("Failing", (kind,), dict.fromkeys(names, fail))()
    embedding = resolve_embedding(source)
    for call in (lambda: embedding.embed_query("x"), lambda: embedding.embed_documents(["x"])):
        with pytest.raises(EmbeddingError, match="RuntimeError: quota is used up") as caught:
            call()
        assert caught.value.__cause__ is cause


def test_a_failed_probe_is_tried_again() -> None:
    answers = iter([RuntimeError("down"), [[1.0, 0.0]]])

    def embed(_: list[str]) -> Any:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    embedding = resolve_embedding(embed)
    with pytest.raises(EmbeddingError):
        _ = embedding.dimensions
    assert embedding.dimensions == 2


def test_an_interrupt_is_not_caught() -> None:
    def embed(_: list[str]) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        resolve_embedding(embed).embed_query("x")


def test_one_string_is_not_a_list_of_texts() -> None:
    with pytest.raises(InvalidArgument, match="one string"):
        resolve_embedding(numbers).embed_documents("abc")


def test_threads_may_share_an_adapter() -> None:
    embedding = CallableAdapter(numbers)
    expected = embedding.embed_query("some text").tolist()
    found: list[list[float]] = []
    workers = [
        threading.Thread(target=lambda: found.extend(embedding.embed_query("some text").tolist() for _ in range(50)))
        for _ in range(8)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [expected] * 400
