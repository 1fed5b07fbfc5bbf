"""The `recall` command. Thin: it reads arguments and calls; what it shows and imports is in `console/`.

Nothing heavy is imported before a command runs, so `recall --help` is quick. Results go to standard output, progress
and errors to standard error. Exit codes: 0 done, 1 an error that is named, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recall_integrations import __version__
from recall_integrations.console.scopes import SYNTAX, find_scope, parse_scope, scope_text
from recall_integrations.errors import InvalidArgument, NotFound, RecallError

if TYPE_CHECKING:
    from rich.console import Console

    from recall_integrations.console.importing import ImportReport

BAD_ROWS_SHOWN = 100
STORE = click.argument("store", type=click.Path(path_type=Path))
SCOPE = click.option("--scope", metavar="SCOPE", help=f"{SYNTAX} One part alone will do if only one scope has it.")
EMBEDDING = click.option(
    "--embedding",
    metavar="NAME",
    envvar="RECALL_EMBEDDING",
    help="sentence-transformers model (name or path) that the store was made with. Default: the bundled model.",
)


class _Recall(click.Group):
    """A group whose commands end with one clear line and an exit code instead of a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Interrupted. The store is sound; what was acknowledged is kept.", err=True)
            ctx.exit(130)
        except RecallError as e:
            if ctx.params.get("debug"):
                raise
            click.echo(f"Error: {_line(str(e))}", err=True)
            ctx.exit(1)


@click.group(cls=_Recall, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="recall")
@click.option("--debug", is_flag=True, envvar="RECALL_DEBUG", help="Show the traceback of an error.")
def main(debug: bool) -> None:
    """Find the right memory: import memories into a store, search it, and see why each hit is there."""


@main.command()
def demo() -> None:
    """Ask six questions of a small built-in store.

    They are of six kinds, and it is shown how each is answered.

    Nothing is left behind. The answers are the same on every day; only the times differ.
    """
    from recall_integrations.console.demo import run_demo

    run_demo(_console())


# -- filling -----------------------------------------------------------------------------------------------------------


@main.command("import")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.argument("store", type=click.Path(path_type=Path))
@click.option("--format", "kind", type=click.Choice(["jsonl", "locomo"]), required=True, help="What PATH holds.")
@click.option("--scope", metavar="SCOPE", help=f"Scope of rows that do not say theirs: {SYNTAX}")
@click.option("--skip-bad", is_flag=True, help="Leave out bad rows and list them, instead of stopping at the first.")
@EMBEDDING
def import_(path: Path, store: Path, kind: str, scope: str | None, skip_bad: bool, embedding: str | None) -> None:
    """Put the memories in PATH into STORE.

    STORE is a directory, made if absent.

    An import that was interrupted continues when it is run again: a row that is in the store already is left alone,
    one that has changed replaces what was there.

    \b
    jsonl: one JSON object per line. Only "text" is required:
      text, id, type, actor, channel, event_at, created_at, importance,
      entities, relations, thread, position, refs, metadata
      user_id, agent_id, namespace        the scope, each over --scope
    Times are ISO 8601 with an offset (2026-03-01T12:00:00+00:00). relations
    is a list of [subject, predicate, object] or of such with a confidence.
    type is fact, preference, event, skill, chunk, observation or summary.
    An unknown key is an error: other data belongs into metadata.

    A row without an id gets one from its content, so it is found again. If you edit such a row and import it again,
    the old one stays: give an id to rows that change.

    locomo: the file of the LoCoMo benchmark. Each conversation gets a scope of its own, 'locomo/-/conv-26' for
    the conversation conv-26.
    """
    from recall_integrations.console.importing import Importer
    from recall_integrations.console.interrupt import deferred_interrupt
    from recall_integrations.store.memory_store import MemoryStore

    if kind == "locomo" and (scope is not None or skip_bad):
        raise click.UsageError(
            "--scope and --skip-bad are for --format jsonl: LoCoMo has its own scopes and no rows to skip."
        )
    if kind == "jsonl" and path.is_dir():
        raise InvalidArgument(f"{path} is a directory. Give the JSON Lines file itself.")
    default = parse_scope(scope or "")
    rows = _locomo(path) if kind == "locomo" else None
    with MemoryStore.open(store, embedding=embedding) as target:
        importer = Importer(target)
        total = path.stat().st_size if rows is None else len(rows)
        try:
            with deferred_interrupt() as check, _progress() as bar:
                task = bar.add_task("Importing", total=total)

                def advance(done: int) -> None:
                    bar.advance(task, done)
                    check()

                if rows is None:
                    importer.jsonl(path, default, skip_bad=skip_bad, advance=advance)
                else:
                    importer.store_all(rows, advance)
        except (RecallError, KeyboardInterrupt):
            click.echo(_counts(importer.report) + ". Run the command again to continue.", err=True)
            raise
    _show_import(importer.report)


def _locomo(path: Path) -> list[Any]:
    from recall_integrations.evaluation.datasets import iter_locomo_memories

    return list(iter_locomo_memories(path))  # read whole first: nothing is stored if the file is no LoCoMo file


def _show_import(report: ImportReport) -> None:
    for bad in report.bad[:BAD_ROWS_SHOWN]:
        click.echo(f"Skipped line {bad.line}: {_line(bad.problem)}", err=True)
    if len(report.bad) > BAD_ROWS_SHOWN:
        click.echo(f"Skipped {len(report.bad) - BAD_ROWS_SHOWN:,} more lines.", err=True)
    click.echo(f"{_counts(report)}.")


def _counts(report: ImportReport) -> str:
    words = [f"{report.new:,} new", f"{report.replaced:,} replaced", f"{report.unchanged:,} unchanged"]
    if report.bad:
        words.append(f"{len(report.bad):,} skipped")
    scopes = [scope_text(s) for s in report.scopes]
    where = f" in {scopes[0]}" if len(scopes) == 1 else f" in {len(scopes):,} scopes" if scopes else ""
    return f"Memories: {', '.join(words)}{where}"


@main.command()
@STORE
@click.argument("name")
@click.option(
    "--alias", "aliases", multiple=True, metavar="NAME", help="Another name for it; may be given several times."
)
@SCOPE
@EMBEDDING
def entity(store: Path, name: str, aliases: tuple[str, ...], scope: str | None, embedding: str | None) -> None:
    """Declare an entity and other names for it.

    Queries with any of the names find the memories with any other, in this scope.
    """
    from recall_integrations.console.opening import existing_store

    with existing_store(store, embedding) as target:
        where = find_scope(scope, target.scopes())
        entity_id = target.add_entity(name, aliases=aliases, scope=where)
    also = f", also called {', '.join(aliases)}" if aliases else ""
    click.echo(_line(f"{name}{also}: {entity_id} in {scope_text(where)}"))


@main.command()
@STORE
@click.argument("memory_id", metavar="ID")
@SCOPE
@click.option("--yes", is_flag=True, help="Do not ask.")
@EMBEDDING
def forget(store: Path, memory_id: str, scope: str | None, yes: bool, embedding: str | None) -> None:
    """Remove the memory ID of a scope, everywhere."""
    from recall_integrations.console.opening import existing_store

    with existing_store(store, embedding) as target:
        where = find_scope(scope, target.scopes())
        memory = target.get(memory_id, scope=where)
        if memory is None:
            raise NotFound(f"The scope {scope_text(where)} has no memory {memory_id!r}.")
        if not yes:
            click.echo(_line(memory.text)[:400])
            if not click.confirm(f"Forget {_line(memory_id)} in {scope_text(where)}?"):
                click.echo("Nothing was removed.")
                return
        target.forget(memory_id, scope=where)
    click.echo(_line(f"Forgot {memory_id} in {scope_text(where)}."))


# -- reading -----------------------------------------------------------------------------------------------------------


@main.command()
@STORE
@click.argument("query")
@SCOPE
@click.option("--k", default=5, show_default=True, type=click.IntRange(min=1), help="How many hits.")
@click.option(
    "--now", metavar="TIME", help="What 'yesterday' is relative to: ISO 8601 with an offset. Default: the clock."
)
@click.option(
    "--explain", is_flag=True, help="Show the parsed query, the rules tried, the arms, and what made each score."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON with everything, see above.")
@EMBEDDING
def search(
    store: Path,
    query: str,
    scope: str | None,
    k: int,
    now: str | None,
    explain: bool,
    as_json: bool,
    embedding: str | None,
) -> None:
    """Find the memories in STORE that answer QUERY.

    \b
    --json prints one object; keys are only ever added (format is 1):
      format, query, scope, k, now
      plan, reason, confidence
      hits      [{id, score, reason, memory, contributions}]; memory has the
                keys of `recall import`, contributions are
                [{source, rank, score, added}]
      parsed    {entities, window, negations, predicate_hints, type_hints,
                terms, rewrites, specificity, features}
      arms      [{name, weight, limit}]
      rules     [{rule, fired, because, margin}]
      rewrite   {strategy, reason}
      degraded  [{stage, reason, detail}]
      timings_ms  {stage: milliseconds}, arms as arm.NAME, and total
    """
    from recall_integrations.console import as_json as data
    from recall_integrations.console import rendering
    from recall_integrations.console.opening import existing_store
    from recall_integrations.optimizer import QueryOptimizer

    moment = _moment(now)
    with existing_store(store, embedding) as source:
        where = find_scope(scope, source.scopes())
        optimizer = QueryOptimizer(source)
        try:
            result = optimizer.recall(query, k=k, scope=where, now=moment)
        finally:
            optimizer.close()
    if as_json:
        click.echo(data.dumps(data.result_data(result, where, k)))
    else:
        rendering.show_result(_console(), result, where, explain=explain)


@main.command()
@STORE
@click.argument("query")
@SCOPE
@click.option("--k", default=3, show_default=True, type=click.IntRange(min=1), help="How many hits.")
@click.option(
    "--now", metavar="TIME", help="What 'yesterday' is relative to: ISO 8601 with an offset. Default: the clock."
)
@click.option("--timezone", metavar="ZONE", help="Where 'yesterday' is read, such as Europe/Berlin. Default: UTC.")
@click.option("--no-search", is_flag=True, help="Only read and plan the query.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON with everything, see above.")
@EMBEDDING
def explain(
    store: Path,
    query: str,
    scope: str | None,
    k: int,
    now: str | None,
    timezone: str | None,
    no_search: bool,
    as_json: bool,
    embedding: str | None,
) -> None:
    """Show how QUERY is understood and what is done about it.

    Its words are marked by the part they play; then come what they were read as, the features, the rules in the order
    they are tried, the arms with their weights, and the best hits.

    \b
    --json prints one object; keys are only ever added (format is 1). It has
    the keys of `recall search --json`, and besides:
      searched  false with --no-search: k is null, hits and timings_ms are empty
      tokens    [{text, span, roles, rarity}]; roles are of negated, entity,
                time, identifier, corrected, rare, stop; the first is shown
      parsed    also {type_cues, type_filters, identifiers, corrections,
                router, conversational}, which are:
        identifiers     [{text, kind, span}]
        corrections     [{word, spelling, stem, similarity, frequency,
                        learned}]
        router          {mode, reason, graph_bias, time_bias}
        conversational  {verdict, domain_signal, stopword_ratio, has_code,
                        rare, because}
      runner_up  {plan, margin} or null
      switches  {type_filter, window_filter, exact_match, time_bias, rewrite,
                rerank, diversity, prefers}
      arms      also {asked, ms}; ms is null where it was not asked
    """
    from recall_integrations.console import as_json as data
    from recall_integrations.console import explain as explanation
    from recall_integrations.console.opening import existing_store
    from recall_integrations.optimizer import QueryOptimizer
    from recall_integrations.records import ParsedQuery, RecallResult

    moment = _moment(now)
    with existing_store(store, embedding) as source:
        where = find_scope(scope, source.scopes())
        optimizer = QueryOptimizer(source)
        try:
            source.warm(scope=where)
            found: RecallResult | ParsedQuery
            if no_search:
                found = optimizer.parse(query, scope=where, now=moment, timezone=timezone)
                plan = optimizer.plan(found)
            else:  # twice, so that the times are typical ones; what the first has learned is no news to the second
                options: Any = {"k": k, "scope": where, "now": moment, "timezone": timezone}
                first = optimizer.recall(query, **options)
                found = replace(optimizer.recall(query, **options), query=first.query)
                plan = found.plan
        finally:
            optimizer.close()
    if as_json:
        asked = explanation.asked_arms(found, plan)
        click.echo(data.dumps(data.explanation_data(found, plan, where, asked=asked, k=None if no_search else k)))
    else:
        explanation.explain(_console(), found, plan, optimizer.config)


@main.command()
@STORE
@click.option("--json", "as_json", is_flag=True, help="Print JSON, see above.")
@EMBEDDING
def stats(store: Path, as_json: bool, embedding: str | None) -> None:
    """Show what STORE holds.

    Scopes, types, sizes, and whether an index is behind.

    \b
    --json prints one object; keys are only ever added (format is 1):
      format, path, schema_version, embedding, memories, bytes
      scopes      [{scope, memories}]
      types       {type: memories}
      first_event, last_event             ISO 8601 or null
      entities, aliases, mentions, edges, vectors
      index_lag   {index: changes not applied yet}
      notices     repairs made while opening
    """
    from recall_integrations.console import as_json as data
    from recall_integrations.console import rendering
    from recall_integrations.console.opening import existing_store

    with existing_store(store, embedding) as source:
        found, scopes = source.stats(), source.scopes()
    if as_json:
        click.echo(data.dumps(data.stats_data(found, scopes)))
    else:
        rendering.show_stats(_console(), data.stats_data(found, scopes))


@main.command()
@STORE
@EMBEDDING
def reindex(store: Path, embedding: str | None) -> None:
    """Make the indexes of STORE anew.

    BM25 is made from the texts in the database, and every vector with the embedding given. This is how a store
    changes to another embedding: name the new one with --embedding, and from then on always.
    """
    from recall_integrations.console.interrupt import deferred_interrupt
    from recall_integrations.console.opening import rebuild

    with deferred_interrupt() as check, _progress() as bar:
        tasks: dict[str, Any] = {}

        def show(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name.capitalize(), total=total)
            bar.update(tasks[name], completed=done, total=total)
            check()

        fingerprint = rebuild(store, embedding, show)
    click.echo(f"Rebuilt the indexes of {store} with the embedding {fingerprint}.")


# -- learning ----------------------------------------------------------------------------------------------------------


@main.command()
@STORE
@click.argument("queries", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--out", required=True, metavar="FILE", type=click.Path(path_type=Path), help="Where the weights go.")
@click.option("--ranker", default="linear", show_default=True, type=click.Choice(["linear", "trees"]))
@click.option("--scope", metavar="SCOPE", help=f"Scope of queries that do not say theirs: {SYNTAX}")
@click.option("--folds", default=5, show_default=True, type=click.IntRange(min=2), help="Of the cross-validation.")
@click.option("--seed", default=0, show_default=True, help="Of the folds and of what is sampled.")
@click.option("--now", metavar="TIME", help="The present of queries without a time: ISO 8601. Default: the clock.")
@click.option("--config", "config_path", type=click.Path(exists=True, dir_okay=False), help="YAML file with settings.")
@EMBEDDING
def train(
    store: Path,
    queries: Path,
    out: Path,
    ranker: str,
    scope: str | None,
    folds: int,
    seed: int,
    now: str | None,
    config_path: str | None,
    embedding: str | None,
) -> None:
    """Learn ranking weights from labelled QUERIES.

    They are compared with the un-learned ranker on queries they were not learned from, and written in any case. Trees
    need the extra recall-integrations[rank].

    \b
    QUERIES: one JSON object per line, at least 30, better some hundreds:
      query      the text (or: question)
      relevant   ids of the memories that answer it
      id, category                        optional
      asked_at   what "yesterday" is relative to: ISO 8601 with an offset
      scope      {user_id, agent_id, namespace}, over --scope
    """
    from recall_integrations.config import RecallConfig
    from recall_integrations.console import training
    from recall_integrations.console.opening import existing_store
    from recall_integrations.evaluation.datasets_jsonl import load_jsonl_questions
    from recall_integrations.evaluation.learning import learn
    from recall_integrations.evaluation.reports import checked_output
    from recall_integrations.store.memory_store import utc_now

    moment = _moment(now) or utc_now()
    checked_output(out)
    config = None if config_path is None else RecallConfig.from_yaml(config_path)
    questions = load_jsonl_questions(queries)
    with existing_store(store, embedding) as source, _progress() as bar:
        tasks: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done)

        learned = learn(
            source, questions, now=moment, kind=ranker, scope=scope, folds=folds, seed=seed, config=config,
            progress=show,
        )  # fmt: skip
    training.write(learned, out)
    training.show(learned, _console())
    for warning in training.warnings(learned):
        click.echo(f"Warning: {_line(warning)}", err=True)
    click.echo(f"Wrote {_line(str(out))}. A configuration file uses it with:\n{training.usage(learned, out)}")


# -- benchmarks --------------------------------------------------------------------------------------------------------


@main.group()
def bench() -> None:
    """Measure quality and speed. What is compared with us needs the extra recall-integrations[bench]."""


@bench.command("quality")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--dataset", "datasets", multiple=True, default=("locomo",), show_default=True,
    help="locomo, hotpotqa, musique or jsonl; may be given several times.",
)  # fmt: skip
@click.option("--limit", type=click.IntRange(min=1), help="Ask at most this many questions of each, evenly spread.")
@click.option("--peers/--no-peers", default=True, show_default=True, help="Compare with the frameworks' retrievers.")
@click.option("--stages", is_flag=True, help="Compare with ourselves, each stage changed or switched off in turn.")
@click.option("--k", default=10, show_default=True, type=click.IntRange(min=1), help="Hits asked for.")
@click.option("--config", "config_path", type=click.Path(exists=True, dir_okay=False), help="YAML file with settings.")
@click.option("--json", "json_path", metavar="FILE", help="Write the report to FILE, see above.")
@click.option("--pictures", metavar="DIR", help="Write a picture (SVG) of each table to DIR.")
def bench_quality(
    path: Path,
    datasets: tuple[str, ...],
    limit: int | None,
    peers: bool,
    stages: bool,
    k: int,
    config_path: str | None,
    json_path: str | None,
    pictures: str | None,
) -> None:
    """How often the right memories come back.

    Asks the questions of the data sets in PATH. HotpotQA and MuSiQue together also get a mean.

    \b
    locomo             PATH is locomo10.json, or a directory with it in it or in
                       locomo/
    hotpotqa, musique  PATH is a directory with hotpotqa*.json and
                       hotpotqa*_corpus.json in it or in multihop/; likewise
                       musique
    jsonl              your own: PATH is a directory with two files in it or in
                       jsonl/, one JSON object per line:
      memories.jsonl   as `recall import` takes them, with an "id"
      questions.jsonl  query, relevant (list of ids); optional: id, category,
                       asked_at (ISO 8601 with an offset),
                       scope {user_id, agent_id, namespace}

    \b
    --json writes one object; keys are only ever added (format is 2):
      format, k
      datasets  {name: {questions, systems, plans, degraded, differences}}
      means     {name: {datasets, systems, differences}}
      rankings  {question: {dataset, category, relevant, plan,
                ids {system: [id]}}}; what `recall bench diff` compares
      environment
    """
    from recall_integrations.config import RecallConfig
    from recall_integrations.evaluation import quality

    quality.run(
        path,
        _console(),
        dataset=datasets[0] if len(datasets) == 1 else datasets,
        limit=limit,
        peers=peers,
        stages=stages,
        json_path=json_path,
        pictures=pictures,
        config=None if config_path is None else RecallConfig.from_yaml(config_path),
        k=k,
    )


@bench.command("diff")
@click.argument("a", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="A.json")
@click.argument("b", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="B.json")
@click.option(
    "--questions", default=10, show_default=True, type=click.IntRange(min=0), help="How many of each kind are listed."
)
@click.option(
    "--metric", default="ndcg@10", show_default=True, help="recall@1, recall@5, recall@10, ndcg@10 or mrr@10."
)
@click.option("--system", default="recall", show_default=True, help="Whose answers are compared.")
@click.option("--other", metavar="SYSTEM", help="Whose answers in B. Default: the same system's.")
@click.option("--json", "json_path", metavar="FILE", help="Write the difference to FILE, with all that changed.")
def bench_diff(
    a: Path, b: Path, questions: int, metric: str, system: str, other: str | None, json_path: str | None
) -> None:
    """Which questions got better or worse between two runs.

    A.json and B.json are reports of `recall bench quality --json` over the same data. To compare two systems of one
    run, give its report twice and name them with --system and --other.
    """
    from recall_integrations.evaluation import difference

    difference.run(
        a, b, _console(), questions=questions, metric=metric, system=system, other=other, json_path=json_path
    )


@bench.command("abstention")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--dataset", default="locomo", show_default=True, help="locomo, or jsonl with two scopes or more.")
@click.option("--limit", type=click.IntRange(min=1), help="Ask at most this many questions, evenly spread.")
@click.option("--k", default=10, show_default=True, type=click.IntRange(min=1), help="Hits asked for.")
@click.option("--config", "config_path", type=click.Path(exists=True, dir_okay=False), help="YAML file with settings.")
@click.option("--json", "json_path", metavar="FILE", help="Write the report to FILE.")
def bench_abstention(
    path: Path, dataset: str, limit: int | None, k: int, config_path: str | None, json_path: str | None
) -> None:
    """Whether scores tell that the answer is not there.

    Asks the questions of the data set in PATH of their own conversation and of the next one, which cannot answer them.
    """
    from recall_integrations.config import RecallConfig
    from recall_integrations.evaluation import abstention

    config = None if config_path is None else RecallConfig.from_yaml(config_path)
    abstention.run(path, _console(), dataset=dataset, limit=limit, json_path=json_path, config=config, k=k)


@bench.command("latency")
@click.option(
    "--size", "sizes", multiple=True, type=click.IntRange(min=1), default=(1_000, 10_000, 100_000), show_default=True,
    help="Memories in the scope; may be given several times.",
)  # fmt: skip
@click.option(
    "--queries", default=50, show_default=True, type=click.IntRange(min=1), help="Queries of each plan in a round."
)
@click.option("--rounds", default=3, show_default=True, type=click.IntRange(min=1), help="Measured rounds.")
@click.option("--seed", default=0, show_default=True, help="Of the memories and queries.")
@click.option("--peers/--no-peers", default=True, show_default=True, help="Measure the frameworks' retrievers too.")
@click.option("--json", "json_path", metavar="FILE", help="Write the report to FILE.")
def bench_latency(
    sizes: tuple[int, ...], queries: int, rounds: int, seed: int, peers: bool, json_path: str | None
) -> None:
    """How long remembering and recalling take.

    On made-up memories, in temporary stores.
    """
    from recall_integrations.evaluation import latency

    latency.run(
        _console(), sizes=sizes, queries_per_plan=queries, peers=peers, json_path=json_path, seed=seed, rounds=rounds
    )


@bench.command("temporal")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--misses", is_flag=True, help="Also print every expression that was not read as labelled.")
def bench_temporal(path: Path, misses: bool) -> None:
    """How many labelled date expressions are read right.

    PATH holds them as JSON Lines.
    """
    from recall_integrations.evaluation import temporal

    temporal.run(path, misses, _console())


@bench.command("rules")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--dataset", default="locomo", show_default=True, help="locomo, hotpotqa or musique.")
@click.option("--limit", type=click.IntRange(min=1), help="Ask at most this many questions, evenly spread.")
@click.option("--json", "json_path", metavar="FILE", help="Write the report to FILE.")
def bench_rules(path: Path, dataset: str, limit: int | None, json_path: str | None) -> None:
    """What each rule of the planner does to the answers.

    Asks the questions of the data set in PATH with each rule and without it.
    """
    from recall_integrations.evaluation import rules

    rules.run(path, _console(), dataset=dataset, limit=limit, json_path=json_path)


@bench.command("parse")
@click.option("--memories", default=100_000, show_default=True, type=click.IntRange(min=1), help="In the scope.")
@click.option("--entities", default=10_000, show_default=True, type=click.IntRange(min=1), help="In the scope.")
@click.option("--queries", default=2_000, show_default=True, type=click.IntRange(min=1), help="Parsed and timed.")
@click.option("--seed", default=0, show_default=True, help="Of the memories and queries.")
@click.option("--json", "json_path", metavar="FILE", help="Write the report to FILE.")
def bench_parse(memories: int, entities: int, queries: int, seed: int, json_path: str | None) -> None:
    """How long it takes to understand a query, step by step.

    On made-up memories, in a temporary store, without a language model.
    """
    from recall_integrations.evaluation import parsing

    parsing.run(_console(), memories=memories, entities=entities, queries=queries, json_path=json_path, seed=seed)


# -- shared ------------------------------------------------------------------------------------------------------------


def _console(*, stderr: bool = False) -> Console:
    from recall_integrations.console.rendering import make_console

    return make_console(stderr=stderr)


def _progress() -> Any:
    """A progress bar on standard error; nothing where that is not a terminal."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = _console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal)


def _line(text: str) -> str:
    from recall_integrations.console.rendering import plain

    return plain(text)


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise InvalidArgument(
            f"--now {text!r} is not a time with an offset. Write, for example, 2026-03-01T12:00:00+00:00."
        )
    return moment


if __name__ == "__main__":
    main()
