"""Rules for numbers in words, and for the years and decades that are said as such."""

from __future__ import annotations

from recall_integrations.query.temporal.calendar import Period, months_from
from recall_integrations.query.temporal.grammar import Built, Rule, RuleMatch
from recall_integrations.query.temporal.lexicon import ONES, ORDINAL, TEENS, TENS
from recall_integrations.query.temporal.tokens import number_symbol

_NUMBER_WORDS = ONES | TEENS | TENS | ORDINAL


def _words(hit: RuleMatch, *names: str) -> int:
    return sum(_NUMBER_WORDS.get(hit.word(name), 0) for name in names)


def _year_hundreds(hit: RuleMatch) -> Built:
    year = 100 * _words(hit, "h") + _words(hit, "t", "o", "s")
    return (number_symbol(year), year) if _words(hit, "h") >= 15 else None


def _year_thousand(hit: RuleMatch) -> Built:
    return "y", 2000 + _words(hit, "t", "o", "s")


def decade_from(year: int) -> Period:
    """Return the ten years that begin with this one."""
    return Period("decade", months_from(year, 1, 120))


def _worded_decade(hit: RuleMatch) -> Built:
    """Read "the nineteen seventies", "the twenty tens", "the two thousands"."""
    if not hit.token("h"):
        return "S", decade_from(2000)
    hundreds = _words(hit, "h")
    return ("S", decade_from(100 * hundreds + (hit.lex("d", "DECADE") or 1910) - 1900)) if hundreds >= 15 else None


def _ordinal(hit: RuleMatch) -> Built:
    value = _words(hit, "t", "o")
    return ("o", value) if value <= 31 else None


def _cardinal(hit: RuleMatch) -> Built:
    value = _words(hit, "t", "o")
    return number_symbol(value), value


NUMBERS = (
    Rule("year_hundreds", "h:(TEEN|twenty) hundred and? (t:TEN DASH? o:ONE?|s:(TEEN|ONE))?", _year_hundreds, 1.0,
         "eighteen hundred forty eight"),
    Rule("year_pair", "h:(TEEN|twenty) DASH? (t:TEN (DASH? o:ONE)?|s:TEEN|oh s2:ONE)",
         lambda h: _year_hundreds(h) if not h.word("s2") else ("y", 100 * _words(h, "h") + _words(h, "s2")), 1.0,
         "in nineteen eighty-six"),
    Rule("year_thousand", "two thousand and? (t:TEN (DASH? o:ONE)?|s:(TEEN|ONE))?", _year_thousand, 1.0,
         "in two thousand and five"),
    Rule("decade_in_words", "the? h:(TEEN|twenty) DASH? d:(DECADE|tens)", _worded_decade, 0.9,
         "in the nineteen seventies"),
    Rule("the_two_thousands", "the two thousands(?!of)", _worded_decade, 0.8, "music of the two thousands"),
    Rule("ordinal_of_two_words", "t:TEN DASH? o:ORDW", _ordinal, 1.0, "the twenty-second of May"),
    Rule("ordinal_word", "o:ORDW", _ordinal, 1.0, "the seventeenth of April"),
    Rule("cardinal_of_two_words", "t:TEN DASH? o:ONE", _cardinal, 1.0, "twenty-five days ago"),
    Rule("cardinal_word", "o:(ONE|TEEN|TEN)", _cardinal, 1.0, "three weeks ago"),
)  # fmt: skip
