"""Dates in Portuguese."""

from __future__ import annotations

from collections.abc import Callable

from tests.rows import each_row

# A question | the first day that it speaks of..the first day after; asked on 17 June 2026, a Wednesday.
READ = """
O que aconteceu ontem à tarde? | 2026-06-16..2026-06-17
O que fizemos na terça da semana passada? | 2026-06-09..2026-06-10
O que comprei há três semanas? | 2026-05-27..2026-05-28
O que comprei nos últimos dois meses? | 2026-04-17..2026-06-18
Quem ligou no dia 3 de maio de 2025? | 2025-05-03..2025-05-04
O que aconteceu entre janeiro e março de 2025? | 2025-01-01..2025-04-01
O que aconteceu de 28 de abril a 3 de maio? | 2026-04-28..2026-05-04
O que a Ana disse no fim de maio? | 2026-05-16..2026-06-01
Como foi o verão de 2024? | 2024-06-01..2024-09-01
O que decidimos no segundo trimestre de 2025? | 2025-04-01..2025-07-01
O que faço amanhã de manhã? | 2026-06-18..2026-06-19
O que ele disse antes de 1 de junho? | ..2026-06-01
O que aconteceu no mês passado? | 2026-05-01..2026-06-01
o que aconteceu mes passado | 2026-05-01..2026-06-01
"""
NOT_READ = ["Bom dia!", "É a segunda vez.", "Toda sexta nado.", "Meu tio tem vinte anos."]


@each_row("line", READ.strip().splitlines())
def test_is_read(line: str, days: Callable[[str, str], str]) -> None:
    text, wanted = line.split(" | ")
    assert days("pt", text) == wanted


@each_row("text", NOT_READ)
def test_is_no_date(text: str, days: Callable[[str, str], str]) -> None:
    assert days("pt", text) == ""
