"""A picture for each table of `recall bench quality`: horizontal bars with 95 % intervals, as SVG.

Written by hand, since bars need no plotting library. There is no background, and text and lines have a tone that
is readable on white and on black (a contrast of about 4.5 to both), so one file fits light and dark pages.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from benchmarks.quality.comparison import Draw
from benchmarks.quality.kinds import Summary
from benchmarks.quality.means import Mean, Scores, spread
from benchmarks.quality.report import COMPARED, OURS, QualityReport
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.metrics import OVERALL, Interval

INK = "#757575"
STRONG, PLAIN, AGAINST = "#3b82f6", "#8b8b8b", "#d97706"  # ours or better, others, worse
WIDTH, LABELS, GAP, ROW, TOP, VALUE = 900, 190, 24, 22, 58, 44
MANY = 3  # columns from which values are left out for want of room
METRIC = "ndcg@10"  # of pictures with a column per category


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A line of a picture: a value for each column, `None` = none.

    Args:
        label: at its left.
        values: with their intervals.
        strong: drawn in the colour of our side.
    """

    label: str
    values: tuple[Interval | None, ...]
    strong: bool = False


def into(path: str | Path) -> Draw:
    """What draws the pictures of a comparison in a folder, which is made if absent.

    Raises:
        InvalidArgument: it cannot be made.
    """
    folder = picture_folder(path)
    return lambda reports, means: drawn(reports, means, folder)


def picture_folder(path: str | Path) -> Path:
    """The folder, made if absent.

    Raises:
        InvalidArgument: it cannot be made.
    """
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise InvalidArgument(f"Cannot make the folder {folder} for pictures: {e}") from e
    return folder


def drawn(
    reports: Sequence[QualityReport], means: Sequence[Mean], folder: Path, summary: Summary | None = None
) -> list[Path]:
    """Write the pictures; gives their paths.

    Args:
        reports: of data sets.
        means: of families of them.
        folder: must exist.
        summary: of kinds, where they were measured.

    Raises:
        InvalidArgument: a file cannot be written.
    """
    written = []
    pictures = [
        *(_of_kinds(summary) if summary is not None else ()),
        *(p for r in reports for p in _of_report(r)),
        *(p for m in means for p in _of_mean(m)),
    ]
    for name, svg in pictures:
        file = folder / f"{re.sub(r'[^A-Za-z0-9._-]+', '-', name)}.svg"
        try:
            file.write_text(svg, encoding="utf-8")
        except OSError as e:
            raise InvalidArgument(f"Cannot write the picture {file}: {e}") from e
        written.append(file)
    return written


def _of_report(report: QualityReport) -> Iterator[tuple[str, str]]:
    name, asked = report.dataset, f"{len(report.questions):,} questions"
    shown = report.systems("ours", "peer")
    rows = [_system(s, [report.scores[s]]) for s in shown]
    yield f"{name}-systems", chart(f"{name}, {asked}", COMPARED, rows)
    category = {q.id: q.category for q in report.questions}
    categories = [c for c in next(iter(report.averages.values()), {}) if c != OVERALL]
    if len(categories) > 1:
        rows = [
            Row(label=s, values=tuple(_part(report.scores[s], category, c) for c in categories), strong=s == OURS)
            for s in shown
        ]
        yield f"{name}-categories", chart(f"{name}: {METRIC} by category", categories, rows)
    plan_of = {q: a.plan for q, a in report.answers.get(OURS, {}).items()}
    if plans := report.plans():
        rows = [
            Row(
                label=f"{plan} ({average.questions:,})",
                values=tuple(_part(report.scores[OURS], plan_of, plan, metric) for metric in COMPARED),
                strong=True,
            )
            for plan, average in plans.items()
        ]
        yield f"{name}-plans", chart(f"{name}: {OURS} by plan", COMPARED, rows)
    yield from _gaps(name, report.differences, report)


def _of_kinds(summary: Summary) -> Iterator[tuple[str, str]]:
    rows = []
    for line in summary.lines:
        rows.append(Row(label=line.title, values=(line.ours,), strong=True))
        if line.theirs is not None:
            rows.append(Row(label=line.peer or "best peer of each", values=(line.theirs,)))
    yield "kinds", chart(f"{OURS} and the best peer, kind by kind, the worst first", [METRIC], rows)
    gaps = [Row(label=line.title, values=(line.difference,)) for line in summary.kinds.values() if line.difference]
    gaps += [
        Row(label=f"{line.title}: {line.peer}" if line.peer else line.title, values=(line.difference,))
        for line in summary.means.values()
        if line.difference
    ]
    if gaps:
        yield "kinds-differences", chart(f"{OURS} minus the best peer", [METRIC], gaps, signed=True)


def _of_mean(mean: Mean) -> Iterator[tuple[str, str]]:
    shown = [s for s in mean.systems if mean.reports[0].kind(s) != "stage"]
    rows = [_system(s, [report.scores[s] for report in mean.reports]) for s in shown]
    yield mean.name, chart(f"{mean.name} ({', '.join(r.dataset for r in mean.reports)})", COMPARED, rows)
    yield from _gaps(mean.name, mean.differences, mean.reports[0])


def _gaps(
    name: str, differences: Mapping[str, Mapping[str, Interval]], report: QualityReport
) -> Iterator[tuple[str, str]]:
    titles = {"peer": f"{OURS} minus the other system", "stage": f"{OURS} minus {OURS} changed"}
    for kind, suffix in (("peer", "differences"), ("stage", "stages")):
        rows = [
            Row(label=s, values=tuple(gaps[metric] for metric in COMPARED))
            for s, gaps in differences.items()
            if report.kind(s) == kind
        ]
        if rows:
            yield f"{name}-{suffix}", chart(f"{name}: {titles[kind]}", COMPARED, rows, signed=True)


def _system(name: str, parts: Sequence[Scores]) -> Row:
    return Row(label=name, values=tuple(spread(parts, metric) for metric in COMPARED), strong=name == OURS)


def _part(scores: Scores, group: Mapping[str, str], wanted: str, metric: str = METRIC) -> Interval | None:
    own = {q: row for q, row in scores.items() if group.get(q) == wanted}
    return spread([own], metric) if own else None


# --- drawing ----------------------------------------------------------------------------------------------------


def chart(title: str, columns: Sequence[str], rows: Sequence[Row], *, signed: bool = False) -> str:
    """The picture as SVG.

    Args:
        title: above it.
        columns: headings.
        rows: from the top; each with a value for each column.
        signed: values are differences: coloured by sign, grey where the interval holds 0.
    """
    low, high, step = _scale([v for row in rows for v in row.values if v is not None], signed=signed)
    height = TOP + ROW * len(rows) + 26
    width = (WIDTH - LABELS) / max(len(columns), 1)
    body = [f'<text x="0" y="18" class="t">{escape(title)}</text>']
    for i, row in enumerate(rows):
        y = TOP + ROW * i + 15
        weight = ' font-weight="600"' if row.strong else ""
        body.append(f'<text x="{LABELS - 8}" y="{y}" text-anchor="end"{weight}>{escape(row.label)}</text>')
    for c, column in enumerate(columns):
        left = LABELS + c * width
        body.append(f'<text x="{_n(left)}" y="44" class="c">{escape(column)}</text>')
        body.extend(_column(left, width, c, rows, (low, high, step), signed=signed, valued=len(columns) <= MANY))
    style = (
        f"text{{font:12px system-ui,sans-serif;fill:{INK}}}.t{{font-size:15px;font-weight:600}}"
        f".c{{font-weight:600}}.n{{font-size:11px;font-variant-numeric:tabular-nums}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'role="img">\n<title>{escape(title)}</title>\n<style>{style}</style>\n' + "\n".join(body) + "\n</svg>\n"
    )


def _column(
    left: float,
    width: float,
    column: int,
    rows: Sequence[Row],
    scale: tuple[float, float, float],
    *,
    signed: bool,
    valued: bool,
) -> Iterator[str]:
    low, high, step = scale
    usable = width - GAP - (VALUE if valued else 0)
    bottom = TOP + ROW * len(rows)

    def x(value: float) -> float:
        return left + (min(max(value, low), high) - low) / (high - low) * usable

    for number in range(round(low / step), round(high / step) + 1):
        at, bold = x(number * step), number == 0
        yield (
            f'<line x1="{_n(at)}" y1="{TOP}" x2="{_n(at)}" y2="{bottom}" stroke="{INK}" '
            f'stroke-opacity="{0.9 if bold else 0.25}"/>'
        )
        if valued or number in (0, round(high / step)):
            yield f'<text x="{_n(at)}" y="{bottom + 15}" text-anchor="middle" class="n">{_tick(number * step)}</text>'
    for i, row in enumerate(rows):
        value = row.values[column]
        if value is None:
            continue
        y, colour = TOP + ROW * i, _colour(row, value, signed=signed)
        start, end = sorted((x(0), x(value.mean)))
        yield (
            f'<rect x="{_n(start)}" y="{y + 4}" width="{_n(end - start)}" height="{ROW - 8}" fill="{colour}" '
            'fill-opacity="0.55"/>'
        )
        yield (
            f'<path d="M{_n(x(value.low))} {y + 7}v8m0 -4H{_n(x(value.high))}m0 -4v8" fill="none" stroke="{colour}" '
            'stroke-width="1.6"/>'
        )
        if valued:
            text = f"{value.mean:+.3f}" if signed else f"{value.mean:.3f}"
            beside = left + usable + 6
            yield f'<text x="{_n(beside)}" y="{y + 15}" class="n">{text}</text>'


def _colour(row: Row, value: Interval, *, signed: bool) -> str:
    if not signed:
        return STRONG if row.strong else PLAIN
    if value.low <= 0 <= value.high:
        return PLAIN
    return STRONG if value.mean > 0 else AGAINST


def _scale(values: Sequence[Interval], *, signed: bool) -> tuple[float, float, float]:
    """Lower end, upper end and step of the axis: whole steps, at most six of them above the wider side of 0."""
    highest = max((v.high for v in values), default=1.0)
    lowest = min((v.low for v in values), default=0.0) if signed else 0.0
    reach = max(highest, -lowest, 0.01)
    step = next(s for s in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if reach / s <= 6)
    low = math.floor(lowest / step + 1e-9) * step if lowest < 0 else 0.0
    high = math.ceil(highest / step - 1e-9) * step if highest > 0 else 0.0
    return low, max(high, low + step), step


def _tick(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") if round(value, 6) else "0"


def _n(value: float) -> str:
    return f"{value:.1f}"
