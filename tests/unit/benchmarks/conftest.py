from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder() -> Path:
    folder = Path(__file__).resolve().parents[3] / "../shared/data"
    if not folder.is_dir():
        pytest.skip("the evaluation data is not beside the repository (../shared/data)")
    return folder


@pytest.fixture
def embedding(hashed_words):
    """Deterministic, and quick."""
    return hashed_words
