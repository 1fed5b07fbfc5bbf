"""The `recall` command. Thin: commands are in `console/commands/`, what they show and import elsewhere in `console/`.

Nothing heavy is imported before a command runs, so `recall --help` is quick. Results go to standard output, progress
and errors to standard error. Exit codes: 0 done, 1 an error that is named, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

from typing import Any

import click

from recall_integrations import __version__
from recall_integrations.console.commands.ask import demo, explain, search, stats
from recall_integrations.console.commands.bench import bench
from recall_integrations.console.commands.doctor import doctor
from recall_integrations.console.commands.remember import entity, forget, import_, reindex
from recall_integrations.console.commands.shared import line
from recall_integrations.console.commands.train import train
from recall_integrations.errors import RecallError


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
            click.echo(f"Error: {line(str(e))}", err=True)
            ctx.exit(1)


@click.group(cls=_Recall, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="recall")
@click.option("--debug", is_flag=True, envvar="RECALL_DEBUG", help="Show the traceback of an error.")
def main(debug: bool) -> None:
    """Find the right memory: import memories into a store, search it, and see why each hit is there."""


for _command in (demo, import_, entity, forget, reindex, search, explain, stats, doctor, train, bench):
    main.add_command(_command)


if __name__ == "__main__":
    main()
