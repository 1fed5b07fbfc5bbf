from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from recall_integrations import Memory, Relation
from recall_integrations.adapters.extractor import CallableExtractor, GlinerExtractor, SpacyExtractor, resolve_extractor
from recall_integrations.errors import InvalidArgument
from recall_integrations.extraction import PATTERNS, Extracted, RelationPattern, RuleExtractor

TEXT_200 = (
    "Yesterday Priya Raman met Sam at Acme to talk about Project Kestrel. Sam works on Inbox3, and he reports to Ana "
    "Lopez since March. She said that the launch slipped by a week because the vendor"
)


def _labelled() -> ModuleType:
    path = Path(__file__).with_name("labelled.py")
    spec = importlib.util.spec_from_file_location("labelled_extraction", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LABELLED = _labelled()


def names(text: str, **fields: object) -> set[str]:
    return {e.name for e in RuleExtractor().extract(Memory(text, **fields)).entities}  # type: ignore[arg-type]


def triples(text: str, **fields: object) -> set[tuple[str, str, str]]:
    found = RuleExtractor().extract(Memory(text, **fields)).relations  # type: ignore[arg-type]
    return {(r.subject, r.predicate, r.object) for r in found}


@pytest.mark.parametrize(("lines", "entity_recall", "relation_recall"), [("ROWS", 0.95, 0.95), ("LATER", 0.85, 0.8)])
def test_precision_on_labelled_sentences(lines: str, entity_recall: float, relation_recall: float) -> None:
    extractor = RuleExtractor()
    right = given = gold = right_edges = given_edges = gold_edges = 0
    rows = LABELLED.labelled(getattr(LABELLED, lines))
    for text, wanted, edges in rows:
        found = extractor.extract(Memory(text, actor="A"))
        mine = {e.name for e in found.entities if e.kind != "date"}
        mine_edges = {(r.subject, r.predicate, r.object) for r in found.relations}
        right, given, gold = right + len(mine & wanted), given + len(mine), gold + len(wanted)
        right_edges += len(mine_edges & edges)
        given_edges, gold_edges = given_edges + len(mine_edges), gold_edges + len(edges)
    assert right / given >= 0.9
    assert right_edges / given_edges >= 0.95
    assert right / gold >= entity_recall
    assert right_edges / gold_edges >= relation_recall


def test_there_are_enough_labelled_sentences() -> None:
    assert len(LABELLED.ROWS) >= 120
    assert len(LABELLED.LATER) >= 50


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("We met Dr. Weiss.", "Weiss", "person"),
        ("Acme Inc paid.", "Acme Inc", "organisation"),
        ("We paused Project Kestrel.", "Project Kestrel", "project"),
        ("Ask the Platform team.", "Platform team", "organisation"),
        ("It runs on Inbox3.", "Inbox3", "product"),
        ("Fixed by ABC-123.", "ABC-123", "identifier"),
        ("Fixed by #1234.", "#1234", "identifier"),
        ("Write to a.b@example.org.", "a.b@example.org", "identifier"),
        ("Due on 2026-03-01.", "2026-03-01", "date"),
        ("Due on March 3rd, 2026.", "March 3rd, 2026", "date"),
        ("Dana works at Initech.", "Initech", "organisation"),
        ("Bo lives in Lisbon.", "Lisbon", "place"),
    ],
)
def test_kinds(text: str, name: str, kind: str) -> None:
    found = {e.name: e for e in RuleExtractor().extract(Memory(text)).entities}
    assert found[name].kind == kind
    start, end = found[name].span
    assert text[start:end] == name


def test_a_name_is_given_once_with_its_first_span() -> None:
    found = RuleExtractor().extract(Memory("I met Priya. Then Priya left, and Priya's dog too."))
    assert [(e.name, e.span) for e in found.entities] == [("Priya", (6, 11))]


def test_a_short_name_means_the_longer_one_that_the_text_uses() -> None:
    assert names("We met Priya Raman. Later Priya called.") == {"Priya Raman"}
    assert triples("We met Priya Raman. Priya reports to Sam.") == {("Priya Raman", "reports_to", "Sam")}
    assert "Priya" in names("We met Priya Raman and Priya Shah. Later we saw Priya again.")


def test_declared_names_win() -> None:
    assert names("I met Priya Raman.", entities=["Priya"]) == set()
    assert names("I met Priya.", entities=["Priya Raman"]) == set()
    assert triples("Priya Raman reports to Sam.", entities=["Priya", "Sam"]) == {("Priya", "reports_to", "Sam")}
    assert triples("billing service depends on ledger store", entities=["billing service", "ledger store"]) == {
        ("billing service", "depends_on", "ledger store")
    }


def test_an_ordinary_declared_name_has_to_be_written_large() -> None:
    assert triples("will works at Initech.", entities=["Will"]) == set()
    assert triples("Will works at Initech.", entities=["Will"]) == {("Will", "works_at", "Initech")}


def test_declared_relations_are_not_given_again() -> None:
    declared = [Relation("Priya", "reports_to", "Sam")]
    assert triples("Priya reports to Sam.", relations=declared) == set()


def test_first_person_needs_an_actor() -> None:
    assert triples("I report to Priya.") == set()
    assert triples("I report to Priya.", actor="Zoe") == {("Zoe", "reports_to", "Priya")}
    assert triples('She said "I report to Priya" to us.', actor="Zoe") == set()
    assert triples("Priya manages me.", actor="Zoe") == {("Priya", "manager_of", "Zoe")}
    assert triples("Priya is my boss.", actor="Zoe") == {("Priya", "manager_of", "Zoe")}


def test_an_entity_of_the_wrong_kind_makes_no_relation() -> None:
    assert triples("Priya reports to Acme Inc.") == set()
    assert triples("Acme Inc lives in Berlin.") == set()
    assert triples("Tom works for Mr. Brown.") == set()


def test_weak_names_are_returned_on_request() -> None:
    weak = RuleExtractor(confidence_min=0.5).extract(Memory("We pay with Apple here."))
    assert [(e.name, e.confidence) for e in weak.entities] == [("Apple", 0.5)]
    assert names("We pay with Apple here.") == set()


def test_the_number_of_entities_is_bounded_and_relations_keep_their_ends() -> None:
    text = "We met " + " and ".join(f"Zorb{chr(97 + i)}a" for i in range(26)) + ". Quaxo reports to Blimvo."
    found = RuleExtractor(entities_max=3).extract(Memory(text))
    assert len(found.entities) == 3
    assert {"Quaxo", "Blimvo"} <= {e.name for e in found.entities}


def test_patterns_can_be_added() -> None:
    row = RelationPattern(predicate="mentors", phrase="X {mentors|mentor} Y", subject_kind="person")
    found = RuleExtractor(patterns=(*PATTERNS, row)).extract(Memory("Priya mentors Tom."))
    assert [(r.subject, r.predicate, r.object) for r in found.relations] == [("Priya", "mentors", "Tom")]


@pytest.mark.parametrize("phrase", ["Y likes X", "X likes", "X Y", "X and X and Y", "X only? Y"])
def test_patterns_that_cannot_be_read(phrase: str) -> None:
    with pytest.raises(InvalidArgument):
        RuleExtractor(patterns=(RelationPattern(predicate="p", phrase=phrase),))


@pytest.mark.parametrize("arguments", [{"confidence_min": 1.5}, {"confidence_min": True}, {"entities_max": -1}])
def test_arguments_are_checked(arguments: dict[str, float]) -> None:
    with pytest.raises(InvalidArgument):
        RuleExtractor(**arguments)  # type: ignore[arg-type]


class FakeSpacy:
    pipe_names = ("ner",)

    def __call__(self, text: str) -> SimpleNamespace:
        rows = [("Priya", "PERSON"), ("Initech's", "ORG"), ("German", "NORP")]
        ents = [
            SimpleNamespace(text=t, label_=label, start_char=text.find(t), end_char=text.find(t) + len(t))
            for t, label in rows
            if t in text
        ]
        return SimpleNamespace(ents=ents)


class FakeGliner:
    def predict_entities(self, text: str, labels: list[str]) -> list[dict[str, object]]:
        assert "person" in labels
        at = text.index("priya")
        return [
            {"text": "priya", "label": "Person", "start": at, "end": at + 5, "score": 0.9},
            {"text": "x", "label": "person", "start": 0, "end": 1, "score": 0.1},
        ]


def test_resolve_extractor() -> None:
    assert resolve_extractor(None) is None and resolve_extractor(False) is None  # nothing means nothing
    assert isinstance(resolve_extractor("rules"), RuleExtractor)
    mine = RuleExtractor()
    assert resolve_extractor(mine) is mine
    assert isinstance(resolve_extractor(FakeSpacy()), SpacyExtractor)
    assert isinstance(resolve_extractor(FakeGliner()), GlinerExtractor)
    assert isinstance(resolve_extractor(lambda text: []), CallableExtractor)


@pytest.mark.parametrize("source", [True, 3, "en_core_web_sm", RuleExtractor, [], object()])
def test_resolve_extractor_refuses_the_rest(source: object) -> None:
    with pytest.raises(InvalidArgument, match="no extractor"):
        resolve_extractor(source)


def test_spacy_entities_and_relations() -> None:
    found = SpacyExtractor(FakeSpacy()).extract(Memory("The German office is Initech's; Priya reports to Tom."))
    assert [(e.name, e.kind) for e in found.entities] == [("Initech", "organisation"), ("Priya", "person")]
    assert found.relations == ()  # Tom is not among spaCy's entities
    stated = SpacyExtractor(FakeSpacy()).extract(Memory("Priya reports to Tom.", entities=["Tom"]))
    assert stated.relations == (Relation("Priya", "reports_to", "Tom", 0.9),)


def test_gliner_entities() -> None:
    found = GlinerExtractor(FakeGliner()).extract(Memory("ask priya"))
    assert [(e.name, e.kind, e.span) for e in found.entities] == [("priya", "person", (4, 9))]


def test_callable_gives_names_or_pairs() -> None:
    function = CallableExtractor(lambda text: ["Kestrel", ("Priya", "person"), "Robert Smith", "", "a\x00b", "x" * 999])
    found = function.extract(Memory("Priya paused Kestrel for Bob.", entities=["kestrel"]))
    assert {(e.name, e.kind, e.span) for e in found.entities} == {
        ("Priya", "person", (0, 5)),
        ("Robert Smith", "name", (0, 0)),
    }


@pytest.mark.parametrize("given", ["Priya", None, [("Priya",)], [3]])
def test_callable_that_gives_something_else(given: object) -> None:
    with pytest.raises(InvalidArgument):
        CallableExtractor(lambda text: given).extract(Memory("hi"))  # type: ignore[arg-type, return-value]


def test_the_same_text_gives_the_same_answer() -> None:
    memory = Memory(TEXT_200, actor="Zoe")
    assert RuleExtractor().extract(memory) == RuleExtractor().extract(memory) != Extracted()


def test_a_text_of_thirty_words_costs_a_few_thousand_steps(steps: Callable[..., int]) -> None:
    extractor, memory = RuleExtractor(), Memory(TEXT_200)
    extractor.extract(memory)  # what is loaded once is not counted
    assert 0 < steps(lambda: extractor.extract(memory)) < 6_000


@pytest.mark.parametrize(
    "unit",
    [
        "Aaaa ",
        "Priya reports to Sam. ",
        "Sam, ",
        "A. ",
        "a'",
        "á",
        "#",
        "`",
        "a@",
        "Bank of ",
        "my boss Priya ",
        "\n# A",
    ],
)
def test_linear_on_hostile_text(unit: str, linear: Callable[..., None]) -> None:
    extractor = RuleExtractor()
    linear(lambda text: extractor.extract(Memory(text, actor="Zoe")), unit, whole=100_000)


@pytest.mark.parametrize(
    "text", ["Prioritization helps. It is a habit.", "Consolidation went well", "Switching is easy. Everything moved"]
)
def test_a_word_that_begins_a_sentence_and_is_made_of_others_is_no_name(text: str) -> None:
    assert names(text) == set()


def test_within_a_sentence_it_may_be_one() -> None:
    assert names("we listened to it on Audible yesterday") == {"Audible"}
