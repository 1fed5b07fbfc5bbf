"""What an LLM is asked about a conversation, and what of its answer is believed. Pure.

    turns, old memories ─ door ─ prompt ─▶ LLM ─▶ objects ─ checked, each against the turns it names ─▶ Claim

The LLM sees turns and old memories by short numbers, so that its answer can name nothing that it was not shown. It
chooses no id, scope, actor, channel, thread or metadata: these come from the turns. A memory is believed whose words
stand in its turns; what replaces an old one needs more of them, a turn of somebody who is no assistant, and no earlier
time.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from importlib import resources
from typing import Any

from recall_integrations.errors import InvalidMemory
from recall_integrations.facts import by_llm
from recall_integrations.facts.by_llm import holds, plain
from recall_integrations.facts.said import name_key
from recall_integrations.facts.sentences import given_time
from recall_integrations.patterns import regex
from recall_integrations.privacy.door import Door
from recall_integrations.records import record
from recall_integrations.rewriting.asking import instructs, without_thinking
from recall_integrations.text import stems
from recall_integrations.types import Memory, MemoryType
from recall_integrations.types.facts import CONTRADICTION, NEW, REFUSED, REPEAT, UPDATE
from recall_integrations.types.numbers import is_whole
from recall_integrations.types.roles import Role

CHARS_MAX = 4_000  # of a turn or an old memory that are sent
TEXT_CHARS_MAX, NAME_CHARS_MAX, ENTITIES_MAX = 500, 100, 12
EACH_MAX = 8  # memories of a turn, on average
ANSWER_CHARS_MAX = 100_000
GROUNDED_MIN, SURE_MIN = 0.25, 0.5  # share of the words that stand in the turns: of a memory; of one that replaces
_BACK, _AHEAD = timedelta(days=366 * 130), timedelta(days=366 * 50)
_ASKED = (resources.files("recall_integrations.conversations") / "prompt.txt").read_text(encoding="utf-8")
_HIDDEN = regex(r"\[[a-z][a-z0-9_]*-\d+\]|\[withheld\]")
_NUMBER = regex(r"\d(?:[.,' ]?\d)*")
_SPEAKER = frozenset({"", "me", "i", "myself", "speaker", "the speaker"})
_TYPES = frozenset({"fact", "preference", "event", "skill", "observation", "summary"})
_WORDS_FOR: Mapping[str, str] = {
    "new": NEW, "add": NEW, "repeat": REPEAT, "same": REPEAT, "duplicate": REPEAT, "none": REPEAT,
    "update": UPDATE, "updates": UPDATE, "contradiction": CONTRADICTION, "contradicts": CONTRADICTION,
}  # fmt: skip


@record(frozen=True, slots=True, kw_only=True)
class Shown:
    """A memory, and what of it the LLM sees."""

    id: str
    memory: Memory
    text: str
    by: str | None

    @property
    def at(self) -> datetime:
        """Its time."""
        at = self.memory.event_at or self.memory.created_at
        assert at is not None  # it was read from the store
        return at


def shown(memory: Memory, door: Door) -> Shown:
    """Show a stored memory: redacted before it is cut, for nobody could tell what half a number is."""
    assert memory.id is not None
    by = None if memory.actor is None else door.text(memory.actor)[:NAME_CHARS_MAX]
    return Shown(id=memory.id, memory=memory, text=door.text(memory.text)[:CHARS_MAX], by=by)


def prompt_for(turns: Sequence[Shown], old: Sequence[Shown], before: Sequence[Shown] = ()) -> str:
    """Write the prompt: turns and old memories with numbers from 1 on, earlier turns without."""
    parts = [_ASKED]
    for title, name, listed in (
        ("Earlier turns, only to understand the others:", "", before),
        ("Old memories:", "old", old),
        ("Turns:", "turn", turns),
    ):
        if listed:
            parts += [title, *(_line(name, n, one) for n, one in enumerate(listed, 1))]
    return "\n".join(parts) + "\n"


def _line(name: str, n: int, one: Shown) -> str:
    said: dict[str, object] = {name: n} if name else {}
    said |= {"at": one.at.isoformat(timespec="minutes")} | ({"by": one.by} if one.by else {})
    if one.memory.role is not None and str(one.memory.role) != one.by:
        said["role"] = str(one.memory.role)
    return json.dumps(said | {"text": one.text}, ensure_ascii=False)


def objects_in(answer: str) -> list[Mapping[str, Any]] | None:
    """Return the JSON objects in an answer, whatever stands around them; `None` = it holds no JSON."""
    return by_llm.objects_in(without_thinking(answer[:ANSWER_CHARS_MAX]), "text")


@record(frozen=True, slots=True, kw_only=True)
class Claim:
    """A memory that the LLM read, as far as it is believed; without `memory` it is refused."""

    text: str
    decision: str = REFUSED
    memory: Memory | None = None
    turns: tuple[Shown, ...] = ()
    old: Shown | None = None
    grounded: float = 0.0
    why: str = ""


def claims_in(
    objects: Sequence[Mapping[str, Any]], turns: Sequence[Shown], old: Sequence[Shown], ignored: Counter[str]
) -> list[Claim]:
    """Check the objects of an answer, each by itself and against those before it."""
    found: dict[tuple[str, str | None], Claim] = {}  # two people may say the same of themselves
    for one in objects[: EACH_MAX * len(turns)]:
        text = one.get("text")
        text = " ".join(text.split()) if isinstance(text, str) else ""
        claim = _checked(one, text, turns, old, ignored)
        if isinstance(claim, str):
            ignored[claim] += 1
            claim = Claim(text=text[:TEXT_CHARS_MAX], why=claim)
        first = found.setdefault((plain(text), None if claim.memory is None else claim.memory.actor), claim)
        ignored["twice"] += first is not claim
    ignored["too many"] += max(len(objects) - EACH_MAX * len(turns), 0)
    return list(found.values())


def _checked(
    one: Mapping[str, Any], text: str, turns: Sequence[Shown], old: Sequence[Shown], ignored: Counter[str]
) -> Claim | str:
    """Return what is believed of an object, or why nothing is."""
    if not text or len(text) > TEXT_CHARS_MAX:
        return "text"
    if _HIDDEN.search(text):
        return "redacted"
    if instructs(text):
        return "instruction"
    given, said = one.get("turns", one.get("turn")), one.get("is") or NEW
    cited = [_numbered(n, turns) for n in (given if isinstance(given, list) else [given])]
    own = tuple(dict.fromkeys(turn for turn in cited if turn is not None))
    if not own:
        return "turns"
    decision = _WORDS_FOR.get(said.casefold().strip()) if isinstance(said, str) else None
    if decision is None:
        return "is"
    named = _numbered(one.get("old"), old)
    grounded = _grounded(text, own, named if decision in (UPDATE, CONTRADICTION) else None)
    if grounded < GROUNDED_MIN:
        return "not in the turns"
    made = _memory(one, text, own, ignored)
    if made is None:
        return "text"
    for each in old:
        if plain(each.memory.text) == plain(text) and each.memory.actor == made.actor:
            decision, named = REPEAT, each
    why = "" if decision == NEW else _unlike(decision, named, own, made, grounded)
    if why or decision == NEW:
        decision, named = NEW, None
    return Claim(text=text, decision=decision, memory=made, turns=own, old=named, grounded=grounded, why=why)


def _unlike(decision: str, old: Shown | None, own: Sequence[Shown], made: Memory, grounded: float) -> str:
    """Say why a memory cannot be what the LLM says it is of an old one; empty = it can."""
    if old is None:
        return "unknown old memory"
    if decision == REPEAT:
        return ""
    if all(turn.memory.role is Role.ASSISTANT for turn in own):
        return "said by the assistant alone"
    if grounded < SURE_MIN:
        return "weakly grounded"
    return "earlier than the old memory" if (made.event_at or own[-1].at) < old.at else ""


def _numbered(n: object, listed: Sequence[Shown]) -> Shown | None:
    if isinstance(n, str) and n.strip().isascii() and n.strip().isdigit() and len(n) < 9:
        n = int(n)
    return listed[n - 1] if is_whole(n) and 1 <= n <= len(listed) else None


def _grounded(text: str, own: Sequence[Shown], old: Shown | None) -> float:
    """Return the share of a text's words that its turns hold.

    0 if only the speaker's name or an old memory has any, or if a number in it is not theirs; years are taken for dates
    in words.
    """
    words, turns = set(stems(text)), " ".join(turn.text for turn in own)
    beside = " ".join([*(turn.by or "" for turn in own), "" if old is None else old.text])
    said = set(stems(turns))
    if words.isdisjoint(said) or not _numbers(text) <= _numbers(f"{turns} {beside}"):
        return 0.0
    return len(words & (said | set(stems(beside)))) / len(words)


def _numbers(text: str) -> set[str]:
    found = ("".join(filter(str.isdigit, number)) for number in _NUMBER.findall(text))
    return {digits for digits in found if len(digits) > 2 and not (len(digits) == 4 and digits[:2] in ("19", "20"))}


def _memory(one: Mapping[str, Any], text: str, own: Sequence[Shown], ignored: Counter[str]) -> Memory | None:
    """Make the memory of a claim, `None` for a text that no store holds; count fields that cannot be used."""
    kind, given = one.get("type"), one.get("at")
    if not isinstance(kind, str) or kind.casefold().strip() not in _TYPES:
        ignored["type"] += kind is not None
        kind = MemoryType.OBSERVATION.value
    at, last = given_time(given), max(own, key=lambda turn: turn.at)
    if given is not None and (at is None or not last.at - _BACK <= at <= last.at + _AHEAD):
        ignored["at"] += 1
        at = None
    about = one.get("about")
    about = " ".join(about.split()) if isinstance(about, str) and len(about) <= NAME_CHARS_MAX else ""
    people = [turn for turn in own if turn.memory.role is not Role.ASSISTANT] or own
    key = name_key(about)
    speaker = next((turn for turn in own if turn.by is not None and name_key(turn.by) == key), None)
    entities = _entities(one.get("entities"), own, ignored)
    if speaker is None and key not in _SPEAKER and key not in ("user", "the user"):
        if any(holds(turn.text, about) for turn in own) and not _HIDDEN.search(about):
            entities = [*dict.fromkeys([about, *entities])]
        else:
            ignored["about"] += 1
    by = (speaker or people[0]).memory
    try:
        return Memory(
            text=text, type=kind.casefold().strip(), actor=by.actor, role=by.role, channel=by.channel,
            event_at=last.memory.event_at if at is None else at, entities=entities,
            refs=[turn.id for turn in own],
        )  # fmt: skip
    except InvalidMemory:
        return None


def _entities(given: object, own: Sequence[Shown], ignored: Counter[str]) -> list[str]:
    if given is None:
        return []
    listed = given if isinstance(given, list) else [given]
    kept = [
        " ".join(name.split())
        for name in listed[:ENTITIES_MAX]
        if isinstance(name, str) and 0 < len(name) <= NAME_CHARS_MAX and not _HIDDEN.search(name)
        and any(holds(turn.text, name) for turn in own)
    ]  # fmt: skip
    ignored["entities"] += len(listed) - len(kept)
    return kept
