"""Dates in Japanese."""

from __future__ import annotations

from collections.abc import Callable

from tests.rows import each_row

# A question | the first day that it speaks of..the first day after; asked on 17 June 2026, a Wednesday.
READ = """
昨日の午後に何がありましたか？ | 2026-06-16..2026-06-17
先週の火曜日に何をしましたか？ | 2026-06-09..2026-06-10
3週間前に何を買いましたか？ | 2026-05-27..2026-05-28
三日前に誰が来ましたか？ | 2026-06-14..2026-06-15
過去2か月に何を買いましたか？ | 2026-04-17..2026-06-18
2025年5月3日に誰が来ましたか？ | 2025-05-03..2025-05-04
２０２５年５月３日に誰が来ましたか？ | 2025-05-03..2025-05-04
2025年1月から3月まで何がありましたか？ | 2025-01-01..2025-04-01
5月末に何と言いましたか？ | 2026-05-16..2026-06-01
2024年の夏はどうでしたか？ | 2024-06-01..2024-09-01
去年の3月にどこへ行きましたか？ | 2025-03-01..2025-04-01
先月何がありましたか？ | 2026-05-01..2026-06-01
6月1日以前に何と言いましたか？ | ..2026-06-01
一昨年どこで働いていましたか？ | 2024-01-01..2025-01-01
"""
NOT_READ = ["おはよう！", "毎日泳ぎます。", "月がきれいです。", "今日子さんは元気です。", "日本が好きです。"]


@each_row("line", READ.strip().splitlines())
def test_is_read(line: str, days: Callable[[str, str], str]) -> None:
    text, wanted = line.split(" | ")
    assert days("ja", text) == wanted


@each_row("text", NOT_READ)
def test_is_no_date(text: str, days: Callable[[str, str], str]) -> None:
    assert days("ja", text) == ""
