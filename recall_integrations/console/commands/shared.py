"""What several commands share: their arguments and options, reading those, and what is shown meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from recall_integrations.adapters.scopes import SYNTAX
from recall_integrations.errors import InvalidArgument

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from recall_integrations.config import RecallConfig

STORE = click.argument("store", type=click.Path(path_type=Path))
QUERY = click.argument("query")
DATA = click.argument("path", type=click.Path(exists=True, path_type=Path))
SCOPE = click.option("--scope", metavar="SCOPE", help=f"{SYNTAX} One part alone will do if only one scope has it.")
EMBEDDING = click.option(
    "--embedding",
    metavar="NAME",
    envvar="RECALL_EMBEDDING",
    help="sentence-transformers model (name or path) that the store was made with. Default: the bundled model.",
)
NOW = click.option(
    "--now", metavar="TIME", help="What 'yesterday' is relative to: ISO 8601 with an offset. Default: the clock."
)
PRIVACY = click.option(
    "--privacy",
    type=click.Choice(["allow", "redact", "block"]),
    default="allow",
    show_default=True,
    help="What may be seen: everything; personal data and secrets replaced; ids, refs and scores only.",
)
CONFIG = click.option(
    "--config", "config_path", type=click.Path(exists=True, dir_okay=False), help="YAML file with settings."
)
REPORT = click.option("--json", "json_path", metavar="FILE", help="Write the report to FILE.")
LIMIT = click.option("--limit", type=click.IntRange(min=1), help="Ask at most this many questions, evenly spread.")


def k_option(default: int, what: str = "How many hits.") -> Callable[[Any], Any]:
    """The option `--k`."""
    return click.option("--k", default=default, show_default=True, type=click.IntRange(min=1), help=what)


def seed_option(what: str) -> Callable[[Any], Any]:
    """The option `--seed`."""
    return click.option("--seed", default=0, show_default=True, help=what)


# -- reading them ------------------------------------------------------------------------------------------------------


def moment(text: str | None) -> datetime | None:
    """The value of `--now`.

    Raises:
        InvalidArgument: no time, or one without an offset.
    """
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text.strip().replace("Z", "+00:00"))
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise InvalidArgument(
            f"--now {text!r} is not a time with an offset. Write, for example, 2026-03-01T12:00:00+00:00."
        )
    return found


def settings(path: str | None) -> RecallConfig | None:
    """The value of `--config`; `None` where it is not given.

    Raises:
        ConfigError: it cannot be read, or holds something else than settings.
    """
    from recall_integrations.config import RecallConfig

    return None if path is None else RecallConfig.from_yaml(path)


# -- showing -----------------------------------------------------------------------------------------------------------


def console(*, stderr: bool = False) -> Console:
    """The terminal."""
    from recall_integrations.console.rendering import make_console

    return make_console(stderr=stderr)


def line(text: str) -> str:
    """Text of others on one line, without what would steer the terminal."""
    from recall_integrations.text.one_line import plain

    return plain(text)


def progress() -> Progress:
    """A progress bar on standard error; nothing where that is not a terminal."""
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    target = console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    return Progress(*columns, console=target, disable=not target.is_terminal)


@contextmanager
def named_progress() -> Iterator[Callable[[str, int, int], None]]:
    """A bar for each thing that is told of: what it is, how much of it is done, and how much there is."""
    with progress() as bar:
        tasks: dict[str, Any] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=total)
            bar.update(tasks[what], completed=done, total=total)

        yield show
