"""Dates in Korean."""

from __future__ import annotations

from collections.abc import Callable

from tests.rows import each_row

# A question | the first day that it speaks of..the first day after; asked on 17 June 2026, a Wednesday.
READ = """
어제 오후에 무슨 일이 있었어? | 2026-06-16..2026-06-17
지난주 화요일에 뭐 했어? | 2026-06-09..2026-06-10
3주 전에 뭐 샀어? | 2026-05-27..2026-05-28
지난 2개월 동안 뭐 샀어? | 2026-04-17..2026-06-18
2025년 5월 3일에 누가 왔어? | 2025-05-03..2025-05-04
2025년 1월부터 3월까지 무슨 일이 있었어? | 2025-01-01..2025-04-01
5월 말에 뭐라고 했어? | 2026-05-16..2026-06-01
2024년 여름에 어땠어? | 2024-06-01..2024-09-01
작년 3월에 어디 갔어? | 2025-03-01..2025-04-01
지난달에 무슨 일이 있었어? | 2026-05-01..2026-06-01
6월 1일 이전에 뭐라고 했어? | ..2026-06-01
재작년에 어디서 일했어? | 2024-01-01..2025-01-01
내일 아침에 뭐 해? | 2026-06-18..2026-06-19
"""
NOT_READ = ["좋은 아침!", "매일 수영해요.", "일이 많아요.", "오늘의집이 뭐예요?", "이 사람은 누구예요?"]


@each_row("line", READ.strip().splitlines())
def test_is_read(line: str, days: Callable[[str, str], str]) -> None:
    text, wanted = line.split(" | ")
    assert days("ko", text) == wanted


@each_row("text", NOT_READ)
def test_is_no_date(text: str, days: Callable[[str, str], str]) -> None:
    assert days("ko", text) == ""
