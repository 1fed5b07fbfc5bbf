from __future__ import annotations

from hypothesis import assume, event, example, given
from hypothesis import strategies as st

from recall_integrations.query.by_table.negation import find_negations

WORDS = (
    "not no non- without except other than anything but isn't wasn't that which don't is related to about the a my of "
    "Python Java C++ .NET , . ? ! “ ” \" ' ’ - or and nor 日本語 straße İ who what use include 3 \ud800 \u0301 \x00"
)
PIECES = st.sampled_from(WORDS.split(" "))
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=40).map(" ".join), st.lists(PIECES, max_size=40).map("".join))


@given(TEXTS)
def test_spans_point_at_the_terms(text: str) -> None:
    found = find_negations(text)
    for negation in found:
        start, end = negation.term_span
        assert text[start:end] == negation.term == negation.term.strip() != ""
        assert 0 <= negation.span[0] <= start < end <= negation.span[1] <= len(text)
    assert [n.term_span for n in found] == sorted(n.term_span for n in found)
    assert len({n.term.casefold() for n in found}) == len(found)


@given(TEXTS)
@example("notes, not Python")
def test_what_stands_before_on_a_line_of_its_own_shifts_the_spans_only(text: str) -> None:
    shifted = find_negations("Hello there.\n" + text)
    assume([n.term for n in shifted] == [n.term for n in find_negations(text)])
    event(f"{min(len(shifted), 2)} negations")
    assert [n.span[0] - 13 for n in shifted] == [n.span[0] for n in find_negations(text)]


@given(st.text(alphabet="abcdefghijklmnopqrstuvwxyz ", max_size=80))
def test_without_a_cue_nothing_is_excluded(text: str) -> None:
    cues = (
        "no",
        "not",
        "non",
        "without",
        "except",
        "exc",
        "other",
        "but",
        "apart",
        "aside",
        "besides",
        "outside",
        "minus",
        "unrelated",
    )
    orders = (
        "exclude",
        "ignore",
        "omit",
        "skip",
        "leave",
        "filter",
        "ignoring",
        "omitting",
        "skipping",
        "leaving",
        "nt",
        "cannot",
        "nothing",
    )
    assume(not any(cue in text for cue in cues + orders))
    assert find_negations(text) == ()


@given(st.from_regex(r"[a-z]{3,9}zq", fullmatch=True))
def test_a_plain_exclusion_is_always_found(word: str) -> None:
    for template in (
        "notes, not {}",
        "notes without {}",
        "everything except {}",
        "work that wasn't related to the {}?",
    ):
        assert [n.term for n in find_negations(template.format(word))] == [word]
