"""Print the reports of `recall bench quality --json` and `recall bench latency --json` as Markdown tables.

python scripts/benchmark_tables.py locomo.json latency.json
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


def quality(report: dict[str, Any]) -> Iterator[str]:
    yield f"**{report['dataset']}**, {report['questions']:,} questions, k = {report['k']}"
    yield ""
    systems: dict[str, Any] = report["systems"]
    rows = []
    for name, system in systems.items():
        overall = system["averages"]["overall"]
        rows.append([name, *(f"{overall[m]:.3f}" for m in METRICS), f"{system['median_ms']:.1f}"])
    yield from table(["system", *METRICS.values(), "median ms"], rows)
    categories = [c for c in systems["recall"]["averages"] if c != "overall"]
    if len(categories) > 1:
        yield ""
        yield "R@5 / nDCG@10 by category:"
        yield ""
        rows = [
            [name, *(f"{s['averages'][c]['recall@5']:.3f} / {s['averages'][c]['ndcg@10']:.3f}" for c in categories)]
            for name, s in systems.items()
        ]
        yield from table(["system", *categories], rows)
    if report.get("differences"):
        yield ""
        yield "recall minus the other system, with a 95 % paired bootstrap interval:"
        yield ""
        rows = [
            [name, *(f"{g['mean']:+.3f} ({g['low']:+.3f} to {g['high']:+.3f})" for g in gaps.values())]
            for name, gaps in report["differences"].items()
        ]
        yield from table(["system", "R@5", "nDCG@10"], rows)


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
        for line in quality(report) if "dataset" in report else latency(report):
            print(line)
        print()


if __name__ == "__main__":
    main()
