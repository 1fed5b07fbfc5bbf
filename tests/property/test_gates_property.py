"""A step that asks "could I find anything here?" first finds exactly what it would find without asking."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_integrations.query import asked_role as roles
from recall_integrations.query import negation_words
from recall_integrations.query.asked_role import asked_role
from recall_integrations.query.features import TYPE_CUES, courtesies, type_cues
from recall_integrations.query.glance import Glance, folded, glance
from recall_integrations.query.identifiers import KINDS, find_identifiers
from recall_integrations.query.negation import find_negations
from recall_integrations.query.routing import INTENTS, router_mode
from recall_integrations.text import tokenize
from tests.quick import examples

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"
PIECES = (
    "what when who how did do does i we you our the my your his that which about with for on in to of like should told",
    "session sessions time first last third conversation talked chat discuss 3 16 two ago our their",
    "please thanks thank you so much a lot cheers hey hi ok could would tell me know again if",
    "preference preferences favourite prefer rather summary tl;dr tldr password key id something anything about on",
    "owns owner manager of depends on blocked by agree with conflicts latest recently docs according to policy",
    "not no non- without except for other than all but isn't isnt don't with no cannot minus leave out anything but",
    "ABC-123 src/app.py node.js e.g. 3.14 #12 www.a.b http://x.y/z 'so on' \"a b\" don't x_y camelCase IBM I'm U.S.",
    "said say recommended suggested assistant user we me mine myself somebody she was by from",
    "ſeſſion TİME Ｓession 日本 “quoted” isn’t naïve \n \t ? ! . , ; : - -- ' ( ) & /",
)
WORDS = [word for line in PIECES for word in line.split(" ")] + [
    word for cue in negation_words.CUES for word in cue.words
]
SPACES = st.sampled_from([" ", " ", " ", "  ", "", "-", ", ", ". ", "'", "\n", "_"])


@st.composite
def sentences(draw: st.DrawFn) -> str:
    """Words of the tables in any order and case, joined by whatever."""
    said = []
    for word in draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12)):
        case = draw(st.sampled_from([str, str, str, str.upper, str.title]))
        said += [case(word), draw(SPACES)]
    return "".join(said)


TEXTS = st.one_of(sentences(), st.text(max_size=60), st.text(alphabet="aAbI'’.-_/( )!?,0\"", max_size=40))


def open_to_all(text: str) -> Glance:
    """What lets every pattern be tried that the text itself is held against."""
    return Glance(folded(text), frozenset(), plain=False)


class _Every:
    def __contains__(self, _word: object) -> bool:
        return True


def check(text: str) -> None:
    every, seen = open_to_all(text), glance(text)
    assert find_negations(text, "en", seen) == find_negations(text, "en", every)
    assert courtesies(text, "en", seen) == courtesies(text, "en", every)
    assert find_identifiers(text) == find_identifiers(text, list(KINDS))
    for table in (TYPE_CUES, INTENTS):
        for row in table:
            assert row.needs
            assert row.pattern.search(seen.folded) is None or not row.needs.isdisjoint(seen.runs), row
    with pytest.MonkeyPatch.context() as patch:
        gated = asked_role(text)
        patch.setattr(roles, "_CUES", _Every())
        assert gated == asked_role(text, tokenize(text))


@settings(deadline=None)
@given(TEXTS)
def test_nothing_is_overlooked(text: str) -> None:
    check(text)


@given(sentences(), st.integers(1_900, 2_100))
@settings(max_examples=examples(25), deadline=None)
def test_nothing_is_overlooked_where_a_step_stops_reading(text: str, length: int) -> None:
    check((f"{text} " * (length // (len(text) + 1) + 1))[:length])
    check(("." * 90) + text)
    check(text + ("." * 90))


@pytest.mark.parametrize("row", [*TYPE_CUES, *INTENTS], ids=lambda row: row.pattern.pattern[:30])
@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_what_a_pattern_matches_has_a_word_that_it_needs(row, data: st.DataObject) -> None:  # type: ignore[no-untyped-def]
    said = folded(data.draw(st.from_regex(re.compile(row.pattern.pattern, row.pattern.flags))))
    if row.pattern.search(said):
        assert not row.needs.isdisjoint(glance(said).runs)


@settings(deadline=None)
@given(sentences())
def test_a_table_without_needs_says_the_same(text: str) -> None:
    bare = [replace(intent, needs=frozenset()) for intent in INTENTS]
    assert router_mode(text) == router_mode(text, intents=bare)
    assert type_cues(text, seen=glance(text)) == type_cues(text)


def labelled() -> Iterator[str]:
    """The sentences of the repository's own sets, and of the evaluation data where it is at hand."""
    folders = [ROOT / "benchmarks" / "made_up", *([DATA] if DATA.is_dir() else [])]
    for folder in folders:
        for file in sorted(folder.rglob("*.jsonl")):
            if file.name == "memories.jsonl":
                continue
            for line in file.read_text(encoding="utf-8").splitlines():
                row = json.loads(line)
                for key in ("query", "text", "question", "input"):
                    if isinstance(row.get(key), str):
                        yield row[key]


def test_labelled_sentences_are_read_as_without_gates() -> None:
    texts = list(dict.fromkeys(labelled()))
    assert len(texts) > 500
    for text in texts:
        check(text)
