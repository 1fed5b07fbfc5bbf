"""The words of a query with their roles, for whoever looks at how it was read."""

from __future__ import annotations

from recall_integrations.query import features
from recall_integrations.query.findings import Findings
from recall_integrations.query.spans import starts_inside
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
TOKENS_MARKED_MAX = 256  # nobody looks at the roles of more words


def marked(found: Findings) -> tuple[QueryToken, ...]:
    """The first words of the query with their roles."""
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
    shown = found.tokens[:TOKENS_MARKED_MAX]
    held = [(role, starts_inside(shown, of_role)) for role, of_role in spans]
    marked = []
    for token in shown:
        roles = [role for role, starts in held if token.start in starts]
        root = found.words.stem(token.word)
        stops = found.words.is_stop(token.word)
        value = found.rarities.get(root) if not stops and NEGATED not in roles else None
        if token.word in corrected:
            roles.append(CORRECTED)
        elif value is not None and value >= rare_from:
            roles.append(RARE)
        if stops:
            roles.append(STOP)
        marked.append(QueryToken(span=(token.start, token.end), stem=root, roles=tuple(roles), rarity=value))
    return tuple(marked)
