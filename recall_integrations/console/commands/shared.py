"""What commands share: arguments, options and their reading, the store that they name, and output on the way."""

from __future__ import annotations

import json
import pkgutil
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import wraps
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import click

from recall_integrations.adapters.scopes import SYNTAX, find_scope
from recall_integrations.errors import EmbeddingMismatch, InvalidArgument, StorePathError
from recall_integrations.observability.progress import Told, counted, telling
from recall_integrations.text.shortening import plain

if TYPE_CHECKING:
    from rich.console import Console

    from recall_integrations.config import RecallConfig
    from recall_integrations.optimizer import QueryOptimizer
    from recall_integrations.store.memory_store import MemoryStore
    from recall_integrations.types import Filters, Scope


class Address:
    """The address of a database; as text it is without its password."""

    def __init__(self, given: str) -> None:
        from recall_integrations.database.postgres import parsed
        from recall_integrations.database.postgres_errors import shown

        self.given = given
        self._shown = shown(parsed(given))

    def __str__(self) -> str:
        return self._shown

    def __repr__(self) -> str:
        return f"Address({self._shown!r})"


Place = Path | Address


class _PlaceType(click.ParamType):  # type: ignore[type-arg,unused-ignore]  # older releases have no argument
    name = "store"

    def convert(self, value: Any, _param: click.Parameter | None, _ctx: click.Context | None) -> Place:
        if isinstance(value, Path | Address):
            return value
        return Address(value) if "://" in value else Path(value)


PLACE = _PlaceType()


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


# -- what a command names: a store that is there, and objects of the user ----------------------------------------------


def opens(place: Place) -> Path | str:
    """Return the argument of `MemoryStore.open` for a place."""
    return place.given if isinstance(place, Address) else place


INDEXES = ("columns", "semantic.*", "lexical.*")  # the last one of earlier versions


def check_store(path: Place) -> None:
    """Refuse a path that holds no store, so that reading never makes one.

    A directory with indexes and no database passes: opening it gives the error that says what is lost.
    """
    from recall_integrations.store.directory import DATABASE

    if isinstance(path, Address):
        _check_database(path)
        return
    try:
        if (path / DATABASE).is_file() or any(True for pattern in INDEXES for _ in path.glob(pattern)):
            return
        there = path.exists()
    except OSError as e:
        raise StorePathError(f"Cannot read {path}: {e.strerror or e}. Check the path and its permissions.") from e
    held = f"holds no {DATABASE}" if there else "does not exist"
    state = "is a file" if path.is_file() else held
    raise StorePathError(
        f"There is no store at {path}: it {state}. Make one with `recall add {path} TEXT`, or with `recall import "
        f"FILE {path}`."
    )


def is_store(path: Place) -> bool:
    """Say whether there is a store at `path`, or what is left of one."""
    try:
        check_store(path)
    except StorePathError:
        return False
    return True


def _check_database(place: Address) -> None:
    from recall_integrations.database import postgres

    engine = postgres.open_postgres(place.given)
    try:
        with postgres.mapped_errors(engine), engine.connect() as connection:
            version = postgres.version_of(connection)
    finally:
        engine.dispose()
    if not version:
        raise StorePathError(
            f"There is no store in {place}: it has no tables of ours. Make one with `recall add ADDRESS TEXT`, or with "
            "`recall import FILE ADDRESS --format jsonl`; ADDRESS as you gave it now."
        )


@dataclass(frozen=True, kw_only=True)
class Opening:
    """The store that a command names, and the options by which it is opened."""

    place: Place
    config: RecallConfig
    embedding: str | None = None
    scope: str | None = None  # as it was written

    @property
    def zone(self) -> ZoneInfo:
        """The zone of times without an offset."""
        return ZoneInfo(self.config.timezone)

    @contextmanager
    def made(self, **more: Any) -> Iterator[MemoryStore]:
        """Yield the store, made if absent, and closed at the end."""
        from recall_integrations.store.memory_store import MemoryStore

        with MemoryStore.open(opens(self.place), embedding=self.embedding, config=self.config, **more) as store:
            yield store

    @contextmanager
    def store(self) -> Iterator[MemoryStore]:
        """Yield the store, which has to be there, closed at the end."""
        check_store(self.place)
        with ExitStack() as stack:
            try:
                store = stack.enter_context(self.made())
            except EmbeddingMismatch as e:
                raise EmbeddingMismatch(f"{e} On the command line: --embedding NAME.") from e
            yield store

    @contextmanager
    def optimizer(self, **sources: Any) -> Iterator[QueryOptimizer]:
        """Yield an optimizer over the store, which has to be there."""
        from recall_integrations.optimizer import QueryOptimizer

        with self.store() as store, closing(QueryOptimizer(store, config=self.config, **sources)) as optimizer:
            yield optimizer

    def where(self, store: MemoryStore) -> Scope:
        return find_scope(self.scope, store.scopes())


@contextmanager
def nothing_left(path: Place, done: Callable[[], int]) -> Iterator[None]:
    """Remove a store that was made here if the block fails before anything was stored."""
    if isinstance(path, Address):  # empty tables are no harm, and others may use them by now
        yield
        return
    there, empty = path.exists(), path.is_dir() and not any(path.iterdir())
    try:
        yield
    except BaseException:
        if not done() and (not there or empty) and path.is_dir():
            from recall_integrations.store.chroma_files import remove_path

            for child in path.iterdir():
                remove_path(child)
            if not there:
                path.rmdir()
        raise


_PATH = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"  # what `resolve_name` takes
_NAMED = re.compile(f"{_PATH}:{_PATH}")


def given(text: str | None, option: str = "") -> Any:
    """Load the object that `module:name` names, also from the current directory; return any other text as it is.

    With an option: that takes nothing else.
    """
    if text is not None and option and not _NAMED.fullmatch(text):
        raise InvalidArgument(f"{option} must be MODULE:NAME, such as my_app.models:llm, not {text!r}.")
    if text is None or not _NAMED.fullmatch(text):
        return text
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return pkgutil.resolve_name(text)
    except (ImportError, AttributeError) as e:
        raise InvalidArgument(
            f"{text!r} cannot be imported: {e}. Write module:name of something that Python finds from here."
        ) from e


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], None]]:
    """Hold the first Ctrl-C in the block until the yielded function is called, which raises; a second acts at once.

    The store would survive either, but a statement that is cut off makes the database driver complain aloud. Does
    nothing outside the main thread, or where Ctrl-C does something else than Python's default.
    """
    default = signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not default:
        yield lambda: None
        return
    pressed = False

    def remember(_number: int, _frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.signal(signal.SIGINT, default)

    def check() -> None:
        if pressed:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, remember)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, default)
