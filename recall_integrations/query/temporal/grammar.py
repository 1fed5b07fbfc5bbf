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
| `n:NUM` | the same, and the builder sees it as `n`; several parts may have one name, if a match has one of them |
| `( | )`, `?`, `{0,2}`, `(?=…)`, `(?!…)`, `(?<=…)`, `^`, `$` | as in any regular expression |

Most patterns hold a class without which they cannot match: `NUM COUNTED` needs a number. So one look-up for each
distinct symbol of a text tells which of hundreds of rules are worth a search, and which patterns are never compiled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from recall_integrations.patterns import regex
from recall_integrations.query.temporal.calendar import Cycle, Interval, Period, midnight, one_day
from recall_integrations.query.temporal.lexicon import CLASSES
from recall_integrations.query.temporal.tense import FUTURE, OPEN, PRESENT, asked_tense
from recall_integrations.query.temporal.tokens import DateToken, reduced, tokenize
from recall_integrations.records import record
from recall_integrations.text import STOP_WORDS

# The symbols of `tokens` that a name in a pattern stands for.
SHAPES = dict(
    zip(
        "NUM DAYNUM SMALL YEAR YR ORD BIGORD DAY QX T MD MDX P D F H W N Q Y S U R DASH TO SLASH SEP COMMA DOT COLON "
        "OPEN CLOSE EQ LT GT DOLLAR X BREAK".split(),
        "abcgy ab abc y yu o ov abo q t s m DFHWNQYS DFH F H W N Q Y S U R -~ -~ / -/., , . : ( ) = < > $ x !".split(),
        strict=True,
    )
)
UNIT_SYMBOL = {"day": "D", "week": "W", "month": "N", "quarter": "Q", "half": "Q", "year": "Y"}
Built = tuple[str, Any] | None
_GOES_ON = frozenset("with at for about and or in when did do was were we i she he they at to from".split())
_PIECE = regex(
    r"\s*(?:(?P<name>[a-z]\w*):)?"
    r"(?:(?P<word>[a-z][a-z']*)|(?P<cls>[A-Z][A-Z0-9]*)|(?P<op>\(\?<?[=!]|[()|?^$]|\{\d(?:,\d)?\}))"
)
_NEAR = ("day", "time", "week", "weekend")
_AGAIN = "_"  # behind a name that a pattern has already
_FIRST_WORD_SYMBOL = 0x4E00


@record(frozen=True, slots=True)
class Rule:
    """A row of a rule table."""

    name: str  # unique, shown by `explain`
    pattern: str  # over tokens, see the module docstring
    build: Callable[[RuleMatch], Built]  # symbol and value of the new token; `None` = the rule does not apply after all
    confidence: float  # of the new token, in [0, 1]; the parts' confidence is an upper bound
    example: str  # a text in which it fires; tested
    weak: bool = False  # the phrase is no date if one of its words is a name that the store knows


@record(frozen=True, slots=True, kw_only=True)
class Context:
    """The text and the time that every builder may read."""

    text: str
    now: datetime  # the moment it is read against, timezone-aware
    local: datetime  # the same on the wall clock, naive
    today: datetime  # midnight before it, naive
    week_start: int  # 0 = Monday … 6 = Sunday
    names: Collection[str]  # lower-cased names that the store knows
    span: tuple[int, int] | None = None  # place of the phrase being read; the nearest verb tells its tense
    low: str = ""  # of a text that tells, all of it in lower case
    told = False  # whether the text tells what happens, and does not ask

    @classmethod
    def of(cls, text: str, now: datetime, week_start: int, names: Collection[str]) -> Context:
        """Make the context of one parse."""
        local, today = now.replace(tzinfo=None), midnight(now.replace(tzinfo=None))
        return cls(text=text, now=now, local=local, today=today, week_start=week_start, names=names)

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


def one(symbol: str, unit: str, found: Interval | None) -> Built:
    """Make the symbol and value of one interval; nothing of none."""
    return (symbol, Period(unit, found)) if found else None


def every(symbol: str, unit: str, cycle: Cycle) -> Built:
    """Make the symbol and value of a recurring interval."""
    return symbol, Period(unit, cycle=cycle)


def that_day(start: datetime) -> Built:
    """Make the symbol and value of a day."""
    return "D", Period("day", one_day(start))


def mapped(symbol: str, period: Period, change: Callable[[Interval], Interval | None], unit: str) -> Built:
    """Make the symbol and value of a period with every interval changed; a recurring one stays recurring."""
    if period.fixed or period.cycle is None:
        return one(symbol, unit, change(period.fixed)) if period.fixed else None
    at = period.cycle.at
    return every(symbol, unit, replace(period.cycle, at=lambda i: change(found) if (found := at(i)) else None))


class RuleMatch:
    """A match, as a builder sees it."""

    __slots__ = ("_match", "_tokens", "ctx", "today", "tokens")

    def __init__(self, match: re.Match[str], tokens: list[DateToken], ctx: Context) -> None:
        self._match, self._tokens, self.ctx, self.today = match, tokens, ctx, ctx.today
        self.tokens = tokens[match.start() : match.end()]

    @property
    def here(self) -> Context:
        """The context with the place of the match, whose nearest verb counts."""
        return self.ctx.at(self.tokens[0].start, self.tokens[-1].end)

    def token(self, name: str) -> DateToken | None:
        """Return the first token of a named part; `None` if the part is not there."""
        index = self._match.re.groupindex
        while name in index:
            at = self._match.start(name)
            if at >= 0 and self._match.end(name) > at:
                return self._tokens[at]
            name += _AGAIN
        return None

    def part(self, name: str) -> DateToken:
        """Return the first token of a named part that every match has."""
        found = self.token(name)
        assert found is not None
        return found

    def value(self, *names: str) -> Any:
        """Return the value of the named part that is there; `None` if none is."""
        token = next(filter(None, map(self.token, names)), None)
        return None if token is None else token.value

    def word(self, *names: str) -> str:
        """Return the word of the named part that is there; "" if none is."""
        token = next(filter(None, map(self.token, names)), None)
        return "" if token is None else token.word

    def lex(self, kind: str, *names: str) -> Any:
        """Return the lexicon's value for the word of the named part that is there."""
        return CLASSES[kind].get(self.word(*names))

    @property
    def unit(self) -> Any:
        """The unit that part `u` names."""
        return self.lex("UNIT", "u")

    def placed(self, name: str = "p") -> Interval | None:
        """Return the period of a part as an interval, see `Context.place`."""
        return self.here.place(self.value(name))

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

    def beside(self, offset: int) -> DateToken:
        """Return the token after the match (`offset` 0, 1, …) or before it (−1, −2, …); "∅" if there is none."""
        at = self._match.end() + offset if offset >= 0 else self._match.start() + offset
        return self._tokens[at] if 0 <= at < len(self._tokens) else _NOTHING

    def content(self) -> bool:
        """Say whether the token after the match is a word unrelated to time."""
        token = self.beside(0)
        return token.symbol == "x" or token.word in CLASSES["X"]

    def goes_on(self) -> bool:
        """Say whether the next word continues the sentence, and cannot be counted or named by the match."""
        return self.beside(0).word in _GOES_ON

    def capital(self, name: str) -> bool:
        """Say whether a word is written with a capital."""
        token = self.token(name)
        return token is not None and self.ctx.text[token.start].isupper()

    def named(self) -> bool:
        """Say whether a word of the match, alone or with a neighbour, is a name that the store knows."""
        names, words = self.ctx.names, [token.word for token in self.tokens]
        if not names:
            return False
        around = [self.beside(-1).word, *words, self.beside(0).word]
        return any(
            word and not {word, f"{before} {word}", f"{word} {after}"}.isdisjoint(names)
            for before, word, after in zip(around, words, around[2:], strict=False)
        )


_NOTHING = DateToken("∅", None, 0, 0)


class Grammar:
    """Compiled rules and the vocabulary they share."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.vocabulary: dict[str, str] = {}
        self._classes: dict[str, frozenset[str]] = {}
        for words in CLASSES.values():
            for word in words:
                self._symbol(word)
        self.rules = [(rule, regex(self._compiled(rule.pattern))) for rule in rules]
        self._open, self._waiting = 0, dict[str, int]()  # rules, a bit each: those to try always, those by symbol
        common = {"x", "!", *(self.vocabulary[word] for word in STOP_WORDS & self.vocabulary.keys())}
        for i, (rule, _) in enumerate(self.rules):
            needed = self.need(rule.pattern, lambda group: (not group.isdisjoint(common), len(group)))
            self._open |= 0 if needed else 1 << i
            for symbol in needed:
                self._waiting[symbol] = self._waiting.get(symbol, 0) | 1 << i

    def reduce(self, ctx: Context) -> tuple[list[DateToken], list[str]]:
        """Return the tokens that are left after all rules were tried, and the names of the rules that fired."""
        tokens = tokenize(ctx.text, self.vocabulary, ctx.now)
        symbols = "".join([t.symbol for t in tokens])
        fired: list[str] = []
        seen = set(symbols)
        left = self._worth(seen)  # rules that may match, one bit each
        while left:
            lowest = left & -left
            left ^= lowest
            rule, pattern = self.rules[lowest.bit_length() - 1]
            if pattern.search(symbols) is None:
                continue
            symbols, tokens = self._apply(rule, pattern, symbols, tokens, ctx, fired)
            if not seen.issuperset(symbols):  # later rules may need the new symbols
                new = set(symbols) - seen
                seen |= new
                left |= self._worth(new) & -(lowest << 1)
        return tokens, fired

    def _worth(self, symbols: Iterable[str]) -> int:
        found = self._open
        for symbol in symbols:
            found |= self._waiting.get(symbol, 0)
        return found

    def need(self, pattern: str, cost: Callable[[frozenset[str]], Any] = len) -> frozenset[str]:
        """Return symbols of which every match of a pattern has one, the cheapest; none if there may be no such."""
        return self._need(_pieces(pattern), cost)

    def needed_words(self, patterns: Iterable[str], known: frozenset[str]) -> frozenset[str]:
        """Return a word of each way to say a pattern without a known word, the longest: none goes without it."""

        def words(group: frozenset[str]) -> list[str]:
            said, places = list(self.vocabulary), (ord(symbol) - _FIRST_WORD_SYMBOL for symbol in group)
            return [max(said[at].split("'"), key=len) if at >= 0 else "" for at in places]

        def cost(group: frozenset[str]) -> tuple[bool, int]:
            return not known.issuperset(words(group)), -max(map(len, words(group)))

        return frozenset(word for pattern in patterns for word in words(self.need(pattern, cost))) - known - {""}

    def _need(self, pieces: Iterator[re.Match[str]], cost: Callable[[frozenset[str]], Any]) -> frozenset[str]:
        """Read on to the bracket that closes, or to the end."""
        options: list[list[frozenset[str]]] = [[]]
        for piece in pieces:
            op = piece["op"] or ""
            if op.startswith("("):
                inner = self._need(pieces, cost)
                options[-1].append(inner if op == "(" else frozenset())
            elif op == ")":
                break
            elif op == "|":
                options.append([])
            elif op == "?" or op.startswith("{0"):
                options[-1][-1] = frozenset()
            elif not op:
                options[-1].append(self._members(piece["word"], piece["cls"]))
        found = [min(filter(None, option), key=cost, default=frozenset[str]()) for option in options]
        return frozenset[str]().union(*found) if all(found) else frozenset()

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
        rule: Rule, pattern: re.Pattern[str], symbols: str, tokens: list[DateToken], ctx: Context, fired: list[str]
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

    def _compiled(self, pattern: str) -> str:
        """Return a pattern as a regular expression over symbols."""
        out: list[str] = []
        named = set[str]()
        for piece in _pieces(pattern):
            name = piece["name"]
            while name in named:
                name += _AGAIN
            if name:
                named.add(name)
            if piece["word"]:
                text = self._symbol(piece["word"])
            elif piece["cls"]:
                members = self._members(None, piece["cls"])
                if not members:
                    raise LookupError(f"unknown token class {piece['cls']}")
                text = f"[{re.escape(''.join(sorted(members)))}]"
            elif piece["op"] == "(":
                out.append(f"(?P<{name}>" if name else "(?:")
                continue
            else:
                text = piece["op"]
            out.append(f"(?P<{name}>{text})" if name else text)
        return "".join(out)


def _pieces(pattern: str) -> Iterator[re.Match[str]]:
    """Yield the pieces of a pattern: a word, a class or a sign each, the first two maybe with a name."""
    position, end = 0, len(pattern.rstrip())
    while position < end:
        piece = _PIECE.match(pattern, position)
        if piece is None:
            raise ValueError(f"cannot read the pattern {pattern!r} at {position}")
        yield piece
        position = piece.end()
