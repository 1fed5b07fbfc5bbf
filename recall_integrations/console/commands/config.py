"""`recall config`: what holds and why, whether a file is right, and what there is to set."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from recall_integrations.adapters.scopes import SYNTAX, parse_scope
from recall_integrations.console.commands.shared import AS_JSON, CONFIG, line
from recall_integrations.errors import ConfigError
from recall_integrations.text.shortening import number_of

if TYPE_CHECKING:
    from recall_integrations.config.loading import Value


@click.group("config")
def config() -> None:
    """Settings: what holds, and whether a file of them is right."""


@config.command("show")
@CONFIG
@click.option("--scope", metavar="SCOPE", help=f"As they hold in this scope: {SYNTAX}")
@click.option("--changed", is_flag=True, help="Only those that are not as by default.")
@AS_JSON
def show(config_path: str | None, scope: str | None, changed: bool, as_json: bool) -> None:
    """Show every setting, its value, and where that was said.

    A call's argument stands over the environment (RECALL_PLANNER__ARM_LIMIT=20), that over an entry of `scopes`, that
    over the rest of the file, and that over the default.

    --json prints one object, with `settings` by their path, each a value and its origin; keys are only ever added
    (format is 1).
    """
    from recall_integrations.config.loading import DEFAULT, loaded_here
    from recall_integrations.delivery import as_data as data

    found = loaded_here(config_path)
    where = None if scope is None else parse_scope(scope)
    values = [v for v in found.values(where) if not changed or v.origin != DEFAULT]
    if as_json:
        entries = [{**asdict(e), "settings": dict(e.settings)} for e in found.config.scopes]
        told = {
            "format": 1,
            "file": found.file,
            "fingerprint": (found.config if where is None else found.config.for_scope(where)[0]).fingerprint,
            "scope": scope,
            "settings": {v.setting.path: {"value": v.value, "origin": v.origin} for v in values},
            "scopes": [{**entry, "origin": found.entries[i]} for i, entry in enumerate(entries)],
        }
        click.echo(data.dumps(told))
        return
    for section in dict.fromkeys(value.setting.section for value in values):
        _show(section, [value for value in values if value.setting.section == section])
    for i, entry in enumerate(found.config.scopes if scope is None else ()):
        click.echo(line(f"scopes[{i}]  {entry}") + click.style(f"  {line(found.entries[i])}", dim=True))


def _show(section: str, values: list[Value]) -> None:
    from recall_integrations.config.loading import DEFAULT

    if section:
        click.secho(section, bold=True)
    indent = "  " if section else ""
    wide = max(len(f"{v.setting.name}: {v.shown}") for v in values)
    for value in values:
        said = f"{value.setting.name}: {value.shown}"
        if value.origin == DEFAULT:
            click.echo(f"{indent}{line(said)}")
        else:
            click.echo(f"{indent}{line(said):{min(wide, 50)}}" + click.style(f"  {line(value.origin)}", dim=True))


@config.command("check")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.pass_context
def check(ctx: click.Context, file: Path) -> None:
    """Say whether FILE can be used, and if not, all that is wrong with it.

    A line for each mistake: the file, its line and column, what is wrong, and what was probably meant. Exit code 0: it
    can be used. 1: it cannot. Neither the environment nor a store is looked at.
    """
    from recall_integrations.config.loading import loaded
    from recall_integrations.config.recall_config import RecallConfig, changed_settings

    try:
        found = loaded(file, {})
    except ConfigError as e:
        said = [says for _, says in e.mistakes] or [str(e)]
        for each in said:
            click.echo(line(each), err=True)
        click.echo(f"{number_of(len(said), 'mistake')}. {line(str(file))} cannot be used.", err=True)
        ctx.exit(1)
    for says in found.fixed:
        click.echo(line(says), err=True)
    count = len(changed_settings(RecallConfig(), found.config))
    click.echo(
        f"{line(str(file))} is right. {count} {'setting is' if count == 1 else 'settings are'} not as by default."
    )


@config.command("schema")
def schema() -> None:
    """Print the JSON schema of a file of settings.

    Editors that speak YAML complete and check a file whose first line is

    \b
      # yaml-language-server: $schema=FILE
    """
    from recall_integrations.config.schema import schema as made

    click.echo(json.dumps(made(), indent=1, ensure_ascii=False))


@config.command("example")
@click.option(
    "--schema", default="", metavar="FILE", help="Begin with the line that tells editors where the schema is."
)
def example(schema: str) -> None:
    """Print a file of all settings, each with its default behind a #.

    \b
    recall config example > recall.yaml
    """
    from recall_integrations.config.schema import example as made

    click.echo(made(schema), nl=False)
