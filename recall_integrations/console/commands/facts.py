"""`recall facts`: what a store holds true, since when, and by which memories."""

from __future__ import annotations

import click

from recall_integrations.console.commands.shared import (
    AS_OF,
    CONFIG,
    EMBEDDING,
    PRIVACY,
    SCOPE,
    STORE,
    console,
    day_or_moment,
    settings,
)
from recall_integrations.console.places import Place


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
    from recall_integrations.console.facts import seen_facts, show_facts
    from recall_integrations.console.opening import existing_store
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
