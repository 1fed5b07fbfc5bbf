"""Documents about the query's subject: "when was Amber Lantern released" asks for the document that begins so.

In encyclopaedias, handbooks and wikis a document begins with its subject. For `chunk` memories only: a turn of a chat
does not. The constants were chosen among a few on HotpotQA and MuSiQue.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from recall_integrations.indexes.columns import Rows, TextColumns
from recall_integrations.indexes.scope_view import Mask
from recall_integrations.ranking.features.bm25 import Values

SUBJECT_WORDS = 2


def titled(text: TextColumns, rows: Rows, documents: Mask, sequence: Sequence[str]) -> Values:
    """Return 1 for documents whose first two content words stand side by side in the query, or whose only one is in it.

    Args:
        text: words of the scope.
        rows: the candidates.
        documents: which candidates are documents.
        sequence: stems of the query's content words, in order.

    Returns:
        float32 `(len(rows),)`.
    """
    out = np.zeros(len(rows), dtype=np.float32)
    numbers = [text.lexicon.stem_of(term) for term in sequence]
    asked = {(number,) for number in numbers if number >= 0} | {pair for pair in pairwise(numbers) if min(pair) >= 0}
    if not asked or not documents.any():
        return out
    places = documents.nonzero()[0]
    stems, starts, begun = text.lexicon.stems, text.starts, {subject[0] for subject in asked}
    if not len(text.words):
        return out
    first = stems.take(text.words.take(starts.take(rows.take(places)), mode="clip")).tolist()
    for nth in [nth for nth, number in enumerate(first) if number in begun]:  # few
        row = int(rows[places[nth]])
        subject = tuple(stems[text.words[starts[row] : min(starts[row + 1], starts[row] + SUBJECT_WORDS)]].tolist())
        out[places[nth]] = subject in asked
    return out
