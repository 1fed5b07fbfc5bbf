"""A query in a language with tables, as the parser and what comes after it take it."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import datetime, timezone

import numpy as np
import pytest
from rich.console import Console

from recall_integrations.config import RecallConfig
from recall_integrations.console.explain import explain
from recall_integrations.delivery.as_data import dumps, explanation_data
from recall_integrations.errors import InvalidArgument
from recall_integrations.languages import READ, SECTIONS, tables
from recall_integrations.planning.planner import make_plan
from recall_integrations.query.by_table import cues, negation, person, sessions
from recall_integrations.query.by_table.wording import Together, Wording, listed
from recall_integrations.query.findings import ScopeKnowledge
from recall_integrations.query.parser import QueryParser
from recall_integrations.ranking.arranging.moves import demote, negation_scores
from recall_integrations.text import stem
from recall_integrations.types import EntityRef, MemoryType, ParsedQuery, Scope
from recall_integrations.types.query import NEGATED, SESSION
from recall_integrations.types.roles import Role
from tests.rows import each_row

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
CONFIG = RecallConfig()
PARSER = QueryParser(CONFIG)
USER = EntityRef(entity_id="u", name="Henrike", mention="", span=(0, 0), confidence=1.0, stage="implicit")


def parse(text: str, language: str | None, *, assistant: bool = False) -> ParsedQuery:
    known = ScopeKnowledge(user=USER, assistant=assistant)
    parsed, degraded = PARSER.parse(text, NOW, known, language=language)
    assert degraded == ()
    return parsed


def _shown(parsed: ParsedQuery) -> str:
    out = Console(file=io.StringIO(), width=120, highlight=False)
    explain(out, parsed, make_plan(parsed, CONFIG), config=CONFIG)
    assert isinstance(out.file, io.StringIO)
    return out.file.getvalue()


def test_english_is_what_is_taken_without_a_language() -> None:
    text = "what did I tell you in our first session, not about Python?"
    plain, _ = PARSER.parse(text, NOW, ScopeKnowledge())
    assert plain == PARSER.parse(text, NOW, ScopeKnowledge(), language="en")[0]
    assert plain.language == "en"
    assert plain.unread == ()
    assert plain.negations == ("Python",)


def test_all_readings_of_a_german_question() -> None:
    parsed = parse("Was habe ich dir in unserer ersten Sitzung über meine Chefin gesagt, außer zu Berlin?", "de")
    assert parsed.negations == ("Berlin",)
    assert parsed.asked_role is Role.USER
    assert parsed.session is not None
    assert parsed.session.places == (1,)
    assert "manager_of" in parsed.predicate_hints
    assert parsed.language == "de"
    assert [r.mention for r in parsed.entity_refs] == ["ich"]
    by_role = {
        role: [parsed.original[slice(*t.span)] for t in parsed.tokens if role in t.roles] for role in (NEGATED, SESSION)
    }
    assert by_role == {NEGATED: ["außer", "zu", "Berlin"], SESSION: ["unserer", "ersten", "Sitzung"]}
    assert not {"berlin", "sitzung", "was"} & set(parsed.terms)


def test_what_asks_the_assistant_does_not_anchor_the_user() -> None:
    parsed = parse("Welches Hotel hast du mir empfohlen?", "de", assistant=True)
    assert parsed.asked_role is Role.ASSISTANT
    assert [r.mention for r in parsed.entity_refs] == [""]


@each_row(
    ("code", "text", "kept", "dropped"),
    [
        ("de", "Wann war die Hochzeit?", {"hochzeit"}, {"wann", "war"}),
        ("es", "¿Dónde está la bicicleta?", {"bicicleta"}, {"dónd", "dónde"}),
        ("ru", "Когда была свадьба?", {"свадьба"}, {"когда"}),
        ("zh", "婚礼是什么时候？", {"婚礼"}, {"什么", "时候", "么时"}),
        ("ko", "결혼식은 언제야?", {"결혼"}, {"언제"}),
        ("fr", "Pouvez-vous me dire où est le vélo ?", {"vélo"}, {"où"}),
    ],
)
def test_question_words_are_no_keywords(code: str, text: str, kept: set[str], dropped: set[str]) -> None:
    terms = set(parse(text, code).terms)
    assert {stem(word, code) for word in kept} <= terms
    assert not ({stem(word, code) for word in dropped} | dropped) & terms


@each_row(
    ("code", "text", "kept", "dropped"),
    [
        ("zh", "上周二我们在公园做了些什么？", {"公园"}, {"做了", "做", "些", "我们"}),
        ("zh", "我用吉他做了什么？", {"吉他"}, {"做了"}),
        ("zh", "谁做了蛋糕？", {"蛋糕", "做了"}, set()),
        ("ja", "昨日京都で何をしましたか", {"京都"}, {"しま", "まし", "をし"}),
        ("ja", "旅行の話をしました", {"旅行", "しま"}, set()),
        ("ko", "어제 서울에서 뭐 했어?", {"서울"}, {"했어"}),
        ("de", "Was hat Anna in Wien gemacht?", {"wien"}, {"gemacht"}),
        ("de", "Wer hat den Kuchen gemacht?", {"kuchen", "gemacht"}, set()),
        ("es", "¿Qué hizo Ana en Roma?", {"roma"}, {"hizo"}),
        ("hi", "मैंने दिल्ली में क्या किया?", {"दिल्ली"}, {"किया", "मैंने"}),
    ],
)
def test_what_was_done_is_no_keyword_where_it_is_asked(code: str, text: str, kept: set[str], dropped: set[str]) -> None:
    terms = set(parse(text, code).terms)
    assert {stem(word, code) for word in kept} <= terms
    assert not {stem(word, code) for word in dropped} & terms


@each_row(
    ("code", "text", "kept"),
    [
        ("zh", "上周二的会议", {"会议"}),
        ("ja", "先週の火曜日の会議", {"会議"}),
        ("ko", "지난주 화요일 회의", {"회의"}),
        ("zh", "去年夏天的会议", {"会议", "夏天"}),
    ],
)
def test_pairs_of_a_date_from_now_are_no_keywords(code: str, text: str, kept: set[str]) -> None:
    terms = set(parse(text, code).terms)
    assert kept <= terms
    assert not terms & {"上周", "周二", "二的", "火曜", "曜日", "週の", "난주", "화요", "요일", "去年"}


def test_a_question_of_nothing_else_keeps_its_words() -> None:
    assert parse("Wann?", "de").terms == ("wann",)


@each_row(
    ("code", "text", "memories"),
    [
        ("de", "Was plane ich außer Berlin?", ["Reise nach Berlin", "Reise nach Wien"]),
        ("es", "¿Qué viajes excepto Sevilla?", ["Viaje a Sevilla", "Viaje a Granada"]),
        ("zh", "除了杭州，我还去过哪里？", ["我去过杭州", "我去过成都"]),
        ("ja", "京都以外の旅行は？", ["京都旅行", "大阪旅行"]),
    ],
)
def test_what_is_left_out_goes_down(code: str, text: str, memories: list[str]) -> None:
    parsed = parse(text, code)
    assert parsed.negations
    order = demote(np.array([1.0, 0.5]), negation_scores(memories, parsed.negations), 0.3).order
    assert list(order) == [1, 0]


@each_row(
    ("code", "text", "bias"),
    [
        ("de", "Wer leitet das Projekt?", "graph"),
        ("es", "¿Qué hay de nuevo?", "time"),
        ("ru", "Что случилось недавно?", "time"),
        ("zh", "谁负责这个项目？", "graph"),
    ],
)
def test_intents_bias_the_router(code: str, text: str, bias: str) -> None:
    router = parse(text, code).router
    assert (router.graph_bias, router.time_bias) == (bias == "graph", bias == "time")
    assert not parse(text, "tlh").router.graph_bias


def test_preferences_may_filter() -> None:
    parsed = parse("¿Cuáles son mis preferencias?", "es")
    assert parsed.type_filters == (MemoryType.PREFERENCE,)
    assert parsed.features.type_cues == 0.6


@each_row(
    ("code", "text"),
    [
        ("de", "Worüber haben wir in unserer dritten Sitzung gesprochen?"),
        ("es", "¿De qué hablamos en nuestra tercera conversación?"),
        ("fr", "De quoi avons-nous parlé lors de notre troisième conversation ?"),
        ("it", "Di cosa abbiamo parlato nella nostra terza conversazione?"),
        ("zh", "我们第三次谈话聊了什么？"),
        ("ru", "О чём мы говорили в нашем третьем разговоре?"),
        ("ko", "우리 세 번째 대화에서 무슨 얘기를 했지?"),
        ("hi", "हमारी तीसरी बातचीत में हमने क्या बात की?"),
    ],
)
def test_the_talk_of_a_session_is_asked_for(code: str, text: str) -> None:
    assert parse(text, code).talk == "all"


def test_a_session_that_is_left_out_is_not_asked_for() -> None:
    assert parse("Was hast du empfohlen, außer in unserer ersten Sitzung?", "de").session is None


def test_where_there_are_no_tables_the_query_says_so() -> None:
    parsed = parse("Was habe ich dir gesagt, außer Berlin?", "tlh")
    assert parsed.unread == SECTIONS
    assert (parsed.negations, parsed.asked_role, parsed.session) == ((), None, None)
    shown = _shown(parsed)
    assert "not read" in shown
    assert "dates, negation, person" in shown
    assert "tlh" in shown


def test_what_cannot_be_told_is_read_as_english() -> None:
    parsed = parse("What did I say, except Berlin?", None)
    assert (parsed.language, parsed.unread, parsed.negations) == ("en", (), ("Berlin",))


def test_explanations_name_the_language() -> None:
    german = replace(parse("Was habe ich gesagt?", "de"), unread=("dates",))
    assert "German" in _shown(german)
    assert "not read" in _shown(german)
    assert "language" not in _shown(parse("what did I say?", "en"))
    data = json.loads(dumps(explanation_data(german, make_plan(german, CONFIG), Scope(), asked=())))
    assert data["parsed"]["language"] == "de"
    assert data["parsed"]["unread"] == ["dates"]


# -- tables ----------------------------------------------------------------------------------------------------------

_LISTS = {
    "negation": negation.words_of,
    "person": person.words_of,
    "questions": cues.questions_of,
    "types": cues.types_of,
    "sessions": sessions.words_of,
}


@each_row(
    ("code", "section"),
    [
        ("en", "person"),
        ("en", "sessions"),
        ("en", "types"),
        *((code, name) for name in _LISTS for code in READ if tables(code).sections[name]),
    ],
)
def test_every_phrase_of_every_table_can_be_read(code: str, section: str) -> None:
    words = _LISTS[section](code)
    lists = [
        n
        for n in words.section
        if n not in ("words", "ordinals", "numbers", "relations", "intents", "spaces", "capitals")
    ]
    assert all(words.phrases(name) for name in lists)
    for name in lists:
        assert words.pattern(name) is not None


def test_an_entry_that_no_reader_asks_for_is_an_error() -> None:
    with pytest.raises(InvalidArgument, match=r"xx.*exept.*known: .*except"):
        Wording({"exept": ["außer"]}, ("except", "without"), "xx")


def test_of_lists_that_are_read_together_the_first_is_found_at_a_place() -> None:
    lists = Together(("asked", "told", "i"), frozenset(["told"]), small=True)
    words = Wording({"asked": ["did i say"], "told": ["i was told"], "i": ["i"]}, (), "xx", together=[lists])
    text = "Did I say what I was told?"
    assert [(name, text[slice(*match.span())]) for name, match in words.each(lists, text)] == [
        ("asked", "Did I say"),
        ("i", "I"),
        ("told", "I was told"),
    ]
    with pytest.raises(InvalidArgument, match=r"'\(i' of a table"):
        Wording({"i": ["(i"]}, (), "xx", together=[lists]).prepare()


def test_lists_are_texts_or_lists() -> None:
    assert listed("a b", "x") == ["a", "b"]
    assert listed("a b; c", "x") == ["a b", "c"]
    assert listed(["a  b"], "x") == ["a b"]
    assert listed("(a|b) c", "x") == ["(a|b) c"]
    with pytest.raises(InvalidArgument, match="x must be a list"):
        listed({"a": 1}, "x")
    with pytest.raises(InvalidArgument, match="x must be a list"):
        listed([1], "x")
