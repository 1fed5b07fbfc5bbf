"""Dates in Spanish."""

from __future__ import annotations

from collections.abc import Callable

from tests.rows import each_row

# A question | the first day that it speaks of..the first day after; asked on 17 June 2026, a Wednesday.
READ = """
¿Qué hice el lunes y el martes pasados? | 2026-06-15..2026-06-17
¿Qué pasó ayer por la noche? | 2026-06-16..2026-06-18
¿Qué hicimos el lunes de la semana pasada? | 2026-06-08..2026-06-09
¿Qué dije hace tres semanas? | 2026-05-27..2026-05-28
¿Qué dije hace dos meses? | 2026-04-17..2026-04-18
¿Qué compré en los últimos dos meses? | 2026-04-17..2026-06-18
¿Quién llamó el 3 de mayo de 2025? | 2025-05-03..2025-05-04
¿Quién llamó el tres de mayo? | 2026-05-03..2026-05-04
¿Qué pasó entre enero y marzo de 2025? | 2025-01-01..2025-04-01
¿Qué pasó del 28 de abril al 3 de mayo? | 2026-04-28..2026-05-04
¿Qué dijo Ana a finales de mayo? | 2026-05-16..2026-06-01
¿Qué planes había a principios del año pasado? | 2025-01-01..2025-05-01
¿Qué he hecho desde principios de mayo? | 2026-05-01..
¿Qué se decidió en el segundo trimestre de 2025? | 2025-04-01..2025-07-01
¿Cómo fue el verano de 2024? | 2024-06-01..2024-09-01
¿Cómo fue el verano pasado? | 2025-06-01..2025-09-01
¿Qué pasó en marzo del año pasado? | 2025-03-01..2025-04-01
¿Qué hago mañana por la mañana? | 2026-06-18..2026-06-19
¿Qué hice el fin de semana? | 2026-06-13..2026-06-15
¿Qué pasó el 8/5/2023? | 2023-05-08..2023-05-09
¿Qué dijo antes del 1 de junio? | ..2026-06-01
¿Qué dijo después de mayo? | 2026-06-01..
que paso el miercoles pasado | 2026-06-10..2026-06-11
que hice la semana pasada | 2026-06-08..2026-06-15
¿Qué música oía en los años 90? | 1990-01-01..2000-01-01
¿Qué pasó el mes antepasado? | 2026-04-01..2026-05-01
¿Qué leí últimamente? | 2026-05-18..2026-06-18
"""
NOT_READ = [
    "¡Buenos días!",
    "¿Dónde está la mayonesa?",
    "Julio y Abril son hermanos.",
    "Los martes como con mi madre.",
    "Trabaja de noche y duerme de día.",
    "Vive en la calle 25 de Mayo.",
    "Tiene veinte años.",
]


@each_row("line", READ.strip().splitlines())
def test_is_read(line: str, days: Callable[[str, str], str]) -> None:
    text, wanted = line.split(" | ")
    assert days("es", text) == wanted


@each_row("text", NOT_READ)
def test_is_no_date(text: str, days: Callable[[str, str], str]) -> None:
    assert days("es", text) == ""
