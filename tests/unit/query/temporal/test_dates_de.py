"""Dates in German."""

from __future__ import annotations

from collections.abc import Callable

from tests.rows import each_row

# A question | the first day that it speaks of..the first day after; asked on 17 June 2026, a Wednesday.
READ = """
Was war gestern Nachmittag los? | 2026-06-16..2026-06-17
Worüber sprachen wir am Dienstag letzter Woche? | 2026-06-09..2026-06-10
Was tat ich letzten Montag und Dienstag? | 2026-06-15..2026-06-17
Was habe ich vor drei Wochen gekauft? | 2026-05-27..2026-05-28
Was geschah in den letzten zwei Monaten? | 2026-04-17..2026-06-18
Wer hat am 3. Mai 2025 angerufen? | 2025-05-03..2025-05-04
Was stand am zweiten Mai im Kalender? | 2026-05-02..2026-05-03
Was lief zwischen Januar und März 2025? | 2025-01-01..2025-04-01
Was lief von März bis Juni 2023? | 2023-03-01..2023-07-01
Was lief vom 28. April bis zum 3. Mai? | 2026-04-28..2026-05-04
Was hat Anna Ende Mai gesagt? | 2026-05-16..2026-06-01
Was hat Anna Mitte 2024 gesagt? | 2024-05-01..2024-09-01
Was war zum Jahresende geplant? | 2026-09-01..2027-01-01
Was habe ich seit Anfang Mai getan? | 2026-05-01..
Was wurde im zweiten Quartal 2025 beschlossen? | 2025-04-01..2025-07-01
Was wurde in Q3 2025 beschlossen? | 2025-07-01..2025-10-01
Wie war es im Sommer 2024? | 2024-06-01..2024-09-01
Wie war der März letzten Jahres? | 2025-03-01..2025-04-01
Was kam am Montagmorgen? | 2026-06-15..2026-06-16
Was steht morgen früh an? | 2026-06-18..2026-06-19
Was mache ich am Wochenende? | 2026-06-13..2026-06-15
Was war am 8.5.2023? | 2023-05-08..2023-05-09
Was war am 08.05.23 los? | 2023-05-08..2023-05-09
Was war am 2023-05-08? | 2023-05-08..2023-05-09
Was wurde in den 90er Jahren gebaut? | 1990-01-01..2000-01-01
Wen traf ich letzten Freitag Abend? | 2026-06-12..2026-06-13
Was sagte er vor dem 1. Juni? | ..2026-06-01
Was sagte er nach dem Sommer 2024? | 2024-09-01..
Was war vorletzten Monat? | 2026-04-01..2026-05-01
Hatten wir letztes Jahr im August Urlaub? | 2025-08-01..2025-09-01
was war letzte woche | 2026-06-08..2026-06-15
Was habe ich in letzter Zeit gelesen? | 2026-05-18..2026-06-18
"""
NOT_READ = [
    "Guten Morgen!",
    "Der Mai ist gekommen, singt der Chor.",
    "Frau Sommer mag den Winter.",
    "Der Film Morgen kommt ein neuer Himmel war schön.",
    "Ich habe zwei Tage alte Brötchen und drei Katzen.",
    "Wir sehen uns jeden zweiten Dienstag.",
    "Die Version 1.2.3 ist kaputt.",
]


@each_row("line", READ.strip().splitlines())
def test_is_read(line: str, days: Callable[[str, str], str]) -> None:
    text, wanted = line.split(" | ")
    assert days("de", text) == wanted


@each_row("text", NOT_READ)
def test_is_no_date(text: str, days: Callable[[str, str], str]) -> None:
    assert days("de", text) == ""
