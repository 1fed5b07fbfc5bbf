"""The folders that are measured: each with `memories.jsonl` and `questions.jsonl`, or with such folders in it.

They are read as `recall bench quality --dataset jsonl` reads them, but for two things: a question may have no answer
(`"relevant": []`), and a memory may have a type that is none of ours, which is left out.

New users store the same notes, and ask the same questions, in several ways (`STORED_AS`, `ASKED_AS`), and none of these
may cost an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.datasets.data import Collection, EvaluationData
from benchmarks.datasets.jsonl import MEMORIES, QUESTIONS
from recall_integrations.adapters.rows import memory_of, parse_line
from recall_integrations.adapters.scopes import scope_text
from recall_integrations.errors import InvalidArgument, InvalidInput
from recall_integrations.evaluation.questions import jsonl_questions, lines
from recall_integrations.types import Memory, MemoryType, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Stores of about the same size: a name, and the most memories that one has; `None` = no limit."""

    name: str
    most: int | None


SIZES = (
    Size(name="2-5", most=5),
    Size(name="6-12", most=12),
    Size(name="13-100", most=100),
    Size(name="1k", most=3_000),
    Size(name="10k", most=None),
)


AS_THEY_ARE = "given"
# Name → fields of every memory that are other than in the files.
STORED_AS: Mapping[str, Mapping[str, Any]] = {
    AS_THEY_ARE: {},
    "chunks": {"type": MemoryType.CHUNK},  # as `from_texts` and `from_documents` store them
    "undated-chunks": {"type": MemoryType.CHUNK, "event_at": None},
    "user": {"actor": "user"},  # as lines of a user
    "assistant": {"actor": "assistant"},  # as an agent's own lines
    "thread": {"thread": "notes"},  # as one thread
    "user-thread": {"actor": "user", "thread": "notes"},  # as one chat in which nobody answers
    "person": {"actor": "Sam"},  # as lines of a person with a name
}


# Name → what is asked instead of a question.
ASKED_AS: Mapping[str, Callable[[str], str]] = {
    AS_THEY_ARE: lambda text: text,
    "polite": lambda text: f"hi, can you tell me {text[:1].lower()}{text[1:]}",
    "thanks": lambda text: f"{text} thanks!",
    "busy": lambda text: f"Sorry to bother you again, I know you're busy. {text}",
    "ill": lambda text: f"I was ill last week. {text}",
    "form": lambda text: f"{text} I need it for a form.",
    "wondering": lambda text: f"I was wondering {text[:1].lower()}{text[1:]}",
    "search": lambda text: f"search my memories: {text[:1].lower()}{text[1:]}",
    "prompt": lambda text: f"You are a helpful assistant. Use the notes to answer the question. {text}",
    "brief": lambda text: f"{text} Please answer in one short sentence.",
    "tags": lambda text: f"<query>{text}</query>",
    "lower": str.lower,
    "upper": str.upper,
}


def size_of(memories: int) -> str:
    """The name of the size of a store of so many memories."""
    return next(size.name for size in SIZES if size.most is None or memories <= size.most)


def read(path: Path, stored_as: str = AS_THEY_ARE, asked_as: str = AS_THEY_ARE) -> tuple[EvaluationData, ...]:
    """The sets of a folder: itself, or each folder in it that holds the two files, by name.

    Args:
        path: the folder.
        stored_as: one of `STORED_AS`.
        asked_as: one of `ASKED_AS`.

    Raises:
        InvalidArgument: there is none, or a file is wrong; the message names the file and the line.
    """
    folders = [path] if _is_set(path) else sorted(each for each in path.glob("*") if _is_set(each))
    if not folders:
        raise InvalidArgument(
            f"{path} holds no {MEMORIES} and {QUESTIONS}, nor does a folder in it. Pass the folder that does."
        )
    return tuple(_turned(_set(folder), STORED_AS[stored_as], ASKED_AS[asked_as]) for folder in folders)


def _turned(data: EvaluationData, other: Mapping[str, Any], asked: Callable[[str], str]) -> EvaluationData:
    def turned(own: Collection) -> Collection:
        memories = tuple(replace(memory, **other) for memory in own.memories)
        return replace(own, memories=memories, questions=tuple(replace(q, text=asked(q.text)) for q in own.questions))

    return replace(data, collections=tuple(map(turned, data.collections)))


def _is_set(folder: Path) -> bool:
    return (folder / MEMORIES).is_file() and (folder / QUESTIONS).is_file()


def _set(folder: Path) -> EvaluationData:
    memories: dict[Scope, dict[str, Memory]] = {}
    for where, scope, memory in _memories(folder / MEMORIES):
        own = memories.setdefault(scope, {})
        if memory.id is None or memory.id in own:
            raise InvalidArgument(f"{where}: every memory needs an id of its own, and {memory.id!r} is none.")
        own[memory.id] = memory
    if not memories:
        raise InvalidArgument(f"{folder / MEMORIES} holds no memories.")
    only = next(iter(memories)) if len(memories) == 1 else None
    asked = []
    for where, question in jsonl_questions(folder / QUESTIONS):
        scope = only if only is not None and question.scope == Scope() else question.scope
        unknown = [one for one in question.relevant if one not in memories.get(scope, {})]
        if scope not in memories or unknown or not question.text:
            what = f"names {unknown[0]!r}, which is" if unknown else f"is asked of {scope_text(scope)!r}, which are"
            raise InvalidArgument(f"{where}: the question " + (f"{what} not there." if question.text else "is empty."))
        asked.append(replace(question, scope=scope))
    return EvaluationData(
        name=folder.resolve().name,
        collections=tuple(
            Collection(
                name=scope_text(scope),
                scope=scope,
                memories=tuple(own.values()),
                questions=tuple(q for q in asked if q.scope == scope),
            )
            for scope, own in memories.items()
        ),
    )


def _memories(file: Path) -> Iterator[tuple[str, Scope, Memory]]:
    known = {each.value for each in MemoryType}
    for number, line in enumerate(lines(file), start=1):
        if not line.strip():
            continue
        where = f"{file}, line {number}"
        try:
            row = parse_line(line.strip().encode())
            if row.get("type") not in known:
                row.pop("type", None)
            scope, memory = memory_of(row, Scope())
        except InvalidInput as e:
            raise InvalidArgument(f"{where}: {str(e).rstrip('.')}.") from e
        yield where, scope, memory
