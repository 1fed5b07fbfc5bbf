"""Remember a conversation: its turns at once, and what an LLM reads in them.

    turns ─▶ store (durable) ─▶ a batch ─ related old memories ─ prompt ─▶ guard(LLM) ─▶ claims ─▶ store
                                   └────────── the next batch finds what this one has stored ◀───────┘

Nothing is lost by the LLM: what it does not read, or says wrongly, stands in the turns. In the background one thread
reads one conversation after the other.

The LLM sees turns and old memories by short numbers, so that its answer can name nothing that it was not shown. It
chooses no id, scope, actor, channel, thread or metadata: these come from the turns. A memory is believed whose words
stand in its turns; what replaces an old one needs more of them, a turn of somebody who is no assistant, and no earlier
time.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from datetime import datetime, timedelta
from importlib import resources
from typing import Any

from recall_integrations.errors import InvalidArgument, InvalidMemory, RecallError, StoreClosed
from recall_integrations.facts import by_llm
from recall_integrations.facts.by_llm import holds, plain
from recall_integrations.facts.rows import CONVERSATION, DECISION, TAKES_PLACE
from recall_integrations.facts.said import name_key
from recall_integrations.facts.sentences import given_time
from recall_integrations.patterns import regex
from recall_integrations.privacy.door import Door, Own, told
from recall_integrations.records import record
from recall_integrations.resilience.deadline import Deadline, checked_ms
from recall_integrations.resilience.failures import TRIES, failures, serving
from recall_integrations.resilience.guard import BUSY, SUCCESS, Answer, Guards
from recall_integrations.rewriting.asking import instructs, without_thinking
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.text import stems
from recall_integrations.types import Hit, Memory, MemoryType, RecallResult, Scope, ScopeLike, checked_scope
from recall_integrations.types.facts import CONTRADICTION, NEW, REFUSED, REPEAT, UPDATE, Conversation, Extracted
from recall_integrations.types.numbers import is_whole
from recall_integrations.types.result import Degradation
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
        key = plain(text), None if claim.memory is None else claim.memory.actor
        first = found.setdefault(key, claim)
        ignored["twice"] += first is not claim
        if first.memory is not None and not {*claim.turns} <= {*first.turns}:  # said again: more evidence
            said = tuple(dict.fromkeys((*first.turns, *claim.turns)))
            memory = replace(first.memory, refs=tuple(turn.id for turn in said))
            found[key] = replace(first, turns=said, memory=memory)
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


logger = logging.getLogger("recall_integrations")
STAGE = "conversation"
TIMEOUT_MS = 60_000.0  # longest wait for one answer: no recall waits for it
BATCH, BATCH_CHARS = 20, 16_000  # turns that are read in one call
BEFORE = 4  # earlier turns that come along
RELATED, EACH = 16, 4  # old memories that the LLM sees, and of each turn
WAITING_MAX = 100  # conversations that wait to be read in the background
PRIVACY, CLOSED = "skip.privacy", "skip.closed"
Recall = Callable[..., RecallResult]


@record(frozen=True, slots=True, kw_only=True)
class Told:
    """A conversation whose turns are stored."""

    scope: Scope
    result: Conversation
    turns: tuple[Memory, ...]  # to be read
    before: tuple[Memory, ...]
    door: Door
    deadline: Deadline


class Conversations:
    """Remembers conversations with one LLM. Threads share it."""

    def __init__(
        self,
        store: MemoryStore,
        llm: Callable[[str], str] | None,
        guards: Guards,
        recall: Callable[[], Recall],  # gives recalls without LLM and reranker
        patterns: Callable[[Scope], Own],
    ) -> None:
        if llm is None:
            raise InvalidArgument(
                "This optimizer has no language model. Make it with one: QueryOptimizer(store, llm=...). Without one, "
                "store.remember_many(turns, thread=...) stores the turns."
            )
        self._store, self._llm, self._recall, self._patterns = store, llm, recall, patterns
        self._guard = guards.of(STAGE, who=llm.__name__, limit_ms=TIMEOUT_MS, attempts=TRIES)
        self._changed = threading.Condition()
        self._waiting: deque[tuple[Told, Future[Conversation]]] = deque()
        self._working: threading.Thread | None = None
        self._closed = False

    def remember(self, turns: Iterable[Any], **options: Any) -> Conversation:
        """Remember a conversation: see `QueryOptimizer.remember_conversation`."""
        return self._read_all(self._begun(turns, **options))

    # -- the turns ---------------------------------------------------------------------------------------------------

    def _begun(
        self,
        turns: Iterable[Any],
        *,
        scope: ScopeLike | None = None,
        thread: str | None = None,
        privacy: str = "allow",
        time_budget_ms: float | None = None,
        again: bool = False,
    ) -> Told:
        """Store the turns, and choose those to be read: the ones that were not there, or all of them (`again`)."""
        store, where = self._store, checked_scope(scope)
        door = Door(privacy, self._patterns(where))
        deadline = Deadline.after(None if time_budget_ms is None else checked_ms(time_budget_ms))
        thread = store.new_id() if thread is None else thread
        known = store.scope_id(where)
        last = -1 if known is None else store.view(known).seq
        ids = store.remember_many(turns, scope=where, thread=thread)
        nums, scope_id = store.numbers(where, ids), store.scope_id(where)
        found = {} if scope_id is None else store.fetch(scope_id, sorted(nums.values()))
        every = [(nums[one], found[nums[one]]) for one in ids if nums.get(one) in found]
        fresh = [place for place, (num, _) in enumerate(every) if again or num > last]
        memories = [memory for _, memory in every]
        read = [i for i, memory in enumerate(memories) if memory.role not in (Role.SYSTEM, Role.TOOL)]
        before = [memories[i] for i in read if fresh and i < fresh[0]]
        return Told(
            scope=where,
            result=Conversation(thread=thread, turns=tuple(ids), skipped=tuple(ids.skipped)),
            turns=tuple(memories[i] for i in sorted({*fresh} & {*read})),
            before=tuple(before[-BEFORE:]),
            door=door,
            deadline=deadline,
        )

    # -- what the LLM reads in them ----------------------------------------------------------------------------------

    def _read_all(self, given: Told) -> Conversation:
        """Read the turns, batch by batch. Never raises for what the LLM does."""
        result, turns, door = given.result, given.turns, given.door
        if door.blocked and turns:
            return _unread(result, turns, PRIVACY, "The mode block shows an LLM nothing.")
        before = [shown(one, door) for one in given.before]
        with serving(str(self._store.known(given.scope) or "")):
            for batch in _batches([shown(one, door) for one in turns]):
                result = self._read(given, result, batch, before)
                before = [*before, *batch][-BEFORE:]
        return result

    def _read(self, given: Told, result: Conversation, batch: Sequence[Shown], before: Sequence[Shown]) -> Conversation:
        """Add to a result what the LLM reads in some turns."""
        usage: Counter[str] = Counter(result.usage)
        try:
            old = self._related(given, batch)
        except StoreClosed:
            raise
        except RecallError as e:  # then all is new
            old, result = [], _degraded(result, e.code.lower(), told(e))
        begun = self._guard.begin(given.deadline, self._llm, prompt_for(batch, old, before), paced=False)
        answer = begun if isinstance(begun, Answer) else self._guard.ended(begun, lambda one: objects_in(one) is None)
        usage["calls"] += answer.begun
        usage.update(getattr(answer.value, "usage", {}))
        objects = None if answer.value is None else objects_in(answer.value)
        result = replace(result, usage=dict(usage))
        if answer.reason != SUCCESS or objects is None:
            why = given.door.detail(answer.detail)
            return _unread(result, [one.memory for one in batch], answer.code, why)
        ignored = Counter(result.ignored)
        items = self._store_claims(given, claims_in(objects, batch, old, ignored))
        return replace(result, items=(*result.items, *items), ignored={k: n for k, n in ignored.items() if n})

    def _related(self, given: Told, batch: Sequence[Shown]) -> list[Shown]:
        """Find old memories about the same: read in conversations, or stored by somebody; no turns, none replaced."""
        recall, now = self._recall(), max(one.at for one in batch)
        best: dict[str, tuple[float, Memory]] = {}
        for turn in batch:
            if turn.memory.role is Role.ASSISTANT or given.deadline.over:
                continue
            for filters in ({CONVERSATION: {"$exists": True}}, None):
                for hit in recall(turn.memory.text, scope=given.scope, k=2 * EACH, filters=filters, now=now).hits:
                    memory = hit.memory
                    if memory.id is not None and not self._is_turn(memory, given) and not self._replaced(hit, given):
                        known = best.get(memory.id)
                        best[memory.id] = (hit.score if known is None else max(known[0], hit.score), memory)
        chosen = sorted(best.values(), key=lambda pair: (-pair[0], str(pair[1].id)))[:RELATED]
        return [shown(memory, given.door) for _, memory in chosen]

    @staticmethod
    def _is_turn(memory: Memory, given: Told) -> bool:
        """Say whether a memory is a turn, of this conversation or another, or a part of a document."""
        of_no_type = memory.role is not None or memory.type is MemoryType.OBSERVATION
        spoken = memory.thread is not None and of_no_type  # a text without a role is a turn, too
        return spoken or memory.thread == given.result.thread or memory.type is MemoryType.CHUNK

    def _replaced(self, hit: Hit, given: Told) -> bool:
        """Say whether another memory took its place; a turn, whose facts are read when it is stored, does not."""
        by = None if hit.superseded_by is None else self._store.get(hit.superseded_by, scope=given.scope)
        return by is not None and not self._is_turn(by, given)

    def _store_claims(self, given: Told, claims: Sequence[Claim]) -> list[Extracted]:
        """Store what is new in one transaction; add the turns to what is repeated, unless it is gone meanwhile."""
        refs: dict[str, list[str]] = {}
        for claim in claims:
            if claim.decision == REPEAT and claim.old is not None:
                refs.setdefault(claim.old.id, []).extend(turn.id for turn in claim.turns)
        there = self._store.add_refs(refs, given.scope)
        claims = [
            replace(one, decision=NEW, old=None, why="old memory is gone")
            if one.decision == REPEAT and one.old is not None and one.old.id not in there
            else one
            for one in claims
        ]
        fresh = [self._memory(given, one) for one in claims if one.memory is not None and one.decision != REPEAT]
        ids = iter(self._store.remember_many(fresh, scope=given.scope))
        found = []
        for one in claims:
            old = None if one.old is None else one.old.id
            stored = None if one.memory is None else old if one.decision == REPEAT else next(ids)
            evidence = tuple(turn.id for turn in one.turns)
            found.append(
                Extracted(
                    decision=one.decision, text=one.text, id=stored, evidence=evidence, old=old,
                    grounded=round(one.grounded, 2), why=one.why,
                )
            )  # fmt: skip
        return found

    @staticmethod
    def _memory(given: Told, claim: Claim) -> Memory:
        assert claim.memory is not None
        kept: dict[str, Any] = {CONVERSATION: given.result.thread, DECISION: claim.decision}
        return replace(claim.memory, metadata=kept if claim.old is None else {**kept, TAKES_PLACE: [claim.old.id]})

    # -- in the background -------------------------------------------------------------------------------------------

    def later(self, turns: Iterable[Any], **options: Any) -> Future[Conversation]:
        """Store the turns, and read them in the background: see `QueryOptimizer.remember_in_background`."""
        given, future = self._begun(turns, **options), Future[Conversation]()
        if not given.turns:  # nothing to read, so nobody to wait for
            future.set_result(given.result)
            return future
        with self._changed:
            full = len(self._waiting) >= WAITING_MAX
            if not full and not self._closed:
                self._waiting.append((given, future))
                if not (self._working and self._working.is_alive()):  # a forked child has none of the threads
                    self._working = threading.Thread(target=self._work, name="recall-conversations", daemon=True)
                    self._working.start()
                return future
        why, detail = (BUSY, f"{WAITING_MAX} conversations wait.") if full else (CLOSED, "The optimizer is closed.")
        self._left(given, future, why, detail)
        return future

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._waiting:
                    self._working = None
                    self._changed.notify_all()
                    return
                given, future = self._waiting.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                result = self._read_all(given)
            except failures() as e:
                logger.warning("A conversation was stored and not read: %s", told(e))
                future.set_exception(e)
                continue
            for problem in result.degraded:
                logger.warning(
                    "%d of %d turns of a conversation were stored and not read (%s): %s",
                    len(result.unread), len(given.turns), problem.reason, told(problem.detail),
                )  # fmt: skip
            future.set_result(result)

    def _left(self, given: Told, future: Future[Conversation], why: str, detail: str) -> None:
        logger.warning("A conversation was stored and not read (%s): %s", why, detail)
        if future.set_running_or_notify_cancel():
            future.set_result(_unread(given.result, given.turns, why, detail))

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all conversations are read; say whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: not (self._working and self._working.is_alive()), timeout)

    def close(self, timeout: float) -> None:
        """Let the conversation under way end, for so many seconds; those that wait are left, as their handles say."""
        with self._changed:
            self._closed = True
            left = list(self._waiting)
            self._waiting.clear()
        for given, future in left:
            self._left(given, future, CLOSED, "The optimizer was closed.")
        self.flush(timeout)


def _batches(turns: Sequence[Shown]) -> Iterable[Sequence[Shown]]:
    batch: list[Shown] = []
    chars = 0
    for turn in turns:
        if batch and (len(batch) >= BATCH or chars + len(turn.text) > BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(turn)
        chars += len(turn.text)
    if batch:
        yield batch


def _degraded(result: Conversation, reason: str, detail: str) -> Conversation:
    problem = Degradation(stage=STAGE, reason=reason, detail=detail)
    return result if problem in result.degraded else replace(result, degraded=(*result.degraded, problem))


def _unread(result: Conversation, turns: Sequence[Memory], reason: str, detail: str) -> Conversation:
    ids = (memory.id for memory in turns if memory.id is not None)
    return _degraded(replace(result, unread=(*result.unread, *ids)), reason, detail)
