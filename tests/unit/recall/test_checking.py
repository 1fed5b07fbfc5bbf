from __future__ import annotations

import warnings

import numpy as np
import pytest

from recall_integrations.errors import InvalidArgument
from recall_integrations.recall.checking import checked_vector


def test_a_vector_of_any_length_is_a_unit_vector_and_none_is_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (1e-3, 1.0, 1e30):
            assert np.allclose(checked_vector([size, size, size, size], 4), 0.5)
        assert not checked_vector([0.0, 0.0], 2).any()
        with pytest.raises(InvalidArgument, match="2 finite numbers"):
            checked_vector([1e300, 1.0], 2)
