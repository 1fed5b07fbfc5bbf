"""Dates in Hindi."""

from __future__ import annotations

from collections.abc import Callable

from tests.rows import each_row

# A question | the first day that it speaks of..the first day after; asked on 17 June 2026, a Wednesday.
READ = """
कल शाम को क्या हुआ था? | 2026-06-16..2026-06-17
पिछले हफ्ते के मंगलवार को हमने क्या किया? | 2026-06-09..2026-06-10
तीन हफ्ते पहले मैंने क्या खरीदा था? | 2026-05-27..2026-05-28
पिछले दो महीनों में मैंने क्या खरीदा? | 2026-04-17..2026-06-18
3 मई 2025 को किसने फोन किया? | 2025-05-03..2025-05-04
३ मई २०२५ को किसने फोन किया? | 2025-05-03..2025-05-04
जनवरी और मार्च 2025 के बीच क्या हुआ? | 2025-01-01..2025-04-01
मई के अंत में उसने क्या कहा? | 2026-05-16..2026-06-01
पिछले साल मार्च में हम कहाँ गए थे? | 2025-03-01..2025-04-01
पिछले महीने क्या हुआ था? | 2026-05-01..2026-06-01
1 जून से पहले उसने क्या कहा? | ..2026-06-01
आज सुबह क्या हुआ? | 2026-06-17..2026-06-18
"""
NOT_READ = ["सुप्रभात!", "मैं हर सोमवार तैरता हूँ।", "मेरी उम्र बीस साल है।", "नया साल मुबारक!"]


@each_row("line", READ.strip().splitlines())
def test_is_read(line: str, days: Callable[[str, str], str]) -> None:
    text, wanted = line.split(" | ")
    assert days("hi", text) == wanted


@each_row("text", NOT_READ)
def test_is_no_date(text: str, days: Callable[[str, str], str]) -> None:
    assert days("hi", text) == ""
