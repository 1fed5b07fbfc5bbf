"""What is read in Thai: question words are no keywords; all else stays unread."""

from __future__ import annotations

from datetime import datetime, timezone

from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.frameworks.given import SCORE_MIN
from recall_integrations.query.by_table.cues import no_keywords
from recall_integrations.query.by_table.negation import find_negations
from recall_integrations.query.temporal import parse_window
from tests.rows import each_row

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
NOTES = (
    "กุญแจบ้านอยู่ในลิ้นชักห้องครัว",
    "แมวของฉันชื่อมะลิ",
    "นัดหมอฟันวันศุกร์ตอนบ่ายสาม",
    "สมชายชอบกินส้มตำปูปลาร้า",
    "จอดรถไว้ที่ชั้นสี่ของห้าง",
)


@each_row(
    ("text", "asking"),
    [
        ("แมวชื่ออะไร", ["อะไร"]),
        ("แมวชื่ออะไรครับ", ["อะไร", "ครับ"]),
        ("กุญแจบ้านอยู่ที่ไหน", ["อยู่ที่ไหน"]),
        ("ใครชอบกินส้มตำ", ["ใคร"]),
        ("นัดหมอกี่โมง", ["กี่โมง"]),
        ("สมชายชอบอะไรบ้าง", ["อะไรบ้าง"]),
        ("ไปกรุงเทพเมื่อไหร่", ["เมื่อไหร่"]),
        ("ทำไมถึงย้ายบ้าน", ["ทำไมถึง"]),
        # words that only hold one
        ("เรื่องที่เกี่ยวกับแมว", []),
        ("ฉันทำไม่ได้", []),
        ("ผ้าไหมสีแดง", []),
        ("คะแนนสอบ", []),
        ("เขาบ้างานมาก", []),
        ("ทีมที่ชนะ", []),
    ],
)
def test_question_words(text: str, asking: list[str]) -> None:
    assert [text[start:end] for start, end in no_keywords(text, "th")] == asking


@each_row(
    ("query", "place"),
    [
        ("แมวชื่ออะไร", 1),
        ("กุญแจบ้านอยู่ที่ไหน", 0),
        ("สมชายชอบกินอะไร", 3),
        ("นัดหมอฟันเมื่อไหร่", 2),
        ("จอดรถไว้ชั้นไหน", 4),
        ("ใครชอบกินส้มตำ", 3),
        ("รถอยู่ที่ไหน", 4),
    ],
)
def test_a_question_finds_its_note_and_is_sure(query: str, place: int) -> None:
    with MemoryStore.open() as store:
        store.remember_many(NOTES)
        result = QueryOptimizer(store).recall(query)
        assert result.query.language == "th"
        assert result.hits[0].memory.text == NOTES[place]
        assert result.hits[0].score >= SCORE_MIN  # a model is shown it
        assert result.hits[0].score > 10 * result.hits[1].score
        assert result.query.unread == ("dates", "negation", "person", "types", "sessions")


def test_dates_in_words_and_negation_are_not_guessed() -> None:
    assert parse_window("เมื่อวานทำอะไร", NOW, language="th") is None  # yesterday
    assert find_negations("ใครชอบกินอะไร ยกเว้นสมชาย", "th") == ()  # except
    window = parse_window("นัดหมอวันที่ 2023-05-08 กี่โมง", NOW, language="th")
    assert window is not None and window.start == datetime(2023, 5, 8, tzinfo=timezone.utc)
