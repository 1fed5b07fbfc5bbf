from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.ranking.arranging.arrange import mmr


@given(st.integers(0, 40), st.integers(1, 6), st.integers(0, 50), st.floats(0, 1), st.integers(0, 2**32 - 1))
def test_it_is_what_the_definition_says(n: int, d: int, k: int, lambda_: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 5, n) / 4
    vectors = np.eye(d)[rng.integers(0, d, n)] * rng.integers(0, 2, n)[:, None]  # exact cosines: 0 or 1, many ties
    order = mmr(scores, vectors, k, lambda_).tolist()
    assert len(order) == len(set(order)) == min(k, n)
    chosen: list[int] = []
    for got in order:
        rest = [i for i in range(n) if i not in chosen]
        gain = {
            i: lambda_ * scores[i] - (1 - lambda_) * max(float(vectors[i] @ vectors[j]) for j in chosen)
            if chosen
            else lambda_ * scores[i]
            for i in rest
        }
        assert got == max(rest, key=lambda i: (gain[i], -i))
        chosen.append(got)


@given(st.integers(0, 30), st.integers(0, 2**32 - 1))
def test_all_of_them_is_a_permutation(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, 8)).astype(np.float32)
    assert sorted(mmr(rng.random(n), vectors, n, 0.7).tolist()) == list(range(n))
