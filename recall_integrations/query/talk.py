"""Find whether a query asks for the talk itself: "what did we talk about on May 8th", "summarise our third session"."""

from __future__ import annotations

import re

from recall_integrations.languages.phrases import blanked, said
from recall_integrations.languages.tables import ENGLISH, english
from recall_integrations.patterns import regex
from recall_integrations.query.by_table import sessions as by_table
from recall_integrations.query.features import IMPLICIT
from recall_integrations.query.findings import Findings
from recall_integrations.query.spans import Spans, inside
from recall_integrations.text import STOP_WORDS
from recall_integrations.types.query import ABOUT, ALL, NOTHING

_EN = english("talk")
# Words that say no more than that there was talk, or that all of it is wanted.
TALK_WORDS = frozenset(_EN["talk_words"].split())
# At least one of these, that it is talk at all and not what somebody did.
_TALKING = regex(
    r"\b(?:talk|discuss|chat|sp[eo]ak|spoke|convers|dialog|say|said|mention|tell|told|came up|come up|brought"
    r" up|bring up"
    r"|go over|went over|happen|occurr?|summar|recap|overview|gist|topic|subject|highlight|transcript|messages|exchange"
    r"|catch up|caught up|cover|session|going on|went on|wrote|written|everything|memories|notes)",
    re.I,
)
_DOING = regex(r"\b(?:did|do|done|doing)\b(?=\W*$| (?:in|on|at|over|during|last|this|that|yesterday|today)\b)", re.I)
_AUXILIARY = regex(r"\b(?:did|does|do|have|had|has|was|were|is|are|would|will)\b", re.I)
_SAID = regex(
    r"(?:(?:did|have|had|has) (?:(?:\w[\w'-]*)(?: (?:and|&) \w[\w'-]*)?) "
    r"(?:\w+ly |ever |also )?(?:talk|discuss|chat|speak|spoken|converse|say|said|mention|tell|told|bring up"
    r"|cover|go over)\w*"
    r"|(?:did|have|had) (?:we|you) (?:\w+ly |ever |also )?(?:recommend|suggest|advise|propose|decide|agree)\w*"
    r"|(?<=what )(?:was|were|has been|have been) (?:\w+ly |ever |also )?(?:said|discussed|mentioned|told"
    r"|talked|spoken|covered)"
    r"|(?:was|were) (?:the|our) (?:talk|discussion|chat|conversation))\b",
    re.I,
)
_SUMMARY = regex(r"\W*(?:please |can you |could you )?(?:summari[sz]e|recap)\b", re.I)
# Between what is said and when, another clause: then that may be when it was done, not when it was said.
_CLAUSE = regex(
    r"\b(?!(?:thing|something|anything|everything|nothing|evening|morning|during|meeting)\b)\w{2,}ing\b"
    r"|\b(?:that|which|who|where|when|why|was|were|had|has|is|are|would|will|wanted|did|done|went|to)\b",
    re.I,
)
_TOPIC_BEFORE = regex(r"\b(?:about|regarding|concerning|of|on|mention\w*|discuss\w*)\W+(?:the |our |my )?$", re.I)
_PREPOSITIONS = frozenset("in on at from during of the our a and to for".split())


def asks_talk(found: Findings) -> str:
    """Return `all` for the talk and nothing in particular, `about` for words on a topic, else an empty text."""
    text, dates, courtesies = found.text, found.placed, list(found.asides)
    if not dates and found.window is None:
        return NOTHING
    named = [r.span for r in found.refs if r.stage != IMPLICIT and r.mention]
    session = found.session is not None
    if found.language != ENGLISH:
        return by_table.talk(text, found.language, [*dates, *courtesies, *named], session=session)
    # That people talked is nothing in particular, that they were talked about is.
    people = [span for span in named if not _is_topic(text, span[0])]
    left = [t for t in found.kept if not inside(t, [*dates, *courtesies, *people])]
    content = [t for t in left if t.word not in STOP_WORDS and t.word not in TALK_WORDS]
    read = said(blanked(text, courtesies, " "))
    dates = read.within(dates)
    talk = _TALKING.search(blanked(read.text, dates, " ")) is not None and _DOING.search(read.text) is None
    if not content and (session or talk or all(t.word in _PREPOSITIONS for t in left)):
        return ALL
    return ABOUT if _said_then(read.text, dates) else NOTHING


def _is_topic(text: str, start: int) -> bool:
    before = " ".join(text[max(0, start - 40) : start].split())
    return _TOPIC_BEFORE.search(f"{before} ") is not None


def _said_then(text: str, dates: Spans) -> bool:
    """Say whether the date or the session belongs to a verb of saying: "what did Gina say of it in May"."""
    if _SUMMARY.match(text):
        return _DOING.search(text) is None
    first = _AUXILIARY.search(text)
    said = None if first is None else _SAID.match(text, first.start())
    if said is None:
        return False
    later = [start for start, _ in dates if start >= said.end()]
    return _CLAUSE.search(text[said.end() : min(later)]) is None if later else True
