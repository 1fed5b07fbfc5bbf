"""Plans by signature, and weights of arms by the formula."""

from __future__ import annotations

import numpy as np
import pytest

from recall_integrations.learning.making import new_weights, plans_for, utilities


def test_a_better_plan_is_chosen_for_its_signature_only(judged_of) -> None:
    good = judged_of(60, orders={"plan:precise": 0.95, "plan:temporal": 0.1})
    other = judged_of(60, seed=1, orders={"plan:precise": 0.0}, signature="time, vague, short")
    assert plans_for([*good, *other], least=30) == {"plain, vague, short": "precise"}


def test_too_few_judged_recalls_choose_nothing(judged_of) -> None:
    assert plans_for(judged_of(29, orders={"plan:precise": 1.0}), least=30) == {}


def test_luck_chooses_nothing(judged_of) -> None:
    chosen = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        uniform = judged_of(160, seed=seed, noise=1.0, strength=0.0)
        judged = [one for one in uniform if rng.random() < 1 / one.gains[0].place][:40]  # as people look
        same = [
            type(one)(
                result_id=one.result_id,
                at=one.at,
                signature=one.signature,
                gains=one.gains,
                replay=type(one.replay)(
                    plan="balanced",
                    orders={**one.replay.orders, "plan:precise": one.replay.orders["rules"][::-1]},
                ),
            )
            for one in judged
        ]
        chosen += bool(plans_for(same, least=30))
    assert chosen == 0


def test_what_an_arm_is_worth(judged_of) -> None:
    judged = judged_of(80, orders={"without:lexical": 0.0, "without:graph": 1.0})
    worth = utilities(judged)
    assert worth["lexical"] > 0 > worth["graph"]


def test_weights_move_by_a_tenth_at_most_and_stay_in_bounds() -> None:
    moved = new_weights({}, {"lexical": 0.2, "semantic": -0.1, "graph": 0.0})
    assert moved == {"lexical": pytest.approx(1.1), "semantic": pytest.approx(0.95), "graph": 1.0}
    assert new_weights({"lexical": 2.95}, {"lexical": 1.0})["lexical"] == 3.0
    assert new_weights({"graph": 0.105}, {"graph": -1.0, "lexical": 1.0})["graph"] == 0.1
    assert new_weights({"lexical": 1.2}, {"lexical": 0.0}) == {"lexical": 1.2}
    weights: dict[str, float] = {}
    for _ in range(40):
        weights = new_weights(weights, {"lexical": 1.0, "graph": -1.0})
    assert weights == {"lexical": 3.0, "graph": pytest.approx(0.1)}
