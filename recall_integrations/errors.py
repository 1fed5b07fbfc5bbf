"""The error tree. Every error this package raises on purpose descends from `RecallError`.

    RecallError
    ├── InvalidInput (ValueError)      what the caller passed cannot be used; nothing was changed
    │   ├── InvalidQuery               empty, blank, too long, or not valid text
    │   ├── InvalidArgument            k, budgets, now, privacy mode, an unknown option
    │   ├── InvalidMemory              a field of a memory; `remember_many` names its position
    │   ├── InvalidScope               a scope part that is not usable text
    │   └── InvalidFilter              a filter that cannot be applied
    ├── ConfigError (ValueError)       settings out of their range, unknown keys of a file, names in the environment
    ├── MissingExtra (ImportError)     an optional package is needed; the message names the extra
    ├── MissingBenchmark (ImportError)  a benchmark of the repository, asked for outside of a checkout
    ├── NotFound (KeyError)            an id that is not in this scope, where one was required
    ├── StoreError                     the store directory as a whole
    │   ├── StorePathError             not a directory, not readable, not writable
    │   ├── StoreLocked                another process writes for too long, or has it open where one must be alone
    │   ├── StoreVersionError          written by another version, or not a recall store
    │   ├── StoreCorrupt               the SQL database is damaged; it was left untouched
    │   ├── StoreClosed                used after `close()`, or in a forked child
    │   └── EmbeddingMismatch          opened with another embedding than the one that made it
    ├── EmbeddingError                 the embedding failed or returned the wrong shape
    ├── IndexUnavailable               a derived index cannot be opened or searched
    │   ├── VectorsAway                the server that holds the vectors of large scopes cannot be reached
    │   └── VectorsRefused             it does not let us in, or is none that we can use
    ├── NotSearched                    nothing could be searched, and an empty answer would read as "nothing known"
    ├── RecallTimeout                  the time was not enough for everything; with `recall(strict=True)` only
    ├── DegradationFailed              a step failed, or nothing was left to return; with `strict=True` only
    ├── PrivacyViolation               a text could not be redacted in time; with `strict=True` only
    └── ServerError                    a server that a `RecallClient` asks did not answer as it should
        ├── ServerUnavailable          it cannot be reached, or had no place in the time there was
        └── ServerRefused              it does not let this request in: its token, its size, where it comes from

Messages say what was wrong and then what to do. `code` is a stable string for programs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from inspect import iscoroutinefunction, signature
from types import MappingProxyType
from typing import Any, ClassVar, ParamSpec, TypeVar, cast

__all__ = [
    "ConfigError",
    "DegradationFailed",
    "EmbeddingError",
    "EmbeddingMismatch",
    "IndexUnavailable",
    "InvalidArgument",
    "InvalidFilter",
    "InvalidInput",
    "InvalidMemory",
    "InvalidQuery",
    "InvalidScope",
    "MissingBenchmark",
    "MissingExtra",
    "NotFound",
    "NotSearched",
    "PrivacyViolation",
    "RecallError",
    "RecallTimeout",
    "ServerError",
    "ServerRefused",
    "ServerUnavailable",
    "StoreClosed",
    "StoreCorrupt",
    "StoreError",
    "StoreLocked",
    "StorePathError",
    "StoreVersionError",
    "VectorsAway",
    "VectorsRefused",
]


class RecallError(Exception):
    """Root of the tree.

    Attributes:
        code: stable, for programs.
        details: of an incomplete recall: `effective_timeout_ms`, `degradation_steps_applied`,
            `retry_suggestions`.
        options: what a caller may do: `retry_with_reduced_scope`, `skip_experience_path`, `return_minimal`.
        stats: `partial_results` and `time_elapsed_ms`.
        result: the `RecallResult` as it is without `strict=True`; `None` for other errors.
    """

    code: ClassVar[str] = "RECALL_ERROR"  # of a class below: its name in capitals, unless the class says otherwise
    details: Mapping[str, object] = MappingProxyType({})
    options: tuple[str, ...] = ()
    stats: Mapping[str, float] = MappingProxyType({})
    result: Any = None

    def __init_subclass__(cls) -> None:
        if cls.__module__ == __name__ and "code" not in vars(cls):
            cls.code = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).upper()


class InvalidInput(RecallError, ValueError):
    """An input of the caller cannot be used. Raised before anything is changed."""


class InvalidQuery(InvalidInput):
    """The query is empty, blank, or not valid text."""


class InvalidArgument(InvalidInput):
    """An argument of a call is out of its range or of the wrong kind."""


class InvalidMemory(InvalidInput):
    """A memory has a field that cannot be stored."""


class InvalidScope(InvalidInput):
    """A part of a scope is not usable text."""


class InvalidFilter(InvalidInput):
    """A filter cannot be applied."""


class ConfigError(RecallError, ValueError):
    """Settings are out of their range, unknown, or do nothing.

    Attributes:
        mistakes: each as (where, message); `where` holds the keys on the way to the setting, such as
            `("planner", "precise_threshold")`.
    """

    mistakes: tuple[tuple[tuple[str | int, ...], str], ...] = ()

    code = "INVALID_CONFIG"


class MissingExtra(RecallError, ImportError):
    """An optional package is needed and not installed."""


class MissingBenchmark(RecallError, ImportError):
    """A benchmark that lives in the repository was asked for where there is no checkout."""


class NotFound(RecallError, KeyError):
    """An id that was required is not in this scope."""

    def __str__(self) -> str:  # KeyError would quote the message
        return str(self.args[0]) if self.args else ""


class StoreError(RecallError):
    """The store directory as a whole cannot be used."""


class StorePathError(StoreError):
    """The path is not a directory that can be read and written."""

    code = "STORE_PATH"


class StoreLocked(StoreError):
    """Another process has been writing for too long, or has the store open while something needs it alone."""


class StoreVersionError(StoreError):
    """The store was written by another version, or is none."""

    code = "STORE_VERSION"


class StoreCorrupt(StoreError):
    """The SQL database is damaged. It was left untouched."""


class StoreClosed(StoreError):
    """The store was used after `close()`, or in a process forked from the one that opened it."""


class EmbeddingMismatch(StoreError):
    """The store was made with another embedding than the one it is opened with."""


class EmbeddingError(RecallError):
    """The embedding raised, or returned an array of the wrong shape or with non-finite numbers."""


class IndexUnavailable(RecallError):
    """A derived index cannot be opened or searched."""


class VectorsAway(IndexUnavailable):
    """The server that holds the vectors of large scopes cannot be reached, hangs or fails."""


class VectorsRefused(IndexUnavailable):
    """The server that holds the vectors of large scopes does not let us in, is none that can be used, or allows no
    request as large as ours.
    """


class NotSearched(RecallError):
    """Nothing could be searched yet. Raised where an empty answer would be read as "nothing is known"."""


class RecallTimeout(RecallError):
    """There was not time for everything. An arm that raises it is late, and named in the result."""

    code = "TIMEOUT"


class DegradationFailed(RecallError):
    """A step failed where the caller wanted all of them, or nothing was left that could be returned."""


class PrivacyViolation(RecallError):
    """A text could not be redacted in time. It was withheld, and never shown."""


class ServerError(RecallError):
    """A served store did not answer as it should.

    Attributes:
        status: of HTTP; 0 = there was no answer.
    """

    status: int = 0


class ServerUnavailable(ServerError):
    """The server cannot be reached, or had no place for the request in the time there was."""


class ServerRefused(ServerError):
    """The server does not let the request in: no valid token, not this scope, too large."""


# Requirements that an installation may leave out (docs/install.md), with their bounds.
LEFT_OUT = {"langchain-core": ">=1.0,<2", "llama-index-core": ">=0.14,<0.15", "chromadb": ">=1.0,<2"}


def installing(extra: str) -> str:
    """Return the command that installs an extra of this installation, or what it left out: by what installed it, and
    from where.
    """
    import json  # these take 100 ms to load, and only where something is missing
    from importlib.metadata import PackageNotFoundError, distribution
    from pathlib import Path
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        found = distribution("recall-integrations")
    except PackageNotFoundError:  # a copy that nothing installed
        by, origin = "", ""
    else:
        by, origin = found.read_text("INSTALLER") or "", found.read_text("direct_url.json") or ""
    tool = _TOOLS[next((tool for tool in _TOOLS if by.strip().lower().startswith(tool)), "pip")]
    if extra in LEFT_OUT:
        return f'{tool} "{extra}{LEFT_OUT[extra]}"'
    told = json.loads(origin or "{}")
    what = f"recall-integrations[{extra}]"
    if "dir_info" in told:  # a checkout
        folder = url2pathname(urlsplit(told["url"]).path)
        what = f"{'.' if Path.cwd() == Path(folder) else folder}[{extra}]"
    elif "url" in told:
        version_control = told.get("vcs_info", {}).get("vcs")
        what = f"{what} @ {f'{version_control}+' if version_control else ''}{told['url']}"
    editable = "-e " if told.get("dir_info", {}).get("editable") else ""
    return f'{tool} {editable}"{what}"'


_TOOLS = {"uv": "uv pip install", "poetry": "poetry add", "pdm": "pdm add", "pip": "pip install"}


@contextmanager
def extra(name: str, what: str) -> Iterator[None]:
    """Turn an import error in the block into `MissingExtra`."""
    try:
        yield
    except ImportError as e:
        raise MissingExtra(f"{what} needs another package ({e}). Install it with: {installing(name)}") from e


def from_code(code: str, message: str) -> RecallError | None:
    """Return the error of the tree with this code; `None` where no class has it."""
    kinds = (kind for name in __all__ if (kind := globals()[name]).code == code)
    return next((kind(message) for kind in kinds), None)


# What others call our arguments, for "Did you mean".
_NUMBER = ("k=5", "limit=5")
MEANT = {
    **dict.fromkeys(("top_k", "similarity_top_k", "limit", "n_results", "k"), _NUMBER),
    **dict.fromkeys(("filter", "where", "metadata_filters"), ("filters={...}", "metadata={...}")),
    **dict.fromkeys(("score_threshold", "similarity_cutoff", "threshold", "min_score"), ("score_min=0.3",)),
    **dict.fromkeys(("user_id", "agent_id", "namespace", "run_id"), ("scope=Scope(user_id=...)",)),
    **dict.fromkeys(("embed_model", "embedding_function"), ("embedding=...",)),
    **dict.fromkeys(
        "type actor role event_at timestamp entities thread id text metadata".split(), ("memory=Memory(text, ...)",)
    ),
    "search_kwargs": ("k=5", "filters={...}", "score_min=0.3"),
}


def refuse_unknown(what: str, given: Iterable[str], known: Iterable[str], otherwise: str = "") -> None:
    """Refuse unknown arguments, which LlamaIndex's models ignore: `user_id="u1"` would mean the default scope.

    The error says what was probably meant: what a name of others means here, else the most similar name, else
    `otherwise`.
    """
    unknown = sorted(set(given) - (names := set(known)))
    if not unknown:
        return
    from difflib import get_close_matches

    meant = [hint for name in unknown for hint in MEANT.get(name, ()) if hint.partition("=")[0] in names]
    meant = meant or [f"{near}=..." for name in unknown for near in get_close_matches(name.lower(), names, 1)]
    meant = list(dict.fromkeys(meant)) or [otherwise] * bool(otherwise)
    hint = f" Did you mean {', '.join(meant)}?" if meant else ""
    raise InvalidArgument(f"Unknown argument {', '.join(unknown)}.{hint} {what} takes: {', '.join(sorted(names))}.")


P = ParamSpec("P")
T = TypeVar("T")


def refusing_unknown(call: Callable[P, T]) -> Callable[P, T]:
    """Let a call refuse unknown arguments as `refuse_unknown` does, instead of a bare `TypeError`."""
    known = frozenset(signature(call).parameters)

    def check(given: Mapping[str, object]) -> None:
        if not given.keys() <= known:
            refuse_unknown(call.__qualname__.removesuffix(".__init__"), given, known - {"self", "cls"})

    @wraps(call)
    def now(*args: P.args, **given: P.kwargs) -> T:
        check(given)
        return call(*args, **given)

    @wraps(call)
    async def later(*args: P.args, **given: P.kwargs) -> Any:
        check(given)
        return await cast(Any, call(*args, **given))

    return cast(Callable[P, T], later) if iscoroutinefunction(call) else now
