"""Find the terms that a query excludes: "what did I do that wasn't related to the frontend" → `frontend`.

A negation in a query is one of two things. It *leaves something out* ("not Python", "without meetings", "recipes that
don't use eggs"), or it is *part of what is asked* ("who does not like Python", "why didn't I go", "I couldn't find
the report"). Demoting the object of the second kind would push away the very answer, so a negated verb excludes only if

- the words behind it say what a thing is about or holds ("… not related to X", "… doesn't involve X"), or
- a relative "that" or "which" stands right before it ("meals that weren't vegetarian"), or
- it corrects a noun ("it's not the Paris trip"), or is an order ("don't include X").

A negated question ("isn't it …", "didn't Priya say …") excludes nothing, and neither does a negated verb if the query
asks for its subject: "who does not like X" and "which team isn't in Berlin" are propositions. "instead of X" and
"rather than X" are left alone as well, because their answers usually name both sides. A second negation turns the
first around: "nothing but X" and "nobody except Sam" ask *for* X and Sam.

In doubt nothing is found: a missed exclusion costs a few places, a wrong one costs the answer.

This is English; other languages are read by their tables (`by_table/negation.py`). Terms may be in any script.
One pass over the tokens with bounded look-ahead: linear in the text. The words are in `negation_words.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from recall_integrations.patterns import regex
from recall_integrations.query import negation_words as words
from recall_integrations.query.by_table.negation import (
    LIST_ITEMS_MAX,
    QUOTE_CHARS_MAX,
    TERM_WORDS_MAX,
    WESTERN_QUOTES,
    excluded,
    quotation,
)
from recall_integrations.query.glance import Glance, glance
from recall_integrations.query.negation_words import Cue
from recall_integrations.query.spans import Span
from recall_integrations.records import record
from recall_integrations.text import STOP_WORDS

CLAUSE_WORDS_MAX = 12  # how far back a second negation is looked for

_SEPARATOR = (
    r"\s!-/:-@\[-\^{-~`\u00a1\u00a7\u00ab\u00b6\u00b7\u00bb\u00bf\u2010-\u2027\u2030-\u205e\u3000-\u303f\uff01-\uff0f"
)
_TOKEN = regex(
    rf"(?:(?<![^\s(])\.(?=[A-Za-z]))?"  # .NET
    rf"[^{_SEPARATOR}]+(?:['’.&+/\-‑@][^{_SEPARATOR}]+)*(?:\+\+|#)?"  # don't, node.js, front-end, C++, C#
    r"|[^\s]"
)
_QUOTED = regex(rf'"[^"]{{1,{QUOTE_CHARS_MAX}}}"|“[^”]{{1,{QUOTE_CHARS_MAX}}}”')
_WORDLIKE = regex(r"[^\W_]")


@record(frozen=True, slots=True, kw_only=True)
class Negation:
    """One excluded term.

    Args:
        term: the term as written in the query, without articles and quotation marks.
        span: `(start, end)` in characters of the whole exclusion: from the cue ("without any …") to the end of the term
            and of fillers after it. The spans of a list share their start and grow.
        term_span: `(start, end)` of the term itself; `text[start:end] == term`.
    """

    term: str
    span: tuple[int, int]
    term_span: tuple[int, int]


class _Piece(NamedTuple):
    word: str
    start: int
    end: int
    raw: str

    @property
    def is_word(self) -> bool:
        return _WORDLIKE.search(self.raw) is not None


class _Term(NamedTuple):
    start: int  # characters
    end: int
    span_end: int
    next: int  # index of the first token behind it


def find_negations(text: str, language: str | None = "en", seen: Glance | None = None) -> tuple[Negation, ...]:
    """Return the terms that `text` excludes, in order of appearance; equal terms are reported once.

    Never raises on any `str`.

    Args:
        text: the query.
        language: code of its language; nothing is found in one without tables, or if it is unknown (`None`).
        seen: `glance(text)`, if it is at hand.
    """
    found: dict[str, Negation] = {}
    for span, (start, end) in _excluded(text, seen) if language == "en" else excluded(text, language):
        term = text[start:end]
        found.setdefault(term.casefold(), Negation(term=term, span=span, term_span=(start, end)))
    return tuple(found.values())


def _excluded(text: str, seen: Glance | None) -> Iterator[tuple[Span, Span]]:
    """Yield each exclusion, from its cue on, and its term."""
    if not (glance(text) if seen is None else seen).has(_CUE_RUNS):
        return
    tokens = _tokens(text)
    quoted = {position for m in _QUOTED.finditer(text) for position in range(m.start(), m.end())}
    i = 0
    while i < len(tokens):
        first = None if tokens[i].start in quoted else _cue_end(tokens, i)  # a title may hold a "not"
        terms: list[_Term] = []
        if first is not None:
            single = tokens[i].word == "non"  # "non-frontend work": it belongs to the one word it stands before
            terms = [t for t in (_term(tokens, first, text, 1),) if t] if single else _terms(tokens, first, text)
        for term in terms:
            yield (tokens[i].start, term.span_end), (term.start, term.end)
        i = terms[-1].next if terms else i + 1


def _tokens(text: str) -> list[_Piece]:
    return [
        _Piece(m.group().replace("’", "'").replace("‑", "-").casefold(), m.start(), m.end(), m.group())
        for m in _TOKEN.finditer(text)
    ]


# -- cues ---------------------------------------------------------------------------------------------------------


def _by_first_word(cues: Iterable[Cue]) -> dict[str, tuple[Cue, ...]]:
    table: dict[str, list[Cue]] = {}
    for cue in cues:
        table.setdefault(cue.words[0], []).append(cue)
    return {first: tuple(sorted(group, key=lambda c: -len(c.words))) for first, group in table.items()}


_CUES = _by_first_word(words.CUES)
_ABOUTNESS = _by_first_word(words.ABOUTNESS)
_NOT_IDIOMS = _by_first_word(map(Cue, words.NOT_IDIOMS))


def _telling_run(phrase: Iterable[str]) -> str:
    """Return the run of letters of a phrase that the fewest texts have: "t", a negative, the longest content word."""
    runs = [run for word in phrase for run in re.findall(r"\w+", word)]
    return "t" if "t" in runs else min(runs, key=lambda r: (r not in words.NEGATIVES, r in STOP_WORDS, -len(r)))


# Runs of letters one of which is in every text that excludes something.
_CUE_RUNS = frozenset(
    _telling_run(phrase)
    for phrase in (
        *((w,) for w in words.NEGATED_AUXILIARIES),
        *(c.words for c in words.CUES),
        ("not",),
        ("no",),
        ("non",),
    )
)


def _cue_end(tokens: list[_Piece], i: int) -> int | None:
    """Return the index of the first token after the cue that starts at `i`; `None` if none there excludes anything."""
    word = tokens[i].word
    if word in words.NEGATED_AUXILIARIES:
        return _after_auxiliary(tokens, i, i + 1)
    if word == "not":
        return _after_not(tokens, i)
    if word == "no":
        return _after_no(tokens, i)
    if word == "non" or (word.startswith("non-") and len(word) > 4):
        return _after_non(tokens, i)
    for cue in _CUES.get(word, ()):
        if _matches(tokens, i, cue) and _allowed(tokens, i, cue):
            return i + len(cue.words)
    return None


def _matches(tokens: list[_Piece], i: int, cue: Cue) -> bool:
    return i + len(cue.words) <= len(tokens) and all(tokens[i + k].word == word for k, word in enumerate(cue.words))


def _allowed(tokens: list[_Piece], i: int, cue: Cue) -> bool:
    after = _word(tokens, i + len(cue.words))
    if cue.place == "start" and not _starts_clause(tokens, i):
        return False
    if cue.only_after_all and (_negated_before(tokens, i) or after in ("that", "when", "if", "where", "because")):
        return False
    if cue.words == ("without",):
        # "can't live without X" needs X; "without a doubt" is an idiom; "without asking Sam" is about an action
        idiom = {"a", "fail", "saying", "further", "delay", "notice", "question"}
        if _negated_before(tokens, i) or (after in idiom and _idiomatic(tokens, i + 1)) or _acts(tokens, i + 1):
            return False
    if cue.words == ("minus",):
        return not (after[:1].isdigit() or _word(tokens, i - 1)[-1:].isdigit())
    return True


def _idiomatic(tokens: list[_Piece], i: int) -> bool:
    return _word(tokens, i) != "a" or _word(tokens, i + 1) in ("doubt", "word", "break", "hitch", "trace", "problem")


def _after_not(tokens: list[_Piece], i: int) -> int | None:
    before, after = _word(tokens, i - 1), _word(tokens, i + 1)
    if before in words.AUXILIARIES:  # "is not", "does not"
        return _after_auxiliary(tokens, i - 1, i + 1)
    if before in words.NOT_PRECEDED_BY or _is_inverted(tokens, i):
        return _aboutness(tokens, i, i + 1, relative=False)
    end = _aboutness(tokens, i, i + 1, relative=True)
    if end is not None:
        return end
    if after in words.NOT_FOLLOWED_BY or after in words.AUXILIARIES or _acts(tokens, i + 1):
        return None
    if any(_matches(tokens, i + 1, idiom) for idiom in _NOT_IDIOMS.get(after, ())):
        return None
    return i + 2 if after in words.PREPOSITIONS else i + 1


def _after_auxiliary(tokens: list[_Piece], auxiliary: int, i: int) -> int | None:
    """Return where the term begins after a negated verb at index `auxiliary`, with `i` behind the negation."""
    if _is_order(tokens, auxiliary):
        return _aboutness(tokens, auxiliary, i, relative=False)
    if _starts_clause(tokens, auxiliary) and _word(tokens, auxiliary) not in words.COPULAS_WITH_SUBJECT:
        return None  # "didn't Priya say", "isn't it"
    before = _word(tokens, auxiliary - 1)
    relative = (before in words.RELATIVES and not _asks(tokens, auxiliary - 1)) or _word(tokens, auxiliary) == "that's"
    end = _aboutness(tokens, auxiliary, i, relative=relative)
    if end is not None:
        return end
    if _word(tokens, auxiliary) not in words.COPULAS:
        return None
    after = _word(tokens, i)
    if relative:
        if after in words.PREPOSITIONS:
            return i + 1
        return None if _is_state(after) or after in words.NOT_FOLLOWED_BY - words.DETERMINERS else i
    if before in words.SUBJECTS or _word(tokens, auxiliary) in words.COPULAS_WITH_SUBJECT:
        named = i < len(tokens) and (tokens[i].raw[:1].isupper() or after in ("the", "my", "our"))
        return i if named else None
    return None


def _aboutness(tokens: list[_Piece], start: int, i: int, *, relative: bool) -> int | None:
    for cue in _ABOUTNESS.get(_word(tokens, i), ()):
        if not _matches(tokens, i, cue):
            continue
        if cue.place == "relative" and not relative:
            continue
        if cue.place == "start" and not _is_order(tokens, start):
            continue
        return i + len(cue.words)
    return None


def _after_no(tokens: list[_Piece], i: int) -> int | None:
    after = _word(tokens, i + 1)
    if not after or after in words.NO_FOLLOWED_BY or after in words.PHRASE_END or after[:1].isdigit():
        return None
    before = _word(tokens, i - 1)
    if i == 0:  # "No meetings, please", but not "No updates since Friday?"
        return None if tokens[-1].word == "?" else i + 1
    if before in ("but", "and", "or", "please") or before in (",", ";", ":", "(", "-", "–", "—", "."):
        return i + 1
    return None  # "there is no X", "had no X": a proposition


def _after_non(tokens: list[_Piece], i: int) -> int | None:
    token = tokens[i]
    if token.word == "non":
        after = _word(tokens, i + 1)
        return None if after in words.NON_WORDS or after in words.PHRASE_END else i + 1
    if token.word[4:] in words.NON_WORDS:
        return None
    # The term is the rest of this very token: split it, so that it reads like "non" + term.
    cut = token.start + 4
    tokens[i] = _Piece("non", token.start, cut, token.raw[:4])
    tokens.insert(i + 1, _Piece(token.word[4:], cut, token.end, token.raw[4:]))
    return i + 1


# -- the clause around a cue ----------------------------------------------------------------------------------------


def _word(tokens: list[_Piece], i: int) -> str:
    return tokens[i].word if 0 <= i < len(tokens) else ""


def _starts_clause(tokens: list[_Piece], i: int) -> bool:
    """Say whether only words like "please" and "and" stand between `i` and the start of its clause."""
    for k in range(i - 1, max(-1, i - 4), -1):
        if not tokens[k].is_word:
            return tokens[k].word not in ("'", '"')
        if tokens[k].word not in words.ORDER_OPENERS:
            return False
    return True


def _is_order(tokens: list[_Piece], i: int) -> bool:
    return (
        _word(tokens, i) in words.IMPERATIVES or (_word(tokens, i) == "do" and _word(tokens, i + 1) == "not")
    ) and _starts_clause(tokens, i)


def _is_inverted(tokens: list[_Piece], i: int) -> bool:
    """Recognise "did Priya not say": an auxiliary that opens a question, its subject, then "not"."""
    if _word(tokens, i - 2) in words.AUXILIARIES and _starts_question(tokens, i - 2):
        return tokens[i - 1].is_word
    named = i >= 2 and all(tokens[k].raw[:1].isupper() for k in (i - 2, i - 1))
    return named and _word(tokens, i - 3) in words.AUXILIARIES and _starts_question(tokens, i - 3)


def _starts_question(tokens: list[_Piece], i: int) -> bool:
    return _starts_clause(tokens, i) or _word(tokens, i - 1) in (
        *("what", "when", "where", "why", "how", "who", "whom", "which"),
    )


def _asks(tokens: list[_Piece], i: int) -> bool:
    """Say whether the "which" or "that" at `i` opens the question itself instead of describing a noun before it."""
    return _word(tokens, i) in ("which", "that") and _starts_clause(tokens, i)


def _negated_before(tokens: list[_Piece], i: int) -> bool:
    for k in range(i - 1, max(-1, i - 1 - CLAUSE_WORDS_MAX), -1):
        if tokens[k].word in words.NEGATIVES:
            return True
        if not tokens[k].is_word:
            return False
    return False


def _acts(tokens: list[_Piece], i: int) -> bool:
    """Say whether an "-ing" at `i` has an object: "not eating meat" is an action, "not swimming or running" a topic."""
    word, after = _word(tokens, i), _word(tokens, i + 1)
    if not (word.endswith("ing") and len(word) > 5):
        return False
    return bool(after) and after not in words.CONJUNCTIONS and i + 1 < len(tokens) and tokens[i + 1].is_word


def _is_state(word: str) -> bool:
    return not word or word in words.STATES or (word.endswith(("ed", "ing")) and len(word) > 4)


# -- terms ----------------------------------------------------------------------------------------------------------


def _terms(tokens: list[_Piece], i: int, text: str) -> list[_Term]:
    """Return the term at token `i` and the terms joined to it by "or", "and" or commas that end in one of these."""
    first = _term(tokens, i, text)
    if first is None:
        return []
    terms = [first]
    pending: list[_Term] = []  # after a comma: part of the list only if an "or" or "and" closes it
    while len(terms) + len(pending) < LIST_ITEMS_MAX:
        at = (pending or terms)[-1].next
        comma = _word(tokens, at) == ","
        joined = at + 1 if comma else at
        closes = _word(tokens, joined) in words.CONJUNCTIONS
        if not comma and not closes:
            break
        following = joined + closes
        if _word(tokens, following) in ("not", "no") or _word(tokens, following).startswith(
            "non-"
        ):  # "not Java and not Python": the next cue's business
            if closes:
                terms += pending
            pending = []
            break
        term = _term(tokens, following, text)
        if term is None:
            break
        if closes:
            terms += [*pending, term]
            pending = []
        else:
            pending.append(term)
    return terms


def _term(tokens: list[_Piece], i: int, text: str, longest: int = TERM_WORDS_MAX) -> _Term | None:
    """Return the noun phrase at token `i`, behind articles; at most `longest` words."""
    skipped = 0
    while _word(tokens, i) in words.DETERMINERS or (skipped and _word(tokens, i) in words.PREPOSITIONS):
        i, skipped = i + 1, skipped + 1
        if skipped > TERM_WORDS_MAX:
            return None
    if i < len(tokens) and tokens[i].raw in WESTERN_QUOTES:
        return _quoted(tokens, i, text)
    end = i
    while end < len(tokens) and end - i < longest and not _ends_phrase(tokens, end, first=end == i):
        end += 1
    last = end
    while last > i and tokens[last - 1].word in words.TRAILING | {"of", "the"}:
        last -= 1
    if last == i:
        return None
    stop = tokens[last - 1].end
    if tokens[last - 1].word.endswith("-related") and len(tokens[last - 1].word) > len("-related"):
        stop -= len("-related")
    return _Term(tokens[i].start, stop, tokens[end - 1].end, end)


def _ends_phrase(tokens: list[_Piece], i: int, *, first: bool) -> bool:
    token = tokens[i]
    if token.word in words.VERBS:
        return not (first and token.raw[0].isupper())  # the language Go
    if token.word == "of":
        return first or _word(tokens, i + 1) in words.PHRASE_END - {"the"}
    if token.word == "the":
        return first or _word(tokens, i - 1) != "of"
    return not token.is_word or token.word in words.PHRASE_END


def _quoted(tokens: list[_Piece], i: int, text: str) -> _Term | None:
    found = quotation(text, tokens[i].raw, tokens[i].end)
    if found is None or not _WORDLIKE.search(text, *found[0]):
        return None
    term, closing = found
    after = next((k for k in range(i + 1, len(tokens)) if tokens[k].start > closing), len(tokens))
    return _Term(*term, closing + 1, after)
