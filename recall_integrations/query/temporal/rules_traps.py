"""Rules for phrases that look like a date and are none: "port 2020", "up to date", "have a great weekend"."""

from __future__ import annotations

from recall_integrations.query.temporal.grammar import Built, Rule, RuleMatch


def _nothing(hit: RuleMatch) -> Built:
    return "x", None


def _same_word(hit: RuleMatch) -> Built:
    return ("x", None) if hit.word("a") == hit.word("b") else None


def _measured(hit: RuleMatch) -> Built:
    """Reject "the high nineties", or a decade in a text on temperatures or scores; never "the 1990s"."""
    last = hit.tokens[-1]
    if hit.ctx.text[last.start : last.start + 4].isdigit():
        return None
    return ("x", None) if hit.ctx.measures or hit.says("high", "low", "upper", "lower") else None


def _modal_may(hit: RuleMatch) -> Built:
    return None if hit.token("m") and hit.capital("m") else ("x", None)


def _show(hit: RuleMatch) -> Built:
    """Reject "Monday Night Football": a name, if every word has a capital."""
    return ("x", None) if all(hit.ctx.text[token.start].isupper() for token in hit.tokens) else None


def _always_on(hit: RuleMatch) -> Built:
    token = hit.tokens[0]
    return ("x", None) if hit.ctx.text[token.start : token.end] == "24/7" else None


TRAPS = (
    Rule("numbered_thing", "(?<!week)(NUMBERED|no) (DOT|COLON|EQ)? (NUM(?!SEP? of? MONTH)|MD|MDX|N|D)", _nothing, 1.0,
         "which service runs on port 2020"),
    Rule("counted_things", "NUM COUNTED", _nothing, 1.0, "in 2000 words"),
    Rule("currency_symbol", "DOLLAR MONTH", _nothing, 1.0, "the $DEC farm"),
    Rule("modal_may", "(PRON may|m:may COMMA? (not|(or|and) (may|might)))", _modal_may, 1.0, "who may help in this"),
    Rule("up_to_date", "up DASH? to DASH? date", _nothing, 1.0, "is it up to date"),
    Rule("greeting", "((happy|merry) H|H mubarak)", _nothing, 1.0, "Merry Christmas"),
    Rule("holiday_compound", "H COMPOUND", _nothing, 1.0, "the easter egg in the app"),
    Rule("recurring", "(every|each|any|all|most|per|another) (other|single)? (WD|UNIT|MONTH|SEASON|POD|H)", _nothing,
         1.0, "what do I do every Monday"),
    Rule("recurring_part",
         "(WD|WDS|week|weekday|weekend)? ((COMMA|and|or|TO) (WD|WDS)){0,3} PODS(?!(ago|from|before|after))", _nothing,
         1.0, "on Saturday mornings"),
    Rule("rate", "(once|twice|times|x|NUM UNIT) (a|per) UNIT", _nothing, 1.0, "twice a week"),
    Rule("day_after_day", "a:UNIT1 (after|by|in|over|to) b:UNIT1", _same_word, 1.0, "day after day"),
    Rule("always_on", "MD", _always_on, 1.0, "is it up 24/7"),
    Rule("title_year", "TITLEWORD (of|called|titled|named|by)? YEAR", _nothing, 1.0, "who is the author of 1984"),
    Rule("measured_decade", "the? (high|low|upper|lower)? (early|mid|late)? DASH? (DECADE|S)", _measured, 1.0,
         "temperatures in the nineties"),
    Rule("street", "NUM? (MONTH|WD|SEASON|H) STREET", _nothing, 1.0, "the shop at 12 May Street"),
    Rule("good_wishes", "(have|^) (a|the)? (WISH|good|happy) (weekend|WD)",
         _nothing, 1.0, "have a great weekend"),
    Rule("title", "(song|album|track|band|called|titled|named|entitled) w:(yesterday|tomorrow|tonight|WD|MONTH|SEASON)",
         lambda hit: ("x", None) if hit.capital("w") else None, 1.0, "who sings the song Yesterday"),
    Rule("show", "WD POD (lights|live|football|fever)", _show, 1.0, "did we watch Monday Night Football"),
    Rule("age_decade", "(my|his|her|their|our|your) DASH? (early|mid|late)? DASH? (DECADE|S)", _nothing, 1.0,
         "when she was in her twenties"),
    Rule("at_the_end_of_the_day", "at the end of the day", _nothing, 1.0, "at the end of the day it works"),
    Rule("march_of", "the march (of|for|on|to|in|from)", _nothing, 1.0, "during the march of progress"),
)  # fmt: skip
