import json

import numpy as np
import pytest

from recall_integrations.errors import InvalidArgument
from recall_integrations.ranking.calibration.model import HIT, RESULT, Calibration
from recall_integrations.ranking.layered import Logistic
from recall_integrations.ranking.rankers import linear


def logistic(names, bias):
    size = len(names)
    return Logistic(names=tuple(names), weights=np.full(size, 0.25), low=np.zeros(size), high=np.ones(size), bias=bias)


def ranker(version="v1", of="v1"):
    calibration = Calibration(
        ranker="linear",
        ranker_version=of,
        version="own-v1",
        result=logistic(RESULT, -1.0),
        per_k=(0.5, -0.1),
        hit=logistic(HIT, -2.0),
        about={"figures": {"hits ECE": 0.01}},
    )
    return linear.LinearRanker(
        version=version, bias=0.0, spread={"cosine": 1.0}, plain={}, about={}, calibration=calibration
    )


def test_a_calibration_is_kept_with_the_weights():
    own = linear.from_json(ranker().to_json()).calibration
    assert own is not None and own.to_dict() == ranker().calibration.to_dict()
    assert (own.ranker, own.ranker_version) == ("linear", "v1")


def test_weights_without_a_calibration_have_none():
    bare = linear.LinearRanker(version="v1", bias=0.0, spread={"cosine": 1.0}, plain={}, about={})
    assert linear.from_json(bare.to_json()).calibration is None
    old = {k: v for k, v in json.loads(bare.to_json()).items() if k != "calibration"}
    assert linear.from_json(json.dumps(old)).calibration is None


def test_a_calibration_of_other_weights_is_refused():
    with pytest.raises(InvalidArgument, match="w.json: 'calibration' belongs to other weights"):
        linear.from_json(ranker(of="v2").to_json(), "w.json")


@pytest.mark.parametrize("kept", [{}, [], "x", {"format": "recall-calibration-1", "rankers": {"linear": {}}}])
def test_a_calibration_that_cannot_be_used_is_named(kept):
    fields = {**json.loads(ranker().to_json()), "calibration": kept}
    with pytest.raises(InvalidArgument, match="w.json: 'calibration'"):
        linear.from_json(json.dumps(fields), "w.json")


def test_a_new_description_leaves_the_old_calibration_behind():
    assert ranker().described(version="v2", about={}).calibration is None
