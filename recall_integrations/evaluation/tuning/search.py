"""The search of `recall tune`: which settings are better on some of the questions, judged on the others.

Greedy, in rounds: of all single changes the one that stands out most on the questions of the training part; then again
on top of it, among the few that gained most by themselves. A change is taken only if the best of as many would rarely
look as good by chance. For each fold the search sees the other folds only, so what its choice gains on the fold is not
what it was chosen for.

The second guard alone would not do: folds share most of their questions, so they like to choose the same, and their
gains go up and down together. Of noise, searched for whatever gains its standard error, the interval of the gain on the
questions that were left out lies above 0 in one case of ten, not one of forty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from recall_integrations.evaluation.labelled.intervals import Figures, chance_of_best
from recall_integrations.evaluation.tuning.knobs import Setting, Settings

ROUNDS = 3
FEW = 6  # changes that are tried on top of others
CHANCE = 0.02  # at most, for a change to be taken
SIGNS = 2_000  # draws of random signs
LEAST = 5  # questions to look at

Measure = Callable[[Settings], Figures | None]


@dataclass(slots=True, kw_only=True)
class Search:
    """Searches over measured settings.

    Args:
        measure: the figure of every question under some settings; `None` = there is no time to measure it.
        singles: the changes that are tried.
        rounds: changes at most.
    """

    measure: Measure
    singles: Sequence[Setting]
    rounds: int = ROUNDS
    _kept: dict[Settings, Figures | None] = field(default_factory=dict, init=False)

    def scores(self, settings: Settings) -> Figures | None:
        """Of every question; measured once."""
        settings = tuple(sorted(settings, key=lambda one: one.name))
        if settings not in self._kept:
            self._kept[settings] = self.measure(settings)
        return self._kept[settings]

    def best(self, part: NDArray[np.bool_]) -> Settings:
        """The settings that are best on some of the questions; none where nothing stands out.

        Args:
            part: those that are looked at.
        """
        found: Settings = ()
        for _ in range(self.rounds):
            chosen, chance = self.step(found, part)
            if chosen is None or chance > CHANCE:
                break
            found = (*found, chosen)
        return found

    def step(self, found: Settings, part: NDArray[np.bool_]) -> tuple[Setting | None, float]:
        """The change that stands out most on top of others, and how often one would by chance.

        Args:
            found: the others.
            part: the questions that are looked at.
        """
        plain, before = self.scores(()), self.scores(found)
        names = {one.name for one in found}
        left = [one for one in self.singles if one.name not in names]
        if plain is None or before is None or part.sum() < LEAST:
            return None, 1.0
        few = left
        if found:  # by themselves they were measured already
            alone = {one: self._gain((one,), plain, part) for one in left}
            few = sorted((one for one in left if alone[one] > 0), key=lambda one: -alone[one])[:FEW]
        measured = [(one, after) for one in few if (after := self.scores((*found, one))) is not None]
        if not measured:
            return None, 1.0
        gaps = np.stack([(after - before)[part] for _, after in measured], axis=1)
        spread = np.sqrt((gaps**2).sum(axis=0))
        stands = np.divide(gaps.sum(axis=0), spread, out=np.zeros(len(measured)), where=spread > 0)
        chosen = int(stands.argmax())
        chance = chance_of_best(gaps, chosen, samples=SIGNS)
        return measured[chosen][0], min(1.0, chance * len(left) / len(few))  # those that were not tried count, too

    def _gain(self, settings: Settings, before: Figures, part: NDArray[np.bool_]) -> float:
        after = self.scores(settings)
        return float("-inf") if after is None else float((after - before)[part].mean())


def crossed(search: Search, fold_of: Sequence[int]) -> dict[int, Settings]:
    """Of each fold, what is best on the others."""
    folds = np.asarray(fold_of)
    return {fold: search.best(folds != fold) for fold in sorted(set(fold_of))}
