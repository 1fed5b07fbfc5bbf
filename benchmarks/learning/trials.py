"""Versions on trial: bad ones that must be caught within their window, good ones that must be kept; and poison."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from benchmarks.learning.clicking import Clicks
from benchmarks.learning.oracle import measured
from benchmarks.learning.recorded import Halves
from benchmarks.learning.using import DAY, TENANT, Person, Use, order_by
from recall_integrations.config.sections import LearnedConfig
from recall_integrations.learning.making import learnable
from recall_integrations.learning.measuring import PROMOTED, ROLLED_BACK, decided
from recall_integrations.learning.versions import Version
from recall_integrations.types.judged import RULES, Judged

WINDOW = 7  # days
HARM = 0.02  # nDCG@5 below rules


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What became of a version.

    Args:
        kind: of version.
        step: `promoted`, `rolled_back` or empty: nothing was decided within its window.
        day: on which.
        gap: nDCG@5 against rules by the labels, on the measured half.
    """

    kind: str
    step: str
    day: int
    gap: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Poisoned:
    """What became of a scope whose clicks are poisoned.

    Args:
        kind: of poison.
        worst: nDCG@5 against rules by the labels, on its worst day.
    """

    kind: str
    worst: float


def bad_versions(halves: Halves, seed: int) -> dict[str, Version]:
    """Versions that harm: what bears the shipped order taken back, steps by chance, and meaning alone.

    Steps by chance are drawn until the labels say that they harm: some do not.
    """
    draw = random.Random(seed)
    while True:
        by_chance = {name: max(-3.0, min(3.0, draw.gauss(0, 1.5))) for name in learnable()}
        if (measured(halves, Version(id="v1", steps=by_chance)) - measured(halves, None)).mean() < -HARM:
            break
    strong = ("bm25_counted", "passage_match", "bigram_match", "cosine", "cosine_w1", "near_match_w2")
    return {
        "inverted": Version(id="v1", steps=dict.fromkeys(strong, -3.0)),
        "random": Version(id="v1", steps=by_chance),
        "meaning alone": Version(id="v1", steps={**dict.fromkeys(strong, -1.5), "cosine": 3.0, "cosine_w1": 3.0}),
    }


def tried(halves: Halves, version: Version, kind: str, clicks: Clicks, seed: int, recalls: int) -> Trial:
    """Put a version on trial against rules: it answers a tenth, and is decided about every day."""
    draw, rows = random.Random(seed), list[Judged]()
    gap = float((measured(halves, version) - measured(halves, None)).mean())
    its = {id(asked): order_by(asked, version) for asked in halves.learning}
    theirs = {one for one in its if draw.random() < LearnedConfig().traffic_fraction_for_new_weights}
    for day in range(WINDOW):
        for n in range(recalls):
            asked = draw.choice(halves.learning)
            orders = {**asked.replay.orders, "version:v1": its[id(asked)]}
            label = "v1" if id(asked) in theirs else RULES
            gains = clicks.on(orders["version:v1" if label == "v1" else RULES], asked.relevant, draw)
            if gains:
                at = day * int(DAY.total_seconds()) + n
                rows.append(
                    Judged(
                        result_id=f"{seed}-{day}-{n}",
                        at=at,
                        signature=asked.signature,
                        version=label,
                        gains=gains,
                        replay=replace(asked.replay, orders=orders),
                    )
                )
        verdict = decided(rows, "v1", RULES, over=day == WINDOW - 1)
        if verdict.step in (PROMOTED, ROLLED_BACK):
            return Trial(kind=kind, step=verdict.step, day=day, gap=gap)
    return Trial(kind=kind, step="", day=WINDOW, gap=gap)


def poisoned(halves: Halves, days: int, recalls: int, noise: float, seed: int) -> Iterator[Poisoned]:
    """A scope whose clicks are inverted, or say nothing."""
    rules = measured(halves, None).mean()
    for kind, clicks in (("inverted", Clicks(noise=noise, inverted=True)), ("random", Clicks(blind=True))):
        found = Use(people=[Person(halves=halves, clicks=clicks, recalls=recalls)], seed=seed).days(days)
        yield Poisoned(kind=kind, worst=float((found.ndcg[TENANT].mean(axis=1) - rules).min()))
