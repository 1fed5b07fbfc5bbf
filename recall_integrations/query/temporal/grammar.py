"""The rule engine: a cascade of finite-state rules over tokens, in the manner of FASTUS (Hobbs et al., 1997).

A rule is a row of a table: a name, a pattern, a builder, a confidence and an example. The rules are tried one after
the other, in table order; every match of a rule is replaced by one token that later rules can build on. So
"the end of last month" becomes `the end of N`, then `N`. Each rule runs once over the tokens, patterns have bounded
length, and so the whole is linear in the text.

Patterns are regular expressions over tokens:

| written | matches |
|---|---|
| `last` | that word |
| `UNIT` | a word of that class of the lexicon, or a token of that shape (`SHAPES`) |
| `n:NUM` | the same, and the builder sees it as `n` |
| `( | )`, `?`, `{0,2}`, `(?=…)`, `(?!…)`, `(?<=…)`, `^`, `$` | as in any regular expression |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from recall_integrations.patterns import regex
from recall_integrations.query.temporal.calendar import Interval, Period, midnight
from recall_integrations.query.temporal.gate import Gate, needs, pieces
from recall_integrations.query.temporal.lexicon import CLASSES
from recall_integrations.query.temporal.tense import FUTURE, OPEN, PRESENT, asked_tense
from recall_integrations.query.temporal.tokens import DateToken, reduced, tokenize
from recall_integrations.records import record

SHAPES = {
    "NUM": "abcgy",
    "DAYNUM": "ab",
    "SMALL": "abc",
    "YEAR": "y",
    "YR": "yu",
    "ORD": "o",
    "BIGORD": "ov",
    "DAY": "abo",
    "QX": "q",
    "T": "t",
    "MD": "s",
    "MDX": "m",
    "P": "DFHWNQYS",
    "D": "DFH",
    "F": "F",
    "H": "H",
    "W": "W",
    "N": "N",
    "Q": "Q",
    "Y": "Y",
    "S": "S",
    "U": "U",
    "R": "R",
    "DASH": "-~",
    "TO": "-~",
    "SLASH": "/",
    "SEP": "-/.,",
    "COMMA": ",",
    "DOT": ".",
    "COLON": ":",
    "OPEN": "(",
    "CLOSE": ")",
    "EQ": "=",
    "LT": "<",
    "GT": ">",
    "DOLLAR": "$",
    "X": "x",
    "BREAK": "!",
}
UNIT_SYMBOL = {"day": "D", "week": "W", "month": "N", "quarter": "Q", "half": "Q", "year": "Y"}
Built = tuple[str, Any] | None
_GOES_ON = frozenset("with at for about and or in when did do was were we i she he they at to from".split())
_MEASURES = regex(
    r"\b(?:temp(?:erature)?s?|degrees?|fahrenheit|celsius|humid(?:ity)?|weather|forecast|heat|hot|cold|warm|bpm|rate|"
    r"pulse|scor(?:e[ds]?|ing)|grades?|marks?|percent(?:age|ile)?s?|mph|iq|blood|fever|latency|speed)\b",
    re.IGNORECASE,
)
# Pieces of words one of which each match has, in a text in ASCII.
_IN_MEASURES = tuple(
    "temp degree fahrenheit celsius humid weather forecast heat hot cold warm bpm rate pulse scor grade mark percent "
    "mph iq blood fever latency speed".split()
)
_NEAR = ("day", "time", "week", "weekend")
_FIRST_WORD_SYMBOL = 0x4E00


@record(frozen=True, slots=True)
class Rule:
    """A row of a rule table.

    Args:
        name: unique name, shown by `explain`.
        pattern: pattern over tokens, see the module docstring.
        build: makes the symbol and value of the new token from a match; `None` = the rule does not apply after all.
        confidence: confidence of the new token, in [0, 1]; the parts' confidence is an upper bound.
        example: a text in which it fires; tested.
        weak: the phrase is no date if one of its words is a name that the store knows.
    """

    name: str
    pattern: str
    build: Callable[[RuleMatch], Built]
    confidence: float
    example: str
    weak: bool = False


@record(frozen=True, slots=True, kw_only=True)
class Context:
    """The text and the time that every builder may read.

    Args:
        text: the query.
        now: the moment it is read against, timezone-aware.
        local: the same on the wall clock, naive.
        today: midnight before it, naive.
        week_start: 0 = Monday … 6 = Sunday.
        names: lower-cased names that the store knows.
        measures: the text speaks of temperatures, scores and the like, where "the nineties" are no years.
        span: place in the text of the phrase being read; the nearest verb tells its tense.
    """

    text: str
    now: datetime
    local: datetime
    today: datetime
    week_start: int
    names: Collection[str]
    measures: bool = False
    span: tuple[int, int] | None = None

    @classmethod
    def of(cls, text: str, now: datetime, week_start: int, names: Collection[str]) -> Context:
        """Make the context of one parse."""
        local = now.replace(tzinfo=None)
        lowered, plain = text.lower(), text.isascii()
        return cls(
            text=text,
            now=now,
            local=local,
            today=midnight(local),
            week_start=week_start,
            names=names if hasattr(names, "isdisjoint") else frozenset(names),
            measures=(not plain or any(map(lowered.__contains__, _IN_MEASURES))) and _MEASURES.search(text) is not None,
        )

    @property
    def plans(self) -> bool:
        """True if the text asks about plans ("what will I do", "what is due"): a recurring date is the coming one."""
        return self.tense == FUTURE

    @property
    def tense(self) -> int:
        """Tense in which the text asks, see `asked_tense`."""
        return asked_tense(self.text, *(self.span or ()))

    def at(self, start: int, end: int) -> Context:
        """Return the context for a place in the text."""
        return replace(self, span=(start, end))

    def place(self, period: Period) -> Interval | None:
        """Return a period as an interval. Of a recurring one the last; if the text plans something, the one not over.

        In the present tense ("who has the car on Friday") that holds for days and weeks: nobody asks so for a past
        one.
        """
        found = period.past(self.today)
        tense = self.tense if period.cycle else OPEN
        if tense == FUTURE or (tense == PRESENT and period.unit in _NEAR):
            over = found is None or found.end <= self.today
            return period.future(self.today) if over else found
        if period.cycle and period.unit == "day" and period.cycle.is_weekly and found and found.start == self.today:
            return period.cycle.last(self.today, strict=True)  # "on Monday", said on a Monday, is a week ago
        return found


def mapped(symbol: str, period: Period, change: Callable[[Interval], Interval | None], unit: str) -> Built:
    """Make the symbol and value of a period with every interval changed; a recurring one stays recurring."""
    if period.fixed or period.cycle is None:
        changed = change(period.fixed) if period.fixed else None
        return (symbol, Period(unit, changed)) if changed else None
    at = period.cycle.at
    cycle = replace(period.cycle, at=lambda i: change(found) if (found := at(i)) else None)
    return symbol, Period(unit, cycle=cycle)


class RuleMatch:
    """A match, as a builder sees it."""

    __slots__ = ("_match", "_tokens", "ctx")

    def __init__(self, match: re.Match[str], tokens: list[DateToken], ctx: Context) -> None:
        self._match, self._tokens, self.ctx = match, tokens, ctx

    @property
    def here(self) -> Context:
        """The context with the place of the match, whose nearest verb counts."""
        return self.ctx.at(self.tokens[0].start, self.tokens[-1].end)

    def token(self, name: str) -> DateToken | None:
        """Return the first token of a named part; `None` if the part is not there."""
        if name not in self._match.re.groupindex:
            return None
        at = self._match.start(name)
        return self._tokens[at] if at >= 0 and self._match.end(name) > at else None

    def part(self, name: str) -> DateToken:
        """Return the first token of a named part that every match has."""
        return self._tokens[self._match.start(name)]

    def value(self, name: str) -> Any:
        """Return the value of a named part; `None` if it is not there."""
        token = self.token(name)
        return None if token is None else token.value

    def word(self, name: str) -> str:
        """Return the word of a named part; "" if it is not there."""
        token = self.token(name)
        return "" if token is None else token.word

    def lex(self, name: str, kind: str) -> Any:
        """Return the lexicon's value for the word of a named part."""
        return CLASSES[kind].get(self.word(name))

    @property
    def tokens(self) -> list[DateToken]:
        """All tokens of the match."""
        return self._tokens[self._match.start() : self._match.end()]

    def pair(self, *names: str) -> tuple[int, int] | None:
        """Return the two numbers of the named part that is there, which the tokenizer read as one: "3-7"."""
        token = next(filter(None, map(self.token, names)), None)
        if token is None:
            return None
        first, _, last = self.ctx.text[token.start : token.end].replace("–", "-").partition("-")
        return (int(first), int(last)) if last else (0, 0)

    def says(self, *words: str) -> bool:
        """Say whether one of the words is in the match."""
        return any(token.word in words for token in self.tokens)

    def beside(self, offset: int) -> DateToken | None:
        """Return the token after the match (`offset` 0, 1, …) or before it (−1, −2, …)."""
        at = self._match.end() + offset if offset >= 0 else self._match.start() + offset
        return self._tokens[at] if 0 <= at < len(self._tokens) else None

    def content(self, offset: int) -> bool:
        """Say whether the token after the match (or before it, see `beside`) is a word unrelated to time."""
        token = self.beside(offset)
        return token is not None and (token.symbol == "x" or token.word in CLASSES["X"])

    def goes_on(self) -> bool:
        """Say whether the next word continues the sentence, and cannot be counted or named by the match."""
        token = self.beside(0)
        return token is not None and token.word in _GOES_ON

    def capital(self, name: str) -> bool:
        """Say whether a word is written with a capital."""
        token = self.token(name)
        return token is not None and self.ctx.text[token.start].isupper()

    def named(self) -> bool:
        """Say whether a word of the match, alone or with a neighbour, is a name that the store knows."""
        names = self.ctx.names
        if not names:
            return False
        first, last = self._match.start(), self._match.end()
        for i in range(first, last):
            word = self._tokens[i].word
            before = self._tokens[i - 1].word if i else ""
            after = self._tokens[i + 1].word if i + 1 < len(self._tokens) else ""
            if word and (word in names or f"{before} {word}" in names or f"{word} {after}" in names):
                return True
        return False


class _Pattern:
    """A regular expression that is compiled when it is first searched for: all of them together take some 40 ms."""

    __slots__ = ("search", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.search: Callable[..., re.Match[str] | None] = self._first

    def _first(self, symbols: str, *position: int) -> re.Match[str] | None:
        self.compile()
        return self.search(symbols, *position)

    def compile(self) -> None:
        """Compile the pattern now."""
        self.search = re.compile(self.text).search


class Grammar:
    """Compiled rules and the vocabulary they share."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.vocabulary: dict[str, str] = {}
        self._classes: dict[str, frozenset[str]] = {}
        for words in CLASSES.values():
            for word in words:
                self._symbol(word)
        self.rules = [(rule, self._compile(rule.pattern)) for rule in rules]
        self._gate = Gate([self._needs(rule.pattern) for rule, _ in self.rules])

    def reduce(self, ctx: Context) -> tuple[list[DateToken], list[str]]:
        """Return the tokens that are left after all rules were tried, and the names of the rules that fired."""
        tokens = tokenize(ctx.text, self.vocabulary, ctx.now)
        symbols = "".join([t.symbol for t in tokens])
        fired: list[str] = []
        seen = set(symbols)
        left = self._gate.open(seen)  # rules that may match, one bit each
        while left:
            lowest = left & -left
            left ^= lowest
            rule, pattern = self.rules[lowest.bit_length() - 1]
            if pattern.search(symbols) is None:
                continue
            symbols, tokens = self._apply(rule, pattern, symbols, tokens, ctx, fired)
            if not seen.issuperset(symbols):  # later rules may need the new symbols
                seen.update(symbols)
                left = self._gate.open(seen) & -(lowest << 1)
        return tokens, fired

    def _needs(self, pattern: str) -> list[frozenset[str]]:
        return needs(pattern, self._members)

    def _members(self, word: str | None, name: str | None) -> frozenset[str]:
        """Return the symbols that a word or a class of a pattern stands for."""
        if word:
            return frozenset(self._symbol(word))
        assert name is not None
        if name not in self._classes:
            words = (self._symbol(word) for word in CLASSES.get(name, ()))
            self._classes[name] = frozenset((*SHAPES.get(name, ""), *words))
        return self._classes[name]

    @staticmethod
    def _apply(
        rule: Rule, pattern: _Pattern, symbols: str, tokens: list[DateToken], ctx: Context, fired: list[str]
    ) -> tuple[str, list[DateToken]]:
        def built(match: re.Match[str]) -> DateToken | None:
            hit = RuleMatch(match, tokens, ctx)
            if rule.weak and hit.named():
                return None
            try:
                made = rule.build(hit)
            except (OverflowError, ValueError):  # outside the calendar: 30 February, the year 12000
                return None
            if made is None:
                return None
            fired.append(rule.name)
            parts = hit.tokens
            confidence = min(rule.confidence, *(t.confidence for t in parts))
            return DateToken(*made, parts[0].start, parts[-1].end, "", confidence, any(t.word for t in parts))

        return reduced(pattern.search, symbols, tokens, built)

    def _symbol(self, word: str) -> str:
        return self.vocabulary.setdefault(word, chr(_FIRST_WORD_SYMBOL + len(self.vocabulary)))

    def _class(self, name: str) -> str:
        if not self._members(None, name):
            raise LookupError(f"unknown token class {name}")
        return f"[{re.escape(''.join(sorted(self._members(None, name))))}]"

    def _compile(self, pattern: str) -> _Pattern:
        out: list[str] = []
        for piece in pieces(pattern):
            if piece["word"]:
                text = self._symbol(piece["word"])
            elif piece["cls"]:
                text = self._class(piece["cls"])
            elif piece["op"] == "(":
                out.append(f"(?P<{piece['name']}>" if piece["name"] else "(?:")
                continue
            else:
                text = piece["op"]
            out.append(f"(?P<{piece['name']}>{text})" if piece["name"] else text)
        return _Pattern("".join(out))
