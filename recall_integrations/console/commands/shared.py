"""Arguments and options that several commands share, the reading of them, and output on the way."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import datetime, tzinfo
from functools import wraps
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import click

from recall_integrations.adapters.scopes import SYNTAX
from recall_integrations.console.commands.shared import PLACE, Opening, Place, deferred_interrupt
from recall_integrations.errors import InvalidArgument
from recall_integrations.observability.progress import Told, counted, telling
from recall_integrations.text.shortening import plain

if TYPE_CHECKING:
    from rich.console import Console

    from recall_integrations.config import RecallConfig
    from recall_integrations.types import Filters

ARGUMENTS = "recall.arguments"  # in the context of a command: what `recall` was given
QUIET_KEY = "recall.quiet"  # in the context of a command: whether it shows how far it is
STORE = click.argument("store", type=PLACE)
QUERY = click.argument("query")
SCOPE = click.option("--scope", metavar="SCOPE", help=f"{SYNTAX} One part alone will do if only one scope has it.")
EMBEDDING = click.option(
    "--embedding",
    metavar="NAME",
    envvar="RECALL_EMBEDDING",
    help="sentence-transformers model (name or path) that the store was made with. Default: the bundled model.",
)
NOW = click.option(
    "--now", metavar="TIME", help="What 'yesterday' is relative to: a day, or ISO 8601. Default: the clock."
)
PRIVACY = click.option(
    "--privacy",
    type=click.Choice(["allow", "redact", "block"]),
    default="allow",
    help="What may be seen: everything; personal data and secrets replaced; ids, refs and scores only.",
)
CONFIG = click.option(
    "--config",
    "config_path",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    envvar="RECALL_CONFIG",
    help="Settings, in YAML or JSON (`recall config example`). Default: what RECALL_CONFIG names.",
)
AS_OF = click.option(
    "--as-of",
    metavar="TIME",
    help="Where it is asked how things are, when: a day (its end), or ISO 8601.",
)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
FILTERS = {  # fields of `Filters`, and `where` → the options that give them
    "types": ("--type", "TYPE", "Only memories of this type. Repeatable."),
    "actors": ("--actor", "NAME", "Only what they said or did. Repeatable."),
    "roles": ("--role", "ROLE", "Only what was said in it. Repeatable."),
    "channels": ("--channel", "NAME", "Only what was said there. Repeatable."),
    "threads": ("--thread", "NAME", "Only of this conversation. Repeatable."),
    "entities": ("--entity", "NAME", "Only what mentions it. Repeatable."),
    "after": ("--after", "TIME", "Only from then on: a day, or ISO 8601."),
    "before": ("--before", "TIME", "Only before then: a day, or ISO 8601."),
    "recency_days": ("--last-days", "DAYS", "Only of so many days until now."),
    "where": ("--where", "KEY=VALUE", "Only with this in its metadata (JSON or text). Repeatable."),
}


def opened(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --config and --embedding; the command gets them, its STORE and its --scope, if it has one, as `opening`."""

    @wraps(command)
    def with_opening(
        config_path: str | None,
        embedding: str | None,
        store: Place | None = None,
        scope: str | None = None,
        **more: Any,
    ) -> Any:
        place = click.get_current_context().obj if store is None else store  # that of the group of commands
        opening = Opening(place=place, config=settings(config_path), embedding=embedding, scope=scope)
        return command(opening=opening, **more)

    return CONFIG(EMBEDDING(with_opening))


def filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of `Filters`; the command gets them as `filters`, or `None` where none is given."""

    @wraps(command)
    def filtered(**options: Any) -> Any:
        given = {name: options.pop(name) for name in FILTERS}
        return command(**options, filters=filters_of(given, zone_of(options)))

    for name, (option, metavar, says) in reversed(FILTERS.items()):
        kind, many = float if name == "recency_days" else None, name not in ("after", "before", "recency_days")
        filtered = click.option(option, name, metavar=metavar, type=kind, multiple=many, help=says)(filtered)
    return filtered


def recall_options(k: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the options of a recall; the command gets them as `asked`, arguments of `recall`."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @filter_options
        @wraps(command)
        def asking(filters: Filters | None, current_only: bool, **options: Any) -> Any:
            asked = {name: options.pop(name) for name in ("k", "timezone", "score_min", "privacy")}
            now, as_of, zone = options.pop("now"), options.pop("as_of"), zone_of({**options, **asked})
            if current_only:
                from recall_integrations.types import Filters

                filters = replace(filters or Filters(), current_only=True)
            asked |= {"filters": filters, "now": moment(now, "--now", zone), "as_of": day_or_moment(as_of, zone)}
            return command(**options, asked=asked)

        for option in (
            PRIVACY,
            click.option("--score-min", type=click.FloatRange(0, 1), metavar="SCORE",
                         help="Leave out what scores less, from 0 to 1."),
            click.option("--current-only", is_flag=True, help="Leave out memories of what holds no longer "
                         "(docs/facts.md)."),
            AS_OF,
            click.option("--timezone", metavar="ZONE", help="Where 'yesterday' is read, such as Europe/Berlin. "
                         "Default: that of the settings, else the system's."),
            NOW,
            k_option(k),
        ):  # fmt: skip
            asking = option(asking)
        return asking

    return add


def k_option(default: int, what: str = "How many hits.") -> Callable[[Any], Any]:
    """Return the option `-k`, or `--k`."""
    return click.option("-k", "--k", default=default, type=click.IntRange(min=1), help=what)


def seed_option(what: str) -> Callable[[Any], Any]:
    """Return the option `--seed`."""
    return click.option("--seed", default=0, help=what)


# -- reading them ------------------------------------------------------------------------------------------------------


def zone_of(options: Mapping[str, Any]) -> ZoneInfo:
    """Return the zone in which the times of a command are: of `--timezone`, else of the settings."""
    from recall_integrations.recall.checking import checked_zone

    named = options.get("timezone") or settings(options.get("config_path")).timezone
    zone = checked_zone(named)
    assert zone is not None
    return zone


def filters_of(given: Mapping[str, Any], zone: tzinfo) -> Filters | None:
    """Build filters from the options of `filter_options`; return `None` where none is given."""
    fields = {name: value for name, value in given.items() if value not in ((), None)}
    if not fields:
        return None
    from recall_integrations.types import Filters

    for name in ("after", "before"):
        if name in fields:
            fields[name] = moment(fields[name], f"--{name}", zone)
    if "where" in fields:
        fields["metadata"] = {"$and": [{key: {"$eq": value}} for key, value in map(_condition, fields.pop("where"))]}
    return Filters(**fields)


def _condition(text: str) -> tuple[str, Any]:
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise InvalidArgument(
            f"--where {text!r} is no condition. Write KEY=VALUE, for example --where project=kestrel."
        )
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return key, value
    return key, found if isinstance(found, str | int | float | bool) else value


def moment(text: str | None, option: str, zone: tzinfo) -> datetime | None:
    """Parse the value of an option, a day or a time, in `zone` where it names none; `None` where it is not given."""
    if text is None:
        return None
    from recall_integrations.types.messages import iso

    found = iso(text, zone)
    if found is None:
        raise InvalidArgument(f"{option} {text!r} is no time. Write 2026-03-01, or 2026-03-01T12:00:00+00:00.")
    return found


def day_or_moment(text: str | None, zone: ZoneInfo, option: str = "--as-of") -> datetime | None:
    """Parse the value of `--as-of`: a day is its last moment in a time zone, so what was said on it counts."""
    if text is None:
        return None
    from recall_integrations.recall.checking import day_end

    return day_end(text, zone.key) or moment(text, option, zone)


def settings(path: str | None) -> RecallConfig:
    """Load the settings of the file of `--config`, with those of the environment over them, in the system's zone."""
    from recall_integrations.config.loading import loaded_here

    return loaded_here(path).config


# -- showing -----------------------------------------------------------------------------------------------------------


def console() -> Console:
    """Return a console on the terminal that guesses no meaning from numbers and quotes in the text."""
    from rich.console import Console

    stream: Any = sys.stdout
    if not (getattr(stream, "encoding", None) or "utf-8").lower().startswith("utf") and hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")  # a memory in another script must not end the command
    return Console(highlight=False, emoji=False, markup=False)


def tell(as_json: bool, data: Mapping[str, Any], show: Callable[[Console], object]) -> None:
    """Print what was found, as JSON or for people."""
    from recall_integrations.delivery import as_data

    if as_json:
        click.echo(as_data.dumps({"format": as_data.FORMAT, **data}))
    else:
        show(console())


line = plain  # puts a text of others on one line, without what would steer the terminal


def named_progress() -> AbstractContextManager[Told]:
    """Show the progress of several things; yield a function that is told a name, the number done, and the total."""
    return telling(not is_quiet())


@contextmanager
def steps() -> Iterator[Told]:
    """Do as `named_progress` does, and let Ctrl-C end the work between two steps."""
    with deferred_interrupt() as check, named_progress() as show:

        def advance(what: str, done: int, total: int | None) -> None:
            show(what.capitalize(), done, total)
            check()

        yield advance


def progress(what: str, total: int | None) -> AbstractContextManager[Callable[[int], None]]:
    """Show the progress of one thing; yield a function to call with the number of items done since."""
    return counted(what, total, not is_quiet())


def is_quiet() -> bool:
    """Say whether the command was asked not to show its progress."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(QUIET_KEY))


def _hush(context: click.Context, _option: click.Parameter, quiet: bool) -> None:
    context.meta[QUIET_KEY] = quiet


def quiet_option() -> click.Option:
    """Return the option `--quiet`, for commands that show their progress."""
    return click.Option(
        ["-q", "--quiet"], is_flag=True, expose_value=False, callback=_hush, help="Do not show how far it is."
    )
