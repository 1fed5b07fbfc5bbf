"""Find the terms that a query excludes: "what did I do that wasn't related to the frontend" → `frontend`.

In doubt nothing is found: a missed exclusion costs a few places, a wrong one costs the answer. The words are in the
tables of a language: `negation` in its file.
"""

from __future__ import annotations

from recall_integrations.query.by_table.negation import excluded
from recall_integrations.query.folding import word_set
from recall_integrations.records import record

# Names of what negates a clause; "n't" without its apostrophe is how people type.
NEGATED_AUXILIARIES = word_set(
    """
    isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't can't cannot couldn't won't wouldn't
    shouldn't mustn't mightn't needn't ain't shan't
    isnt arent wasnt werent dont doesnt didnt havent hasnt hadnt cant couldnt wont wouldnt shouldnt aint
    """
)
NEGATIVES = NEGATED_AUXILIARIES | word_set(
    "no not none nothing nobody noone nowhere never neither nor hardly without no-one"
)


@record(frozen=True, slots=True, kw_only=True)
class Negation:
    """One excluded term."""

    term: str  # as written in the query, without articles and quotation marks
    span: tuple[int, int]  # of the whole exclusion, from its cue on; those of a list share their start
    term_span: tuple[int, int]


def find_negations(text: str, language: str | None = "en") -> tuple[Negation, ...]:
    """Return the terms that `text` excludes, in order of appearance; equal terms are reported once."""
    found: dict[str, Negation] = {}
    for span, (start, end) in excluded(text, language):
        term = text[start:end]
        found.setdefault(term.casefold(), Negation(term=term, span=span, term_span=(start, end)))
    return tuple(found.values())
