"""Open what a command names: a store that is there, in a directory or a database, and objects of the user."""

from __future__ import annotations

import pkgutil
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import click

from recall_integrations.adapters.scopes import find_scope
from recall_integrations.errors import EmbeddingMismatch, InvalidArgument, StorePathError

if TYPE_CHECKING:
    from recall_integrations.config import RecallConfig
    from recall_integrations.optimizer import QueryOptimizer
    from recall_integrations.store.memory_store import MemoryStore
    from recall_integrations.types import Scope


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


def opens(place: Place) -> Path | str:
    """Return the argument of `MemoryStore.open` for a place."""
    return place.given if isinstance(place, Address) else place


INDEXES = ("columns", "semantic.*")


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
            from recall_integrations.store.index_files import remove_path

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
