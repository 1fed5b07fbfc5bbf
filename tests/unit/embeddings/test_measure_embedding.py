"""`scripts/measure_embedding.py`: the measure by hand, and the figure of the model card where the data is at hand."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from recall_integrations.embeddings.static import bundled

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "../shared/data/locomo/locomo10.json"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("measure_embedding", ROOT / "scripts/measure_embedding.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["measure_embedding"] = module
    spec.loader.exec_module(module)
    return module


class ByLength:
    """One number: texts that are as long as the question have the highest score; ties everywhere else."""

    fingerprint, dimensions, remote = "length", 64, False

    def embed_documents(self, texts: list[str]) -> Any:
        return np.eye(64, dtype=np.float32)[[len(text) for text in texts]]

    def embed_query(self, text: str) -> Any:
        return self.embed_documents([text])[0]


def test_the_measure_by_hand(script: ModuleType, tmp_path: Path) -> None:
    def turn(at: str, text: str, **more: str) -> dict[str, str]:
        return {"dia_id": at, "speaker": "A", "text": text, **more}

    sample = {
        "conversation": {
            "session_1_date_time": "noon",
            "session_10": [turn("D10:1", "b" * 7)],
            "session_2": [turn(f"D2:{n}", "a" * n) for n in range(1, 7)],
            "session_1": [turn("D1:1", "c", blip_caption="d" * 20)],
        },
        "qa": [
            {"question": "q" * 10, "evidence": ["D10:1; D2:6"], "category": 1},  # "A: bbbbbbb" has 10 characters
            {"question": "q" * 24, "evidence": ["D1:1"], "category": 4},
            {"question": "q" * 25, "evidence": ["D1:1"], "category": 4},
            {"question": "left out", "evidence": ["D:1"], "category": 4},
        ],
    }
    (tmp_path / "data.json").write_text(json.dumps([sample]))
    (talk,) = script.read(tmp_path / "data.json")
    assert talk.ids == ["D1:1", *(f"D2:{n}" for n in range(1, 7)), "D10:1"]
    assert talk.texts[0] == "A: c " + "d" * 20
    found = script.recall_at(5, ByLength(), [talk])
    # First question: D10:1 leads, then ties in order D1:1, D2:1, D2:2, D2:3. The others: ties put D1:1 into the five.
    assert found["all"] == [0.5, 1.0, 1.0]
    assert found["multi-hop"] == [0.5]


def test_the_bundled_model_has_the_quality_that_its_card_states(script: ModuleType) -> None:
    if not DATA.is_file():
        pytest.skip("LoCoMo is not at ../shared/data/locomo/locomo10.json")
    found = script.recall_at(5, bundled(), script.read(DATA))["all"]
    assert len(found) == 1_982
    assert np.mean(found) == pytest.approx(0.432, abs=0.002)
