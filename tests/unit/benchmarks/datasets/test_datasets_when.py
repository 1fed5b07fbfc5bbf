from __future__ import annotations

import json
from collections import Counter

import pytest

from benchmarks.datasets.loading import DATASETS, load
from benchmarks.datasets.locomo_when import NAME, load_locomo_when, short_ordinal

DATES = ["10:00 am on 8 May, 2022", "11:00 am on 8 May, 2023", "9:05 pm on 9 May, 2023", "10:00 am on 3 June, 2023"]


@pytest.fixture
def file(tmp_path):
    talk = {"speaker_a": "Ann", "speaker_b": "Bo"}
    for n, date in enumerate(DATES, start=1):
        talk[f"session_{n}_date_time"] = date
        talk[f"session_{n}"] = [
            {"dia_id": f"D{n}:{i}", "speaker": ("Ann", "Bo")[i % 2], "text": f"Turn {i}"} for i in range(1, 4)
        ]
    qa = [
        {"question": "What does Ann paint?", "evidence": ["D3:2"], "category": 4},
        {"question": "What did Bo eat in May?", "evidence": ["D3:1"], "category": 4},
    ]
    path = tmp_path / "locomo10.json"
    path.write_text(json.dumps([{"sample_id": "conv-1", "conversation": talk, "qa": qa}]), encoding="utf-8")
    return path


def test_questions_ask_for_their_turns(file):
    questions = {q.text: q for q in load_locomo_when(file).questions}
    of_session = {n: tuple(f"D{n}:{i}" for i in range(1, 4)) for n in range(1, 5)}
    assert questions["What did we talk about two sessions ago?"].relevant == of_session[3]
    assert questions["What did we discuss in our last session?"].relevant == of_session[4]
    month = next(q for q in questions.values() if "May 2023" in q.text and "8" not in q.text and "9" not in q.text)
    assert month.relevant == of_session[2] + of_session[3]
    assert questions["In our third session, what does Ann paint?"].relevant == ("D3:2",)
    assert not any("Bo eat" in text for text in questions)
    assert {q.asked_at.date().isoformat() for q in questions.values() if q.asked_at} == {"2023-06-04"}


def test_a_day_without_a_year_is_its_last_one(file):
    asked = [q for q in load_locomo_when(file).questions if q.category == "date" and "20" not in q.text]
    assert asked and not any("D1:1" in q.relevant for q in asked)


def test_it_is_deterministic_and_has_all_categories(file):
    one, other = load_locomo_when(file), load_locomo_when(file)
    assert one == other
    assert set(Counter(q.category for q in one.questions)) == {"date", "ordinal", "relative", "content"}
    assert len({q.id for q in one.questions}) == len(one.questions)


def test_quality_knows_it(file):
    assert load(file, NAME).name == NAME and NAME in DATASETS


def test_short_ordinals():
    assert [short_ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 22, 101, 111)] == (
        "1st 2nd 3rd 4th 11th 12th 13th 21st 22nd 101st 111th".split()
    )
