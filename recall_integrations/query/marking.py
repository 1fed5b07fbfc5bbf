"""Mark the words of a query with their roles, to show how it was read."""

from __future__ import annotations

from recall_integrations.query import features
from recall_integrations.query.findings import Findings
from recall_integrations.query.spans import place_of, starts_inside
from recall_integrations.types.making import maker
from recall_integrations.types.readings import (
    CORRECTED,
    ENTITY,
    IDENTIFIER,
    NEGATED,
    RARE,
    SESSION,
    STOP,
    TIME,
    QueryToken,
)

RARE_SHARE = 0.01  # of the memories that hold a word, up to which it is shown as rare
_query_token = maker(QueryToken)
TOKENS_MARKED_MAX = 256  # nobody looks at the roles of more words


def marked(found: Findings) -> tuple[QueryToken, ...]:
    """Return the first words of the query with their roles."""
    memories = max(found.known.memories, features.PRIOR_MEMORIES)
    rare_from = features.rarity(max(1, round(RARE_SHARE * memories)), memories)
    named = [r.span for r in found.refs if r.stage != features.IMPLICIT]
    corrected = {c.word for c in found.corrections}
    spans = (
        (NEGATED, found.negated),
        (ENTITY, named),
        (TIME, found.dated),
        (SESSION, [] if found.session is None else [found.session.span]),
        (IDENTIFIER, [i.span for i in found.identifiers]),
    )
    signs = found.words.signs
    shown = sorted([*found.tokens, *signs], key=place_of) if signs else found.tokens
    shown = shown[:TOKENS_MARKED_MAX]
    held = [(role, starts) for role, of_role in spans if of_role and (starts := starts_inside(shown, of_role))]
    words, rarities = found.words, found.rarities
    marked = []
    for word, start, end in shown:
        roles = tuple([role for role, starts in held if start in starts]) if held else ()
        root = words.stem(word)
        stops = words.is_stop(word)
        value = rarities.get(root) if not stops and NEGATED not in roles else None
        if word in corrected:
            roles = (*roles, CORRECTED)
        elif value is not None and value >= rare_from:
            roles = (*roles, RARE)
        if stops:
            roles = (*roles, STOP)
        marked.append(_query_token((start, end), root, roles, value))
    return tuple(marked)
