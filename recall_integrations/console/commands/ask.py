"""`recall demo`, `search`, `explain`, `facts` and `stats`: nothing of them changes a store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from recall_integrations.adapters.scopes import find_scope, scope_text
from recall_integrations.console.commands.shared import (
    AS_JSON,
    AS_OF,
    PRIVACY,
    QUERY,
    SCOPE,
    STORE,
    console,
    day_or_moment,
    opened,
    recall_options,
    tell,
)

if TYPE_CHECKING:
    from recall_integrations.console.commands.shared import Opening
    from recall_integrations.optimizer import QueryOptimizer
    from recall_integrations.types import ParsedQuery, RecallResult, RetrievalPlan


@click.command("demo")
def demo() -> None:
    """Ask six questions of a small built-in store.

    They are of six kinds, and it is shown how each is answered.

    Nothing is left behind. The answers are the same on every day; only the times differ.
    """
    from recall_integrations.console.demo import run_demo

    run_demo(console())


@click.command("search")
@STORE
@QUERY
@SCOPE
@click.option(
    "--also", metavar="SCOPE", multiple=True, help="Another scope to look in, for one ranking of all; may be repeated."
)
@recall_options(k=5)
@AS_JSON
@opened
def search(opening: Opening, query: str, also: tuple[str, ...], asked: dict[str, Any], as_json: bool) -> None:
    """Find the memories in STORE that answer QUERY. `recall explain` says why.

    \b
    --json prints one object; keys are only ever added (format is 1):
      format, query, scope, k, now
      plan, reason, confidence
      searched  false: nothing could be looked at; that there are no hits
                says nothing of what is remembered
      hits      [{id, score, reason, scope, memory, contributions, duplicates,
                context, highlights, valid_from, valid_to, superseded_by}];
                memory has the keys of `recall import`, contributions
                [{source, name, rank, score, added}], highlights [{start, end,
                kind, of, weight}]
      facts     {subject, slot, mode, at, first, beneath, confidence} or null
      parsed    {entities, window, session, talk, negations, predicate_hints,
                type_hints, terms, rewrites, specificity, features,
                asked_role, asked_role_strength, asides}
      arms      [{name, weight, limit}]
      rules     [{rule, fired, because, margin}]
      rewrite   {strategy, reason, provider, duration_ms, used, saved_ms,
                refused, moved, usage}
      rerank    {reranker, reason, used, duration_ms, candidates, scored,
                moved}
      cache     {strategy, reason, age_ms}
      degraded  [{stage, reason, detail}]
      notes     [{reason, detail}]; why nothing is found
      timings_ms  {stage: milliseconds}, arms as arm.NAME, and total
      id        names the answer for `recall feedback`
      version   what chose plan and weights: rules, or what was learned: v3
    """
    from recall_integrations.console import rendering
    from recall_integrations.delivery.as_data import result_data

    with opening.optimizer() as optimizer:
        where = opening.where(optimizer.store)
        scopes = [where, *(find_scope(one, optimizer.store.scopes()) for one in also)]
        result = optimizer.recall(query, **asked, **({"scopes": scopes} if also else {"scope": where}))
    tell(as_json, result_data(result, where, asked["k"]), lambda on: rendering.show_result(on, result, where))


@click.command("explain")
@STORE
@QUERY
@SCOPE
@recall_options(k=3)
@click.option("--no-search", is_flag=True, help="Only read and plan the query.")
@AS_JSON
@opened
def explain(opening: Opening, query: str, asked: dict[str, Any], no_search: bool, as_json: bool) -> None:
    """Show how QUERY is understood and what is done about it.

    Its words are marked by the part they play; then come what they were read as, the features, the rules in the order
    they are tried, the arms with their weights, and the best hits with what
    made each score.

    --json prints the object of `recall search --json`, and besides: tokens with their roles, of which the first is
    shown; the runner_up; switches of the plan; more of `parsed`; of each of the arms whether it was `asked`, and its
    `ms`. With --no-search, `searched` is false and `k` null. Keys are only ever added (format is 1).
    """
    from recall_integrations.console.explain import asked_arms
    from recall_integrations.console.explain import explain as show
    from recall_integrations.delivery.as_data import explanation_data

    found: RecallResult | ParsedQuery
    with opening.optimizer() as optimizer:
        asked["scope"] = where = opening.where(optimizer.store)
        optimizer.store.warm(scope=where)
        if no_search:
            found, plan = _read(optimizer, query, asked)
        else:
            # Twice, so that the times are typical; the second learns nothing new of the query.
            first = optimizer.recall(query, **asked)
            found = replace(optimizer.recall(query, **asked), query=first.query)
            plan = found.plan
        config = optimizer.config_of(where)
    k = None if no_search else asked["k"]
    data = explanation_data(found, plan, where, asked=asked_arms(found, plan), k=k)
    tell(as_json, data, lambda on: show(on, found, plan, config))


def _read(optimizer: QueryOptimizer, query: str, asked: dict[str, Any]) -> tuple[ParsedQuery, RetrievalPlan]:
    """Parse and plan a query; return both as far as the privacy mode lets them be seen."""
    from recall_integrations.delivery.showing import withheld
    from recall_integrations.privacy.door import Door

    parsed = optimizer.parse(query, **{name: asked[name] for name in ("scope", "now", "timezone")})
    door = Door(asked["privacy"], optimizer.config.privacy.compiled)
    return withheld(parsed, optimizer.plan(parsed, scope=asked["scope"]), door)


@click.command("stats")
@STORE
@AS_JSON
@opened
def stats(opening: Opening, as_json: bool) -> None:
    """Show what STORE holds.

    Scopes, types, sizes, and whether an index is behind.

    --json prints one object; keys are only ever added (format is 1). index_lag counts the changes that an index lacks,
    collections_lack the vectors of large scopes that are in no index yet.
    """
    from recall_integrations.console import rendering
    from recall_integrations.delivery.as_data import stats_data

    with opening.store() as source:
        found = stats_data(source.stats(), source.scopes())
    tell(as_json, found, lambda on: rendering.show_stats(on, found))


@click.command("facts")
@STORE
@SCOPE
@AS_OF
@click.option("--about", metavar="SUBJECT", help="Only of them; 'me' is the user.")
@click.option("--slot", metavar="SLOT", help="Only this one: its name, or what people call it (phone number).")
@click.option("--history", is_flag=True, help="Show below each what it was before, and what it will be.")
@PRIVACY
@AS_JSON
@opened
def facts(
    opening: Opening,
    as_of: str | None,
    about: str | None,
    slot: str | None,
    history: bool,
    privacy: str,
    as_json: bool,
) -> None:
    """List what STORE holds true.

    Of whom, of which slot, since when, and by which memories. Nothing of it is
    in the place of a memory: it is what was read from them (docs/facts.md).

    \b
    recall facts STORE --scope u1
    recall facts STORE --scope u1 --about me --slot "phone number" --history
    recall facts STORE --scope u1 --as-of 2026-03-01

    --json prints the object that `GET /facts` answers (docs/http-api.md). Keys are only ever added (format is 1).
    """
    from recall_integrations.console.rendering import seen_facts, show_facts
    from recall_integrations.delivery.as_data import facts_data
    from recall_integrations.types import utc_now

    then = day_or_moment(as_of, opening.zone)
    at = utc_now() if then is None else then
    with opening.store() as source:
        where = opening.where(source)
        found = source.facts(where, subject=about, slot=slot, as_of=then, history=history)
        shown = seen_facts(source, where, found, privacy)
    data = {"scope": scope_text(where), "as_of": at.isoformat(), "facts": facts_data(shown, at)}
    tell(as_json, data, lambda on: show_facts(on, shown, where, at, opening.config))
