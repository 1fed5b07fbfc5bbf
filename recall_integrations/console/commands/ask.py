"""`recall demo`, `search`, `explain`, `facts` and `stats`: nothing of them changes a store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from recall_integrations.console.commands.shared import (
    AS_OF,
    CONFIG,
    EMBEDDING,
    NOW,
    PRIVACY,
    QUERY,
    SCOPE,
    STORE,
    TIMEZONE,
    console,
    day_or_moment,
    facts_options,
    k_option,
    moment,
    settings,
)
from recall_integrations.console.opening import Place

if TYPE_CHECKING:
    from datetime import datetime

    from recall_integrations.config import RecallConfig
    from recall_integrations.counterfactual.recalls import Counterfactuals
    from recall_integrations.optimizer import QueryOptimizer
    from recall_integrations.types import Filters, ParsedQuery, RecallResult, RetrievalPlan, Scope


ALSO = click.option(
    "--also", metavar="SCOPE", multiple=True, help="Another scope to look in, for one ranking of all; may be repeated."
)
SCORE_MIN = click.option(
    "--score-min", type=click.FloatRange(0, 1), metavar="SCORE", help="Leave out what scores less, from 0 to 1."
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
@ALSO
@k_option(5)
@NOW
@TIMEZONE
@facts_options
@SCORE_MIN
@PRIVACY
@click.option(
    "--explain", is_flag=True, help="Show the parsed query, the rules tried, the arms, and what made each score."
)
@EVERYTHING
@CONFIG
@EMBEDDING
def search(
    store: Place,
    query: str,
    scope: str | None,
    also: tuple[str, ...],
    k: int,
    now: str | None,
    timezone: str | None,
    then: datetime | None,
    filters: Filters | None,
    score_min: float | None,
    privacy: str,
    explain: bool,
    as_json: bool,
    config_path: str | None,
    embedding: str | None,
) -> None:
    """Find the memories in STORE that answer QUERY.

    \b
    --json prints one object; keys are only ever added (format is 1):
      format, query, scope, k, now
      plan, reason, confidence
      searched  false: nothing could be looked at; that there are no hits
                says nothing of what is remembered
      hits      [{id, score, reason, scope, memory, contributions, valid_from,
                valid_to, superseded_by}]; memory has the keys of `recall
                import`, contributions [{source, name, rank, score, added}]
      facts     {subject, slot, mode, at, first, beneath, confidence} or null
      parsed    {entities, window, session, talk, negations,
                predicate_hints, type_hints, terms, rewrites, specificity,
                features}
      arms      [{name, weight, limit}]
      rules     [{rule, fired, because, margin}]
      rewrite   {strategy, reason}
      cache     {strategy, reason, age_ms}
      degraded  [{stage, reason, detail}]
      notes     [{reason, detail}]; why nothing is found
      timings_ms  {stage: milliseconds}, arms as arm.NAME, and total
    """
    from recall_integrations.adapters.scopes import find_scope
    from recall_integrations.console import rendering
    from recall_integrations.console.opening import existing_optimizer
    from recall_integrations.delivery import as_data as data

    present, config = moment(now), settings(config_path)
    with existing_optimizer(store, embedding, scope, config) as (optimizer, where):
        options: Any = {"filters": filters, "as_of": then, "now": present, "timezone": timezone, "privacy": privacy}
        options |= {"scope": where, "score_min": score_min}
        if also:
            options.update(scope=None, scopes=[where, *(find_scope(one, optimizer.store.scopes()) for one in also)])
        result = optimizer.recall(query, k=k, **options)
    if as_json:
        click.echo(data.dumps(data.result_data(result, where, k)))
    else:
        rendering.show_result(console(), result, where, explain=explain, config=config)


@click.command("explain")
@STORE
@QUERY
@SCOPE
@k_option(3)
@NOW
@PRIVACY
@TIMEZONE
@facts_options
@SCORE_MIN
@click.option("--no-search", is_flag=True, help="Only read and plan the query.")
@click.option(
    "--without",
    metavar="PART",
    multiple=True,
    help="What would be found without it: an arm (lexical), a kind of evidence (feature:words), a rule (time); or "
    "'each', for all that had a hand in it, one by one. Repeatable.",
)
@EVERYTHING
@CONFIG
@EMBEDDING
def explain(
    store: Place,
    query: str,
    scope: str | None,
    k: int,
    now: str | None,
    privacy: str,
    timezone: str | None,
    then: datetime | None,
    filters: Filters | None,
    score_min: float | None,
    no_search: bool,
    without: tuple[str, ...],
    as_json: bool,
    config_path: str | None,
    embedding: str | None,
) -> None:
    """Show how QUERY is understood and what is done about it.

    Its words are marked by the part they play; then come what they were read as, the features, the rules in the order
    they are tried, the arms with their weights, and the best hits.

    \b
    --json prints one object; keys are only ever added (format is 1). It has
    the keys of `recall search --json`, and besides:
      searched  also false with --no-search: k is null, hits and timings_ms
                are empty
      tokens    [{text, span, roles, rarity}]; roles are of negated, entity,
                time, identifier, corrected, rare, stop; the first is shown
      parsed    also {type_cues, type_filters, identifiers, corrections,
                router, conversational}, which are:
        identifiers     [{text, kind, span}]
        corrections     [{word, spelling, stem, similarity, frequency}]
        router          {mode, reason, graph_bias, time_bias}
        conversational  {verdict, domain_signal, stopword_ratio, has_code,
                        rare, because}
      runner_up  {plan, margin} or null
      switches  {type_filter, window_filter, time_filter, in_order,
                exact_match, time_bias, rewrite, rerank, diversity, prefers}
      arms      also {asked, ms}; ms is null where it was not asked
      without   with --without: {parts, without}; see docs/page.md
    """
    from recall_integrations.console.opening import existing_optimizer

    if without and no_search:
        raise click.UsageError("--without shows what would be found; leave out --no-search.")
    present, config = moment(now), settings(config_path)
    found: RecallResult | ParsedQuery
    less: Counterfactuals | None = None
    with existing_optimizer(store, embedding, scope, config) as (optimizer, where):
        optimizer.store.warm(scope=where)
        options: Any = {"scope": where, "now": present, "timezone": timezone}
        if no_search:
            found, plan = _read(optimizer, query, privacy, options)
        else:
            options.update(k=k, privacy=privacy, filters=filters, score_min=score_min, as_of=then)
            found, plan = _recalled(optimizer, query, options)
            less = _without(optimizer, query, without, {**options, "now": found.query.now}) if without else None
    _show_explained((found, plan, less), where, None if no_search else k, as_json, optimizer.config_of(where))


def _show_explained(
    explained: tuple[RecallResult | ParsedQuery, RetrievalPlan, Counterfactuals | None],
    where: Scope,
    k: int | None,
    as_json: bool,
    config: RecallConfig,
) -> None:
    """Print the result of `recall explain`, as JSON or for people."""
    from recall_integrations.console import explain as explanation
    from recall_integrations.delivery import as_data as data

    found, plan, less = explained
    if as_json:
        from recall_integrations.counterfactual.recalls import counterfactuals_data

        whole = data.explanation_data(found, plan, where, asked=explanation.asked_arms(found, plan), k=k)
        click.echo(data.dumps(whole if less is None else {**whole, "without": counterfactuals_data(less)}))
        return
    explanation.explain(console(), found, plan, config)
    if less is not None:
        from recall_integrations.console.explain import show_without

        show_without(console(), less)


def _without(optimizer: QueryOptimizer, query: str, keys: tuple[str, ...], options: Any) -> Counterfactuals:
    """Recall without each of these parts, and without all of them where there are several."""
    from recall_integrations.counterfactual.recalls import counterfactuals

    if "each" in keys:
        return counterfactuals(optimizer, query, **options)
    together = [keys] if len(keys) > 1 else []
    return counterfactuals(optimizer, query, leave_out=[*([key] for key in keys), *together], **options)


def _read(optimizer: QueryOptimizer, query: str, privacy: str, options: Any) -> tuple[ParsedQuery, RetrievalPlan]:
    """Parse and plan a query; return both as far as the privacy mode lets them be seen."""
    from recall_integrations.delivery.showing import withheld
    from recall_integrations.privacy.door import Door

    parsed = optimizer.parse(query, **options)
    return withheld(
        parsed, optimizer.plan(parsed, scope=options["scope"]), Door(privacy, optimizer.config.privacy.compiled)
    )


def _recalled(optimizer: QueryOptimizer, query: str, options: Any) -> tuple[RecallResult, RetrievalPlan]:
    """Recall twice, so that the times are typical; keep the first query, as the second learns nothing new."""
    first = optimizer.recall(query, **options)
    found = replace(optimizer.recall(query, **options), query=first.query)
    return found, found.plan


@click.command("stats")
@STORE
@click.option("--json", "as_json", is_flag=True, help="Print JSON, see above.")
@CONFIG
@EMBEDDING
def stats(store: Place, as_json: bool, config_path: str | None, embedding: str | None) -> None:
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
      collections_lack    {number of a large scope: vectors that are in no index yet}
      notices     repairs made while opening
    """
    from recall_integrations.console import rendering
    from recall_integrations.console.opening import existing_store
    from recall_integrations.delivery import as_data as data

    with existing_store(store, embedding, settings(config_path)) as source:
        found, scopes = source.stats(), source.scopes()
    if as_json:
        click.echo(data.dumps(data.stats_data(found, scopes)))
    else:
        rendering.show_stats(console(), data.stats_data(found, scopes))


@click.command("facts")
@STORE
@SCOPE
@AS_OF
@click.option("--about", metavar="SUBJECT", help="Only of them; 'me' is the user.")
@click.option("--slot", metavar="SLOT", help="Only this one: its name, or what people call it (phone number).")
@click.option("--history", is_flag=True, help="Show below each what it was before, and what it will be.")
@PRIVACY
@click.option("--json", "as_json", is_flag=True, help="Print JSON, see above.")
@CONFIG
@EMBEDDING
def facts(
    store: Place,
    scope: str | None,
    as_of: str | None,
    about: str | None,
    slot: str | None,
    history: bool,
    privacy: str,
    as_json: bool,
    config_path: str | None,
    embedding: str | None,
) -> None:
    """List what STORE holds true.

    Of whom, of which slot, since when, and by which memories. Nothing of it is
    in the place of a memory: it is what was read from them (docs/facts.md).

    \b
    recall facts STORE --scope u1
    recall facts STORE --scope u1 --about me --slot "phone number" --history
    recall facts STORE --scope u1 --as-of 2026-03-01

    \b
    --json prints one object; keys are only ever added (format is 1):
      format, scope, as_of
      facts     [{subject, slot, value, holds, valid_from, valid_to, told_at,
                memory_id, said_by, superseded_by, ended, confidence, by}] in
                the order of subject, slot and valid_from; an empty subject is
                the user; holds: at as_of
    """
    from recall_integrations.adapters.scopes import find_scope, scope_text
    from recall_integrations.console.opening import existing_store
    from recall_integrations.console.rendering import seen_facts, show_facts
    from recall_integrations.delivery import as_data as data
    from recall_integrations.delivery.as_data import facts_data
    from recall_integrations.store.clock import utc_now

    config = settings(config_path)
    then = day_or_moment(as_of, config.timezone)
    at = utc_now() if then is None else then
    with existing_store(store, embedding, config) as source:
        where = find_scope(scope, source.scopes())
        found = source.facts(where, subject=about, slot=slot, as_of=then, history=history)
        shown = seen_facts(source, where, found, privacy)
    if as_json:
        head = {"format": data.FORMAT, "scope": scope_text(where), "as_of": at.isoformat()}
        click.echo(data.dumps({**head, "facts": facts_data(shown, at)}))
    else:
        show_facts(console(), shown, where, at, config)
