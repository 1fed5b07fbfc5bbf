"""`python -m benchmarks.goldens`: keep every answer before a change of shape, and compare with it afterwards.

    python -m benchmarks.goldens record /tmp/before.json.gz ../shared/data
    python -m benchmarks.goldens check /tmp/before.json.gz ../shared/data

A change that moves code must move no answer: ids, order, scores within .001, reasons and degradations. All questions
of the small stores are asked (`everyday` of DATA, and those in `benchmarks/made_up`), and `--limit` of each larger
set. The file holds the ids of evaluation data; keep it outside the repository.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from benchmarks.datasets.data import EvaluationData
from benchmarks.datasets.loading import LOADERS, load
from benchmarks.everyday import stores
from benchmarks.quality.comparison import chosen
from benchmarks.quality.systems import TIME_BUDGET_MS, RecallSystem
from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.errors import InvalidArgument

MADE_UP = Path(__file__).parent / "made_up"
SMALL = (MADE_UP / "everyday", MADE_UP / "everyday_2")
LARGE = ("phone", "documents", "talk", "preferences", "code", "claims", "hotpotqa", "languages/de", "languages/zh")
OTHER = (*(name for name in LOADERS if name not in LARGE and name != "jsonl"), "languages/es", "languages/ar")
K = 10
NEAR = 0.001

Answers = dict[str, dict[str, Any]]  # "set: question" → what came back


def _sets(data: Path, limit: int, everything: bool) -> Iterator[EvaluationData]:
    """Yield the sets to ask, each with the questions to ask and the stores that these need."""
    for folder in (data / "everyday", *SMALL):
        if folder.is_dir():
            yield from (replace(each, name=f"{folder.name}/{each.name}") for each in stores.read(folder))
    for name in (*LARGE, *(OTHER if everything else ())):
        try:
            each = load(data, name)
        except InvalidArgument as e:
            click.echo(f"Without {name}: {e}", err=True)
            continue
        ids = set(chosen(each, limit))
        some = (replace(c, questions=tuple(q for q in c.questions if q.id in ids)) for c in each.collections)
        yield replace(each, collections=tuple(c for c in some if c.questions))


def _answers(data: EvaluationData) -> Answers:
    """Ask every question of a set through one temporary store."""
    found: Answers = {}
    with MemoryStore.open() as store:
        system = RecallSystem(QueryOptimizer(store), time_budget_ms=TIME_BUDGET_MS)
        try:
            for collection in data.collections:
                system.enter(collection)
                for question in collection.questions:
                    result = system.recall(question, K)
                    found[f"{data.name}: {question.id}"] = {
                        "hits": [[h.memory.id, h.score, h.reason] for h in result.hits],
                        "degraded": sorted(f"{d.stage} {d.reason}" for d in result.degraded),
                    }
        finally:
            system.close()
    return found


def _all_answers(data: Path, limit: int, everything: bool) -> Answers:
    found: Answers = {}
    for each in _sets(data, limit, everything):
        own = _answers(each)
        click.echo(f"{each.name}: {len(own):,} answers", err=True)
        found |= own
    return found


def differences(before: Answers, after: Answers) -> list[str]:
    """List what is not as before: a line for each answer that differs, with the first thing that does."""
    found = [f"{name}: asked once only" for name in sorted(before.keys() ^ after.keys())]
    for name in sorted(before.keys() & after.keys()):
        a, b = before[name], after[name]
        ids = [[hit[0] for hit in one["hits"]] for one in (a, b)]
        if ids[0] != ids[1]:
            found.append(f"{name}: order {ids[0]} → {ids[1]}")
        elif any(abs(x[1] - y[1]) > NEAR for x, y in zip(a["hits"], b["hits"], strict=True)):
            found.append(f"{name}: scores {[h[1] for h in a['hits']]} → {[h[1] for h in b['hits']]}")
        elif a["degraded"] != b["degraded"]:
            found.append(f"{name}: degraded {a['degraded']} → {b['degraded']}")
        else:
            pairs = zip(a["hits"], b["hits"], strict=True)
            found += [f"{name} {x[0]}: reason {x[2]!r} → {y[2]!r}" for x, y in pairs if x[2] != y[2]][:1]
    return found


@click.command(help=__doc__)
@click.argument("what", type=click.Choice(["record", "check"]))
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("data", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--limit", default=40, show_default=True, type=click.IntRange(min=1), help="Questions of a larger set.")
@click.option("--all", "everything", is_flag=True, help="The larger sets that take minutes to store, too.")
def main(what: str, file: Path, data: Path, limit: int, everything: bool) -> None:
    """Record the answers, or check them; exit 1 if any differs."""
    if what == "check" and not file.is_file():
        raise click.UsageError(f"{file} does not exist. Record it first, on the commit before the change.")
    after = _all_answers(data, limit, everything)
    if what == "record":
        with gzip.open(file, "wt", encoding="utf-8") as out:
            json.dump(after, out)
        click.echo(f"{len(after):,} answers kept in {file}.")
        return
    with gzip.open(file, "rt", encoding="utf-8") as kept:
        found = differences(json.load(kept), after)
    for line in found[:50]:
        click.echo(line)
    click.echo(f"{len(found):,} of {len(after):,} answers differ.")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
