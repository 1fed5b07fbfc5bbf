"""`recall demo`, `search`, `explain` and `stats`: nothing of them changes a store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from recall_integrations.console.commands.shared import (
    EMBEDDING,
    NOW,
    PRIVACY,
    QUERY,
    SCOPE,
    STORE,
    console,
    k_option,
    moment,
)

EVERYTHING = click.option("--json", "as_json", is_flag=True, help="Print JSON with everything, see above.")


@click.command("demo")
@click.option(
    "--language",
    metavar="CODE",
    default="en",
    show_default=True,
    help="Which language memories and questions are in: de, en, es or zh. Everything else is shown in English.",
)
def demo(language: str) -> None:
    """Ask six questions of a small built-in store.

    They are of six kinds, and it is shown how each is answered.

    Nothing is left behind. The answers are the same on every day; only the times differ.
    """
    from recall_integrations.console.demo import run_demo

    run_demo(console(), language)


@click.command("search")
@STORE
@QUERY
@SCOPE
@k_option(5)
@NOW
@PRIVACY
@click.option(
    "--explain", is_flag=True, help="Show the parsed query, the rules tried, the arms, and what made each score."
)
@EVERYTHING
@EMBEDDING
def search(
    store: Path,
    query: str,
    scope: str | None,
    k: int,
    now: str | None,
    privacy: str,
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
      parsed    {entities, window, session, talk, negations,
                predicate_hints, type_hints, terms, rewrites, specificity,
                features}
      arms      [{name, weight, limit}]
      rules     [{rule, fired, because, margin}]
      rewrite   {strategy, reason}
      cache     {strategy, reason, age_ms}
      degraded  [{stage, reason, detail}]
      timings_ms  {stage: milliseconds}, arms as arm.NAME, and total
    """
    from recall_integrations.console import as_json as data
    from recall_integrations.console import rendering
    from recall_integrations.console.opening import existing_optimizer

    present = moment(now)
    with existing_optimizer(store, embedding, scope) as (optimizer, where):
        result = optimizer.recall(query, k=k, scope=where, now=present, privacy=privacy)
    if as_json:
        click.echo(data.dumps(data.result_data(result, where, k)))
    else:
        rendering.show_result(console(), result, where, explain=explain)


@click.command("explain")
@STORE
@QUERY
@SCOPE
@k_option(3)
@NOW
@PRIVACY
@click.option("--timezone", metavar="ZONE", help="Where 'yesterday' is read, such as Europe/Berlin. Default: UTC.")
@click.option("--no-search", is_flag=True, help="Only read and plan the query.")
@EVERYTHING
@EMBEDDING
def explain(
    store: Path,
    query: str,
    scope: str | None,
    k: int,
    now: str | None,
    privacy: str,
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
      switches  {type_filter, window_filter, time_filter, in_order,
                exact_match, time_bias, rewrite, rerank, diversity, prefers}
      arms      also {asked, ms}; ms is null where it was not asked
    """
    from recall_integrations.console import as_json as data
    from recall_integrations.console import explain as explanation
    from recall_integrations.console.opening import existing_optimizer
    from recall_integrations.delivery.withholding import withheld
    from recall_integrations.privacy.door import Door
    from recall_integrations.types import ParsedQuery, RecallResult

    present = moment(now)
    with existing_optimizer(store, embedding, scope) as (optimizer, where):
        optimizer.store.warm(scope=where)
        found: RecallResult | ParsedQuery
        if no_search:
            found = optimizer.parse(query, scope=where, now=present, timezone=timezone)
            found, plan = withheld(found, optimizer.plan(found), Door(privacy, optimizer.config.privacy.compiled))
        else:  # twice, so that the times are typical ones; what the first has learned is no news to the second
            options: Any = {"k": k, "scope": where, "now": present, "timezone": timezone, "privacy": privacy}
            first = optimizer.recall(query, **options)
            found = replace(optimizer.recall(query, **options), query=first.query)
            plan = found.plan
    if as_json:
        asked = explanation.asked_arms(found, plan)
        click.echo(data.dumps(data.explanation_data(found, plan, where, asked=asked, k=None if no_search else k)))
    else:
        explanation.explain(console(), found, plan, optimizer.config)


@click.command("stats")
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
        rendering.show_stats(console(), data.stats_data(found, scopes))
