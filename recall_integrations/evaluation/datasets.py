"""Evaluation data from files: LoCoMo and multi-hop encyclopaedia questions. `datasets_jsonl` reads one's own.

Every loader returns an `EvaluationData`: collections of memories, each in its own scope, with the questions asked of
it and the ids that answer them. No data comes with the package; the caller passes a path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from recall_integrations.errors import InvalidArgument, InvalidInput
from recall_integrations.evaluation.questions import (
    Collection,
    EvaluationData,
    Question,
    load_jsonl_questions,
    read_text,
)
from recall_integrations.types import Memory, Scope

__all__ = [
    "LOCOMO_CATEGORIES",
    "MULTIHOP",
    "Collection",
    "EvaluationData",
    "Question",
    "iter_locomo_memories",
    "load_jsonl_questions",
    "load_locomo",
    "load_multihop",
]

LOCOMO_CATEGORIES: Mapping[int, str] = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
}

MULTIHOP = "multi-hop"  # the family of HotpotQA and MuSiQue

_SESSION = re.compile(r"session_(\d+)")
_TURN_ID = re.compile(r"D\d+:\d+")
_SESSION_TIME = re.compile(r"\s*(\d{1,2}):(\d{2})\s*([ap])\.?m\.?\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})\s*", re.I)
_PHOTO_OF = re.compile(r"^an?\s+(?:photo|photograph|photography|picture|image)\s+of\s+", re.I)
_MONTH_NAMES = "january february march april may june july august september october november december"
# strptime's %B and %p depend on the locale of the process, this does not.
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES.split(), start=1)}
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


# --- LoCoMo -----------------------------------------------------------------------------------------------------


def load_locomo(path: str | Path) -> EvaluationData:
    """Read LoCoMo (Maharana et al., 2024, `locomo10.json`): one collection per conversation.

    A turn becomes a memory with its `dia_id` ("D1:3") as id, the speaker as actor and entity, the session as thread,
    its place in the session as position, and the session's time (read as UTC) plus one second per turn as `event_at`
    and `created_at`. A photo's caption belongs to the text. Gold ids are read with a pattern, because some rows of the
    published file hold several ids in one string, and kept only if such a turn exists. `asked_at` lies one hour after
    the last turn.

    Args:
        path: the file, or a folder that holds `locomo10.json` or a single JSON file (itself or in `locomo/`).

    Raises:
        InvalidArgument: there is no such file, or it is not LoCoMo; the message names the path and the place.
    """
    file = _data_file(Path(path), "locomo")
    collections = []
    for number, sample in enumerate(_samples(file)):
        where = f"{file}: conversation {number}"
        scope, memories = _conversation(sample, where)
        collections.append(
            Collection(
                name=scope.namespace,
                scope=scope,
                memories=tuple(memories),
                questions=tuple(_locomo_questions(sample, scope, memories, where)),
            )
        )
    return EvaluationData(name="locomo", collections=tuple(collections))


def iter_locomo_memories(path: str | Path) -> Iterator[tuple[Scope, Memory]]:
    """The turns of a LoCoMo file with their scopes, conversation by conversation: what `recall import` stores.

    Raises:
        InvalidArgument: as `load_locomo`; turns before the bad place have been given out by then.
    """
    file = _data_file(Path(path), "locomo")
    for number, sample in enumerate(_samples(file)):
        scope, memories = _conversation(sample, f"{file}: conversation {number}")
        for memory in memories:
            yield scope, memory


def _samples(file: Path) -> Iterator[Mapping[str, Any]]:
    loaded = _read_json(file)
    if not isinstance(loaded, list) or not loaded:
        raise InvalidArgument(f"{file} is not LoCoMo: expected a non-empty list of conversations at the top.")
    for number, sample in enumerate(loaded):
        if not isinstance(sample, dict) or not isinstance(sample.get("conversation"), dict):
            raise InvalidArgument(f"{file}: conversation {number} has no 'conversation' mapping; this is not LoCoMo.")
        yield sample


def _conversation(sample: Mapping[str, Any], where: str) -> tuple[Scope, list[Memory]]:
    name = sample.get("sample_id")
    if not isinstance(name, str) or not name:
        raise InvalidArgument(f"{where} has no 'sample_id'.")
    talk = sample["conversation"]
    sessions = sorted(
        (int(m[1]), key) for key, turns in talk.items() if (m := _SESSION.fullmatch(key)) and isinstance(turns, list)
    )
    memories: list[Memory] = []
    seen: set[str] = set()
    for _, session in sessions:
        began = _session_time(talk.get(f"{session}_date_time"), f"{where}, {session}")
        for position, turn in enumerate(talk[session]):
            memory = _turn(turn, session, position, began, f"{where}, {session}, turn {position}")
            assert memory.id is not None
            if memory.id in seen:
                raise InvalidArgument(f"{where}, {session}: the turn id {memory.id!r} comes twice.")
            seen.add(memory.id)
            memories.append(memory)
    if not memories:
        raise InvalidArgument(f"{where} holds no turns.")
    return Scope(user_id="locomo", namespace=name), memories


def _session_time(value: object, where: str) -> datetime:
    match = _SESSION_TIME.fullmatch(value) if isinstance(value, str) else None
    month = _MONTHS.get(match[5].lower()) if match else None
    if match is None or month is None:
        raise InvalidArgument(f"{where}: cannot read the session time {value!r}; expected '9:05 am on 3 April, 2021'.")
    hour = int(match[1]) % 12 + (12 if match[3].lower() == "p" else 0)
    try:
        return datetime(int(match[6]), month, int(match[4]), hour, int(match[2]), tzinfo=timezone.utc)
    except ValueError as e:
        raise InvalidArgument(f"{where}: the session time {value!r} does not exist: {e}.") from e


def _turn(turn: object, session: str, position: int, began: datetime, where: str) -> Memory:
    if not isinstance(turn, dict) or not all(isinstance(turn.get(k), str) for k in ("dia_id", "speaker", "text")):
        raise InvalidArgument(f"{where} needs the texts 'dia_id', 'speaker' and 'text'.")
    text, caption = turn["text"].strip(), turn.get("blip_caption")
    if isinstance(caption, str) and caption.strip():
        text = f"{text} [shares a photo: {_PHOTO_OF.sub('', caption.strip())}]".strip()
    moment = began + timedelta(seconds=position)
    try:
        return Memory(
            text=text,
            id=turn["dia_id"],
            actor=turn["speaker"],
            entities=(turn["speaker"],),
            thread=session,
            position=position,
            event_at=moment,
            created_at=moment,
        )
    except InvalidInput as e:
        raise InvalidArgument(f"{where} cannot be a memory: {e}") from e


def _locomo_questions(
    sample: Mapping[str, Any], scope: Scope, memories: Sequence[Memory], where: str
) -> Iterator[Question]:
    rows = sample.get("qa")
    if not isinstance(rows, list):
        raise InvalidArgument(f"{where} has no 'qa' list.")
    known = {m.id for m in memories}
    asked_at = max(m.event_at for m in memories if m.event_at is not None) + timedelta(hours=1)
    for number, row in enumerate(rows):
        if not isinstance(row, dict) or not isinstance(row.get("question"), str) or not row["question"].strip():
            raise InvalidArgument(f"{where}, question {number} has no 'question' text.")
        category = LOCOMO_CATEGORIES.get(row.get("category"))  # type: ignore[arg-type]
        if category is None:
            raise InvalidArgument(f"{where}, question {number} has the unknown category {row.get('category')!r}.")
        found = _TURN_ID.findall(" ".join(str(e) for e in row.get("evidence") or ()))
        yield Question(
            id=f"{scope.namespace}/{number}",
            text=row["question"],
            relevant=tuple(dict.fromkeys(e for e in found if e in known)),
            category=category,
            asked_at=asked_at,
            scope=scope,
        )


# --- multi-hop encyclopaedia questions --------------------------------------------------------------------------


def load_multihop(path: str | Path, name: str) -> EvaluationData:
    """Read HotpotQA or MuSiQue in the layout of a question file beside a `…_corpus.json`: one collection.

    A document becomes a `chunk` memory, text "title. text". Its id is its title; where titles repeat (MuSiQue splits
    articles into passages), the second is `title#2` and so on, in corpus order. Passages of one title share a thread.

    Args:
        path: the folder (or its parent, if it is called `multihop`).
        name: `hotpotqa` or `musique`: the files' prefix; `hotpotqa_train` names one of several exactly.

    Raises:
        InvalidArgument: a file is missing, ambiguous or of another layout; the message names the path and the place.
    """
    file, corpus = _multihop_files(Path(path), name)
    scope = Scope(user_id="multihop", namespace=name)
    memories: list[Memory] = []
    by_text: dict[tuple[str, str], str] = {}
    by_title: dict[str, list[str]] = {}
    for number, (title, body) in enumerate(_documents(_read_json(corpus), corpus)):
        clean = _CONTROL.sub(" ", title).strip()
        ids = by_title.setdefault(title, [])
        unique = f"{clean}#{len(ids) + 1}" if ids else clean
        try:
            memory = Memory(
                text=f"{title}. {body}",
                id=unique,
                type="chunk",
                thread=clean,
                position=len(ids),
                metadata={"title": title},
            )
        except InvalidInput as e:
            raise InvalidArgument(f"{corpus}: document {number} cannot be a memory: {e}") from e
        memories.append(memory)
        by_text.setdefault((title, body), unique)
        ids.append(unique)
    questions = tuple(_multihop_questions(_read_json(file), file, scope, by_text, by_title))
    return EvaluationData(
        name=name,
        collections=(Collection(name=name, scope=scope, memories=tuple(memories), questions=questions),),
        family=MULTIHOP,
    )


def _documents(loaded: object, file: Path) -> Iterator[tuple[str, str]]:
    if isinstance(loaded, dict) and loaded:  # HotpotQA: title → sentences
        for title, sentences in loaded.items():
            if not isinstance(sentences, list) or not all(isinstance(s, str) for s in sentences):
                raise InvalidArgument(f"{file}: the document {title!r} is not a list of sentences.")
            yield title, "".join(sentences)
    elif isinstance(loaded, list) and loaded:  # MuSiQue: a list of passages
        for number, row in enumerate(loaded):
            if not isinstance(row, dict) or not all(isinstance(row.get(k), str) for k in ("title", "text")):
                raise InvalidArgument(f"{file}: document {number} needs the texts 'title' and 'text'.")
            yield row["title"], row["text"]
    else:
        raise InvalidArgument(f"{file} must hold a list of passages, or a mapping from title to sentences.")


def _multihop_questions(
    loaded: object,
    file: Path,
    scope: Scope,
    by_text: Mapping[tuple[str, str], str],
    by_title: Mapping[str, Sequence[str]],
) -> Iterator[Question]:
    if not isinstance(loaded, list) or not loaded:
        raise InvalidArgument(f"{file} must hold a non-empty list of questions.")
    for number, row in enumerate(loaded):
        if not isinstance(row, dict) or not isinstance(row.get("question"), str) or not row["question"].strip():
            raise InvalidArgument(f"{file}: question {number} has no 'question' text.")
        try:
            if "supporting_facts" in row:
                gold = [doc for title, _ in row["supporting_facts"] for doc in by_title.get(title, ())]
                category = str(row.get("type", "all"))
            else:
                keys = [(p["title"], p["paragraph_text"]) for p in row["paragraphs"] if p["is_supporting"]]
                gold = [by_text[key] for key in keys if key in by_text]
                category = str(row["id"]).split("_")[0].rstrip("0123456789") or "all"
        except (KeyError, TypeError, ValueError) as e:
            raise InvalidArgument(
                f"{file}: question {number} has neither supporting facts nor paragraphs: {e!r}"
            ) from e
        yield Question(
            id=f"{scope.namespace}/{number}",
            text=row["question"],
            relevant=tuple(dict.fromkeys(gold)),
            category=category,
            scope=scope,
        )


def _multihop_files(folder: Path, name: str) -> tuple[Path, Path]:
    if (folder / "multihop").is_dir():
        folder = folder / "multihop"
    if not folder.is_dir():
        raise InvalidArgument(
            f"{folder} is not a folder. Pass the one that holds {name}*.json and {name}*_corpus.json."
        )
    exact = folder / f"{name}_corpus.json"
    found = [exact] if exact.is_file() else sorted(folder.glob(f"{name}*_corpus.json"))
    if len(found) != 1:
        state = "no" if not found else "more than one"
        raise InvalidArgument(f"{folder} holds {state} {name}*_corpus.json. Name one, such as 'hotpotqa_train'.")
    file = found[0].with_name(found[0].name.replace("_corpus.json", ".json"))
    if not file.is_file():
        raise InvalidArgument(f"{file} is missing beside {found[0].name}.")
    return file, found[0]


# --- files ------------------------------------------------------------------------------------------------------


def _data_file(path: Path, name: str) -> Path:
    if path.is_dir():
        folder = path / name if (path / name).is_dir() else path
        found = sorted(folder.glob(f"{name}*.json")) or sorted(folder.glob("*.json"))
        if len(found) != 1:
            state = "no JSON file" if not found else f"{len(found)} JSON files"
            raise InvalidArgument(f"{folder} holds {state}. Pass the path of the {name} file itself.")
        return found[0]
    return path


def _read_json(file: Path) -> object:
    try:
        loaded: object = json.loads(read_text(file))
    except (json.JSONDecodeError, RecursionError) as e:
        raise InvalidArgument(f"{file} is not JSON: {e}") from e
    return loaded
