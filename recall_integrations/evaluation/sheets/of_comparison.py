"""The page of `recall ab`."""

from __future__ import annotations

from recall_integrations.evaluation.labelled.comparison import Comparison
from recall_integrations.evaluation.labelled.tables import change, head
from recall_integrations.evaluation.sheets import charts
from recall_integrations.evaluation.sheets.markup import Content, Markup, table, tag
from recall_integrations.evaluation.sheets.page import listed, note, section, whole
from recall_integrations.reranking.bands import Band


def page(found: Comparison) -> str:
    """A page that stands alone."""
    first = found.compared[0]
    figure = found.figures[-2]
    said = "; ".join(f"{one.name} is {one.verdict(figure)}" for one in found.differences) or "nothing to compare with"
    lead = (
        f"{found.questions:,} questions, {found.k} hits each, relevant by {found.judge}. By {head(figure)}, against "
        f"{first.name}: {said}."
    )
    return whole(
        "Which configuration is better here?",
        lead,
        [note(one) for one in found.warnings],
        _means(found),
        [_difference(found, i) for i in range(len(found.differences))],
        _cosine(found),
        _bands(found),
        _time(found),
        section("To know", listed(_notes(found)) or "Nothing was left out."),
    )


def _means(found: Comparison) -> Markup:
    rows = [
        (_name(one.name, one.title), *(f"{one.averages[f].mean:.3f}" for f in found.figures), f"{one.reranked:,}",
         f"{one.rewritten:,}", f"{one.degraded:,}")
        for one in found.compared
    ]  # fmt: skip
    heads = ("configuration", *map(head, found.figures), "reranked", "rewritten", "degraded")
    figure = found.figures[-2]
    points = [(_name(one.name, one.title), one.averages[figure]) for one in found.compared]
    return section(
        "Figures",
        tag("div", table(heads, rows), class_="wide"),
        charts.intervals(points, head(figure), caption="Means with the 95 % intervals of a bootstrap over questions."),
    )


def _difference(found: Comparison, place: int) -> Markup:
    one = found.differences[place]
    rows = [(head(f), change(one.changes[f]), one.verdict(f), f"{one.chances[f]:.3f}") for f in found.figures]
    needed = [(f"{effect:g}", f"{count:,}") for effect, count in one.labels_needed.items()]
    return section(
        f"{one.name} minus {found.compared[0].name}",
        tag("p", f"{one.moved:,} of {found.questions:,} questions were answered differently. A recall takes "
            f"{one.ms.mean:+.1f} ms ({one.ms.low:+.1f} to {one.ms.high:+.1f})."),
        table(("figure", "change (95 %)", "verdict", "chance"), rows),
        charts.intervals([(head(f), one.changes[f]) for f in found.figures], "Changes", difference=True,
                         caption="One counts where its interval leaves out 0, and random signs rarely give as much."),
        table((f"change of {head(found.figures[-2])}", "questions that would show it"), needed) if needed else "",
    )  # fmt: skip


def _cosine(found: Comparison) -> Content:
    if not found.flattery:
        return section("What a cosine threshold would have said", "Vectors could not be read.")
    rows = [
        (one.name, head(one.figure), f"{one.cosine:.3f}", f"{one.judged:.3f}", change(one.gap))
        for one in found.flattery
    ]
    return section(
        "What a cosine threshold would have said",
        tag("p", f"If every hit with a cosine of {found.cosine:g} or more were relevant. Near in meaning is not an "
            "answer: the gap is what such a threshold hides."),
        table(("configuration", "figure", "by cosine", f"by {found.judge}", "gap (95 %)"), rows),
    )  # fmt: skip


def _bands(found: Comparison) -> Content:
    if not any(one.bands for one in found.compared):
        return ""
    rows = [(one.name, *(f"{one.bands.get(str(b), 0):,}" for b in Band)) for one in found.compared]
    return section("Hits by the judge's words", table(("configuration", *map(str, Band)), rows))


def _time(found: Comparison) -> Markup:
    rows = [(_name(c.name, c.title), f"{c.latency.p50:.1f}", f"{c.latency.p95:.1f}") for c in found.compared]
    drawn = [
        charts.histogram([a.ms for a in found.answers[one.name]], f"Latency of {one.name}", caption=one.name)
        for one in found.compared
    ]
    return section("Time", table(("configuration", "p50 ms", "p95 ms"), rows), drawn)


def _name(name: str, title: str) -> str:
    return f"{name} {title}".strip()


def _notes(found: Comparison) -> list[str]:
    gone = sum(map(len, found.missing.values()))
    lines = [f"{name}: not asked. {why}" for name, why in found.skipped.items()]
    lines += found.notes
    if gone:
        lines.append(f"Labels that name no memory of their scope, left out: {gone:,}")
    if found.unanswerable:
        lines.append(f"Questions without any label in the store, not asked: {len(found.unanswerable):,}")
    return lines
