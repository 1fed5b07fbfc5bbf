"""Second hop over documents: what the best candidates name and the query does not.

"Who directed the film that X starred in?" is answered by two documents: one about X that names the film, and one
about the film. The second shares few words with the query; but its subject is named in the first. A document's subject
is taken to be its first two content words (a title, in encyclopaedias, handbooks and wikis). For `chunk` memories only:
a turn of a chat does not begin with its subject. Documents of one subject are no bridge to each other. The constants
were chosen on HotpotQA and MuSiQue (100 questions each).

    bridge(d) = Σ idf of the subject's stems that one of the TOP best candidates holds and the query does not
                / Σ idf of the subject's stems,   0 where that is below SHARE_MIN
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from recall_integrations.ranking.columns import Rows, TextColumns
from recall_integrations.ranking.features import Values
from recall_integrations.retrievers.lexical import idf
from recall_integrations.store.scope_view import Mask
from recall_integrations.text import stem

TOP = 2
SUBJECT_WORDS = 2
SHARE_MIN = 0.9


def bridge(
    text: TextColumns,
    rows: Rows,
    scores: Values,
    documents: Mask,
    terms: Collection[str],
    frequency: Callable[[str], int],
    count: int,
) -> Values:
    """The feature for each candidate.

    Args:
        text: words of the scope.
        rows: the candidates.
        scores: of the candidates so far; the best `TOP` of them are the first hop.
        documents: which candidates are documents.
        terms: stems of the query.
        frequency: memories of the scope that hold a stem.
        count: memories of the scope.

    Returns:
        float32 `(len(rows),)` in [0, 1].
    """
    out = np.zeros(len(rows), dtype=np.float32)
    if not documents.any():
        return out
    stems, starts, words = text.lexicon.stems, text.starts, text.words
    asked = {text.lexicon.stem_of(term) for term in terms}
    first = np.argsort(-scores, kind="stable")[:TOP].tolist()
    held = {i: set(stems[words[starts[rows[i]] : starts[rows[i] + 1]]].tolist()) - asked for i in first}

    def subject(i: int) -> dict[int, int]:
        """Numbers of the stems of a candidate's first words, and the words."""
        begin = int(starts[rows[i]])
        some = words[begin : min(begin + SUBJECT_WORDS, int(starts[rows[i] + 1]))].tolist()
        return {int(stems[word]): word for word in some}

    own = {i: subject(i).keys() for i in first}
    for i in np.flatnonzero(documents).tolist():
        numbers = subject(i)
        named = [others & numbers.keys() for place, others in held.items() if own[place] != numbers.keys()]
        if not any(named):
            continue
        worth = {n: idf(frequency(stem(text.lexicon.word(word))), count) for n, word in numbers.items()}
        share = max(sum(worth[n] for n in some) for some in named) / sum(worth.values())
        if share >= SHARE_MIN:
            out[i] = share
    return out
