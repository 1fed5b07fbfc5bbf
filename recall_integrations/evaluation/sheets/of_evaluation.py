"""The page of `recall eval`."""

from __future__ import annotations

from collections.abc import Mapping

from recall_integrations.evaluation.labelled.evaluation import DEPTH, Evaluation, Worst
from recall_integrations.evaluation.labelled.tables import head, left_out
from recall_integrations.evaluation.metrics import OVERALL, Interval
from recall_integrations.evaluation.sheets import charts
from recall_integrations.evaluation.sheets.markup import Content, Markup, table, tag
from recall_integrations.evaluation.sheets.page import listed, section, whole

GROUPED = ("recall@5", "ndcg")  # what groups are drawn by: the first that is there


def page(found: Evaluation) -> str:
    """A page that stands alone."""
    overall = found.averages[OVERALL]
    ndcg = overall[f"ndcg@{found.k}"]
    lead = (
        f"{found.questions:,} labelled questions, {found.k} hits each. nDCG is {ndcg.mean:.3f}; other questions of "
        f"this kind would give between {ndcg.low:.3f} and {ndcg.high:.3f} nineteen times out of twenty. Half of "
        f"the recalls took less than {found.latency.p50:.1f} ms, one in twenty more than {found.latency.p95:.1f}."
    )
    return whole(
        "How good are recalls here?",
        lead,
        section("Figures", figures_of(overall), charts.intervals(_rows(overall), "Figures with their intervals")),
        _groups(found),
        section("Left out", listed(left_out(found)) or "Nothing: every label names a memory."),
        _sureness(found),
        section("Time", charts.histogram([a.ms for a in found.answers], "Latency of recalls", caption=_TIMED)),
        _calibration(found),
        section("What went wrong", tag("p", _WORST), [_worst(one) for one in found.worst])
        if found.worst
        else section("What went wrong", tag("p", "Nothing.")),
    )


_TIMED = "Each recall once, after the scope was loaded. The last bar holds all that took longer."
_WORST = (
    f"The questions with the lowest nDCG. The place of an expected memory is looked for among the first {DEPTH} hits; "
    "what is not there, no setting of the ranking brings back."
)


def figures_of(row: Mapping[str, Interval]) -> Markup:
    """Means with intervals."""
    return table(
        ("figure", "mean", "95 % interval"),
        [(head(name), f"{one.mean:.3f}", f"{one.low:.3f} to {one.high:.3f}") for name, one in row.items()],
    )


def _rows(row: Mapping[str, Interval]) -> list[tuple[str, Interval]]:
    return [(head(name), one) for name, one in row.items()]


def _groups(found: Evaluation) -> Content:
    if len(found.averages) == 1:
        return ""
    names = list(found.averages[OVERALL])
    chosen = next(name for kind in GROUPED for name in names if name.startswith(kind))
    rows = [
        (group, f"{found.sizes[group]:,}", *(f"{one.mean:.3f}" for one in row.values()))
        for group, row in found.averages.items()
    ]
    drawn = charts.intervals(
        [(group, row[chosen]) for group, row in found.averages.items()], f"{head(chosen)} by group"
    )
    return section("By group", tag("div", table(("group", "asked", *map(head, names)), rows), class_="wide"), drawn)


def _sureness(found: Evaluation) -> Markup:
    rows = [(f"± {width:g}", f"{count:,}") for width, count in found.labels_needed.items()]
    return section(
        "How sure is this?",
        tag("p", "By how much these questions differ, so many labelled ones give an interval of nDCG that narrow:"),
        table(("interval", "questions"), rows),
    )


def _calibration(found: Evaluation) -> Markup:
    caption = (
        f"Expected calibration error {found.calibration_error:.3f}. Relevant memories that nobody labelled count as "
        "wrong here, so points lie too low where labels are not complete."
    )
    rows = [
        (f"{b.low:.1f} to {b.high:.1f}", f"{b.hits:,}", f"{b.score:.2f}", f"{b.relevant:.2f}")
        for b in found.calibration
    ]
    return section(
        "What scores mean",
        charts.calibration(found.calibration, "Score against relevant share", caption=caption),
        table(("score", "hits", "mean score", "relevant share"), rows),
    )


def _worst(one: Worst) -> Markup:
    came = [
        tag(
            "li",
            tag("span", "relevant " if hit.relevant else "not labelled ", class_="yes" if hit.relevant else "no"),
            f"{hit.score:.2f} ",
            tag("code", hit.id),
            f" {hit.text} ",
            tag("span", hit.reason, class_="soft"),
        )
        for hit in one.came
    ]
    wanted = [
        tag(
            "li",
            tag("code", expected.id),
            f" not among the first {DEPTH}" if expected.place is None else f" came at {expected.place}",
            f": {expected.text}" if expected.text else "",
        )
        for expected in one.expected
    ]
    return tag(
        "article",
        tag("h3", one.query or one.id),
        tag("p", f"{one.id}, {one.group}, {one.scope}, plan {one.plan}, nDCG {one.value:.2f}", class_="soft"),
        tag("p", "Expected:"),
        tag("ul", wanted),
        tag("p", "Came:" if came else "Nothing came."),
        tag("ol", came) if came else "",
        class_="card",
    )
