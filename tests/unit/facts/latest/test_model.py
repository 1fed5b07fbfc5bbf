"""Which candidate is the latest that tells what is asked."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from recall_integrations.embeddings.static import bundled
from recall_integrations.errors import EmbeddingError
from recall_integrations.facts.latest import latest_model
from recall_integrations.facts.latest.evidence import FEATURES, Comparing
from recall_integrations.facts.latest.matching import NAMES, Matching
from recall_integrations.facts.latest.model import FILE, OTHER, STATE, LatestModel, Nets, load, save
from recall_integrations.facts.latest.pairing import Pairing, Towers, towers_of
from recall_integrations.facts.latest.superseding import NAMES as OF_SUPERSEDING
from recall_integrations.facts.latest.superseding import Superseding
from recall_integrations.facts.reader.features import BUCKETS
from recall_integrations.facts.reader.slot_reader import Part, quantised


def asking() -> Part:
    weights = np.random.default_rng(0).normal(size=(2, bundled().dimensions + BUCKETS))
    return quantised((STATE, OTHER), weights, np.zeros(2), np.ones(BUCKETS, dtype=np.float32), bundled().dimensions)


def towers() -> Towers:
    rng = np.random.default_rng(1)
    size = (bundled().dimensions, bundled().dimensions)
    return towers_of(rng.normal(size=size), rng.normal(size=size))


def weights(names: tuple[str, ...], sides: tuple[str, ...]) -> dict[str, NDArray[np.float16]]:
    rng, width = np.random.default_rng(2), 4
    of_side = {"turn": (bundled().dimensions, width), "beside": (3 * width, width), "bias": (width,)}
    of_side |= {"key": (width, width), "made": (4 * width + 1, width), "made_bias": (width,)}
    shapes = {f"{side}_{name}": shape for side in sides for name, shape in of_side.items()} | {"earlier": (width,)}
    shapes |= {"inner": (2 * len(sides) * width, width), "inner_bias": (width,), "outer": (width,), "outer_bias": (1,)}
    return {name: rng.normal(size=shapes[name]).astype(np.float16) for name in names}


def comparing() -> Comparing:
    matching = Matching(weights(NAMES, ("asked", "told")), 0.75)
    superseding = Superseding(weights(OF_SUPERSEDING, ("asked", "told", "earlier")), 0.75)
    return Comparing(pairing=Pairing(towers()), matching=matching, superseding=superseding)


def model_of(own: Nets) -> LatestModel:
    return LatestModel(asking(), own, comparing())


def nets(bias: float = 0.0) -> Nets:
    """One network, whose logit is the first column: gelu(20 + x) - 20 = x, near enough."""
    size = len(FEATURES)
    inner = np.zeros((1, size, 1), dtype=np.float32)
    inner[0, 0, 0] = 1
    ones = np.ones((1, 1), dtype=np.float32)
    return Nets(
        mean=np.zeros((1, size), dtype=np.float32),
        spread=np.ones((1, size), dtype=np.float32),
        inner=inner,
        inner_bias=20 * ones,
        outer=ones,
        outer_bias=np.asarray([bias - 20], dtype=np.float32),
    )


def evidence_of(*logits: float) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    found = np.zeros((len(logits), len(FEATURES)), dtype=np.float32)
    found[:, 0] = logits
    return found


def test_the_latest_tells_it_and_no_later_one_does() -> None:
    told, latest = model_of(nets()).telling(evidence_of(0, np.log(3), np.log(4)), [10, 30, 20])
    assert told == pytest.approx([0.5, 0.75, 0.8], abs=1e-4)
    assert latest == pytest.approx([0.5 * 0.25 * 0.2, 0.75, 0.8 * 0.25], abs=1e-4)
    assert latest.sum() == pytest.approx(1 - 0.5 * 0.25 * 0.2, abs=1e-4)


def test_of_equal_times_the_better_place_counts_as_later() -> None:
    _, latest = model_of(nets()).telling(evidence_of(0, 0), [7, 7])
    assert latest == pytest.approx([0.5, 0.25], abs=1e-4)


def test_one_candidate() -> None:
    told, latest = model_of(nets()).telling(evidence_of(2), [7])
    assert np.array_equal(told, latest)


def test_a_model_is_kept_and_read(tmp_path: Path) -> None:
    file = tmp_path / "model"
    save(asking(), nets(0.5), comparing(), file)
    model, again = model_of(nets(0.5)), load(file)
    assert model.asks("where do I live?") == again.asks("where do I live?")
    texts, both = [("My gym is Ironworks",), ("Tea", "is ready")], ["My gym is Ironworks", "Tea is ready"]
    own, read = model.comparing, again.comparing
    assert np.array_equal(own.pairing.paired("my gym?", texts), read.pairing.paired("my gym?", texts))
    assert np.array_equal(own.matching.matched("my gym?", both), read.matching.matched("my gym?", both))
    pair = [("My gym is Ironworks", "Tea is ready")]
    assert np.array_equal(own.superseding.supersedes("my gym?", pair), read.superseding.supersedes("my gym?", pair))
    assert read.matching.length == read.superseding.length == 0.75
    found = evidence_of(1, -1)
    rng = np.random.default_rng(0)
    inner = rng.normal(size=(1, 2, len(FEATURES))).astype(np.float32).transpose(0, 2, 1)  # not in the order of memory
    two = replace(
        nets(), inner=inner, inner_bias=rng.normal(size=(1, 2)).astype(np.float32), outer=np.ones((1, 2), np.float32)
    )
    save(asking(), two, comparing(), tmp_path / "two")
    assert np.array_equal(model_of(two).telling(found, [1, 2])[0], load(tmp_path / "two").telling(found, [1, 2])[0])
    assert np.array_equal(model.telling(found, [1, 2])[1], again.telling(found, [1, 2])[1])


@pytest.mark.parametrize("content", [b"", b"not a model", FILE.read_bytes()[:3_000]])
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "model"
    with pytest.raises(EmbeddingError, match="Cannot read the model"):
        load(file)
    file.write_bytes(content)
    with pytest.raises(EmbeddingError, match="Reinstall"):
        load(file)


def test_a_file_of_other_evidence_is_refused(tmp_path: Path) -> None:
    from safetensors import safe_open
    from safetensors.numpy import save_file

    file = tmp_path / "model"
    save(asking(), nets(), comparing(), file)
    with safe_open(file, framework="numpy") as opened:
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - it is no dict
    save_file(tensors, file, {"about": json.dumps({"features": FEATURES[1:], "classes": [STATE, OTHER]})})
    with pytest.raises(EmbeddingError, match="other evidence"):
        load(file)


def test_what_ships() -> None:
    assert FILE.stat().st_size < 550_000 and latest_model() is latest_model()
    for query in (
        "where do I live now?",
        "which digits would a courier need to reach me?",
        "what car does Priya drive?",
    ):
        assert latest_model().asks(query) > 0.8
    for query in (
        "why did Sam quit so suddenly?",
        "what happened at the party on Saturday?",
        "tips for a trip to Rome",
    ):
        assert latest_model().asks(query) < 0.5
