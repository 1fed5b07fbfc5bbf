"""Dates in Italian."""

from __future__ import annotations

from collections.abc import Callable

from tests.rows import each_row

# A question | the first day that it speaks of..the first day after; asked on 17 June 2026, a Wednesday.
READ = """
Cosa è successo ieri pomeriggio? | 2026-06-16..2026-06-17
Cosa abbiamo fatto martedì della settimana scorsa? | 2026-06-09..2026-06-10
Cosa ho comprato tre settimane fa? | 2026-05-27..2026-05-28
Cosa ho comprato negli ultimi due mesi? | 2026-04-17..2026-06-18
Chi ha chiamato il 3 maggio 2025? | 2025-05-03..2025-05-04
Cosa è successo tra gennaio e marzo 2025? | 2025-01-01..2025-04-01
Cosa è successo dal 28 aprile al 3 maggio? | 2026-04-28..2026-05-04
Cosa ha detto Anna alla fine di maggio? | 2026-05-16..2026-06-01
Com'era l'estate del 2024? | 2024-06-01..2024-09-01
Cosa abbiamo deciso nel secondo trimestre del 2025? | 2025-04-01..2025-07-01
Cosa faccio domani mattina? | 2026-06-18..2026-06-19
Cosa ha detto prima del 1 giugno? | ..2026-06-01
Cosa è successo il mese scorso? | 2026-05-01..2026-06-01
"""
NOT_READ = ["Buongiorno!", "Tu sei simpatico.", "Ogni lunedì nuoto.", "Mio zio ha sei anni più di me."]


@each_row("line", READ.strip().splitlines())
def test_is_read(line: str, days: Callable[[str, str], str]) -> None:
    text, wanted = line.split(" | ")
    assert days("it", text) == wanted


@each_row("text", NOT_READ)
def test_is_no_date(text: str, days: Callable[[str, str], str]) -> None:
    assert days("it", text) == ""
