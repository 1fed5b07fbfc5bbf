"""A step that asks "could I find anything here?" first finds exactly what it would find without asking."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_integrations.languages import english
from recall_integrations.query import features
from recall_integrations.query.by_table import negation
from recall_integrations.query.by_table.negation import find_negations
from recall_integrations.query.features import find_identifiers
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
CUES = [english("negation")[name] for name in ("except", "without", "plain", "orders", "kept")]
WORDS = [word for line in (*PIECES, *(re.sub(r"[^\w' -]", " ", cues) for cues in CUES)) for word in line.split(" ")]
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


class _Always:
    def isdisjoint(self, _runs: object) -> bool:
        return False


def check(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        found, gated = find_identifiers(text), find_negations(text)
        patch.setattr(features, "_UNUSUAL", re.compile(""))
        assert found == find_identifiers(text)
        patch.setattr(negation, "_CUE_RUNS", _Always())
        assert gated == find_negations(text)


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
