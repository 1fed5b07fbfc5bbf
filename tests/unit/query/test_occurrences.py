"""Which queries ask for the first or the last time of something, and for the past, in languages with tables."""

from __future__ import annotations

from datetime import datetime, timezone

from recall_integrations.config import RecallConfig
from recall_integrations.languages import READ, tables
from recall_integrations.query.by_table.cues import FIRST, LAST, Tense, behind_before, occurrence_asked, tense_of
from recall_integrations.query.findings import ScopeKnowledge
from recall_integrations.query.parser import QueryParser
from recall_integrations.query.temporal import parse_window
from recall_integrations.types.query import SessionRef
from tests.rows import each_row

NOW = datetime(2026, 6, 20, 9, tzinfo=timezone.utc)


@each_row(
    ("language", "text", "asked"),
    [
        ("en", "When did I first sail to Hvar?", FIRST),
        ("en", "what was the original rent", FIRST),
        ("en", "last time the boiler failed", LAST),
        ("en", "my most recent blood test", LAST),
        ("en", "What is Nadia's last name?", None),
        ("en", "the first and the last lesson", None),
        ("en", "What did I pay last week?", None),
        ("en", "How often did I sail to Hvar?", None),
        ("de", "Wann bin ich zum ersten Mal nach Hvar gesegelt?", FIRST),
        ("de", "Wann war ich zuletzt beim Zahnarzt?", LAST),
        ("de", "Was habe ich letzte Woche bezahlt?", None),
        ("es", "¿Cuándo fue la primera vez que fui a Hvar?", FIRST),
        ("es", "¿Cuándo regué las plantas por última vez?", LAST),
        ("fr", "C'était quand, mon premier cours de yoga ?", FIRST),
        ("fr", "la dernière fois que j'ai arrosé les plantes", LAST),
        ("it", "Quando ho corso per la prima volta?", FIRST),
        ("it", "l'ultima volta che ho annaffiato le piante", LAST),
        ("pt", "Quando foi a minha primeira aula de ioga?", FIRST),
        ("pt", "a última vez que reguei as plantas", LAST),
        ("ru", "Когда я впервые бегал?", FIRST),
        ("ru", "Когда я в последний раз поливал цветы?", LAST),
        ("ja", "最初のヨガのレッスンはいつでしたか", FIRST),
        ("ja", "最後に植物に水をやったのはいつ", LAST),
        ("ko", "처음으로 달린 날은 언제야?", FIRST),
        ("ko", "마지막으로 화분에 물 준 날은?", LAST),
        ("hi", "मैंने पहली बार योग कब किया?", FIRST),
        ("hi", "आखिरी बार पौधों को पानी कब दिया?", LAST),
        ("zh", "我第一次跑步是什么时候？", FIRST),
        ("zh", "上次浇花是什么时候？", LAST),
        ("pl", "Kiedy po raz pierwszy?", None),  # no tables
    ],
)
def test_what_is_asked(language: str, text: str, asked: str | None) -> None:
    window = parse_window(text, NOW, language=language)
    found = occurrence_asked(text, language, window)
    assert (None if found is None else LAST if found.last else FIRST) == asked
    assert found is None or found.words


def test_the_words_of_a_session_ask_for_no_time_of_something() -> None:
    text = "When did I first mention Hvar in our last session?"
    session = SessionRef(places=(-1,), span=(text.index("our"), len(text) - 1))
    assert occurrence_asked(text, "en", None) is None  # the first and the last
    found = occurrence_asked(text, "en", None, session)
    assert found is not None and not found.last
    assert occurrence_asked("Our last session", "en", None, SessionRef(places=(-1,), span=(0, 16))) is None


def test_every_language_that_reads_types_has_the_words() -> None:
    for code in READ:
        types = tables(code).sections["types"]
        assert not types or {"first", "last"} <= set(types), code


@each_row(
    ("language", "text", "past", "span"),
    [
        ("en", "Where does Nadia live?", False, False),
        ("en", "Where did Nadia live before Hvar?", True, False),
        ("en", "what was the rent", True, False),
        ("en", "where I used to work", True, False),
        ("en", "all addresses of Nadia", False, True),
        ("en", "When did I first sail to Hvar?", True, True),
        (None, "what was the rent", True, False),
        ("de", "Wo wohnt Nadia?", False, False),
        ("de", "Wo hat Nadia früher gewohnt?", True, False),
        ("de", "Wie hoch war die Miete?", True, False),
        ("de", "Wann bin ich zum ersten Mal nach Hvar gesegelt?", False, True),
        ("es", "¿Dónde vive Nadia?", False, False),
        ("es", "¿Cuánto era el alquiler?", True, False),
        ("es", "¿Dónde vivía Nadia antes?", True, False),
        ("es", "¿Cuándo regué las plantas por última vez?", False, True),
        ("pl", "Gdzie mieszka Nadia?", False, False),  # no tables
    ],
)
def test_which_time_is_asked_for(language: str | None, text: str, past: bool, span: bool) -> None:
    assert tense_of(text, language) == Tense(past=past, span=span)


@each_row(
    ("language", "text", "behind"),
    [
        ("en", "Which editor did I use before Helix?", {"helix"}),
        ("en", "Before Helix, which editor did I use?", {"helix"}),
        ("en", "what was the alarm code before it was changed?", {"chang"}),
        ("en", "who led the choir until Ines came", {"ine", "come"}),
        ("en", "what was the rent before the rent went up", {"go"}),
        ("en", "what was there before?", set()),
        ("en", "before lunch", set()),
        ("en", "which editor do I use", set()),
        ("de", "Wo habe ich gewohnt, bevor ich nach Linz gezogen bin?", {"linz", "gezog"}),
        ("es", "¿Dónde vivía antes de Linares?", {"linar"}),
        ("de", "Was steht vor dem Haus?", set()),  # where, not when
        ("de", "Wie weit ist es bis Köln?", set()),
        ("es", "¿Cuánto se tarda hasta Sevilla?", set()),
        ("fr", "Combien de temps jusqu'à Lyon ?", set()),
        ("it", "Quanto ci vuole fino a Roma?", set()),
        ("pt", "Quanto tempo leva até Lisboa?", set()),
        ("ru", "Что стоит перед домом?", set()),
        ("ru", "Сколько ехать до вокзала?", set()),
    ],
)
def test_what_stands_behind_before_is_not_asked_for(language: str, text: str, behind: set[str]) -> None:
    query, _ = QueryParser(RecallConfig()).parse(text, NOW, ScopeKnowledge(), language=language)
    assert behind_before(query) == behind
