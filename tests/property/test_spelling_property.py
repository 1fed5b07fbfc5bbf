from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from recall_integrations.query.spelling import THRESHOLD, Speller, Vocabulary, edits_max, similarity
from recall_integrations.text import stem, tokenize
from tests.quick import examples

# Few letters, so that words resemble each other; none of these is a stem of the lexicon.
WORDS = st.text(alphabet="qxzjkß", min_size=3, max_size=14)
TERMS = st.lists(st.tuples(WORDS, st.integers(0, 9)), max_size=40)


def by_hand(typed: str, terms: dict[str, int]) -> list[tuple[str, float, int]]:
    found = []
    for term, frequency in terms.items():
        readings = [r for r in {typed, stem(typed)} if OSA.distance(r, term) <= edits_max(len(r)) and len(r) >= 3]
        likeness = max((similarity(r, term) for r in readings), default=0.0)
        if likeness >= THRESHOLD and frequency and term != stem(typed):
            found.append((term, likeness, frequency))
    return sorted(found, key=lambda f: (-f[1], -f[2], f[0]))[:16]


@given(TERMS, WORDS)
@settings(max_examples=examples(300))
def test_finds_exactly_what_comparing_with_every_stem_finds(terms: list[tuple[str, int]], typed: str) -> None:
    found = Vocabulary(terms).close_to(typed)
    assert [(m.stem, m.similarity, m.frequency) for m in found] == by_hand(typed, dict(terms))


@given(TERMS, st.lists(st.integers(0, 40), max_size=4), WORDS)
def test_how_the_stems_came_does_not_matter(terms: list[tuple[str, int]], cuts: list[int], typed: str) -> None:
    piecewise = Vocabulary()
    bounds = [0, *sorted(cuts), len(terms)]
    for start, end in pairwise(bounds):
        piecewise.update(terms[start:end])
    assert piecewise.close_to(typed) == Vocabulary(terms).close_to(typed)


@given(TERMS, st.text(max_size=80) | st.lists(WORDS, max_size=8).map(" ".join))
def test_any_text_is_read_the_same_twice_and_never_as_what_is_known(terms: list[tuple[str, int]], text: str) -> None:
    known = dict(terms)
    readings = []
    for _ in range(2):
        speller = Speller(Vocabulary(terms))
        readings.append(speller.corrections(text, tokenize(text)))
    assert readings[0] == readings[1]
    for made in readings[0]:
        assert known.get(made.correction) == made.frequency > 0
        assert not known.get(made.stem) and made.correction != made.stem
        assert THRESHOLD <= made.similarity <= 1
