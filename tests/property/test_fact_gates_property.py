"""What facts look at first lets through all that they would find without looking: tested over words of the rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmarks.facts.generator.histories import rooms
from recall_integrations.facts import sentences
from recall_integrations.facts.said import Said
from recall_integrations.facts.slots import DEFAULT, Grammar
from recall_integrations.indexes.columns import SHORT, STEPS, TextColumns, replies_after
from recall_integrations.indexes.lexicon import Lexicon
from recall_integrations.indexes.scope_view import Told
from tests.columns import TextRow, columns_of

AT = datetime(2025, 6, 3, 12, tzinfo=timezone.utc)
ROOT = Path(__file__).resolve().parents[2]
LINES = (
    "I my we our you your she he his her the The My I'm I've we're you've Priya Sam Henrietta Priya's Sam's Kestrel",
    "is was are live lives in at Berlin Lisbon moved to work works for Acme like likes tea have had has got a cat no",
    "longer not but and so because that when what do does did if think said says maybe actually sorry correction don't",
    "last this next since yesterday back as from starting early March May 2024 two weeks ago on of all among editors",
    "name phone number is 555-0101 colour green favourite address sister boss birthday is: called one of old use",
    'Dr. Mr. vs. etc. e.g. No. St. A. ft. Ave. approx. ok? yes! What?Yes why!And ; \n - ( ) " “ ” … ... ?! .) ."',
    "new its their 's sister's it's the that's got bought changed switched from to went quit left lost married",
    "became use uses as best of all most lunch up alarm 7 with Tesla vegan piano French nurse called allergy kids",
    "dog drives add put off list for among still longer includes isn't don't hasn't become will been",
    "a an İs wıth ſet Kids' dog’s asthma",
)
WORDS = [word for line in LINES for word in line.split(" ")]
PHRASES = sorted({*DEFAULT.of_noun, *(verb for slot in DEFAULT for verb in (*slot.verbs, *slot.starts, *slot.stops))})
SPACES = st.sampled_from([" ", " ", " ", " ", "  ", ", ", ". ", "? ", "\n", "", "; ", "! "])
TOLD = (
    "I live in Berlin. In March we moved to Lisbon, and my sister Priya works for Acme. Of all editors I like Zed best."
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Words of the rules and phrases of the schema, in any order, joined by whatever."""
    said = []
    for word in draw(st.lists(st.one_of(st.sampled_from(WORDS), st.sampled_from(PHRASES)), min_size=1, max_size=25)):
        said += [word, draw(SPACES)]
    return "".join(said)


TEXTS = st.one_of(texts(), texts(), st.text(alphabet="aAI .!?;\n\"')”…,mDr", max_size=60))


def ungated(text: str) -> tuple[Said, ...]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Grammar, "may_say", lambda *_given: True)
        return sentences.said_in(text, AT)


@settings(deadline=None, max_examples=200)
@given(TEXTS)
@example(TOLD)
@example("e.g. I live in Berlin. See No. 5, Dr. Sam's. What?And I moved to Oslo! He lives in Rome (vs. Bonn).")
@example("My name's Priya")
def test_no_statement_is_overlooked(text: str) -> None:
    assert sentences.said_in(text, AT) == ungated(text)


def told_in_histories() -> Iterator[str]:
    """What is told in made-up histories, in the words of several people."""
    for split in ("all", "free"):
        yield from (memory.text for room in rooms(150, split=split) for memory in room.memories)


def of_the_tests() -> Iterator[str]:
    """The sentences in the tests of the reader."""
    quoted = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
    for file in sorted((ROOT / "tests" / "unit" / "facts").glob("test_*.py")):
        yield from (text for text in quoted.findall(file.read_text(encoding="utf-8")) if " " in text)


@pytest.mark.parametrize(("texts_of", "least"), [(told_in_histories, 100), (of_the_tests, 80)])
def test_what_is_told_is_not_passed_over(texts_of: Callable[[], Iterator[str]], least: int) -> None:
    said = [*dict.fromkeys(texts_of())]
    whole = [ungated(text) for text in said]
    assert [sentences.said_in(text, AT) for text in said] == whole
    assert sum(map(bool, whole)) > least


def elliptic(columns: TextColumns, row: int) -> bool:
    """Say whether a row answers another's question that is too short to name its subject."""
    asking = int(columns.before[row])
    if asking < 0 or not columns.questions[asking] or min(columns.actors[[row, asking]]) < 0:
        return False
    return bool(columns.actors[row] != columns.actors[asking] and columns.lengths[asking] < 2 * SHORT)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["Sam", "Priya", None]), st.sampled_from(["How many?", "Ten", "word " * 14])),
        max_size=12,
    ),
    st.lists(st.integers(0, 11), max_size=5),
)
def test_replies_are_those_to_elliptic_questions(turns: list[tuple[str | None, str]], found: list[int]) -> None:
    rows = [TextRow(num=i + 1, text=text, actor=actor, thread="t", position=i) for i, (actor, text) in enumerate(turns)]
    scope = columns_of(rows, Lexicon())
    at = [row for row in found if row < len(turns)]
    behind = [row + step for step in range(2, STEPS + 1) for row in at if row + step < len(turns)]
    wanted = [row for row in dict.fromkeys(behind) if elliptic(scope, row) and row not in at]
    none = np.asarray(at, dtype=np.int64)
    assert replies_after(scope, none, none, 100).tolist() == wanted


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 50), st.integers(1, 20)), max_size=8), st.integers(0, 60))
def test_times_are_looked_up_together_as_one_by_one(told: list[tuple[int, int, int]], start: int) -> None:
    rows, begins, lengths = np.asarray(sorted(told), dtype=np.int64).reshape(-1, 3).T
    column = Told(size=10, rows=rows, start=begins, stop=begins + lengths)
    for window in ((None, None), (start, start + 10)):
        each = {row: time for alone in range(10) for row, time in column.of_rows([alone], *window).items()}
        assert column.of_rows([9, *range(9)], *window) == each
        assert column.of_rows([], *window) == {}
