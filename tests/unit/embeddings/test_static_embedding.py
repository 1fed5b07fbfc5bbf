"""The bundled static model and its loader."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from recall_integrations.embeddings import static
from recall_integrations.embeddings.base import Embedding
from recall_integrations.embeddings.static import BUNDLED, StaticEmbedding, bundled
from recall_integrations.errors import EmbeddingError, InvalidArgument
from tests.rows import each_row

ROOT = Path(__file__).resolve().parents[3]

# Each line: a text, one that means nearly the same in other words, one that shares its form but not its meaning.
TRIPLES = [
    ("The doctor prescribed new medicine", "The physician gave me other pills", "The driver ordered new tyres"),
    ("We are getting married in June", "Our wedding is this summer", "We are getting paid in June"),
    ("My dog is sick", "The puppy has been ill", "My car is fast"),
    ("He was fired last week", "He lost his job", "He was painted last week"),
    ("She plays the violin in an orchestra", "Her hobby is classical music", "She plants the garden in an orchard"),
    ("I am allergic to peanuts", "Nuts make me ill, I have an allergy", "I am attached to penguins"),
    ("The flight was cancelled because of snow", "Winter weather grounded the airplane", "The show was sold out"),
    ("They bought a house by the sea", "Their new home is on the coast", "They brought a horse to the scene"),
    ("The server crashed during the deployment", "The release took the machine down", "The waiter served dessert"),
    ("Our budget for marketing was cut", "There is less money for advertising", "Our bucket for gardening was cut"),
    ("I learned to cook Italian food", "I make pasta and pizza myself now", "I learned to fix Italian cars"),
    ("The baby was born on Monday", "The infant arrived this week", "The bill was due on Monday"),
    ("He prefers tea over coffee", "His favourite drink is green tea", "He prefers trains over planes"),
    ("The lawyer reviewed the contract", "An attorney checked the agreement", "The player renewed the subscription"),
    ("We hiked up the mountain", "The trail to the summit was steep", "We moved up the deadline"),
    ("I failed the maths exam", "My grade in the algebra test was bad", "I filed the tax return"),
]

# The model reaches .81, .243 and 1.0: the look-alikes share most of their words on purpose, and a model that knows no
# word order loses some. Shuffled rows reach at most .1, -.2 and .32; half of the rows zeroed .5, -.02, .5.
RIGHT_MIN, MARGIN_MIN, FIRST_MIN = 0.77, 0.20, 0.95


def sanity(model: StaticEmbedding) -> tuple[float, float, float]:
    """Share of triples where meaning beats form, mean margin, share of paraphrases found first among all."""
    anchors, near, far = (model.embed_documents(list(texts)) for texts in zip(*TRIPLES, strict=True))
    related, alike = (anchors * near).sum(axis=1), (anchors * far).sum(axis=1)
    first = (anchors @ near.T).argmax(axis=1) == np.arange(len(TRIPLES))
    return float(np.mean(related > alike)), float(np.mean(related - alike)), float(np.mean(first))


@pytest.fixture(scope="module")
def model() -> StaticEmbedding:
    return StaticEmbedding()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(BUNDLED, tmp_path / "model"))


def test_is_an_embedding(model: StaticEmbedding) -> None:
    assert isinstance(model, Embedding)
    assert model.remote is False
    assert model.dimensions == 256
    assert bundled() is bundled()


def test_loads_offline_without_torch_or_hub() -> None:
    code = """
        import socket, sys
        def refuse(*_, **__): raise AssertionError("network used")
        socket.socket.connect = socket.getaddrinfo = refuse
        from recall_integrations.adapters.embedding import resolve_embedding
        model = resolve_embedding()
        assert abs(float(model.embed_query("my dog is ill") @ model.embed_query("my dog is ill")) - 1) < 1e-6
        heavy = {"torch", "transformers", "sentence_transformers", "huggingface_hub", "langchain_core", "llama_index"}
        assert not heavy & set(sys.modules), heavy & set(sys.modules)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_nothing_is_read_before_first_use(tmp_path: Path) -> None:
    model = StaticEmbedding(tmp_path)
    with pytest.raises(EmbeddingError, match=r"no model\.safetensors"):
        model.embed_query("x")


def test_shapes_and_types(model: StaticEmbedding) -> None:
    rows = model.embed_documents(["one dog", "", "two cats"])
    assert rows.shape == (3, 256)
    assert rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 0, 1], abs=1e-6)
    assert model.embed_query("one dog").shape == (256,)
    assert np.array_equal(model.embed_query("one dog"), rows[0])
    assert model.embed_documents([]).shape == (0, 256)


@each_row("text", ["", "  \n", "\u0e44\u0e17\u0e22", "[UNK]", "x" * 200])
def test_text_without_a_known_token_is_zero(model: StaticEmbedding, text: str) -> None:
    assert not model.embed_query(text).any()
    assert model.tokenize_ids([text]) == [[]]


def test_case_and_accents_do_not_matter(model: StaticEmbedding) -> None:
    assert np.array_equal(model.embed_query("Café in Zürich"), model.embed_query("cafe in zurich"))


def test_meaning_beats_form_and_finds_the_paraphrase(model: StaticEmbedding) -> None:
    right, margin, first = sanity(model)
    assert right >= RIGHT_MIN
    assert margin >= MARGIN_MIN
    assert first >= FIRST_MIN


@each_row("damage", ["shuffled", "shifted", "holes", "rotated"])
def test_a_damaged_matrix_would_be_noticed(copy: Path, damage: str) -> None:
    from safetensors.numpy import load, save

    rows = load((BUNDLED / "model.safetensors").read_bytes())["embeddings"]
    random = np.random.default_rng(0)
    damaged = {
        "shuffled": lambda: rows[random.permutation(len(rows))],
        "shifted": lambda: np.roll(rows, 1, axis=0),
        "holes": lambda: rows * (random.random((len(rows), 1)) < 0.5).astype(np.int8),
        "rotated": lambda: np.concatenate([rows[:15_000], np.roll(rows[15_000:], 1, axis=1)]),
    }[damage]()
    (copy / "model.safetensors").write_bytes(save({"embeddings": np.ascontiguousarray(damaged)}))
    right, margin, first = sanity(StaticEmbedding(copy))
    assert right < RIGHT_MIN
    assert margin < MARGIN_MIN
    assert first < FIRST_MIN


def test_agrees_with_model2vec(model: StaticEmbedding) -> None:
    model2vec = pytest.importorskip("model2vec")
    theirs = model2vec.StaticModel.from_pretrained(BUNDLED)
    texts = [text for triple in TRIPLES for text in triple] + ["", "[UNK]", " ".join(TRIPLES[0]) * 60]
    assert model.tokenize_ids(texts) == theirs.tokenize(texts)
    np.testing.assert_allclose(model.embed_documents(texts), theirs.encode(texts, max_length=None), atol=1e-6)


def test_int8_agrees_with_the_mean_of_dequantised_floats(model: StaticEmbedding, tmp_path: Path) -> None:
    from safetensors.numpy import load, save

    rows = load((BUNDLED / "model.safetensors").read_bytes())["embeddings"]
    assert rows.dtype == np.int8
    folder = Path(shutil.copytree(BUNDLED, tmp_path / "float"))
    (folder / "model.safetensors").write_bytes(save({"embeddings": rows.astype(np.float32) * np.float32(0.0237)}))
    floats = StaticEmbedding(folder)
    texts = [text for triple in TRIPLES for text in triple]
    np.testing.assert_allclose(model.embed_documents(texts), floats.embed_documents(texts), atol=2e-6)
    for text in texts[:5]:  # by hand, in float64
        mean = rows[model.tokenize_ids([text])[0]].astype(np.float64).mean(axis=0)
        np.testing.assert_allclose(model.embed_query(text), mean / np.linalg.norm(mean), atol=1e-6)


def test_a_vector_does_not_depend_on_its_batch(model: StaticEmbedding) -> None:
    texts = [" ".join(triple) * (1 + n % 7) for n, triple in enumerate(TRIPLES)] * 40
    together = model.embed_documents(texts)
    for at in range(0, len(texts), 97):
        assert np.array_equal(together[at], model.embed_query(texts[at]))


def test_a_long_text_is_read_to_its_end(model: StaticEmbedding) -> None:
    start, end = "the dog sleeps on the sofa. ", "interest rates were raised by the bank. "
    long = start * 5_000 + end * 5_000
    assert len(long) > 4 * static.PIECE_CHARS
    assert len(model.tokenize_ids([long])[0]) == 5_000 * len(model.tokenize_ids([start + end])[0])
    np.testing.assert_allclose(model.embed_query(long), model.embed_query(start + end), atol=1e-5)


def test_pieces_lose_nothing_and_break_at_white_space() -> None:
    for text in ("", "a", "ab " * 100_000, "x" * 200_000, "word\n" * 13_107 + "x" * 2_000):
        pieces = list(static._pieces(text))
        assert "".join(pieces) == text
        assert all(len(piece) <= static.PIECE_CHARS for piece in pieces)
    assert all(piece.strip().endswith("ab") for piece in static._pieces("ab " * 100_000))


def test_tokens_add_up_to_the_vector_of_a_text(model: StaticEmbedding) -> None:
    (ids,) = model.tokenize_ids(["violin"])
    assert len(ids) == 1
    (addend,) = model.weighted(np.asarray(ids, dtype=np.int64))
    np.testing.assert_allclose(addend / np.linalg.norm(addend), model.embed_query("violin"), atol=1e-6)


def test_threads_get_the_same_vectors_as_one(copy: Path) -> None:
    texts = [text * (1 + n % 5) for n, triple in enumerate(TRIPLES) for text in triple]
    expected = bundled().embed_documents(texts)
    fresh = StaticEmbedding(copy)  # so that loading is raced for as well
    gate = threading.Barrier(8)

    def work(seed: int) -> bool:
        gate.wait()
        order = np.random.default_rng(seed).permutation(len(texts))
        alone = all(np.array_equal(fresh.embed_query(texts[i]), expected[i]) for i in order)
        return alone and np.array_equal(fresh.embed_documents([texts[i] for i in order]), expected[order])

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_fingerprint_follows_content_not_place(model: StaticEmbedding, copy: Path) -> None:
    assert StaticEmbedding(copy).fingerprint == model.fingerprint
    data = bytearray((copy / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (copy / "model.safetensors").write_bytes(bytes(data))
    changed = StaticEmbedding(copy).fingerprint
    assert changed != model.fingerprint
    tokenizer = json.loads((copy / "tokenizer.json").read_text(encoding="utf-8"))
    tokenizer["normalizer"]["lowercase"] = False
    (copy / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
    assert StaticEmbedding(copy).fingerprint not in (changed, model.fingerprint)


def test_reads_mapping_and_weights(copy: Path, model: StaticEmbedding) -> None:
    from safetensors.numpy import load, save

    rows = load((BUNDLED / "model.safetensors").read_bytes())["embeddings"]
    count = len(rows)
    weights = np.linspace(0.1, 2.0, count, dtype=np.float32)
    tensors = {"embeddings": rows[::-1].copy(), "mapping": np.arange(count)[::-1].copy(), "weights": weights}
    (copy / "model.safetensors").write_bytes(save(tensors))
    text = TRIPLES[0][0]
    ids = model.tokenize_ids([text])[0]
    total = (rows[ids].astype(np.float64) * weights[ids, None]).sum(axis=0)
    mapped = StaticEmbedding(copy)
    np.testing.assert_allclose(mapped.embed_query(text), total / np.linalg.norm(total), atol=1e-6)


def _truncate(folder: Path) -> None:
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(data[: len(data) // 2])


def _drop_rows(folder: Path) -> None:
    from safetensors.numpy import save

    (folder / "model.safetensors").write_bytes(save({"embeddings": np.ones((10, 4), dtype=np.float32)}))


def _nan(folder: Path) -> None:
    from safetensors.numpy import save

    (folder / "model.safetensors").write_bytes(save({"embeddings": np.full((29_525, 2), np.nan, dtype=np.float32)}))


def _zeros(folder: Path) -> None:
    from safetensors.numpy import save

    (folder / "model.safetensors").write_bytes(save({"embeddings": np.zeros((29_525, 2), dtype=np.int8)}))


@each_row(
    ("damage", "says"),
    [
        (_truncate, "Cannot read"),
        (_drop_rows, "29,525 tokens but 10 vectors"),
        (_nan, "not finite"),
        (_zeros, "all token vectors are zero"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "Cannot read"),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), "Cannot read"),
    ],
)
def test_damaged_files_are_named(copy: Path, damage: object, says: str) -> None:
    damage(copy)  # type: ignore[operator]
    with pytest.raises(EmbeddingError, match=says):
        StaticEmbedding(copy).embed_query("hello")


def test_wrong_arguments(model: StaticEmbedding, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="There is no model folder"):
        StaticEmbedding(tmp_path / "absent")
    with pytest.raises(InvalidArgument, match="one string"):
        model.embed_documents("text")
    with pytest.raises(InvalidArgument, match="Text 1 must be a string"):
        model.embed_documents(["a", None])  # type: ignore[list-item]
    with pytest.raises(EmbeddingError, match="valid Unicode"):
        model.embed_query("\ud800")


def test_the_files_are_read_once_and_a_text_costs_a_few_steps(
    steps: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Milliseconds are told by `scripts/measure_embedding.py --speed`."""
    read: list[Path] = []
    read_bytes = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path) or read_bytes(path))
    model = StaticEmbedding()
    model.embed_query("hello")
    assert [path.name for path in read] == ["tokenizer.json"]  # the other one is mapped
    assert 0 < steps(lambda: model.embed_query("When did we buy the house by the sea?")) < 250
    texts = [" ".join(triple) for triple in TRIPLES] * 63
    few, many = (steps(lambda part=part: model.embed_documents(part)) for part in (texts[:250], texts[:1_000]))
    assert 0 < few < 100 * 250 and many < 6 * few  # four times as many texts
    assert len(read) == 1


def test_the_committed_files_are_small_and_name_no_hub_model() -> None:
    files = sorted(path.name for path in BUNDLED.iterdir())
    assert files == ["README.md", "config.json", "model.safetensors", "tokenizer.json"]
    assert sum(path.stat().st_size for path in BUNDLED.iterdir()) < 9_000_000
    config = json.loads((BUNDLED / "config.json").read_text(encoding="utf-8"))
    assert "tokenizer_name" not in config
    assert not any("/" in value for value in config.values() if isinstance(value, str))


def test_the_digest_of_the_bundled_files_is_the_one_that_is_noted() -> None:
    weights, tokenizer = (static.BUNDLED / name for name in ("model.safetensors", "tokenizer.json"))
    assert (weights.stat().st_size, tokenizer.stat().st_size) == static._BUNDLED_SIZES
    assert static._digest(weights.read_bytes(), tokenizer.read_bytes()) == static._BUNDLED_DIGEST
