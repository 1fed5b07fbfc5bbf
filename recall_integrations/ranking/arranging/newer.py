"""Order of two hits about the same thing: the newer one first, unless the query asks for the past.

    best 10 ─▶ pairs that are alike ─▶ inputs of each ─▶ model ─▶ the lower one moves above the upper one

"The wifi password at home is tulip-4417", later "The wifi password was changed to heron-2093": both answer a question
for the password, and only time tells which of them holds. No rule reads either of them. A pair is described by how
alike its texts are, by what of the query each holds, by the words that only one of them says, by how far apart the
ranking puts them, and by time (`pairs`, `pair_words`); a model with a hidden layer, learned from pairs of real recalls
(`scripts/fit_newer.py`), says whether the lower one belongs above the upper one. Nothing that is not among the best is
lifted, and there is no list of words. The weights stand in `newer.json`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from recall_integrations.indexes.columns import TextColumns
from recall_integrations.indexes.kind import FEW, MANY, Kind
from recall_integrations.indexes.scope_view import Mask, ScopeView
from recall_integrations.query.by_table.cues import tense_of
from recall_integrations.ranking.arranging.moves import NEWER, moved
from recall_integrations.ranking.arranging.pairs import DIMENSIONS, INPUTS, Compared, Inputs, compared
from recall_integrations.ranking.calibration import Logistic
from recall_integrations.ranking.fusion import Fused
from recall_integrations.records import record
from recall_integrations.types import ParsedQuery

SHIPPED = Path(__file__).with_name("newer.json")
# Chosen on stores as they are: phone records and documents lose nothing from the first on, scenes of many speakers from
# both on, by models that have not seen the set.
IN_LARGE, IN_CHATS = 0.4, 3.0
IN_LONG = 1.0  # logit more that is wanted where texts are longer than notes: two long ones share much by chance
LINKED = 0.5  # logit that is wanted of a pair whose texts share no word of the query
# Logit more that is wanted where each has a word of its own before what both hold, and the lower one lacks a word that
# is asked for: "which bag is packed?", "The *hiking* bag is packed", "The *gym* bag is empty again".
OTHER = 0.5
SURE = 1.0  # logit from which the older one is said to hold no longer: .73 as a probability


@record(frozen=True, slots=True, kw_only=True)
class Overtaken:
    """Newer memory that has moved above an older one."""

    by: int  # row of the newer memory that comes before it
    surely: bool  # whether the model is sure enough to say that the older one no longer holds


@record(frozen=True, slots=True, kw_only=True)
class PairModel:
    """A logistic model of pairs; one with a logit above 0 changes places."""

    pairs: Logistic  # over `INPUTS`, then one input for each row of `words`
    # float64 `(rows, 512)`, of `Compared.alone` and `Compared.told`: which words of a query name the thing that is
    # asked for, and which words tell that something is another way now
    words: Inputs
    version: str  # of the weights

    @classmethod
    def load(cls, path: Path = SHIPPED) -> PairModel:
        """Read a model that `scripts/fit_newer.py` has written."""
        kept = json.loads(path.read_text(encoding="utf-8"))
        words = np.asarray(kept["words"], dtype=np.float64).reshape(-1, 2 * DIMENSIONS)
        if not np.isfinite(words).all():
            raise ValueError("a number of the words is not finite")
        return cls(
            pairs=Logistic.from_dict(kept["pairs"], names_of(len(words))), words=words, version=str(kept["version"])
        )

    def logits(self, pairs: Compared) -> Inputs:
        """Say how surely the lower one of each pair belongs above the upper one."""
        own = np.einsum("ij,kj->ik", np.hstack([pairs.alone, pairs.told]), self.words)  # `@` may wake BLAS threads
        return self.pairs.logits(np.hstack([pairs.inputs, own]))


def names_of(words: int) -> tuple[str, ...]:
    """Return the names of the inputs of a model with so many rows of `words`."""
    return (*INPUTS, *(f"words {row}" for row in range(words)))


@cache
def shipped() -> PairModel:
    """Return the model of the package."""
    return PairModel.load()


def newer_first(
    fused: Fused,
    view: ScopeView,
    text: TextColumns,
    query: ParsedQuery,
    unit: float,
    until: int | None = None,
    inside: Mask | None = None,
    texts: Callable[[NDArray[np.int64]], Sequence[str]] | None = None,
) -> tuple[Fused, dict[int, Overtaken]]:
    """Put the lower of two hits about the same thing above the upper one, where the model says so.

    `texts` reads the texts of rows; it is asked only where the query says "before".
    """
    more = surer(len(fused.rows), text.kind)
    pairs = compared(fused, view, text, query, unit, until, inside, surer=more, texts=texts)
    if pairs is None:
        return fused, {}
    logits = shipped().logits(pairs) - more
    swaps = np.flatnonzero(logits > wanted(pairs))
    if not len(swaps):
        return fused, {}
    order, overtaken = list(range(len(fused.rows))), dict[int, Overtaken]()
    for pair in swaps[np.argsort(-logits[swaps], kind="stable")].tolist():
        upper, lower = order.index(int(pairs.upper[pair])), order.index(int(pairs.lower[pair]))
        if upper < lower:
            order.insert(upper, order.pop(lower))
            if pairs.newer[pair]:
                old, new = int(fused.rows[pairs.upper[pair]]), int(fused.rows[pairs.lower[pair]])
                overtaken.setdefault(old, Overtaken(by=new, surely=bool(logits[pair] >= SURE)))
    return moved(fused, np.asarray(order, dtype=np.int64), fused.scores, NEWER), overtaken


def wanted(pairs: Compared) -> Inputs:
    """Return the logit from which the lower one of each pair belongs above the upper one."""
    other = pairs.column("other_before") * (pairs.column("upper_alone") > 0)
    return np.asarray(np.where(pairs.column("both_hold") > 0, 0.0, LINKED) + OTHER * other)


def chain_of(row: int, heir: Callable[[int], int | None]) -> list[int]:
    """Return a row, the one that took its place, and so on to the newest."""
    chain = [row]
    while (after := heir(chain[-1])) is not None and after not in chain:
        chain.append(after)
    return chain


def heirs_first(
    fused: Fused, heir: Callable[[int], int | None], query: ParsedQuery
) -> tuple[Fused, dict[int, Overtaken]]:
    """Put what took the place of a candidate above it, unless the query asks for the past.

    `heir`: the row that took the place of one, as an LLM said that read both (`QueryOptimizer.remember_conversation`).
    """
    rows: list[int] = fused.rows.tolist()
    tense, there = tense_of(query.point, query.language), set(rows)
    order, overtaken = rows.copy(), dict[int, Overtaken]()
    for row in () if tense.past or tense.span else rows:
        chain = chain_of(row, heir)
        last = next((one for one in reversed(chain) if one in there), row)
        if last == row:
            continue
        overtaken[row] = Overtaken(by=chain[1] if chain[1] in there else last, surely=True)
        if (upper := order.index(row)) < (lower := order.index(last)):
            order.insert(upper, order.pop(lower))
    if order == rows:
        return fused, overtaken
    place = {row: i for i, row in enumerate(rows)}
    return moved(fused, np.asarray([place[row] for row in order], dtype=np.int64), fused.scores, NEWER), overtaken


def surer(candidates: int, kind: Kind) -> float:
    """Say how much surer the model has to be in a larger scope, more so in one of chats, and with long texts: a logit.

    In a chat of thousands of turns, what is said later about the same thing mostly goes on; it changes nothing.
    """
    large = min(max(math.log(max(candidates, 1) / FEW) / math.log(MANY / FEW), 0.0), 1.0)
    return large * (IN_LARGE + IN_CHATS * max(kind.pairs, kind.crowd, kind.roles)) + IN_LONG * (1 - kind.brief)
