"""A picture of days of use: nDCG@5 as served, beside rules and the oracle, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from benchmarks.quality.pictures import AGAINST, INK, PLAIN, STRONG

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 760, 300, 56, 44, 150, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the picture.

    Args:
        label: at its end.
        values: one for each day.
        low, high: of a band around it; empty = none.
        colour: of `benchmarks.quality.pictures`.
    """

    label: str
    values: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    colour: str = STRONG


def curves(title: str, lines: Sequence[Line]) -> str:
    """The picture."""
    every = [value for line in lines for value in (*line.values, *line.low, *line.high)]
    low, high = min(every) - 0.01, max(every) + 0.01
    days = max(len(line.values) for line in lines)

    def x(day: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * day / max(days - 1, 1), 1)

    def y(value: float) -> float:
        return round(TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low), 1)

    body = [f'<text x="0" y="18" class="t">{escape(title)}</text>']
    for i in range(5):
        value = low + (high - low) * i / 4
        body.append(f'<text x="{LEFT - 8}" y="{y(value) + 4}" text-anchor="end">{value:.2f}</text>')
        body.append(f'<path d="M{LEFT} {y(value)}H{WIDTH - RIGHT}" stroke="{INK}" stroke-opacity=".2"/>')
    weeks = range(0, days, 7)
    body += [f'<text x="{x(day)}" y="{HEIGHT - 14}" text-anchor="middle">day {day}</text>' for day in weeks]
    for line in lines:
        if line.low:
            there = " ".join(f"{x(i)},{y(v)}" for i, v in enumerate(line.high))
            back = " ".join(f"{x(i)},{y(v)}" for i, v in reversed(list(enumerate(line.low))))
            body.append(f'<polygon points="{there} {back}" fill="{line.colour}" fill-opacity=".15"/>')
        points = " ".join(f"{x(i)},{y(v)}" for i, v in enumerate(line.values))
        body.append(f'<polyline points="{points}" fill="none" stroke="{line.colour}" stroke-width="2"/>')
        end = line.values[-1]
        body.append(f'<text x="{WIDTH - RIGHT + 8}" y="{y(end) + 4}">{escape(line.label)} {end:.3f}</text>')
    style = f"text{{font:12px system-ui,sans-serif;fill:{INK}}}.t{{font-size:15px;font-weight:600}}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img">\n<title>{escape(title)}</title>\n<style>{style}</style>\n' + "\n".join(body) + "\n</svg>\n"
    )


__all__ = ["AGAINST", "PLAIN", "STRONG", "Line", "curves"]
