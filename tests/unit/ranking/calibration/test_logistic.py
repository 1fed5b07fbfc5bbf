import numpy as np
import pytest

from recall_integrations.ranking.calibration.logistic import fit_logistic


def made(n=400, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    return x, x @ [1, -2, 0] + rng.normal(size=n) > 0.5


@pytest.mark.parametrize("ridge", [0.5, 3.0])
def test_the_gradient_is_zero_where_it_stops(ridge):
    x, y = made()
    weight = np.random.default_rng(2).random(len(x))
    w, bias = fit_logistic(x, y, weight, ridge)
    p = 1 / (1 + np.exp(-(x @ w + bias)))
    np.testing.assert_allclose(x.T @ (weight * (p - y)) + ridge * w, 0, atol=1e-3)
    assert (weight * (p - y)).sum() == pytest.approx(0, abs=1e-3)


def test_a_row_of_weight_two_is_two_rows():
    x, y = made(60)
    once = fit_logistic(x, y, np.where(np.arange(60) < 10, 2.0, 1.0))
    twice = fit_logistic(np.concatenate([x, x[:10]]), np.concatenate([y, y[:10]]), np.ones(70))
    np.testing.assert_allclose(once[0], twice[0], atol=1e-6)


def test_one_class_only_stays_finite():
    x, _ = made(40)
    w, bias = fit_logistic(x, np.ones(40, dtype=bool), np.ones(40))
    assert np.isfinite(w).all() and bias > 5 and np.abs(w).max() < 0.1
