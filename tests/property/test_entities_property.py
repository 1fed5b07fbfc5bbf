from __future__ import annotations

from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from rapidfuzz.distance import OSA

from recall_integrations.query.entities import EntityIndex
from recall_integrations.query.entities.reading import Reading
from recall_integrations.query.entities.state import ROOT_LETTERS_MIN, TrigramIndex, key_of, units
from recall_integrations.text import without_marks
from tests.quick import examples
from tests.rows import each_row

IDS = st.sampled_from([f"e{i}" for i in range(8)])
WORDS = st.sampled_from(
    [
        "priya",
        "raman",
        "sam",
        "Ortiz",
        "Lee",
        "project",
        "KESTREL",
        "will",
        "may",
        "the",
        "C++",
        "田中",
        "José",
        "🚀",
        "O'Brien",
        "x",
        "3",
    ]
)
NAMES = st.one_of(st.lists(WORDS, min_size=1, max_size=4).map(" ".join), st.text(min_size=1, max_size=12))


class EntityIndexMachine(RuleBasedStateMachine):
    """`add` and `lookup` against plain dicts."""

    @initialize()
    def start(self) -> None:
        self.index = EntityIndex()
        self.names: dict[str, list[tuple[str, ...]]] = {}
        self.canonical: dict[str, str] = {}

    @rule(entity_id=IDS, name=NAMES, aliases=st.lists(NAMES, max_size=3))
    def add(self, entity_id: str, name: str, aliases: list[str]) -> None:
        self.index.add(entity_id, name, aliases)
        self.canonical.setdefault(entity_id, name)
        known = self.names.setdefault(entity_id, [])
        for surface in [name, *aliases]:
            if key_of(surface) not in known:
                known.append(key_of(surface))

    @rule(name=NAMES)
    def lookup(self, name: str) -> None:
        self.check(name)

    @invariant()
    def known_names_are_found(self) -> None:
        assert len(self.index) == len(self.names)
        for name in self.canonical.values():
            self.check(name)

    @rule(text=st.lists(WORDS, max_size=8).map(" ".join))
    def resolve(self, text: str) -> None:
        for ref in self.index.resolve(text):
            assert self.canonical[ref.entity_id] == ref.name
            assert text[slice(*ref.span)] == ref.mention
        for mention in self.index.mentions(text):
            assert mention.entity_id in self.names

    def check(self, name: str) -> None:
        key = key_of(name)
        holders = [(known.index(key) > 0, entity_id) for entity_id, known in self.names.items() if key in known]
        assert self.index.lookup(name) == tuple(entity_id for _, entity_id in sorted(holders))


EntityIndexMachine.TestCase.settings = settings(max_examples=examples(40), stateful_step_count=20, deadline=None)
TestEntityIndexMachine = EntityIndexMachine.TestCase


def _full_index() -> EntityIndex:
    index = EntityIndex()
    names = [
        "Priya Raman",
        "Sam Ortiz",
        "Sam Lee",
        "Project Kestrel",
        "Will",
        "The Who",
        "C++",
        "田中",
        "José",
        "サム",
        "민수",
    ]
    for name in [
        *names,
        "Acme, Inc.",
        "प्रिया",
        "Jean-Luc",
        "Inbox3",
        "12345",
        "🚀",
        "ﬁ",
        "İstanbul",
        "Straße",
        "a b c d e f",
    ]:
        index.add(name, name, [name[:3]])
    return index


INDEX = _full_index()
PIECES = st.sampled_from(
    [
        "Priya",
        "Pryia",
        "RAMAN",
        "raman,",
        "sam",
        "Ortiz",
        "P.",
        "田中",
        "サム",
        "田",
        "민수는",
        "C++",
        "C#",
        "++",
        "#",
        "'s",
        "’s",
        "José",
        "José",
        "́",
        "प्रिया",
        "प्",
        "ﬁ",
        "ß",
        "İ",
        "\u200d",
        "�",
        "🚀",
        "Inbox",
        "3",
        "12345",
        "will",
        "Will's",
        ".",
        "?",
        "\n",
        "-",
        "'",
        "Kestrel",
        "project",
        "straße",
        "STRASSE",
        "istanbul",
    ]
)
TEXTS = st.one_of(
    st.text(max_size=200), st.lists(PIECES, max_size=30).map(" ".join), st.lists(PIECES, max_size=30).map("".join)
)
SPANS = st.lists(st.tuples(st.integers(-5, 250), st.integers(-5, 250)), max_size=4)


def is_form_of(surface: str, name: str) -> bool:
    """Whether each word of a mention begins like a word of the name: what else there is in it is an ending."""

    def beginnings(text: str) -> set[str]:
        return {without_marks(part)[:ROOT_LETTERS_MIN] for word in key_of(text) for part in word.split("'")}

    return all(beginnings(word) & beginnings(name) for word in surface.split())


@given(text=TEXTS, reserved=SPANS)
@settings(max_examples=examples(400), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_resolve_takes_any_text(text: str, reserved: list[tuple[int, int]]) -> None:
    refs = INDEX.resolve(text, reserved=reserved)
    assert refs == INDEX.resolve(text, reserved=reserved)
    assert len({r.entity_id for r in refs}) == len(refs)
    for ref in refs:
        start, end = ref.span
        assert 0 <= start < end <= len(text)
        assert text[start:end] == ref.mention
        assert 0 < ref.confidence <= 1
        assert ref.stage in {"exact", "alias", "fuzzy"}
        assert INDEX.lookup(ref.name)
        assert not any(s < end and start < e for s, e in reserved if s < e)


@given(text=TEXTS)
@settings(max_examples=examples(300), deadline=None)
@example(text="\u3040JOS'S")  # Japanese, with something put on behind an apostrophe
@example(text="viděl jsem STRASSEŮ")  # Czech, with an ending
@example(text="we asked Priya Raman")
def test_mentions_do_not_overlap_and_read_like_the_name(text: str) -> None:
    """They read like it to the letter, but in a language that puts endings on names."""
    english = Reading(text).language is None
    found, reach = INDEX.mentions(text), 0
    event(f"{min(len(found), 2)} mentions, {'English' if english else 'another language'}")
    for mention in found:
        assert reach <= mention.start < mention.end <= len(text)
        surface = text[mention.start : mention.end]
        if mention.entity_id not in INDEX.lookup(surface):
            assert not english and is_form_of(surface, mention.entity_id)
        reach = mention.end


@each_row(
    ("text", "named"),
    [
        ("\u3040JOS'S", ["José"]),
        ("\u3040JOS'0", []),  # an ending is letters
        ("viděl jsem STRASSEŮ", ["Straße"]),
        ("STRASSE0Ů", []),
        ("we asked Priya Raman about C++", ["Priya Raman", "C++"]),
    ],
)
def test_what_mentions_are_held_against_is_there(text: str, named: list[str]) -> None:
    assert [mention.entity_id for mention in INDEX.mentions(text)] == named


@given(text=TEXTS)
def test_units_lie_inside_the_text_in_order(text: str) -> None:
    reach = 0
    for word, start, end in units(text):
        assert reach <= start < end <= len(text)
        assert word
        reach = end


@given(
    words=st.lists(st.text("abcde", min_size=4, max_size=7), min_size=1, max_size=30, unique=True),
    typed=st.text("abcde", min_size=4, max_size=7),
)
@settings(max_examples=examples(300))
def test_trigrams_miss_nothing_one_edit_away(words: list[str], typed: str) -> None:
    index = TrigramIndex()
    for word in words:
        index.add(word)
    assert {w for w, _ in index.similar(typed, limit=100)} == {w for w in words if OSA.distance(w, typed) == 1}
