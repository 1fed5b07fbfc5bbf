"""Static vectors of short texts."""

from __future__ import annotations

import numpy as np
import pytest

from recall_integrations.embeddings.static import bundled
from recall_integrations.facts.reader.vectors import vector_of


def test_they_are_those_of_the_bundled_model_and_nobody_changes_them() -> None:
    vector = vector_of("My gym is Ironworks")
    assert np.array_equal(vector, bundled().embed_query("My gym is Ironworks"))
    assert vector_of("My gym is Ironworks") is vector and not vector_of("").any()
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 1
