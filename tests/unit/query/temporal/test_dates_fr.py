"""Dates in French."""

from __future__ import annotations

from collections.abc import Callable

from tests.rows import each_row

# A question | the first day that it speaks of..the first day after; asked on 17 June 2026, a Wednesday.
READ = """
Que s'est-il passé hier après-midi ? | 2026-06-16..2026-06-17
Qu'avons-nous fait le mardi de la semaine dernière ? | 2026-06-09..2026-06-10
Qu'ai-je acheté il y a trois semaines ? | 2026-05-27..2026-05-28
Qu'ai-je acheté ces deux derniers mois ? | 2026-04-17..2026-06-18
Qui a appelé le 3 mai 2025 ? | 2025-05-03..2025-05-04
Qui a appelé le premier mai ? | 2026-05-01..2026-05-02
Que s'est-il passé entre janvier et mars 2025 ? | 2025-01-01..2025-04-01
Que s'est-il passé d'avril à juin 2025 ? | 2025-04-01..2025-07-01
Que s'est-il passé du 28 avril au 3 mai ? | 2026-04-28..2026-05-04
Qu'a dit Anne à la fin du mois de mai ? | 2026-05-16..2026-06-01
Qu'a dit Anne fin mai ? | 2026-05-16..2026-06-01
Qu'ai-je fait depuis début mai ? | 2026-05-01..
Qu'a-t-on décidé au deuxième trimestre 2025 ? | 2025-04-01..2025-07-01
Comment était l'été 2024 ? | 2024-06-01..2024-09-01
Où étions-nous l'été dernier ? | 2025-06-01..2025-09-01
Que s'est-il passé en mars de l'année dernière ? | 2025-03-01..2025-04-01
Que fais-je demain matin ? | 2026-06-18..2026-06-19
Qu'ai-je fait ce week-end ? | 2026-06-20..2026-06-22
Qui est venu le 08/05/2023 ? | 2023-05-08..2023-05-09
Qu'a-t-il dit avant le 1er juin ? | ..2026-06-01
Qu'a-t-il dit après mai ? | 2026-06-01..
qui ai-je vu mercredi dernier | 2026-06-10..2026-06-11
Qu'est-ce qu'on écoutait dans les années 90 ? | 1990-01-01..2000-01-01
Qu'est-ce qu'il a dit l'année dernière ? | 2025-01-01..2026-01-01
Qu'ai-je lu récemment ? | 2026-05-18..2026-06-18
"""
NOT_READ = [
    "Bonne journée !",
    "Il a été très gentil.",
    "La planète Mars est loin.",
    "Le mardi, il va au marché.",
    "Mon frère a vingt ans.",
    "Il y a deux tables ici.",
    "J'habite avenue du 11 novembre.",
]


@each_row("line", READ.strip().splitlines())
def test_is_read(line: str, days: Callable[[str, str], str]) -> None:
    text, wanted = line.split(" | ")
    assert days("fr", text) == wanted


@each_row("text", NOT_READ)
def test_is_no_date(text: str, days: Callable[[str, str], str]) -> None:
    assert days("fr", text) == ""
