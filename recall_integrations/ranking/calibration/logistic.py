"""Logistic regression with a ridge, by Newton's method with step halving."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
STEPS = 50
FREE = 1e-9  # ridge of the bias


def fit_logistic(x: Doubles, y: NDArray[np.bool_], weight: Doubles, ridge: float = 1.0) -> tuple[Doubles, float]:
    """Fit weights and bias that minimise `ridge·|w|²/2 + Σ weight·ln(1 + exp(−±z))`, `z = x·w + bias`.

    Args:
        x: `(rows, inputs)`, of about the same scale.
        y: which rows are positive.
        weight: of each row, at least 0.
        ridge: above 0; keeps classes that can be told apart from pushing weights to infinity.
    """
    full = np.hstack([x, np.ones((len(x), 1))])
    penalty = np.append(np.full(x.shape[1], ridge), FREE)
    w = np.zeros(full.shape[1])

    def loss(w: Doubles) -> float:
        z = full @ w
        return float((weight * np.logaddexp(0, np.where(y, -z, z))).sum() + 0.5 * (penalty * w * w).sum())

    now = loss(w)
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(full @ w, -500, 500)))
        gradient = full.T @ (weight * (p - y)) + penalty * w
        curvature = (full * (weight * p * (1 - p))[:, None]).T @ full + np.diag(penalty)
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while (after := loss(w - size * step)) > now and size > 1e-6:
            size /= 2
        w, gain, now = w - size * step, now - after, after
        if gain < 1e-9 * max(abs(now), 1.0):
            break
    return w[:-1], float(w[-1])
