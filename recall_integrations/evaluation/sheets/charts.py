"""Charts as SVG. What one shows stands in a table beside it, or in its labels, so that nothing hangs on seeing it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recall_integrations.evaluation.labelled.calibration import Bin
from recall_integrations.evaluation.metrics import Interval
from recall_integrations.evaluation.sheets.markup import Content, Markup, tag
from recall_integrations.text.one_line import plain

WIDTH, ROW, LEFT, RIGHT = 640, 28, 190, 90
_LABEL = 26  # characters


def _figure(drawn: Sequence[Content], height: float, title: str, caption: str) -> Markup:
    svg = tag(
        "svg",
        tag("title", title),
        drawn,
        viewBox=f"0 0 {WIDTH} {height:.0f}",
        width=WIDTH,
        height=height,
        role="img",
        aria_label=title,
    )
    return tag("figure", svg, tag("figcaption", caption) if caption else "")


def intervals(
    rows: Sequence[tuple[str, Interval]], title: str, *, caption: str = "", difference: bool = False
) -> Markup:
    """A point with its interval on each row.

    Args:
        rows: label and interval.
        title: of the picture.
        caption: under it.
        difference: whether 0 is in the middle; else the axis goes from 0 to 1.
    """
    reach = max([abs(end) for _, one in rows for end in (one.low, one.high)] + [1e-3]) * 1.1
    low, high = (-reach, reach) if difference else (0.0, 1.0)

    def x(value: float) -> float:
        return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    bottom = float(len(rows) * ROW + 8)
    ticks = (low, 0.0, high) if difference else (0.0, 0.25, 0.5, 0.75, 1.0)
    drawn: list[Content] = []
    for tick in ticks:
        kind = "zero" if difference and not tick else "axis"
        drawn.append(tag("line", x1=x(tick), x2=x(tick), y1=4.0, y2=bottom, class_=kind))
        said = f"{tick:+.2f}" if difference and tick else f"{tick:g}"
        drawn.append(tag("text", said, x=x(tick), y=bottom + 14, text_anchor="middle", class_="soft"))
    for i, (label, one) in enumerate(rows):
        y = i * ROW + ROW / 2 + 4
        kind = "other" if difference and one.high < 0 else "own"
        said = f"{one.mean:+.3f}" if difference else f"{one.mean:.3f}"
        drawn += [
            tag("text", plain(label, _LABEL), x=0, y=y + 4),
            tag("line", x1=x(one.low), x2=x(one.high), y1=y, y2=y, class_=kind, stroke_width=3),
            tag("circle", cx=x(one.mean), cy=y, r=5, class_=kind),
            tag("text", said, x=WIDTH, y=y + 4, text_anchor="end"),
        ]
    return _figure(drawn, bottom + 22, title, caption)


def histogram(milliseconds: Sequence[float], title: str, *, caption: str = "", bars: int = 30) -> Markup:
    """How many recalls took how long, up to the 99th percentile."""
    values = np.asarray(milliseconds, dtype=np.float64)
    p50, p95, end = np.percentile(values, (50, 95, 99)).tolist()
    end = end or 1.0
    counts, _ = np.histogram(np.clip(values, 0, end), bins=bars, range=(0, end))
    height, wide = 120.0, (WIDTH - 20) / bars
    most = max(1, int(counts.max()))
    drawn: list[Content] = [
        tag(
            "rect",
            x=10 + i * wide,
            y=height - count / most * (height - 10),
            width=wide - 1,
            height=count / most * (height - 10),
            class_="own",
        )
        for i, count in enumerate(counts.tolist())
    ]
    drawn.append(tag("line", x1=10, x2=WIDTH - 10, y1=height, y2=height, class_="axis"))
    for name, value in (
        ("0", 0.0),
        ("p50", p50),
        ("p95", p95),
    ):
        x = 10 + min(value, end) / end * (WIDTH - 20)
        said = "0 ms" if name == "0" else f"{name} {value:.1f} ms"
        anchor = "start" if name == "0" else "end" if x > WIDTH - 80 else "middle"
        low = {"0": 14, "p50": 30, "p95": 46}[name]
        drawn.append(tag("line", x1=x, x2=x, y1=4, y2=height + 4, class_="zero"))
        drawn.append(tag("text", said, x=x, y=height + low, text_anchor=anchor, class_="soft"))
    return _figure(drawn, height + 54, title, caption)


def calibration(bins: Sequence[Bin], title: str, *, caption: str = "") -> Markup:
    """The relevant share of the hits of each score; on the line they are equal. A large point is many hits."""
    side, left = 260.0, 100.0

    def at(x: float, y: float) -> tuple[float, float]:
        return left + x * side, 10 + (1 - y) * side

    (x0, y0), (x1, y1) = at(0, 0), at(1, 1)
    drawn: list[Content] = [
        tag("line", x1=x0, y1=y0, x2=x1, y2=y1, class_="zero", stroke_dasharray="4 4"),
        tag("line", x1=x0, y1=y0, x2=x1, y2=y0, class_="axis"),
        tag("line", x1=x0, y1=y0, x2=x0, y2=y1, class_="axis"),
        tag("text", "score", x=left + side / 2, y=y0 + 30, text_anchor="middle", class_="soft"),
        tag("text", "relevant", x=0, y=10 + side / 2, class_="soft"),
    ]
    for tick in (0.0, 0.5, 1.0):
        drawn.append(tag("text", f"{tick:g}", x=at(tick, 0)[0], y=y0 + 15, text_anchor="middle", class_="soft"))
        drawn.append(tag("text", f"{tick:g}", x=left - 6, y=at(0, tick)[1] + 4, text_anchor="end", class_="soft"))
    most = max([one.hits for one in bins] + [1])
    for one in bins:
        x, y = at(one.score, one.relevant)
        drawn.append(tag("circle", cx=x, cy=y, r=3 + 7 * (one.hits / most) ** 0.5, class_="own"))
    return _figure(drawn, side + 50, title, caption)
