"""Print the reports of `recall bench quality`, `abstention` and `latency` (`--json`) as Markdown tables.

python scripts/benchmark_tables.py locomo.json abstention.json latency.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

METRICS = {"recall@1": "R@1", "recall@5": "R@5", "recall@10": "R@10", "ndcg@10": "nDCG@10", "mrr@10": "MRR@10"}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|---|" + "---:|" * (len(head) - 1)
    yield from ("| " + " | ".join(row) + " |" for row in rows)


def interval(gap: dict[str, float]) -> str:
    return f"{gap['mean']:+.3f} ({gap['low']:+.3f} to {gap['high']:+.3f})"


def differences(title: str, head: str, found: dict[str, Any], moved: dict[str, int] | None = None) -> Iterator[str]:
    if not found:
        return
    yield ""
    yield title
    yield ""
    rows = [
        [name, *([] if moved is None else [f"{moved[name]:,}"]), *(interval(gap) for gap in gaps.values())]
        for name, gaps in found.items()
    ]
    yield from table([head, *([] if moved is None else ["moved"]), "R@5", "nDCG@10"], rows)


def of_kind(report: dict[str, Any], *kinds: str) -> dict[str, Any]:
    return {name: system for name, system in report["systems"].items() if system["kind"] in kinds}


def kinds(report: dict[str, Any]) -> Iterator[str]:
    """The worst first, as the report has them."""
    if not report["kinds"]:
        return
    yield "nDCG@10 by kind, the worst first, against the best peer, with a 95 % paired bootstrap interval:"
    yield ""
    rows = []
    for line in [*report["kinds"].values(), *report["kinds_mean"].values()]:
        compared = line["difference"] is not None
        theirs = [
            f"{line['peer_ndcg@10']:.3f}",
            line["peer"] or "the best of each",
            "" if line["ratio"] is None else f"{line['ratio']:.2f}",
            interval(line["difference"]),
        ]
        ours = [line["title"], f"{line['questions']:,}", f"{line['ndcg@10']:.3f}"]
        rows.append([*ours, *(theirs if compared else ["", "", "", ""]), f"{line['recall@5']:.3f}"])
    yield from table(["kind", "questions", "recall", "best peer", "", "ratio", "difference", "R@5 of recall"], rows)
    if report["kinds_missing"]:
        yield ""
        yield f"Not measured, for want of data: {', '.join(report['kinds_missing'])}"
    yield ""


def quality(report: dict[str, Any]) -> Iterator[str]:
    if "kinds" in report:
        yield from kinds(report)
    for name, part in report["datasets"].items():
        yield from dataset(name, part, report["k"])
        yield ""
    for name, mean in report["means"].items():
        yield f"**{name}** ({', '.join(mean['datasets'])})"
        yield ""
        rows = [[s, *(f"{v[m]:.3f}" for m in METRICS)] for s, v in of_kind(mean, "ours", "peer").items()]
        yield from table(["system", *METRICS.values()], rows)
        yield from gaps(mean)
        yield ""


def gaps(report: dict[str, Any], moved: dict[str, int] | None = None) -> Iterator[str]:
    interval_of = "95 % paired bootstrap interval"
    for kind, title, head in (
        ("peer", f"recall minus the other system, with a {interval_of}:", "system"),
        ("stage", f"recall minus recall with one stage changed, with a {interval_of}:", "changed"),
    ):
        own = {s: report["differences"][s] for s in of_kind(report, kind)}
        yield from differences(title, head, own, moved if kind == "stage" else None)


def dataset(name: str, report: dict[str, Any], k: int) -> Iterator[str]:
    yield f"**{name}**, {report['questions']:,} questions, k = {k}"
    yield ""
    systems = of_kind(report, "ours", "peer")
    rows = []
    for system, values in systems.items():
        overall = values["averages"]["overall"]
        rows.append([system, *(f"{overall[m]:.3f}" for m in METRICS), f"{values['median_ms']:.1f}"])
    yield from table(["system", *METRICS.values(), "median ms"], rows)
    categories = [c for c in systems["recall"]["averages"] if c != "overall"]
    if len(categories) > 1:
        yield ""
        yield "R@5 / nDCG@10 by category:"
        yield ""
        rows = [
            [s, *(f"{v['averages'][c]['recall@5']:.3f} / {v['averages'][c]['ndcg@10']:.3f}" for c in categories)]
            for s, v in systems.items()
        ]
        yield from table(["system", *categories], rows)
    yield from gaps(report, {s: v["moved"] for s, v in report["systems"].items()})
    for system, values in report["systems"].items():
        if "note" in values:
            yield ""
            yield f"{system}: {values['note']}"


def abstention(report: dict[str, Any]) -> Iterator[str]:
    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}"

    yield f"**{report['dataset']}**, {report['questions']:,} questions, each also asked of the next conversation"
    yield ""
    yield f"AUROC of `result.confidence`, own against wrong: {report['auroc']:.3f}"
    yield ""
    parts = {"`result.confidence`": report["confidence"], "`hit.score`": report["score"]}
    rows = [[name, *(number(part["ece"]) for part in both.values())] for name, both in parts.items()]
    yield from table(["expected calibration error", *report["confidence"]], rows)
    yield ""
    rows = [[f"{t['at']:g}", f"{t['answered']:.1%}", f"{t['refused']:.1%}"] for t in report["thresholds"]]
    yield from table(["`abstain_below`", "own answered", "wrong refused"], rows)
    for title, groups in (("category", report["categories"]), ("plan", report["plans"])):
        yield ""
        rows = [
            [name, f"{g['own']:,}", f"{g['wrong']:,}", *map(number, (g["auroc"], g["confidence_ece"], g["score_ece"]))]
            for name, g in groups.items()
        ]
        yield from table([title, "own", "wrong", "AUROC", "ECE of confidence", "ECE of score"], rows)
    if report["note"]:
        yield ""
        yield report["note"]


def latency(report: dict[str, Any]) -> Iterator[str]:
    head = ["memories", "plan", *next(iter(report["sizes"]))["latency"], "ratio to LlamaIndex (p50)"]
    rows = []
    for size in report["sizes"]:
        systems = size["latency"]
        for plan in systems["recall"]:
            cells = [f"{s[plan]['p50']:.1f} / {s[plan]['p95']:.1f} / {s[plan]['p99']:.1f}" for s in systems.values()]
            peer = systems.get("LlamaIndex fusion", {}).get(plan)
            ratio = f"{systems['recall'][plan]['p50'] / peer['p50']:.2f}" if peer else ""
            rows.append([f"{size['size']:,}", plan, *cells, ratio])
    yield "p50 / p95 / p99 in ms:"
    yield ""
    yield from table(head, rows)
    yield ""
    rows = []
    for size in report["sizes"]:
        fresh = size["fresh"]
        hnsw = size["hnsw_recall"]
        rows.append(
            [
                f"{size['size']:,}",
                f"{size['ingest_per_s']:,.0f}",
                *(f"{size['size'] / seconds:,.0f}" for seconds in size["peer_build_s"].values()),
                f"{size['remember_ms']:.0f}",
                f"{fresh['open_ms']:.0f}",
                f"{fresh['first_recall_ms']:.0f}",
                f"{fresh['rss_mb']:.0f}",
                "exact" if hnsw is None else f"{hnsw:.3f}",
            ]
        )
    built = [f"{name}, per s" for name in report["sizes"][0]["peer_build_s"]]
    yield from table(
        [
            "memories",
            "remember_many, per s",
            *built,
            "remember, ms",
            "open, ms",
            "first recall, ms",
            "resident, MB",
            "recall@10 of vectors",
        ],
        rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", type=Path)
    for path in parser.parse_args().reports:
        report = json.loads(path.read_text(encoding="utf-8"))
        if "datasets" in report:
            lines = quality(report)
        elif "abstention" in report:
            lines = abstention(report["abstention"])
        else:
            lines = latency(report)
        for line in lines:
            print(line)
        print()


if __name__ == "__main__":
    main()
