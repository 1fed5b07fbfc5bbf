"""What both frameworks share: metadata and text of results, feedback, and bases in place of one that is absent.

Metadata hold the data of a hit under flat keys, beside the user's own. Keys that begin with `recall_` and are named in
`OURS` are ours: what a result shows under them is of this recall, and a key of the user's of the same name stays in the
store (`hit.memory.metadata`, filters) without being shown.

The text (`document_format` of the retriever) is `text`, the memory's own; `dated`, with date and actor before it, if
known ("[2026-03-12, Priya] We chose PostgreSQL"); or a template with `{text}` in it, for `str.format`:
"{actor} on {when:%d %B}: {text} (from {metadata[source]})". Values that a memory lacks are empty.
"""

from __future__ import annotations

import copy
import functools
import json
import string
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone, tzinfo
from importlib.util import find_spec
from typing import Any
from uuid import UUID

import numpy as np
from cachetools import FIFOCache
from pydantic import BaseModel

from recall_integrations.errors import InvalidArgument, MissingExtra, installing
from recall_integrations.types import Hit, Memory


def _there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # its import is blocked
        return False


LANGCHAIN = _there("langchain_core")
LLAMA_INDEX = _there("llama_index_instrumentation")  # `llama_index` may be there for its lists of stop words alone


def _needs(package: str, what: str) -> Any:
    def refused(self: object, *_given: Any, **_more: Any) -> Any:
        raise MissingExtra(f"{what} needs {package}, which is not installed. Install it with: {installing(package)}")

    return refused


class Absent:
    """A class without objects: documents or nodes of a framework that is not installed."""


class NoLangChain(BaseModel):
    """A retriever that is none of LangChain's."""

    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None
    invoke = ainvoke = batch = abatch = stream = astream = pipe = __or__ = as_tool = with_config = get_prompts = _needs(
        "langchain-core", "A LangChain retriever"
    )


class NoLlamaIndex:
    """A retriever that is none of LlamaIndex's."""

    retrieve = aretrieve = get_prompts = update_prompts = _needs("llama-index-core", "A LlamaIndex retriever")


PREFIX = "recall_"
NODE = "recall_node"  # in a memory's metadata: what a LlamaIndex node was besides its text and metadata
DIGEST = "recall_digest"  # in a memory's metadata: of the document of another store that it is of
SCORE = "recall_score"
RESULT = "recall_result_id"  # names the answer that a document or node is of, for feedback on it
# Of the memory: the same whatever is asked. Always there, "" where it is not known, so that a prompt may name them.
OF_MEMORY = tuple(
    f"{PREFIX}{name}" for name in ("id", "type", "actor", "role", "channel", "thread", "date", "event_at", "created_at")
)
# Of the memory, and there only where it has them.
IF_ANY = tuple(f"{PREFIX}{name}" for name in ("position", "expires_at", "refs", "scope"))
# Of this recall. Only score, reason and the id of the result are always there, and highlights only where they were
# asked for.
OF_RECALL = tuple(
    f"{PREFIX}{name}"
    for name in (
        *("score", "reason", "duplicates", "context", "superseded_by", "valid_from", "valid_to"),
        *("highlights", "result_id"),
    )
)
OURS = (*OF_RECALL, *OF_MEMORY, *IF_ANY, NODE)
_OURS, _OF_RECALL = frozenset((*OURS, DIGEST)), frozenset(OF_RECALL)


class Details(dict[str, Any]):
    """Metadata of a result. Two results of one memory are equal, whatever was asked.

    LangChain's multi-query retriever tells documents apart by comparing them whole, and how well one answers differs
    from query to query. Everything else about it is a dict's: compared with a plain one it is equal where all but the
    id of the answer is the same, and a pickle, JSON or a checkpoint holds a plain one.
    """

    __slots__ = ()
    __hash__ = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, dict):
            return NotImplemented
        gone = _OF_RECALL if isinstance(other, Details) else {RESULT}
        one, two = ({key: value for key, value in each.items() if key not in gone} for each in (self, other))
        return one == two

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __reduce__(self) -> Any:
        return dict, (dict(self),)

    def __copy__(self) -> Details:
        return type(self)(self)

    def copy(self) -> Details:
        return type(self)(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Details:
        return type(self)((key, copy.deepcopy(value, memo)) for key, value in self.items())


class NodeDetails(Details):
    """Metadata of a node: `Details` whose text is the user's own metadata.

    LlamaIndex tells nodes apart by a hash of their text and of `str(metadata)`. So a node is itself whatever was
    asked, and equals the one that another retriever over the same nodes returns. `repr` shows all of it.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return str(own(self))


def own(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the user's part of metadata."""
    if _OURS.isdisjoint(metadata):
        return dict(metadata)
    return {key: value for key, value in metadata.items() if key not in _OURS}


def plain(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return metadata as JSON types; other types (dates, ids of a library) become text."""
    given = dict(metadata or {})
    if all(type(value) in (str, int, bool, type(None)) for value in given.values()):
        return given
    known: dict[str, Any] = json.loads(json.dumps(given, default=_text, skipkeys=True))
    return known


def _text(value: Any) -> Any:
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    return sorted(value, key=str) if isinstance(value, set | frozenset) else str(value)


def said_of(hit: Hit, zone: tzinfo) -> dict[str, Any]:
    """Return the data of a hit that a result shows besides its text and the user's metadata."""
    memory = hit.memory
    about: dict[str, Any] = {SCORE: hit.score, "recall_reason": hit.reason, **said_of_memory(memory, zone)}
    if scope := {name: part for name in ("user_id", "agent_id", "namespace") if (part := getattr(hit.scope, name, ""))}:
        about["recall_scope"] = scope
    if hit.duplicates:
        about["recall_duplicates"] = list(hit.duplicates)
    if hit.context:
        about["recall_context"] = [{"text": m.text, **said_of_memory(m, zone)} for m in hit.context]
    if hit.superseded_by is not None:
        about["recall_superseded_by"] = hit.superseded_by
    for name, moment in (("recall_valid_from", hit.valid_from), ("recall_valid_to", hit.valid_to)):
        if moment is not None:
            about[name] = moment.isoformat()
    return about


def metadata_of(hit: Hit, text: str, zone: tzinfo, highlights: bool, result_id: str) -> dict[str, Any]:
    """Return the metadata that a result of a hit shows."""
    answer = {RESULT: result_id} if result_id else {}
    return own(hit.memory.metadata) | said_of(hit, zone) | answer | (places_of(hit, text) if highlights else {})


def places_of(hit: Hit, shown: str) -> dict[str, Any]:
    """Return the highlights of a hit under their key, as places `[start, end, kind]` in the text that is shown.

    Empty where there are none, or where the shown text does not hold the memory's text as it is.
    """
    text = hit.memory.text
    # Nearly always the text comes last, and who said it, before, may have a name that begins like it.
    at = len(shown) - len(text) if shown.endswith(text) else shown.find(text)
    if at < 0 or not hit.highlights:
        return {}
    return {f"{PREFIX}highlights": [[at + h.start, at + h.end, h.kind] for h in hit.highlights]}


def said_of_memory(memory: Memory, zone: tzinfo) -> dict[str, Any]:
    """Return the data of a memory that does not depend on the query."""
    event_at, created_at = memory.event_at, memory.created_at
    about: dict[str, Any] = {
        "recall_id": memory.id or "",
        "recall_type": memory.type.value,
        "recall_actor": memory.actor or "",
        "recall_role": "" if memory.role is None else memory.role.value,
        "recall_channel": memory.channel or "",
        "recall_thread": memory.thread or "",
        "recall_date": date_of(memory, zone),
        "recall_event_at": "" if event_at is None else event_at.isoformat(),
        "recall_created_at": "" if created_at is None else created_at.isoformat(),
    }
    if memory.position is not None:
        about["recall_position"] = memory.position
    if memory.expires_at is not None:
        about["recall_expires_at"] = memory.expires_at.isoformat()
    if memory.refs:
        about["recall_refs"] = list(memory.refs)
    return about


def moment_of(memory: Memory, zone: tzinfo) -> datetime | None:
    """Return when it happened, else when it was recorded, in `zone`; in its own zone where the calendar ends."""
    moment = memory.event_at or memory.created_at
    if moment is None or (zone is timezone.utc and moment.tzinfo is timezone.utc):
        return moment
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment


def date_of(memory: Memory, zone: tzinfo) -> str:
    """Return the day of `moment_of` ("2026-03-12"); "" where it is not known."""
    moment = moment_of(memory, zone)
    return "" if moment is None else moment.date().isoformat()


Format = Callable[[Hit, tzinfo], str]
TEXT, DATED = "text", "dated"
FIELDS = (
    *("text", "date", "when", "event_at", "created_at", "actor", "role", "channel", "thread", "position"),
    *("type", "id", "score", "reason", "metadata"),
)


class _Template(string.Formatter):
    """Fills a template; what a memory does not have is empty, whatever its format."""

    def convert_field(self, value: Any, conversion: Any) -> Any:
        return None if value is None else super().convert_field(value, conversion)

    def format_field(self, value: Any, format_spec: str) -> str:
        return "" if value is None else str(super().format_field(value, format_spec))


TEMPLATE = _Template()


@functools.lru_cache(maxsize=64)
def format_of(given: str) -> Format:
    """Return the function from a hit to its text."""
    if not isinstance(given, str):
        raise InvalidArgument(f"document_format must be text, not {type(given).__name__}. {_KNOWN}")
    if given == TEXT:
        return lambda hit, _zone: hit.memory.text
    if given == DATED:
        return _dated
    _check(given)

    def filled(hit: Hit, zone: tzinfo) -> str:
        try:
            return TEMPLATE.vformat(given, (), _values(hit, zone))
        except (ValueError, TypeError):  # of a key whose value is of another kind here than there
            return hit.memory.text

    return filled


def _dated(hit: Hit, zone: tzinfo) -> str:
    memory = hit.memory
    known = ", ".join(part for part in (date_of(memory, zone), memory.actor) if part)
    return f"[{known}] {memory.text}" if known else memory.text


def _values(hit: Hit, zone: tzinfo) -> dict[str, Any]:
    memory = hit.memory
    return {
        "text": memory.text,
        "date": date_of(memory, zone),
        "when": moment_of(memory, zone),
        "type": memory.type.value,
        "role": None if memory.role is None else memory.role.value,
        "score": hit.score,
        "reason": hit.reason,
        **{
            name: getattr(memory, name)
            for name in ("event_at", "created_at", "actor", "channel", "thread", "position", "id")
        },
        "metadata": defaultdict(lambda: None, own(memory.metadata)),
    }


_KNOWN = f"Use {TEXT!r}, {DATED!r} or a template with {{text}} in it; its fields are: {', '.join(FIELDS)}."
_MOMENT = datetime(2026, 3, 12, 9, 30, tzinfo=timezone.utc)
_NAMES: dict[str, Any] = dict.fromkeys(("id", "actor", "channel", "thread"), "name")
_TIMES: dict[str, Any] = dict.fromkeys(("event_at", "created_at"), _MOMENT)
_SAMPLE = Hit(memory=Memory("text", type="fact", role="user", position=1, **_NAMES, **_TIMES), score=0.5, reason="why")


def _check(template: str) -> None:
    """Raise what is wrong with a template now rather than at the first document."""
    try:
        fields = [(name, spec) for _, name, spec, _ in string.Formatter().parse(template) if name is not None]
    except ValueError as e:
        raise InvalidArgument(f"document_format cannot be read ({e}): {template[:80]!r}. {_KNOWN}") from e
    for name, spec in fields:
        root = name.split("[", 1)[0]
        if root not in FIELDS or (name != root and (root != "metadata" or "." in name.rsplit("]", 1)[-1])):
            raise InvalidArgument(f"document_format has no field {name!r}. {_KNOWN}")
        if name == "metadata" or "{" in (spec or ""):
            raise InvalidArgument(f"document_format: write {{metadata[key]}}, and no field within another. {_KNOWN}")
    if "text" not in (name for name, _ in fields):
        raise InvalidArgument(f"document_format must hold {{text}}: {template[:80]!r}. {_KNOWN}")
    try:
        TEMPLATE.vformat(template, (), _values(_SAMPLE, timezone.utc))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError) as e:
        raise InvalidArgument(f"document_format cannot be filled ({e}): {template[:80]!r}. {_KNOWN}") from e


RUNS_MAX = 2_000
OF_RUN_MAX = 64  # recalls of one run
# What the ratings of users go by. Others (`toxicity`, …) say nothing of a recall.
KEYS = ("user_score", "user_rating", "thumbs", "helpful", "helpfulness", "rating", "feedback")
_IDS = ("helpful", "wrong", "cited")
_WORDS = {"up": True, "down": False, "thumbs_up": True, "thumbs_down": False}


class Runs:
    """The results of the last runs of callbacks, by the ids of a run, its parent and its trace. Threads share it."""

    def __init__(self, most: int = RUNS_MAX) -> None:
        self._results: FIFOCache[str, tuple[str, ...]] = FIFOCache(most)  # what is noted anew goes last
        self._lock = threading.Lock()

    def note(self, manager: Any, result_id: str) -> None:
        own = manager.run_id
        traces = (getattr(handler, "order_map", {}).get(own, (None,))[0] for handler in manager.handlers)
        ids = dict.fromkeys(str(one) for one in (own, manager.parent_run_id, *traces) if one is not None)
        with self._lock:
            for one in ids:
                self._results[one] = (*self._results.get(one, ()), result_id)[-OF_RUN_MAX:]

    def of(self, run_id: object) -> str | None:
        """Return the result of a run; `None` = no such run is known."""
        with self._lock:
            found = self._results.get(str(run_id), ())
        if len(found) > 1:
            raise InvalidArgument(
                f"{len(found)} recalls belong to the run {run_id}. Name the result of one of them: {RESULT} in the "
                "metadata of its documents."
            )
        return found[0] if found else None


def langsmith_said(given: Any, keys: Sequence[str] = KEYS) -> tuple[tuple[str, ...], dict[str, Any]] | None:
    """Read feedback in LangSmith's format: a mapping, or one of its records.

    Return ids of the run and its trace, and arguments of `feedback`; `None` = its key is none of `keys`, and nothing
    corrects it.
    """

    def read(name: str) -> Any:
        return given.get(name) if isinstance(given, Mapping) else getattr(given, name, None)

    runs = tuple(str(one) for name in ("run_id", "trace_id") if (one := read(name)) is not None)
    said: dict[str, Any] = {}
    for holder in (read("correction"), read("value")):
        if isinstance(holder, Mapping):
            listed = {name: ids for name in _IDS if isinstance(ids := holder.get(name), list | tuple) and ids}
            said |= {name: list(ids) for name, ids in listed.items() if name not in said}
    if read("key") in keys:
        value, score = read("value"), read("score")
        if score is None and not isinstance(value, Mapping):
            score = _WORDS.get(value.strip().lower(), value) if isinstance(value, str) else value
        if score is not None:
            said["rating"] = _score(score)
    if not said:
        return None
    if not runs:
        raise InvalidArgument("Feedback names the run that it is about: run_id.")
    return runs, said


def _score(score: object) -> float | bool:
    if isinstance(score, bool) or (isinstance(score, int | float) and 0 <= score <= 1):
        return score
    raise InvalidArgument(f"score must be from 0 to 1, true or false, not {score!r:.40}. Divide it by its largest.")


def result_of(runs: Runs, given: Any) -> Any:
    """Return the argument for `QueryOptimizer.feedback`, given a result or the id of a run."""
    if isinstance(given, UUID | str):
        return runs.of(given) or str(given)
    return given
