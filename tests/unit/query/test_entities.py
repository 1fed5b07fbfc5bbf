from __future__ import annotations

import importlib.util
import sys
import threading
import time
from pathlib import Path
from types import ModuleType

import pytest

from recall_integrations.query.entities import EntityIndex, Mention
from recall_integrations.query.entities.state import TrigramIndex, is_ordinary, units
from tests.rows import each_row

SURE = 0.85


def index_of(*names: str, **aliases: list[str]) -> EntityIndex:
    """An index of `names`; the id of each is its name."""
    built = EntityIndex()
    for name in names:
        built.add(name, name, aliases.get(name.replace(" ", "_"), ()))
    return built


def sure(index: EntityIndex, text: str) -> list[str]:
    return [r.name for r in index.resolve(text) if r.confidence >= SURE]


def named(index: EntityIndex, text: str) -> list[str]:
    return [r.name for r in index.resolve(text)]


@pytest.fixture
def office() -> EntityIndex:
    return index_of(
        "Priya Raman",
        "Project Kestrel",
        "Inbox3",
        "Backend Team",
        "Henrietta",
        "José García",
        "Acme, Inc.",
        Priya_Raman=["PeeRee"],
    )


# add, remove, lookup


def test_adding_again_changes_nothing_and_can_add_aliases() -> None:
    index = EntityIndex()
    index.add("e1", "Priya Raman")
    index.add("e1", "Priya Raman", ["PR"])
    index.add("e1", "priya  RAMAN", ["PR"])
    assert len(index) == 1
    assert index.lookup("PRIYA raman") == ("e1",)
    assert index.lookup("pr") == ("e1",)
    assert len(index.mentions("Priya Raman")) == 1


def test_a_known_entity_keeps_its_name_and_takes_another_as_alias() -> None:
    index = EntityIndex()
    index.add("e1", "Priya Raman")
    index.add("e1", "Priya Sundaram")
    assert index.resolve("Priya Sundaram")[0].name == "Priya Raman"
    assert index.resolve("Priya Sundaram")[0].stage == "alias"


def test_lookup_puts_names_before_aliases_and_then_goes_by_id() -> None:
    index = EntityIndex()
    index.add("z", "Sam")
    index.add("b", "Samuel", ["Sam"])
    index.add("a", "Samantha", ["sam"])
    assert index.lookup("SAM") == ("z", "a", "b")


@each_row(
    ("name", "same"),
    [
        ("José", "JOSÉ"),
        ("José", "Jose\u0301"),
        ("Priya's", "Priya"),
        ("Jean-Luc", "jean luc"),
        ("Ｓａｍ", "sam"),
        ("🚀", "🚀"),
    ],
)
def test_lookup_compares_normal_forms(name: str, same: str) -> None:
    assert index_of(name).lookup(same) == (name,)


@each_row(
    ("name", "other"),
    [("C++", "C#"), ("C++", "C"), ("🚀", "🎉"), ("Priya Raman", "Priya"), ("राम", "रमा"), ("Jose", "José")],
)
def test_lookup_tells_different_names_apart(name: str, other: str) -> None:
    assert index_of(name).lookup(other) == ()


def test_contains_word(office: EntityIndex) -> None:
    assert all(map(office.contains_word, ["priya", "kestrel", "inbox3", "peeree", "team", "josé"]))
    assert not any(map(office.contains_word, ["inbox", "pri", "", "will", "!"]))
    assert index_of("田中").contains_word("田中")


# the cascade


@each_row(
    ("text", "name", "mention", "stage"),
    [
        ("what did Priya Raman say", "Priya Raman", "Priya Raman", "exact"),
        ("what did PRIYA RAMAN's team say", "Priya Raman", "PRIYA RAMAN", "exact"),
        ("where is peeree", "Priya Raman", "peeree", "alias"),
        ("what did priya say", "Priya Raman", "priya", "alias"),
        ("What is Priya's plan?", "Priya Raman", "Priya", "alias"),
        ("ask raman about it", "Priya Raman", "raman", "alias"),
        ("mail to Raman, Priya", "Priya Raman", "Raman, Priya", "fuzzy"),
        ("did Pryia Raman sign", "Priya Raman", "Pryia Raman", "fuzzy"),
        ("did priya ramen sign", "Priya Raman", "priya ramen", "fuzzy"),
        ("is project kestrel late", "Project Kestrel", "project kestrel", "exact"),
        ("is kestrel late", "Project Kestrel", "kestrel", "alias"),
        ("is ProjectKestrel late", "Project Kestrel", "ProjectKestrel", "fuzzy"),
        ("what happened in inbox 3", "Inbox3", "inbox 3", "fuzzy"),
        ("What was happening with Inbox3 in March?", "Inbox3", "Inbox3", "exact"),
        ("who is on the backend team?", "Backend Team", "backend team", "exact"),
        ("who is on the backned team?", "Backend Team", "backned team", "fuzzy"),
        ("henriettas birthday", "Henrietta", "henriettas", "fuzzy"),
        ("where does jose garcia live", "José García", "jose garcia", "fuzzy"),
        ("where does jose live", "José García", "jose", "fuzzy"),
        ("what did pirya say", "Priya Raman", "pirya", "fuzzy"),
        ("the contract with Acme, Inc. ends", "Acme, Inc.", "Acme, Inc", "exact"),
    ],
)
def test_cascade(office: EntityIndex, text: str, name: str, mention: str, stage: str) -> None:
    (ref,) = office.resolve(text)
    assert (ref.name, ref.mention, ref.stage) == (name, mention, stage)
    assert ref.confidence >= SURE
    assert text[slice(*ref.span)] == mention


def test_confidence_falls_from_stage_to_stage(office: EntityIndex) -> None:
    confidences = [
        office.resolve(f"ask {text} now")[0].confidence for text in ("Priya Raman", "peeree", "priya", "henriett")
    ]
    assert confidences == sorted(confidences, reverse=True)
    assert confidences[0] >= 0.95 and confidences[1] >= 0.9
    assert sure(office, "ask carulin now") == []


@each_row(
    "text",
    ["Inbox4 is full", "inbox33", "the project is late", "which team", "priority", "kettle", "Kastrup airport", "pr 3"],
)
def test_what_only_resembles_a_name_is_not_sure(office: EntityIndex, text: str) -> None:
    assert sure(office, text) == []


def test_numbers_never_match_fuzzily() -> None:
    index = index_of("12345", "Route 66", "Model 9000")
    assert index.resolve("what about 12346") == ()
    assert sure(index, "route 65") == sure(index, "model 9001") == []


def test_the_longest_name_wins() -> None:
    index = index_of("Kestrel", "Project Kestrel", "Project Kestrel Phase Two")
    assert named(index, "status of project kestrel phase two") == ["Project Kestrel Phase Two"]
    assert named(index, "status of project kestrel phase") == ["Project Kestrel"]
    assert named(index, "status of kestrel") == ["Kestrel"]
    overlapping = index_of("Sam Ortiz", "Ortiz Data Team")
    assert sure(overlapping, "Sam Ortiz Data Team") == ["Ortiz Data Team"]


def test_a_longer_name_that_policy_refuses_leaves_the_shorter_one() -> None:
    index = index_of("Priya", "Priya Will")
    assert named(index, "ask Priya. Will it rain?") == ["Priya"]


# ambiguity


@each_row("aliases", [{}, {"Sam_Ortiz": ["Sam"], "Sam_Lee": ["Sam"]}, {"Sam_Ortiz": ["Sam"]}])
def test_two_people_called_sam_give_two_unsure_references(aliases: dict[str, list[str]]) -> None:
    index = index_of("Sam Ortiz", "Sam Lee", **aliases)
    refs = index.resolve("did Sam reply")
    assert {r.name for r in refs} == {"Sam Ortiz", "Sam Lee"}
    assert all(r.confidence < SURE and r.mention == "Sam" for r in refs)


@each_row("text", ["did Sam Ortiz reply"])
def test_the_rest_of_the_name_settles_who_is_meant(text: str) -> None:
    index = index_of("Sam Ortiz", "Sam Lee", Sam_Ortiz=["Sam"], Sam_Lee=["Sam"])
    assert named(index, text) == sure(index, text) == ["Sam Ortiz"]


def test_a_name_goes_before_the_alias_of_another() -> None:
    index = index_of("Sam", "Samuel Lee", Samuel_Lee=["Sam"])
    first, second = index.resolve("did Sam reply")
    assert first.name == "Sam" and first.confidence >= SURE > second.confidence


def test_namesakes_beyond_a_handful_identify_nobody() -> None:
    index = index_of(*(f"Priya Sur{chr(97 + i)}an" for i in range(20)))
    assert index.resolve("what did priya say") == ()


def test_a_common_word_identifies_nobody_but_a_full_name_or_its_rest_does() -> None:
    index = EntityIndex()
    for i in range(800):
        index.add(
            f"e{i:04d}", f"Priya R{'aeiou'[i % 5]}m{'abcdefghij'[i // 5 % 10]}n{'klmnopqrstuvwxyz'[i // 50 % 16]}a"
        )
    for i in range(600):
        index.add(f"f{i}", f"{'Pa' if i == 599 else 'Ka'}{chr(97 + i % 26)}{chr(97 + i // 26)}o Lindqvist")
    for text in ("what did priya say", "P. Lindqvist", "Priya Unknown"):
        assert sure(index, text) == []
    assert sure(index, "ramanka") == ["Priya Ramanka"]
    assert sure(index, "did Priya call? Ramanka, that is") == ["Priya Ramanka"]
    assert sure(index, "did ramanka priya call") == ["Priya Ramanka"]


@each_row("text", ["what did Priya Sharma say", "what did priya sharma say", "is Anil Raman here"])
def test_part_of_somebody_elses_full_name_is_not_sure(office: EntityIndex, text: str) -> None:
    assert sure(office, text) == []


def test_one_reference_per_entity_in_order_of_appearance(office: EntityIndex) -> None:
    refs = office.resolve("did henrietta tell priya that Priya Raman likes Inbox3")
    assert [r.name for r in refs] == ["Henrietta", "Priya Raman", "Inbox3"]
    assert refs[1].mention == "Priya Raman"


# ordinary words


@pytest.fixture
def ordinary() -> EntityIndex:
    return index_of("Will", "May", "Mark", "Hope", "The API", "The Who", "Will Turner", "PR")


@each_row("text",
    [
        "will it rain", "Will it rain?", "may I go", "May I go?", "I hope to mark it", "WILL IT RAIN", "Hope so.",
        "who is the one", "what is wrong with the api", "is it ok. May I?", "Will The Meeting Mark The End",
    ])  # fmt: skip
def test_ordinary_words_are_not_names(ordinary: EntityIndex, text: str) -> None:
    assert ordinary.resolve(text) == ()
    assert ordinary.mentions(text) == []


@each_row(("text", "name"),
    [
        ("what did Mark say", "Mark"), ("did you see Hope", "Hope"), ("Hope's birthday is soon", "Hope"),
        ("do you like The Who", "The Who"), ("ask will turner", "Will Turner"),
    ])  # fmt: skip
def test_ordinary_words_written_as_names_are(ordinary: EntityIndex, text: str, name: str) -> None:
    assert sure(ordinary, text) == [name]
    assert [m.entity_id for m in ordinary.mentions(text)] == [name]


def test_months_and_acronyms_are_not_sure(ordinary: EntityIndex) -> None:
    assert sure(ordinary, "what happened in May") == []
    assert sure(ordinary, "what did May say") == ["May"]
    ordinary.add("OAuth", "OAuth")
    assert [r.confidence for r in ordinary.resolve("Did I finish the OAuth PR?")] == [0.8, 0.6]


@each_row("word", ["deploying", "running", "cars", "meetings", "will", "may", "the", "api", "42", "x"])
def test_ordinary(word: str) -> None:
    assert is_ordinary(word)


@each_row("word", ["priya", "kestrel", "henrietta", "inbox3", "anna", "sam", "james", "c++", "josé"])
def test_not_ordinary(word: str) -> None:
    assert not is_ordinary(word)


# reserved spans


def test_reserved_spans_are_not_entities() -> None:
    index = index_of("May", "Priya Raman", "Kestrel")
    text = "what did Priya Raman do on Kestrel, not in May"
    assert named(index, text) == ["Priya Raman", "Kestrel", "May"]
    start = text.index("Kestrel")
    assert [r.name for r in index.resolve(text, reserved=[(len(text) - 3, len(text))])] == [
        "Priya Raman", "Kestrel",
    ]  # fmt: skip
    assert [r.name for r in index.resolve(text, reserved=[(start, start + 1), (9, 9)])] == ["Priya Raman", "May"]
    assert index.resolve(text, reserved=[(-5, 10_000)]) == ()


def test_a_name_does_not_reach_across_a_reserved_span() -> None:
    index = index_of("Priya Raman")
    assert "Priya Raman" not in {r.mention for r in index.resolve("Priya Raman", reserved=[(6, 11)])}


# scripts


@each_row(("name", "text", "mention"),
    [
        ("田中", "田中さんはどこですか", "田中"), ("東京タワー", "昨日東京タワーに行った", "東京タワー"),
        ("민수", "민수는 어디에 있어요", "민수"), ("Иван Петров", "где иван петров", "иван петров"),
        ("प्रिया", "प्रिया कहाँ है", "प्रिया"), ("Jose\u0301", "dónde está Jose\u0301?", "Jose\u0301"),
        ("C++", "do I know C++?", "C++"), ("O'Brien", "is O’Brien here", "O’Brien"), ("Zoë", "IS ZOË HERE", "ZOË"),
    ])  # fmt: skip
def test_scripts(name: str, text: str, mention: str) -> None:
    index = index_of(name, "Other Name")
    (ref,) = index.resolve(text)
    assert (ref.name, ref.mention) == (name, mention)
    assert [text[m.start : m.end] for m in index.mentions(text)] == [mention]


@each_row(("name", "text"), [("サム", "サムスンの電話"), ("민수", "김민수정"), ("林", "森林公園"), ("राम", "रमा")])
def test_a_cut_word_is_not_a_mention(name: str, text: str) -> None:
    assert index_of(name).mentions(text) == []


def test_units_keep_marks_symbols_and_single_characters() -> None:
    assert [u.word for u in units("C++ Jose\u0301 田中 node.js #1 #")] == ["c++", "josé", "田", "中", "node", "js", "1"]


# mentions


def test_mentions_are_exact_and_leave_out_misspellings(office: EntityIndex) -> None:
    text = "Priya Raman met Henrietta. Pryia Raman, priya and kestrel did not; peeree did, on Project Kestrel's day."
    found = [(m.entity_id, text[m.start : m.end]) for m in office.mentions(text)]
    assert found == [
        ("Priya Raman", "Priya Raman"), ("Henrietta", "Henrietta"), ("Priya Raman", "peeree"),
        ("Project Kestrel", "Project Kestrel"),
    ]  # fmt: skip


def test_a_shared_name_is_a_mention_only_if_the_text_says_whose() -> None:
    index = index_of("Sam Ortiz", "Sam Lee", Sam_Ortiz=["Sam"], Sam_Lee=["Sam"])
    assert index.mentions("Sam left") == []
    assert index.mentions("Sam Lee came. Sam left.") == [
        Mention(entity_id="Sam Lee", start=0, end=7),
        Mention(entity_id="Sam Lee", start=14, end=17),
    ]


# bounds


def test_trigrams_find_every_word_one_edit_away() -> None:
    index = TrigramIndex()
    for word in ("priya", "raman", "kestrel", "josefina"):
        index.add(word)
    for word in ("priya", "kestrel"):
        for i in range(len(word)):
            edits = {word[:i] + word[i + 1 :], word[:i] + "q" + word[i:], word[:i] + "q" + word[i + 1 :]}
            assert max(map(len, edits)) >= 4
            for typed in edits:
                assert len(typed) < 4 or index.similar(typed) == [(word, 1)], typed
        for i in range(len(word) - 1):
            assert index.similar(word[:i] + word[i + 1] + word[i] + word[i + 2 :]) == [(word, 1)]
    assert index.similar("josfinna") == [("josefina", 2)]
    assert index.similar("inbox") == index.similar("kes") == []


@pytest.mark.sweep(every=5)
@pytest.mark.parametrize(
    "text",
    [
        "a " * 50_000, "priya " * 16_000, "Priya Raman " * 8_000, "x" * 100_000, "\u0301" * 100_000, "क\u094d" * 50_000,
        "田中" * 50_000, "Pryia Ramam " * 8_000, "P. " * 30_000, "'s" * 50_000, "." * 100_000, "zq" * 50_000,
        " ".join(f"unknown{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}name" for i in range(6_000)),
    ],
)  # fmt: skip
def test_hostile_texts_are_read_in_bounded_time(office: EntityIndex, text: str) -> None:
    office.add("e", "田中")
    office.add("f", "priya priya priya priya priya")
    start = time.thread_time()
    office.resolve(text)
    office.mentions(text)
    assert time.thread_time() - start < 5


def test_a_name_of_a_thousand_words_can_be_looked_up() -> None:
    name = "kestrel " * 500
    index = index_of(name)
    assert index.lookup(name.upper()) == (name,)
    index.resolve(name)
    assert index.mentions("kestrel " * 40) == []


def test_readers_are_not_disturbed_by_a_writer() -> None:
    index = index_of("Priya Raman", "Project Kestrel")
    errors: list[Exception] = []
    done = threading.Event()

    def read() -> None:
        try:
            while not done.is_set():
                assert "Priya Raman" in named(index, "did Priya Raman meet Pryia Ramam or raman priya on kestrel")
                assert index.lookup("project kestrel") == ("Project Kestrel",)
                index.mentions("Project Kestrel and Priya Raman")
        except Exception as e:
            errors.append(e)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for i in range(3_000):
        index.add(f"e{i}", f"Priya Other{i % 700}", [f"Alias{i % 50}"])
    done.set()
    for reader in readers:
        reader.join()
    assert errors == []


# calibration


@pytest.fixture(scope="module")
def measure() -> ModuleType:
    path = Path(__file__).resolve().parents[3] / "scripts" / "measure_entities.py"
    spec = importlib.util.spec_from_file_location("measure_entities", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules["measure_entities"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@each_row(("size", "seed"), [(60, 1), (300, 2), (5_000, 3)])
def test_sure_references_are_right_and_most_are_found(measure: ModuleType, size: int, seed: int) -> None:
    world = measure.World(size, seed)
    index = world.index()
    by_kind = measure.quality(index, [world.case() for _ in range(1_500)])
    everything = by_kind["all"]
    assert everything.sure > 400
    assert everything.precision >= 0.97
    assert everything.recall >= 0.90
    assert everything.recall_any >= 0.97
    assert by_kind["typo_in_several"].recall >= 0.85
    assert by_kind["nobody"].sure == 0


def test_resolve_stays_fast_with_many_names(measure: ModuleType) -> None:
    world = measure.World(10_000, 5)
    index = world.index()
    median, _ = measure.latency(index, [world.case() for _ in range(300)])
    assert median < 3  # ms; ten times the target, for slow machines


def test_similar_words_are_found_anew_when_one_has_come() -> None:
    index = TrigramIndex()
    index.add("kestrel")
    assert index.similar("kestral") == [("kestrel", 1)] == index.similar("kestral")
    index.add("kestran")
    assert index.similar("kestral") == [("kestran", 1), ("kestrel", 1)]
    assert index.similar("kestral", limit=1) == [("kestran", 1)]
