"""`recall bench`: the commands of `benchmarks/commands` of the repository."""

from __future__ import annotations

from collections.abc import Mapping

import click

from recall_integrations.console.repository import benchmark
from recall_integrations.errors import MissingBenchmark


class _OfTheRepository(click.Group):
    """Lists and runs the commands that a checkout has; without one it lists none."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        try:
            return sorted(_commands())
        except MissingBenchmark:
            return []

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command by its name."""
        return _commands().get(cmd_name)


def _commands() -> Mapping[str, click.Command]:
    found: Mapping[str, click.Command] = benchmark("commands").COMMANDS
    return found


@click.group("bench", cls=_OfTheRepository)
def bench() -> None:
    """Measure quality and speed. Needs a checkout of the repository."""
