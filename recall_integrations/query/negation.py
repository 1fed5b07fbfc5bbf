"""Find the terms that an English query excludes: "what did I do that wasn't related to the frontend" → `frontend`.

In doubt nothing is found: a missed exclusion costs a few places, a wrong one costs the answer. Linear in the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from recall_integrations.languages.tables import english
from recall_integrations.patterns import regex
from recall_integrations.query.by_table.negation import (
    LIST_ITEMS_MAX,
    QUOTE_CHARS_MAX,
    TERM_WORDS_MAX,
    WESTERN_QUOTES,
    excluded,
    quotation,
)
from recall_integrations.query.folding import word_set
from recall_integrations.query.spans import Span
from recall_integrations.records import record

Place = Literal["anywhere", "start", "relative"]


class Cue(NamedTuple):
    """A phrase after which the excluded term stands."""

    words: tuple[str, ...]
    place: Place = "anywhere"  # or only at the `start` of a clause (an order), or after a `relative` "that", "which"
    only_after_all: bool = False  # takes from a whole: after a negation it says the opposite ("nobody except Sam")


def _cues(phrases: str, place: Place = "anywhere", *, only_after_all: bool = False) -> tuple[Cue, ...]:
    return tuple(Cue(tuple(p.split()), place, only_after_all) for p in phrases.split("|"))


def _phrases(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(phrase.split()) for phrase in text.split("|"))


_EN = english("negation")

# Phrases that exclude by themselves.
CUES: tuple[Cue, ...] = (
    *_cues(_EN["cues anywhere"]),
    *_cues(_EN["cues whole"], only_after_all=True),
    *_cues(_EN["cues start"], "start"),
)

# What may follow a negated verb ("wasn't …", "is not …", "doesn't …") or a bare "not", and then excludes wherever it
# stands: it speaks of what a thing is about, not of what somebody does.
ABOUTNESS: tuple[Cue, ...] = (
    *_cues(_EN["about anywhere"]),
    *_cues(_EN["about relative"], "relative"),
    *_cues(_EN["about start"], "start"),
)

# A bare "not" (after no auxiliary) or a relative "that isn't" may be followed by these before its term.
PREPOSITIONS = word_set("about at by for from in inside of on regarding with within near via")

DETERMINERS = word_set(_EN["determiners"])

# After bare "not": the sentence is about something else than leaving things out.
NOT_FOLLOWED_BY = word_set(_EN["not_followed_by"])

# The same, for phrases that begin with a preposition.
NOT_IDIOMS = _phrases(_EN["not_idioms"])

# Before bare "not": "why not", "or not", "I hope not".
NOT_PRECEDED_BY = word_set(_EN["not_preceded_by"])

# "no …" that excludes nothing.
NO_FOLLOWED_BY = word_set(_EN["no_followed_by"])

# Names of what negates a clause; "n't" without its apostrophe is how people type.
NEGATED_AUXILIARIES = word_set(_EN["negated_auxiliaries"])
COPULAS = word_set(_EN["copulas"])
AUXILIARIES = word_set(_EN["auxiliaries"])
# Contractions that carry their own subject: "it's not the Paris trip".
COPULAS_WITH_SUBJECT = frozenset(("it's", "that's", "they're"))
RELATIVES = frozenset(("that", "which", "that's", "things", "ones", "stuff", "anything", "something", "everything"))
SUBJECTS = frozenset(("it", "this", "these", "those", "they", "it's", "they're"))
IMPERATIVES = frozenset(("don't", "dont"))
CONJUNCTIONS = frozenset(("or", "and", "nor", "&", "plus"))
NEGATIVES = NEGATED_AUXILIARIES | word_set(
    "no not none nothing nobody noone nowhere never neither nor hardly without no-one"
)
# Before an order: "please ignore meetings", "but skip the standups".
ORDER_OPENERS = frozenset(("please", "and", "but", "also", "just", "then", "so", "or", "now", "lets", "let's"))

# Where a noun phrase ends.
PHRASE_END = word_set(_EN["phrase_end"]) | NEGATED_AUXILIARIES

# Finite verbs end one, too; listed as far as they often follow a term directly.
VERBS = word_set(_EN["verbs"])

# Dropped from the end of a term: "no frontend stuff please".
TRAILING = word_set("stuff thing things one ones either please related specifically itself themselves etc")

# State words: "tests that are not passing" asks about tests that fail, it excludes no topic.
STATES = word_set(_EN["states"])

# "non-" words that are words of their own.
NON_WORDS = word_set(_EN["non_words"])


_WITHOUT_A = word_set("doubt word break hitch trace problem")  # idioms: "without a doubt"
_QUESTION_WORDS = word_set("what when where why how who whom which")
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
_RUN = regex(r"\w+")


@record(frozen=True, slots=True, kw_only=True)
class Negation:
    """One excluded term."""

    term: str  # as written in the query, without articles and quotation marks
    span: tuple[int, int]  # of the whole exclusion, from its cue on; those of a list share their start
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


def find_negations(text: str, language: str | None = "en") -> tuple[Negation, ...]:
    """Return the terms that `text` excludes, in order of appearance; equal terms are reported once."""
    found: dict[str, Negation] = {}
    for span, (start, end) in _excluded(text) if language == "en" else excluded(text, language):
        term = text[start:end]
        found.setdefault(term.casefold(), Negation(term=term, span=span, term_span=(start, end)))
    return tuple(found.values())


def _excluded(text: str) -> Iterator[tuple[Span, Span]]:
    """Yield each exclusion, from its cue on, and its term."""
    if text.isascii() and _CUE_RUNS.isdisjoint(_RUN.findall(text.lower())):
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


def _by_first_word(cues: Iterable[Cue]) -> dict[str, tuple[Cue, ...]]:
    table: dict[str, list[Cue]] = {}
    for cue in cues:
        table.setdefault(cue.words[0], []).append(cue)
    return {first: tuple(sorted(group, key=lambda c: -len(c.words))) for first, group in table.items()}


_CUES = _by_first_word(CUES)
_ABOUTNESS = _by_first_word(ABOUTNESS)
_NOT_IDIOMS = _by_first_word(map(Cue, NOT_IDIOMS))


# In a text that excludes something stands the last run of letters of one of these words ("t" of "isn't").
_CUE_RUNS = frozenset(
    _RUN.findall(word)[-1]
    for word in ("no", "not", "non", *NEGATED_AUXILIARIES, *(cue.words[0] for cue in CUES if "no" not in cue.words))
)


def _cue_end(tokens: list[_Piece], i: int) -> int | None:
    """Return the index of the first token after the cue that starts at `i`; `None` if none there excludes anything."""
    word = tokens[i].word
    if word in NEGATED_AUXILIARIES:
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
        if _negated_before(tokens, i) or _acts(tokens, i + 1):
            return False
        if after in idiom and (after != "a" or _word(tokens, i + 2) in _WITHOUT_A):
            return False
    if cue.words == ("minus",):
        return not (after[:1].isdigit() or _word(tokens, i - 1)[-1:].isdigit())
    return True


def _after_not(tokens: list[_Piece], i: int) -> int | None:
    before, after = _word(tokens, i - 1), _word(tokens, i + 1)
    if before in AUXILIARIES:  # "is not", "does not"
        return _after_auxiliary(tokens, i - 1, i + 1)
    if before in NOT_PRECEDED_BY or _is_inverted(tokens, i):
        return _aboutness(tokens, i, i + 1, relative=False)
    end = _aboutness(tokens, i, i + 1, relative=True)
    if end is not None:
        return end
    if after in NOT_FOLLOWED_BY or after in AUXILIARIES or _acts(tokens, i + 1):
        return None
    if any(_matches(tokens, i + 1, idiom) for idiom in _NOT_IDIOMS.get(after, ())):
        return None
    return i + 2 if after in PREPOSITIONS else i + 1


def _after_auxiliary(tokens: list[_Piece], auxiliary: int, i: int) -> int | None:
    """Return where the term begins after a negated verb at index `auxiliary`, with `i` behind the negation."""
    if _is_order(tokens, auxiliary):
        return _aboutness(tokens, auxiliary, i, relative=False)
    if _starts_clause(tokens, auxiliary) and _word(tokens, auxiliary) not in COPULAS_WITH_SUBJECT:
        return None  # "didn't Priya say", "isn't it"
    before = _word(tokens, auxiliary - 1)
    relative = (before in RELATIVES and not _asks(tokens, auxiliary - 1)) or _word(tokens, auxiliary) == "that's"
    end = _aboutness(tokens, auxiliary, i, relative=relative)
    if end is not None:
        return end
    if _word(tokens, auxiliary) not in COPULAS:
        return None
    after = _word(tokens, i)
    if relative:
        if after in PREPOSITIONS:
            return i + 1
        return None if _is_state(after) or after in NOT_FOLLOWED_BY - DETERMINERS else i
    if before in SUBJECTS or _word(tokens, auxiliary) in COPULAS_WITH_SUBJECT:
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
    if not after or after in NO_FOLLOWED_BY or after in PHRASE_END or after[:1].isdigit():
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
        return None if after in NON_WORDS or after in PHRASE_END else i + 1
    if token.word[4:] in NON_WORDS:
        return None
    # The term is the rest of this very token: split it, so that it reads like "non" + term.
    cut = token.start + 4
    tokens[i] = _Piece("non", token.start, cut, token.raw[:4])
    tokens.insert(i + 1, _Piece(token.word[4:], cut, token.end, token.raw[4:]))
    return i + 1


def _word(tokens: list[_Piece], i: int) -> str:
    return tokens[i].word if 0 <= i < len(tokens) else ""


def _starts_clause(tokens: list[_Piece], i: int) -> bool:
    """Say whether only words like "please" and "and" stand between `i` and the start of its clause."""
    for k in range(i - 1, max(-1, i - 4), -1):
        if not tokens[k].is_word:
            return tokens[k].word not in ("'", '"')
        if tokens[k].word not in ORDER_OPENERS:
            return False
    return True


def _is_order(tokens: list[_Piece], i: int) -> bool:
    return (
        _word(tokens, i) in IMPERATIVES or (_word(tokens, i) == "do" and _word(tokens, i + 1) == "not")
    ) and _starts_clause(tokens, i)


def _is_inverted(tokens: list[_Piece], i: int) -> bool:
    """Recognise "did Priya not say": an auxiliary that opens a question, its subject, then "not"."""
    if _word(tokens, i - 2) in AUXILIARIES and _starts_question(tokens, i - 2):
        return tokens[i - 1].is_word
    named = i >= 2 and all(tokens[k].raw[:1].isupper() for k in (i - 2, i - 1))
    return named and _word(tokens, i - 3) in AUXILIARIES and _starts_question(tokens, i - 3)


def _starts_question(tokens: list[_Piece], i: int) -> bool:
    return _starts_clause(tokens, i) or _word(tokens, i - 1) in _QUESTION_WORDS


def _asks(tokens: list[_Piece], i: int) -> bool:
    """Say whether the "which" or "that" at `i` opens the question itself instead of describing a noun before it."""
    return _word(tokens, i) in ("which", "that") and _starts_clause(tokens, i)


def _negated_before(tokens: list[_Piece], i: int) -> bool:
    for k in range(i - 1, max(-1, i - 1 - CLAUSE_WORDS_MAX), -1):
        if tokens[k].word in NEGATIVES:
            return True
        if not tokens[k].is_word:
            return False
    return False


def _acts(tokens: list[_Piece], i: int) -> bool:
    """Say whether an "-ing" at `i` has an object: "not eating meat" is an action, "not swimming or running" a topic."""
    word, after = _word(tokens, i), _word(tokens, i + 1)
    if not (word.endswith("ing") and len(word) > 5):
        return False
    return bool(after) and after not in CONJUNCTIONS and i + 1 < len(tokens) and tokens[i + 1].is_word


def _is_state(word: str) -> bool:
    return not word or word in STATES or (word.endswith(("ed", "ing")) and len(word) > 4)


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
        closes = _word(tokens, joined) in CONJUNCTIONS
        if not comma and not closes:
            break
        following = joined + closes
        after = _word(tokens, following)
        if after in ("not", "no") or after.startswith("non-"):  # "not Java and not Python": the next cue's business
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
    while _word(tokens, i) in DETERMINERS or (skipped and _word(tokens, i) in PREPOSITIONS):
        i, skipped = i + 1, skipped + 1
        if skipped > TERM_WORDS_MAX:
            return None
    if i < len(tokens) and tokens[i].raw in WESTERN_QUOTES:
        return _quoted(tokens, i, text)
    end = i
    while end < len(tokens) and end - i < longest and not _ends_phrase(tokens, end, first=end == i):
        end += 1
    last = end
    while last > i and tokens[last - 1].word in TRAILING | {"of", "the"}:
        last -= 1
    if last == i:
        return None
    stop = tokens[last - 1].end
    if tokens[last - 1].word.endswith("-related") and len(tokens[last - 1].word) > len("-related"):
        stop -= len("-related")
    return _Term(tokens[i].start, stop, tokens[end - 1].end, end)


def _ends_phrase(tokens: list[_Piece], i: int, *, first: bool) -> bool:
    token = tokens[i]
    if token.word in VERBS:
        return not (first and token.raw[0].isupper())  # the language Go
    if token.word == "of":
        return first or _word(tokens, i + 1) in PHRASE_END - {"the"}
    if token.word == "the":
        return first or _word(tokens, i - 1) != "of"
    return not token.is_word or token.word in PHRASE_END


def _quoted(tokens: list[_Piece], i: int, text: str) -> _Term | None:
    found = quotation(text, tokens[i].raw, tokens[i].end)
    if found is None or not _WORDLIKE.search(text, *found[0]):
        return None
    term, closing = found
    after = next((k for k in range(i + 1, len(tokens)) if tokens[k].start > closing), len(tokens))
    return _Term(*term, closing + 1, after)
