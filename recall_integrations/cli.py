"""The `recall` command. Thin: commands are in `console/commands/`, what they show and import elsewhere in `console/`.

Nothing heavy is imported before a command runs, so `recall --help` is quick. Results go to standard output, progress
and errors to standard error. Exit codes: 0 done, 1 an error that is named, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

from typing import Any

import click

from recall_integrations import __version__
from recall_integrations.console.commands.ask import demo, explain, facts, search, stats
from recall_integrations.console.commands.keep import add, compact, entity, export, forget, import_, reindex
from recall_integrations.console.commands.look_after import config, db, doctor, move
from recall_integrations.console.commands.measure import bench, eval_, feedback, learn
from recall_integrations.console.commands.serve import look, mcp, serve, token
from recall_integrations.console.commands.shared import ARGUMENTS, line, quiet_option
from recall_integrations.errors import ConfigError, RecallError


class _Recall(click.Group):
    """A group whose commands end with one clear line and an exit code instead of a traceback."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[ARGUMENTS] = tuple(args)  # for `recall serve --workers`
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Interrupted. The store is sound; what was acknowledged is kept.", err=True)
            ctx.exit(130)
        except RecallError as e:
            if ctx.params.get("debug"):
                raise
            said = str(e).splitlines() if isinstance(e, ConfigError) else [str(e)]  # a line for each mistake
            for i, each in enumerate(said):
                click.echo(f"{'  ' if i else 'Error: '}{line(each)}", err=True)
            ctx.exit(1)


@click.group(cls=_Recall, context_settings={"help_option_names": ["-h", "--help"], "show_default": True})
@click.version_option(__version__, prog_name="recall")
@click.option("--debug", is_flag=True, envvar="RECALL_DEBUG", help="Show the traceback of an error.")
def main(debug: bool) -> None:
    """Find the right memory: import memories into a store, search it, and see why each hit is there."""


for _command in (
    *(demo, add, import_, export, entity, forget, compact, reindex),
    *(search, explain, facts, feedback, learn, stats, doctor, serve, token, look, mcp),
    *(eval_, bench, config, db, move),
):
    main.add_command(_command)
for _command in (import_, export, compact, reindex, doctor, serve, eval_, move):
    _command.params.append(quiet_option())
learn.commands["run"].params.append(quiet_option())


if __name__ == "__main__":
    main()
