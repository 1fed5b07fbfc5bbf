"""`recall bench everyday`: stores as new users have them, beside what such a user would have without this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.datasets.data import EvaluationData
from benchmarks.everyday import stores
from benchmarks.everyday.answers import NO_FACTS, OURS, SYSTEMS, Answered, ask
from benchmarks.everyday.embeddings import BUNDLED, embedding_of
from benchmarks.everyday.figures import (
    KEPT,
    MANY,
    PARTS,
    SCORE_MIN,
    Refused,
    Reliable,
    Row,
    keeping,
    refused,
    reliable,
    rows,
    superseded,
)
from benchmarks.everyday.reasons import Wrong, wrong_reasons
from benchmarks.quality.comparison import chosen
from benchmarks.shared import extras
from benchmarks.shared.embedding_cache import CachedEmbedding
from benchmarks.shared.reports import environment, write_report
from benchmarks.shared.terminal import progress
from recall_integrations.config import RecallConfig
from recall_integrations.embeddings.static import bundled
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.questions import Question
from recall_integrations.evaluation.reports import checked_output, compact_table
from recall_integrations.frameworks.given import SCORE_MIN as FOR_MODELS
from recall_integrations.types import indexed_text

ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was found.

    Args:
        answers: of every question of the sets.
        sets, categories, parts, sizes: first hits that are right: of each set, category, category of a set, and size
            of store.
        kept_at: the threshold that keeps `KEPT` of all right first hits.
        thresholds: threshold → what it does to each set, and to all.
        reliable: of `hit.score`, by size of store; of the larger sets, too.
        superseded: questions for a changed value where an older one comes first, and how many there are.
        wrong: reasons that call an older memory newer.
    """

    answers: tuple[Answered, ...]
    sets: tuple[Row, ...]
    categories: tuple[Row, ...]
    parts: tuple[Row, ...]
    sizes: tuple[Row, ...]
    kept_at: float
    thresholds: Mapping[float, tuple[Refused, ...]]
    reliable: tuple[Reliable, ...]
    superseded: tuple[int, int]
    wrong: tuple[Wrong, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        groups = {"sets": self.sets, "categories": self.categories, "parts": self.parts, "sizes": self.sizes}
        return {
            **{name: [asdict(row) for row in own] for name, own in groups.items()},
            "kept_at": self.kept_at,
            "thresholds": {f"{at:.4f}": [asdict(one) for one in own] for at, own in self.thresholds.items()},
            "reliability": [asdict(one) for one in self.reliable],
            "superseded_first": {"questions": self.superseded[1], "superseded": self.superseded[0]},
            "wrong_reasons": [asdict(one) for one in self.wrong],
            "questions": [
                {
                    "set": one.dataset,
                    "id": one.question.id,
                    "category": one.question.category,
                    "memories": len(one.store.memories),
                    "relevant": list(one.question.relevant),
                    "first": dict(one.first),
                    "hits": [[hit.id, round(hit.score, 4)] for hit in one.found],
                }
                for one in self.answers
            ],
        }


def run(
    path: Path,
    console: Console,
    *,
    embedding: str = BUNDLED,
    cache: str | Path | None = None,
    facts: bool = True,
    stored_as: str = stores.AS_THEY_ARE,
    asked_as: str = stores.AS_THEY_ARE,
    larger: Sequence[Path] = (),
    limit: int = 200,
    misses: bool = False,
    json_path: str | Path | None = None,
    config: RecallConfig | None = None,
    k: int = 10,
) -> Report:
    """Ask every question, print the tables, and write the report if asked.

    Args:
        path: a folder with `memories.jsonl` and `questions.jsonl`, or with such folders in it.
        console: where tables go.
        embedding: one of `embeddings.EMBEDDINGS`, for every system.
        cache: folder that keeps what another embedding than the bundled one computes.
        facts: `False` = ours reads no facts.
        stored_as, asked_as: one of `stores.STORED_AS` and of `ASKED_AS`, for the small stores.
        larger: folders of larger sets, for the reliability of scores only.
        limit: questions of each of these at most, evenly spread.
        misses: also print what went wrong, question by question.
        json_path: file for the report.
        config: ours.
        k: hits that ours is asked for.

    Raises:
        InvalidArgument: a folder or a file of it cannot be used; the bundled embedding with a cache.
        MissingExtra: a package is not installed.
    """
    extras.check("bm25s")
    output, settings = checked_output(json_path), config or RecallConfig()
    if not facts:
        settings = replace(settings, facts=replace(settings.facts, read=False))
    sets, large = stores.read(path, stored_as, asked_as), [one for each in larger for one in stores.read(each)]
    if cache is not None and embedding == BUNDLED:
        raise InvalidArgument("The bundled embedding needs no cache. Name another embedding, or leave --cache out.")
    own = embedding_of(embedding)
    shared = None if own is None else CachedEmbedding(own, cache)
    try:
        answers = [one for each in sets for one in _asked(each, settings, console, k, shared)]
        beside = [one for each in large for one in _asked(each, settings, console, k, shared, limit)]
    finally:
        if shared is not None:
            shared.close()
    report = summary(answers, beside)
    show(report, console, embedding=embedding, k=k)
    if misses:
        show_misses(report, console)
    about = {
        **{"embedding": embedding, "stored_as": stored_as, "asked_as": asked_as, "facts": settings.facts.read},
        **{"config": settings.fingerprint, **environment()},
    }
    write_report(output, {"format": 1, "k": k, **report.as_dict(), "environment": about}, console)
    return report


def _asked(
    data: EvaluationData,
    config: RecallConfig,
    console: Console,
    k: int,
    embedding: CachedEmbedding | None,
    limit: int | None = None,
) -> list[Answered]:
    """The answers of a set; with a limit, ours alone to so many questions of it that have an answer."""
    some = None if limit is None else set(chosen(data, limit))
    questions = [q for q in data.questions if some is None or q.id in some]
    if some is not None:  # only the stores that are asked
        data = replace(data, collections=tuple(c for c in data.collections if any(q.id in some for q in c.questions)))
    with progress(console) as bar:
        if embedding is not None:
            texts = [indexed_text(m.text, m.actor) for c in data.collections for m in c.memories]
            queries = [q.text for q in questions]
            made = bar.add_task(f"{data.name}: embedding", total=len(texts) + len(queries))
            embedding.fill(texts, queries, lambda count: bar.update(made, advance=count))
        task = bar.add_task(data.name, total=len(questions))

        def is_asked(question: Question) -> bool:
            return some is None or question.id in some

        return ask(
            data,
            config,
            k=k,
            embedding=embedding,
            peers=some is None,
            asked=is_asked,
            told=lambda count: bar.update(task, advance=count),
        )


def summary(answers: Sequence[Answered], larger: Sequence[Answered] = ()) -> Report:
    """The report of what was asked.

    Raises:
        InvalidArgument: nothing was asked.
    """
    if not answers:
        raise InvalidArgument("There are no questions; there is nothing to measure.")
    kept_at = keeping(answers)
    thresholds = {}
    for at in (FOR_MODELS, SCORE_MIN, kept_at):  # of tools, of README, and what keeps most right hits
        everything = refused(answers, at, lambda _: ALL)
        thresholds[at] = (*refused(answers, at, lambda one: one.dataset), *everything)
    return Report(
        answers=tuple(answers),
        sets=(*rows(answers, lambda one: one.dataset), *rows(answers, lambda _: ALL)),
        categories=tuple(rows(answers, lambda one: one.question.category)),
        parts=tuple(rows(answers, lambda one: f"{one.dataset}: {one.question.category}")),
        sizes=tuple(rows(answers, lambda one: stores.size_of(len(one.store.memories)))),
        kept_at=kept_at,
        thresholds=thresholds,
        reliable=tuple(reliable([*answers, *larger])),
        superseded=superseded(answers, bundled()),
        wrong=tuple(wrong_reasons(answers)),
    )


# --- tables -----------------------------------------------------------------------------------------------------


def show(report: Report, console: Console, *, embedding: str, k: int) -> None:
    """Print the tables, the worst line of each first."""
    asked = len(report.answers)
    console.print(f"{asked:,} questions, embedding {embedding}, k = {k}. Share of first hits that are right.")
    tables = [("Sets", report.sets), ("Categories", report.categories), ("Size of store", report.sizes)]
    if len(report.sets) > 2:
        tables.append(("Categories of each set", report.parts))
    for title, own in tables:
        console.print(_first_hits(title, own))
    console.print(
        f"lead: before the best of the others. <: {MANY} questions or more, and {' or '.join(PARTS)} is better."
    )
    console.print(f"found: share of what answers that is among the first {k}.")
    for at, parts in report.thresholds.items():
        table = _table(f"Threshold {_share(at)}", "set", "right kept", "false", "of", "small talk", "of")
        for one in parts:
            false, talk = _share(one.false), _share(one.small_talk)
            table.add_row(one.name, _share(one.kept), false, str(one.unanswerable), talk, str(one.talk))
        console.print(table)
    console.print(f"{_share(report.kept_at)} keeps {KEPT:.0%} of the right first hits of all sets.")
    table = _table("hit.score by size of store", "memories", "hits", "said", "true", "ECE")
    for size in report.reliable:
        table.add_row(size.size, f"{size.hits:,}", _share(size.said), _share(size.true), _share(size.ece))
    console.print(table)
    old, changed = report.superseded
    if changed:
        console.print(
            f"Changed values, asked for now: a superseded memory first in {old} of {changed} ({_share(old / changed)})."
        )
    console.print(f"Reasons that call an older memory newer: {len(report.wrong)}")
    for wrong in report.wrong[:10]:
        console.print(f"  {wrong.dataset} {wrong.question} {wrong.memory}: {wrong.part} ({wrong.why})", markup=False)


def _first_hits(title: str, own: Sequence[Row]) -> Table:
    systems = [system for system in SYSTEMS if any(system in row.right for row in own)]
    table = _table(title, "", "n", *(system.replace(" ", "\n") for system in systems), "lead", "found")
    for row in own:
        shares = [_share(row.right.get(system)) for system in systems]
        lead = f"{'-' if row.lead < 0 else '+'}{_share(abs(row.lead))}{'<' if row.behind else ' '}"
        table.add_row(row.name, str(row.questions), *shares, lead, _share(row.recalled))
    return table


def show_misses(report: Report, console: Console) -> None:
    """Print each question whose first hit is wrong, and each without an answer that got one."""
    for one in report.answers:
        question = one.question
        if one.right(OURS) or (not question.relevant and one.best < SCORE_MIN):
            continue
        texts = {memory.id: memory.text for memory in one.store.memories}
        scores = {hit.id: hit.score for hit in one.found}
        others = [name for name in one.first if name not in (OURS, NO_FACTS) and one.right(name)]
        lines = [f"{one.dataset} {question.id} [{question.category}] {question.text}"]
        if one.found:
            hit = one.found[0]
            lines.append(f"  first  {hit.score:.2f} {hit.id}: {_line(texts[hit.id])} ({hit.reason})")
        for gold in question.relevant[:1]:
            score = f"{scores[gold]:.2f}" if gold in scores else "none"
            lines.append(f"  wanted {score} {gold}: {_line(texts[gold])}")
        if one.right(NO_FACTS) or others:
            right = [*([NO_FACTS] if one.right(NO_FACTS) else []), *others]
            lines.append(f"  right: {', '.join(right)}")
        console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)


def _line(text: str, most: int = 120) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[:most]}…"


def _share(value: float | None) -> str:
    """ ".667"; empty where there is nothing to say."""
    return "" if value is None else "1.00" if value >= 0.9995 else f"{value:.3f}".removeprefix("0")


def _table(title: str, first: str, *columns: str) -> Table:
    table = compact_table(title)
    table.add_column(first, no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table
