"""Queries that are made to be slow: one piece, again and again, as long as a query may be made by configuration."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

from benchmarks.speed.synthetic import END

CHARS = 100_000
PIECES = {
    "words": "budget ",
    "names": "Priya Raman ",
    "times": "12:30 ",
    "dates": "on 3 March 2026, ",
    "ranges": "between May and June ",
    "figures": "7",
    "numbers": "1,234.5 ",
    "negations": "not without ",
    "quotes": '"',
    "brackets": "((([",
    "questions": "who? ",
    "links": "https://a.b/c?d=e ",
    "codes": "AB-12/CD_34 ",
    "Chinese": "上个月的会议记录",
    "Japanese": "先週の予算について",
    "Arabic": "الاجتماع الماضي ",
    "Hindi": "पिछले महीने ",
    "faces": "😀",
    "combining marks": "e\u0301\u0301",
    "one word": "x",
    "spaces": "a" + " " * 63,
}


def hostile(ask: Callable[[str, datetime], object], chars: int = CHARS) -> dict[str, float]:
    """What was repeated → milliseconds per kB (1,000 bytes in UTF-8) of a query of `chars` characters; the better of
    two runs, so that what is loaded once is not counted."""
    found: dict[str, float] = {}
    for name, piece in PIECES.items():
        text = (piece * (chars // len(piece) + 1))[:chars].strip()
        runs = []
        for _ in range(2):
            start = time.perf_counter()
            ask(text, END)
            runs.append((time.perf_counter() - start) * 1e3)
        found[name] = min(runs) / (len(text.encode()) / 1e3)
    return found
