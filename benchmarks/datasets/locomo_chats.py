"""The conversations of LoCoMo (Maharana et al., 2024), as memories."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from benchmarks.datasets.data import read_json
from recall_integrations.errors import InvalidArgument, InvalidInput
from recall_integrations.types import Memory, Scope

_SESSION = re.compile(r"session_(\d+)")
_SESSION_TIME = re.compile(r"\s*(\d{1,2}):(\d{2})\s*([ap])\.?m\.?\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})\s*", re.I)
_PHOTO_OF = re.compile(r"^an?\s+(?:photo|photograph|photography|picture|image)\s+of\s+", re.I)
_MONTH_NAMES = "january february march april may june july august september october november december"
# strptime's %B and %p depend on the locale of the process, this does not.
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES.split(), start=1)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """One conversation of the file."""

    sample: Mapping[str, Any]  # the file's own mapping
    where: str  # its place, for messages
    scope: Scope  # named by its `sample_id`
    memories: tuple[Memory, ...]  # its turns, in order


def conversations(path: str | Path) -> Iterator[Conversation]:
    """Read a LoCoMo file (`locomo10.json`), conversation by conversation.

    A turn becomes a memory with its `dia_id` ("D1:3") as id, the speaker as actor and entity, the session as thread,
    its place in the session as position, and the session's time (read as UTC) plus one second per turn as `event_at`
    and `created_at`. A photo's caption belongs to the text.
    """
    file = _data_file(Path(path))
    for number, sample in enumerate(_samples(file)):
        yield _conversation(sample, f"{file}: conversation {number}")


def _samples(file: Path) -> Iterator[Mapping[str, Any]]:
    loaded = read_json(file)
    if not isinstance(loaded, list) or not loaded:
        raise InvalidArgument(f"{file} is not LoCoMo: expected a non-empty list of conversations at the top.")
    for number, sample in enumerate(loaded):
        if not isinstance(sample, dict) or not isinstance(sample.get("conversation"), dict):
            raise InvalidArgument(f"{file}: conversation {number} has no 'conversation' mapping; this is not LoCoMo.")
        yield sample


def _conversation(sample: Mapping[str, Any], where: str) -> Conversation:
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
    scope = Scope(user_id="locomo", namespace=name)
    return Conversation(sample=sample, where=where, scope=scope, memories=tuple(memories))


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


def _data_file(path: Path) -> Path:
    if path.is_dir():
        folder = path / "locomo" if (path / "locomo").is_dir() else path
        found = sorted(folder.glob("locomo*.json")) or sorted(folder.glob("*.json"))
        if len(found) != 1:
            state = "no JSON file" if not found else f"{len(found)} JSON files"
            raise InvalidArgument(f"{folder} holds {state}. Pass the path of the locomo file itself.")
        return found[0]
    return path
