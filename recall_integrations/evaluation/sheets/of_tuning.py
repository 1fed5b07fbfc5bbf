"""The page of `recall tune`."""

from __future__ import annotations

from recall_integrations.evaluation.labelled.tables import change, head
from recall_integrations.evaluation.sheets import charts
from recall_integrations.evaluation.sheets.markup import Content, table, tag
from recall_integrations.evaluation.sheets.page import listed, note, section, whole
from recall_integrations.evaluation.tuning.tune import Tuning

DRAWN = 16


def page(found: Tuning) -> str:
    """A page that stands alone."""
    figure = head(found.figure)
    lead = (
        f"{found.questions:,} labelled questions, {found.folds} folds by {found.grouped_by}, {found.trials:,} settings "
        f"measured. {figure} is {found.before.mean:.4f} now."
    )
    gains = [("searched on", found.in_fold), ("not searched on", found.out_of_fold)]
    before, after = found.latency
    return whole(
        "Would other settings be better here?",
        lead,
        note(found.reason, good=found.proven),
        section(
            "Gain",
            table((f"gain of {figure} on questions", "mean", "95 % interval"),
                  [(n, f"{g.mean:+.4f}", f"{g.low:+.4f} to {g.high:+.4f}") for n, g in gains]),
            charts.intervals(gains, f"Gain of {figure}", difference=True, caption=_WHY),
            tag("p", "If no setting were better, the best of so many would look as good as it does here in "
                f"{found.chance:.1%} of cases."),
        ),
        _moved(found),
        section("Time", tag("p", f"Half of the recalls took less than {before.p50:.1f} ms before, {after.p50:.1f} "
                f"with what the search chose; one in twenty more than {before.p95:.1f} and {after.p95:.1f}.")),
        _singles(found),
        _needed(found),
        section("To know", listed(_notes(found)) or "Nothing was left out."),
        section("The file", tag("pre", found.yaml())),
    )  # fmt: skip


_WHY = (
    "What a search gains where it searched is too good: it picks the best of many. What it gains on the questions of a "
    "fold that it did not see is what to expect."
)


def _moved(found: Tuning) -> Content:
    if not found.moved:
        return ""
    rows = [(m.name, str(m.before), str(m.after), f"{m.folds} of {found.folds}") for m in found.moved]
    return section("What the search moved", table(("setting", "from", "to", "also found in folds"), rows))


def _singles(found: Tuning) -> Content:
    figure = head(found.figure)
    moving = [one for one in found.tried if one.moved]
    still = [f"{one.name} {one.value}" for one in found.tried if not one.moved]
    rows = [(t.name, str(t.value), change(t.gain), f"{t.moved:,}") for t in moving]
    drawn = [(f"{t.name.partition('.')[2]} {t.value}", t.gain) for t in moving[:DRAWN]]
    return section(
        "Single settings",
        tag("p", "Each by itself, on all questions. The best of many looks good by chance: this is no proof."),
        charts.intervals(drawn, f"Changes of {figure}", difference=True) if drawn else "",
        table(("setting", "to", f"{figure} (95 %)", "questions moved"), rows),
        tag("p", f"Without effect on any question: {', '.join(still)}.", class_="soft") if still else "",
    )


def _needed(found: Tuning) -> Content:
    if not found.labels_needed:
        return ""
    rows = [(f"{effect:g}", f"{count:,}") for effect, count in found.labels_needed.items()]
    return section(
        "Would more labels tell more?",
        tag(
            "p", "By how much these settings move single questions, so many would show a gain, four times out of five:"
        ),
        table(("gain", "questions"), rows),
    )


def _notes(found: Tuning) -> list[str]:
    lines = [f"{name} was not tried: {why}" for name, why in found.without.items()]
    if not found.complete:
        lines.append("The time was over before all settings were tried.")
    gone = sum(map(len, found.missing.values()))
    if gone:
        lines.append(f"Labels that name no memory of their scope, left out: {gone:,}")
    if found.unanswerable:
        lines.append(f"Questions without any label in the store, not asked: {len(found.unanswerable):,}")
    return lines
