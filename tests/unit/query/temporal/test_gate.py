from __future__ import annotations

from datetime import datetime, timezone

from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.query.temporal.grammar import Context, Rule
from recall_integrations.query.temporal.lexicon import CLASSES
from recall_integrations.query.temporal.parser import _grammar, all_rules
from recall_integrations.query.temporal.tokens import DateToken, tokenize
from tests.rows import each_row

NOW = datetime(2024, 5, 15, 12, tzinfo=timezone.utc)


@each_row(
    ("pattern", "found"),
    [
        ("NUM COUNTED", "NUM"),  # the fewer symbols
        ("of? NUM", "NUM"),
        ("of{0,2} NUM", "NUM"),
        ("of{2} NUM{1,3}", "of"),
        ("(of|NUM)", "of NUM"),
        ("(?!of) NUM", "NUM"),
        ("(?<!of) NUM (?=of)", "NUM"),
        ("^ n:NUM $", "NUM"),
        ("(of (in|on)?)? NUM", "NUM"),
        ("first:((?=of)in|NUM) the?", "in NUM"),
        ("of | NUM", "of NUM"),
        ("(of NUM|in NUM)", "of in"),
        ("of?", ""),
    ],
)
def test_what_a_pattern_cannot_do_without(pattern: str, found: str) -> None:
    grammar = _grammar()
    assert grammar.need(pattern) == frozenset().union(*(grammar.need(name) for name in found.split()))


def one_after_the_other(text: str) -> tuple[list[DateToken], list[str]]:
    """`Grammar.reduce` that tries every rule."""
    grammar, ctx = _grammar(), Context.of(text, NOW, 0, ())
    tokens = tokenize(text, grammar.vocabulary, NOW)
    symbols, fired = "".join(t.symbol for t in tokens), []
    for rule, pattern in grammar.rules:
        if pattern.search(symbols) is not None:
            symbols, tokens = grammar._apply(rule, pattern, symbols, tokens, ctx, fired)
    return tokens, fired


def shown(found: tuple[list[DateToken], list[str]]) -> object:
    """What can be compared: a value may hold a function that is made anew."""
    tokens, fired = found
    return [(t.symbol, t.start, t.end, t.word, t.confidence, t.spelled) for t in tokens], fired


def same(text: str) -> None:
    assert shown(_grammar().reduce(Context.of(text, NOW, 0, ()))) == shown(one_after_the_other(text))


@each_row("rule", all_rules())
def test_the_example_of_a_rule_is_read_as_when_all_are_tried(rule: Rule) -> None:
    same(rule.example)


KNOWN = sorted({word for words in CLASSES.values() for word in words})
OTHERS = (
    "the of in and to from before a 3 12 2023 5/12 3pm 21st '98 Q3 90s 2024-05-03 12:30 ( ) - , . ? meeting".split()
)


@given(st.lists(st.one_of(st.sampled_from(KNOWN), st.sampled_from(OTHERS)), max_size=12))
def test_any_words_are_read_as_when_all_rules_are_tried(words: list[str]) -> None:
    same(" ".join(words))
