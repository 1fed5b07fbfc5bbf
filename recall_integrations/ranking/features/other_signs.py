"""Words that a text says with another sign than is asked for: "C" by "C++", "18" by "-18", "O+" by "O-"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from recall_integrations.ranking.features.match import Match

WORTH = 0.5  # of such a word, as a share of its worth without a sign


def take_back(match: Match) -> None:
    """Lower the worth of a word in the texts that never say it without another sign."""
    lexicon = match.columns.lexicon
    for row, number in enumerate(match.numbers):
        others = [word for word in lexicon.signed(number) if lexicon.stems[word] not in match.numbers]
        if not others:
            continue
        often = np.bincount(match.text_of[np.isin(match.tokens, others)], minlength=len(match.passage))
        texts = ((often > 0) & (often >= match.tf[row])).nonzero()[0]
        match.passage[texts] -= match.share[row] * (1 - WORTH) * match.soft[row, texts]
        for table in (match.tf, match.near, match.soft):
            table[row, texts] *= WORTH
