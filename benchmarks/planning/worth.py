"""What each arm, plan and rule gains in quality, time and calls: `python -m benchmarks.planning.worth DATA`.

Questions of every kind of memory are asked with the default configuration, and again with one thing left out: an arm, a
rule, or the choice of a plan (the balanced plan for everything). A gain is *with* minus *without* it. A last pair asks
an embedding that takes 150 ms a query, as one behind a network does, undeclared and declared (`semantic_remote`).

Kinds count the same in a mean, and so do the data sets of a kind. Time is that of the processor, in turns.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from benchmarks.planning import plans
from benchmarks.planning.rules import switched
from benchmarks.quality import kinds, metrics
from benchmarks.quality.comparison import chosen
from benchmarks.quality.systems import TIME_BUDGET_MS, RecallSystem
from recall_integrations import MemoryStore, QueryOptimizer, RecallConfig
from recall_integrations.config import ARMS, PLAN_RULES
from recall_integrations.embeddings.static import StaticEmbedding
from recall_integrations.evaluation.metrics import Interval, interval
from recall_integrations.evaluation.questions import Question
from recall_integrations.evaluation.reports import compact_table

DEFAULT, PLANS = "default", "choice of a plan"
UNDECLARED, DECLARED = "150 ms, undeclared", "150 ms, declared"
METRIC, K = "ndcg@10", 10
AWAY_MS = 150.0


class Counted(StaticEmbedding):
    """The bundled model, with a count of the queries that it embedded."""

    calls = 0

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector, and count."""
        self.calls += 1
        return super().embed_query(text)


class Away:
    """The same vectors, of a model that takes 150 ms for each query."""

    remote = True

    def __init__(self) -> None:
        self._model, self.calls = StaticEmbedding(), 0
        self.fingerprint, self.dimensions = f"away:{self._model.fingerprint}", self._model.dimensions

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors at once: what is written costs no recall."""
        return self._model.embed_documents(texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector after 150 ms, and count."""
        self.calls += 1
        time.sleep(AWAY_MS / 1e3)
        return self._model.embed_query(text)


@dataclass(kw_only=True)
class Asked:
    """Answers of one configuration to the questions of a data set, by question."""

    scores: dict[str, float] = field(default_factory=dict)  # nDCG@10
    ids: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of the first ten
    plan: dict[str, str] = field(default_factory=dict)
    ms: dict[str, float] = field(default_factory=dict)  # of the processor
    wall: dict[str, float] = field(default_factory=dict)  # milliseconds that the caller waited
    calls: dict[str, int] = field(default_factory=dict)  # queries embedded


Answers = dict[str, dict[str, Asked]]  # data set → configuration → answers


def configurations(config: RecallConfig) -> dict[str, RecallConfig]:
    """Return the default, and it without each arm and each rule; a rule that is off is switched on."""
    planner = config.planner
    found = {DEFAULT: config}
    for arm in ARMS:
        arms = tuple(other for other in planner.arms if other != arm)
        found[f"arm {arm}"] = replace(config, planner=replace(planner, arms=arms))
    for rule in PLAN_RULES:
        found[f"rule {rule}"] = switched(config, rule)[0]
    return found


def ask(
    optimizers: Mapping[str, QueryOptimizer], counted: Mapping[str, Counted | Away], data: Path, name: str, limit: int
) -> dict[str, Asked]:
    """Ask questions of a data set, each of every configuration in turn."""
    read = kinds.read(data, name)
    some = chosen(read, limit)
    found = {which: Asked() for which in optimizers}
    systems = {
        which: RecallSystem(one, fills=False, time_budget_ms=TIME_BUDGET_MS) for which, one in optimizers.items()
    }
    for collection in read.collections:
        questions = [question for question in collection.questions if question.id in some]
        if not questions:
            continue
        for store in {id(one.store): one.store for one in optimizers.values()}.values():
            store.remember_many(collection.memories, scope=collection.scope)
            store.warm(scope=collection.scope)
        for system in systems.values():  # the first recall of a scope reads its names
            system.recall(questions[0], K)
        names = list(systems)
        for turn, question in enumerate(questions):
            systems[DEFAULT].recall(question, K)  # what is kept of a query, all that follow find alike
            begin = turn % len(names)
            for which in names[begin:] + names[:begin]:
                _one(found[which], counted[which], systems[which], question)
    relevant = {question.id: question.relevant for question in some.values()}
    for own in found.values():
        own.scores = {q: row[METRIC] for q, row in metrics.score(own.ids, relevant).items()}
    return found


def _one(own: Asked, embedding: Counted | Away, system: RecallSystem, question: Question) -> None:
    before, began, spent = embedding.calls, time.perf_counter(), time.process_time()
    result = system.recall(question, K)
    own.ms[question.id] = (time.process_time() - spent) * 1e3
    own.wall[question.id] = (time.perf_counter() - began) * 1e3
    own.calls[question.id] = embedding.calls - before
    own.ids[question.id] = tuple(str(hit.memory.id) for hit in result.hits)
    own.plan[question.id] = result.plan.name


def measured(
    data: Path, limit: int, console: Console, wanted: Sequence[str] = (), *, parts: bool = True
) -> tuple[Answers, dict[str, str]]:
    """Return all answers, and the kind of each data set; without `parts` those of the embedding that is away alone."""
    there, _ = kinds.found(data, kinds.wanted(wanted))
    answers: Answers = {}
    config = RecallConfig()
    away = replace(config, retrieval=replace(config.retrieval, semantic_remote=True))
    for name in there:
        with ExitStack() as stack:
            near, far = Counted(), Away()
            store = stack.enter_context(MemoryStore.open(config=config, embedding=near))
            remote = stack.enter_context(MemoryStore.open(config=away, embedding=far))
            optimizers = {one: QueryOptimizer(store, config=own) for one, own in configurations(config).items()}
            optimizers[PLANS] = plans.balanced(store, config=config)
            optimizers[UNDECLARED] = QueryOptimizer(remote, config=config)
            optimizers[DECLARED] = QueryOptimizer(remote, config=away)
            if not parts:
                optimizers = {one: optimizers[one] for one in (DEFAULT, UNDECLARED, DECLARED)}
            for one in optimizers.values():
                stack.callback(one.close)
            counted = {one: far if one in (UNDECLARED, DECLARED) else near for one in optimizers}
            answers[name] = ask(optimizers, counted, data, name, limit)
        console.print(f"{name}: {len(answers[name][DEFAULT].ids)} questions")
    return answers, {name: kind.title for name, kind in there.items()}


def _gaps(
    answers: Answers, one: str, other: str, values: Callable[[Asked], Mapping[str, float]], plan: str = ""
) -> Iterator[tuple[str, list[float]]]:
    """Yield of each data set the differences of two configurations, question by question."""
    for name, own in answers.items():
        asked = [q for q in own[DEFAULT].ids if not plan or own[DEFAULT].plan[q] == plan]
        yield name, [values(own[one])[q] - values(own[other])[q] for q in asked]


def mean_of(gaps: Iterator[tuple[str, list[float]]], kind_of: Mapping[str, str]) -> float:
    """Return the mean over kinds, each of its data sets."""
    by_kind: dict[str, list[float]] = defaultdict(list)
    for name, own in gaps:
        if own:
            by_kind[kind_of[name]].append(float(np.mean(own)))
    return float(np.mean([np.mean(own) for own in by_kind.values()])) if by_kind else 0.0


def show(answers: Answers, kind_of: Mapping[str, str], console: Console) -> None:
    """Print the tables."""
    table = compact_table("With minus without: nDCG@10 (95 % over questions), processor ms, embedding calls a question")
    for column in ("", "questions", "moved", "gain", "mean of kinds", "ms", "calls", "best, worst kind"):
        table.add_column(column, justify="left" if not column else "right", no_wrap=True)
    every = next(iter(answers.values()))
    rows = [(which, which, "") for which in every if which not in (DEFAULT, UNDECLARED, DECLARED)]
    rows += [(f"plan {plan}", PLANS, plan) for plan in plans.PLANS if PLANS in every]
    rows.append(("150 ms, declared ÷ not", UNDECLARED, ""))
    for title, without, plan in rows:
        one, other = (DECLARED if without == UNDECLARED else DEFAULT), without
        if title.endswith(" conversational"):  # off by default
            one, other = without, DEFAULT
        gain = [gap for _, own in _gaps(answers, one, other, lambda a: a.scores, plan) for gap in own]
        if not gain:
            continue
        moved = sum(
            own[one].ids[q] != own[other].ids[q]
            for own in answers.values()
            for q in own[DEFAULT].ids
            if not plan or own[DEFAULT].plan[q] == plan
        )
        spread: Interval = interval(gain)
        each: dict[str, list[float]] = defaultdict(list)
        for name, own in _gaps(answers, one, other, lambda a: a.scores, plan):
            each[kind_of[name]] += own
        by_kind = sorted((float(np.mean(own)), kind) for kind, own in each.items() if len(own) >= plans.FEW)
        ends = f"{by_kind[-1][1]} {by_kind[-1][0]:+.3f}, {by_kind[0][1]} {by_kind[0][0]:+.3f}" if by_kind else ""
        times = (lambda a: a.wall) if other == UNDECLARED else (lambda a: a.ms)
        table.add_row(
            title,
            f"{len(gain):,}",
            f"{moved:,}",
            f"{spread.mean:+.4f} ({spread.low:+.4f} to {spread.high:+.4f})",
            f"{mean_of(_gaps(answers, one, other, lambda a: a.scores, plan), kind_of):+.4f}",
            f"{mean_of(_gaps(answers, one, other, times, plan), kind_of):+.2f}",
            f"{mean_of(_gaps(answers, one, other, lambda a: a.calls, plan), kind_of):+.2f}",
            ends,
        )
    console.print(table)
    remote = compact_table("An embedding of 150 ms: undeclared, declared as remote")
    for column in ("kind", "questions", "calls", "saved", "nDCG@10", "change", "ms waited", "change"):
        remote.add_column(column, justify="left" if column == "kind" else "right", no_wrap=True)
    for kind in dict.fromkeys(kind_of.values()):
        of_kind = [answers[name] for name in answers if kind_of[name] == kind]
        before, after = ([each[which] for each in of_kind] for which in (UNDECLARED, DECLARED))
        count = sum(len(one.ids) for one in before)

        def mean(of: Sequence[Asked], values: Callable[[Asked], Mapping[str, float]], count: int = count) -> float:
            return sum(sum(values(one).values()) for one in of) / count

        calls, scores, wall = ([mean(of, v) for of in (before, after)] for v in (_calls, _scores, _wall))
        remote.add_row(
            kind,
            f"{count:,}",
            f"{calls[0]:.2f}",
            f"{1 - calls[1] / calls[0]:.0%}" if calls[0] else "",
            f"{scores[0]:.3f}",
            f"{scores[1] - scores[0]:+.4f}",
            f"{wall[0]:.0f}",
            f"{wall[1] - wall[0]:+.0f}",
        )
    console.print(remote)
    chosen_plans = Counter(plan for own in answers.values() for plan in own[DEFAULT].plan.values())
    console.print("Plans: " + ", ".join(f"{plan} {count:,}" for plan, count in chosen_plans.most_common()))


def _calls(asked: Asked) -> Mapping[str, float]:
    return asked.calls


def _scores(asked: Asked) -> Mapping[str, float]:
    return asked.scores


def _wall(asked: Asked) -> Mapping[str, float]:
    return asked.wall


@click.command()
@click.argument("data", type=click.Path(path_type=Path, exists=True))
@click.option("--limit", default=20, show_default=True, help="Questions of each data set, spread evenly.")
@click.option("--kind", "wanted", multiple=True, help="Only these kinds.")
@click.option("--parts/--no-parts", default=True, help="Whether parts are left out in turn; else the last pair alone.")
def main(data: Path, limit: int, wanted: tuple[str, ...], parts: bool) -> None:
    """Ask the questions of DATA, and print what each part gains."""
    console = Console(width=220)
    answers, kind_of = measured(data, limit, console, wanted, parts=parts)
    show(answers, kind_of, console)


if __name__ == "__main__":
    main()
