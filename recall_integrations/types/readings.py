"""Readings of a query's text, beside entities and times: small frozen values that a `ParsedQuery` holds.

They stand apart from the code that finds them (`query/`), so that records need not import it.
"""

from __future__ import annotations

from dataclasses import field

from recall_integrations.records import record

ENTITY, TIME, SESSION, NEGATED, IDENTIFIER, CORRECTED, RARE, STOP = (
    "entity",
    "time",
    "session",
    "negated",
    "identifier",
    "corrected",
    "rare",
    "stop",
)
ROLES = (
    NEGATED,
    ENTITY,
    TIME,
    SESSION,
    IDENTIFIER,
    CORRECTED,
    RARE,
    STOP,
)  # where a word has several, the first is shown


@record(frozen=True, slots=True, kw_only=True)
class QueryToken:
    """A word of the query and the parts it plays.

    Args:
        span: `(start, end)` in the query, in characters, end exclusive.
        stem: stem by which lexical search looks for it.
        roles: some of `ROLES`, in that order; empty for a plain content word.
        rarity: idf in the scope as a share of the highest, in [0, 1]; `None` for words that are not looked for.
    """

    span: tuple[int, int]
    stem: str
    roles: tuple[str, ...] = ()
    rarity: float | None = None


WHOLE, BEGINNING, END = "whole", "beginning", "end"  # part of a session
NOTHING, ABOUT, ALL = "", "about", "all"  # what a query asks of the talk, see `ParsedQuery.talk`


@record(frozen=True, slots=True, kw_only=True)
class SessionRef:
    """A session of the conversation (a thread) that a query asks for by its place.

    Args:
        places: in the order of the sessions: 1 = the first, -1 = the last; several for "our last three chats". Empty
            for the conversation as a whole, of which only a part is asked for.
        part: `whole`, `beginning` or `end` of the session, or, without `places`, of the conversation.
        numbered: whether it was said as a number ("session 16"), which may be the one in the thread's name.
        span: `(start, end)` in the query, in characters, end exclusive.
        confidence: in [0, 1].
        found: the session of the scope, in words ("session 3 of 19"); empty where there is none such.
        because: why there is none, or why it is this one where that is not plain; may be empty.
    """

    places: tuple[int, ...] = ()
    part: str = WHOLE
    numbered: bool = False
    span: tuple[int, int] = (0, 0)
    confidence: float = 1.0
    found: str = ""
    because: str = ""


@record(frozen=True, slots=True, kw_only=True)
class Identifier:
    """A part of a query that means exactly itself.

    Args:
        text: the text as it stands in the query, without quotation marks.
        kind: name of the `Kind` that found it.
        span: `(start, end)` in the query, in characters, end exclusive: `query[start:end] == text`.
        knowledge: `knowledge` of its `Kind`; follows from the kind and is not compared.
    """

    text: str
    kind: str
    span: tuple[int, int]
    knowledge: bool = field(default=True, compare=False)


@record(frozen=True, slots=True, kw_only=True)
class Router:
    """The memories that a query is after. A bias, not a filter: what the mode leaves out may be the answer.

    Args:
        mode: `knowledge` (chunks), `neural` (all other types) or `hybrid`.
        reason: the rule that decided, in words; empty where nothing spoke.
        graph_bias: whether memories linked to the entities of the query come first.
        time_bias: whether newer memories, or those of the window, come first.
    """

    mode: str = "hybrid"
    reason: str = ""
    graph_bias: bool = False
    time_bias: bool = False


@record(frozen=True, slots=True, kw_only=True)
class ConversationalVerdict:
    """Verdict that BM25 and keyword expansion have nothing to look for in a query. True where `conversational` is.

    Args:
        conversational: the verdict.
        domain_signal: share of the words that are technical or stand in an identifier, in [0, 1].
        stopword_ratio: share of the words that fill the sentence, in [0, 1]; question words do not.
        has_code: whether there is an identifier, a quotation or a piece of code.
        rare: the stems that the corpus knows as rare; looked up only where the rule would fire otherwise.
        because: the values in words.
    """

    conversational: bool = False
    domain_signal: float = 0.0
    stopword_ratio: float = 0.0
    has_code: bool = False
    rare: tuple[str, ...] = ()
    because: str = ""

    def __bool__(self) -> bool:
        return self.conversational


@record(frozen=True, slots=True, kw_only=True)
class Correction:
    """A second reading of a word.

    Args:
        word: the word of the query, in normal form.
        stem: its stem, which no memory of the scope holds.
        correction: the stem to look for as well.
        spelling: spelling of that stem; the closest one to the word.
        similarity: similarity of word and spelling, in [threshold, 1].
        frequency: number of memories of the scope that hold `correction`.
    """

    word: str
    stem: str
    correction: str
    spelling: str
    similarity: float
    frequency: int
