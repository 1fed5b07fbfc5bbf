import numpy as np

from recall_integrations.ranking.features.around import AROUND, around
from recall_integrations.ranking.features.compute import Features


def test_what_stands_around_a_candidate():
    u = np.asarray([0.1, 0.5, 0.3, 0.2, 0.4], dtype=np.float32)
    features = Features(
        rows=np.arange(5),
        columns={},
        links=np.asarray([[-1, 0, -1, -1, -1], [1, -1, -1, -1, -1], [-1] * 5, [-1] * 5]),
        session=np.asarray([0, 0, 0, 1, -1]),
    )
    found = around(features, u)
    assert found.keys() == AROUND.keys()
    np.testing.assert_allclose(found["u"], u)
    np.testing.assert_allclose(found["u_gap"], u - u[1])
    np.testing.assert_allclose(found["u_rank"], np.log1p([4, 0, 2, 3, 1]))
    np.testing.assert_allclose(found["u_b1"], u[[0, 0, 0, 0, 0]])  # row 0 is the worst, and the one before row 1
    np.testing.assert_allclose(found["u_a1"], u[[1, 0, 0, 0, 0]])
    np.testing.assert_allclose(found["u_win"], u[[1, 0, 0, 0, 0]])
    np.testing.assert_allclose(found["u_other"], u[[1, 2, 1, 0, 0]])
    np.testing.assert_allclose(found["u_mean"][[0, 3, 4]], [u[:3].mean(), u[3], u[4]], rtol=1e-5)
    np.testing.assert_allclose(found["u_top"], [3, 3, 3, 1, 1])


def test_nothing_stands_around_nothing():
    nothing = np.empty(0, dtype=np.int64)
    none = Features(rows=nothing, columns={}, links=np.empty((4, 0), dtype=np.int64), session=nothing)
    assert around(none, np.empty(0, dtype=np.float32)) == {}
