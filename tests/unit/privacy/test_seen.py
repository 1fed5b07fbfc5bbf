"""A text beside what may be seen of it."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.privacy.door import SAID_MIN, WORD, seen
from tests.rows import each_row

PARTS = st.lists(
    st.one_of(
        st.tuples(st.just(False), st.text("ab 12.[]-", max_size=8)),
        st.tuples(st.just(True), st.text("ab 12.+@", min_size=1, max_size=12)),
    ),
    max_size=8,
)


def test_a_query_with_a_number_in_it() -> None:
    text = "call +49 170 1234567 about the harbour"
    found = seen(text, "call [phone-1] about the harbour")
    assert found.hides((5, 20)) and found.hides((9, 12)) and not found.hides((21, 26))
    assert found.text[slice(*found.span((9, 12)))] == "[phone-1]", "a part of what is hidden is all of it"
    assert found.text[slice(*found.span((27, 30)))] == "the"
    assert found.text[slice(*found.span((0, len(text))))] == found.text
    assert found.hidden == {"170", "1234567", "491701234567"}


def test_what_is_seen_anyway_is_not_hidden() -> None:
    assert seen("harbour harbour@x.org", "harbour [email-1]").hidden == {"org", "harbourxorg"}


def test_nothing_is_seen_of_what_is_withheld() -> None:
    found = seen("the harbour", "")
    assert found.hides((0, 3)) and found.hidden == {"the", "harbour", "theharbour"} and found.span((4, 11)) == (0, 0)


def test_what_is_not_the_same_text_counts_as_hidden() -> None:
    assert seen("one two", "three [x] four").kept == ()


@each_row("text", ["", "plain", "[phone-1]", "a [x] b"])
def test_a_text_without_anything_to_hide_is_seen_as_it_is(text: str) -> None:
    found = seen(text, text)
    assert not found.hidden and not found.hides((0, len(text))) and found.span((0, len(text))) == (0, len(text))


@given(PARTS)
def test_whatever_was_replaced_only_what_is_seen_is_given_out(parts: list[tuple[bool, str]]) -> None:
    original = "".join(text for _, text in parts)
    numbers = iter(range(1, len(parts) + 1))
    shown = "".join(f"[x-{next(numbers)}]" if hides else text for hides, text in parts)
    found = seen(original, shown)
    assert not {m[0].casefold() for m in WORD.finditer(shown)} & found.hidden
    for start in range(len(original)):
        for end in range(start + 1, len(original) + 1):
            place = found.span((start, end))
            assert 0 <= place[0] <= place[1] <= len(shown)
            if not found.hides((start, end)):
                assert shown[slice(*place)] == original[start:end]
    at = 0
    for hides, text in parts:
        for match in WORD.finditer(text) if hides else ():
            word = match[0].casefold()
            whole = (original[at - 1 : at], original[at + len(text) : at + len(text) + 1])
            inside = match.start() > 0 and match.end() < len(text)
            if len(word) >= SAID_MIN and (inside or not any(map(str.isalnum, whole))):
                said = {m[0].casefold() for m in re.finditer(WORD, shown)}
                assert word in found.hidden or word in said
        at += len(text)
