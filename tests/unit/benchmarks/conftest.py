"""What measurements embed with."""

import pytest


@pytest.fixture
def embedding(hashed_words):
    """Deterministic, and quick."""
    return hashed_words
