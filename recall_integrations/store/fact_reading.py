"""Reading facts with a language model: batch by batch, each memory once, never on the path of a write.

    memories without a mark ─▶ door ─▶ prompt ─▶ guard(LLM) ─▶ claims ─▶ validation ─┐
         table `facts` (by = llm) and the mark in `facts_read`, in one transaction ◀─┘

A memory that a model leaves out of its answer is asked again in a smaller batch, by itself at last, and then left until
the store is opened again. The limits of an hour are noted in the store before each call, so a call that is killed
counts, and opening again gives no more.
"""

from __future__ import annotations

import json
import logging
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from sqlalchemy import Connection, and_, func, select

from recall_integrations.adapters.llm import identity_of
from recall_integrations.database import schema
from recall_integrations.database.schema import get_meta, put_meta, spent_key
from recall_integrations.database.sending import insert_rows, writing
from recall_integrations.errors import InvalidArgument, StoreClosed
from recall_integrations.facts import by_llm
from recall_integrations.facts.by_llm import (
    FACTS_MAX,
    TOO_MANY,
    Answers,
    Message,
    answers_in,
    checked,
    message_of,
)
from recall_integrations.facts.rows import BAD_SUBJECT
from recall_integrations.facts.said import Said, name_key
from recall_integrations.indexes.times import from_micros
from recall_integrations.privacy.door import Door, told
from recall_integrations.records import record
from recall_integrations.resilience.breaker import BREAKERS_FILE, Breaker, Shelf
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.failures import TRIES
from recall_integrations.resilience.guard import CANCELLED, OPEN, SUCCESS, Answer, Bulkhead, Guard, Health
from recall_integrations.store.filling import Filling
from recall_integrations.store.parts import StoreParts
from recall_integrations.store.removing import Removing
from recall_integrations.types import Scope
from recall_integrations.types.numbers import is_number, is_whole
from recall_integrations.types.roles import Role, role_of

HOUR_S = 3_600.0
logger = logging.getLogger("recall_integrations")

COMPONENT = "facts"
BATCH = 20  # memories that a language model reads in one call
TIMEOUT_MS = 60_000.0  # longest wait for one answer; no write and no recall waits for it
BATCH_CHARS_MAX = 24_000  # of the texts in one call
PEOPLE_MAX = 200  # names of a thread
wall = time.time
SMALLER = 4  # a batch that gave nothing is followed by one of this part of its size
DONE, MORE, BUDGET = "", "more", "budget"
RULED, GONE, UNANSWERED = "read by rules", "gone meanwhile", "unanswered"


@record(slots=True, kw_only=True)
class FactsRead:
    """The result of reading.

    Args:
        memories: number of memories that were read now.
        facts: number of facts that were stored.
        calls: number of calls of the model.
        left: number of memories that no model has read yet.
        stopped: the reason for an early end: `budget`, or why the model did not answer, as in `degraded` (`timeout`,
            `error`, `empty`, `skip.breaker`, `cancelled`); empty = it did not.
        refused: number of parts of the answers that were not believed or could not be read, by reason.
    """

    memories: int = 0
    facts: int = 0
    calls: int = 0
    left: int = 0
    stopped: str = ""
    refused: Counter[str] = field(default_factory=Counter)


@record(frozen=True, slots=True, kw_only=True)
class _Batch:
    """Memories of one scope that are read together."""

    scope: Scope
    scope_id: int
    messages: Sequence[Message]


class FactReader:
    """Reads facts. Threads may share it; one batch of a store is read at a time."""

    def __init__(self, parts: StoreParts, llm: Callable[[str], str]) -> None:
        if parts.slots is None:
            raise InvalidArgument("This store keeps no facts (facts.keep: false), so no LLM can read any.")
        config, self._clock = parts.config, wall
        self._parts, self._llm, self._slots = parts, llm, parts.slots
        self._settings = config.facts
        self._name = f"{by_llm.VERSION} {getattr(llm, '__name__', type(llm).__name__)}"[:200]
        self._guard = Guard(
            COMPONENT,
            limit_ms=TIMEOUT_MS,
            breaker=Breaker(
                f"{COMPONENT}:{identity_of(llm)}",
                failures_max=config.breakers.failures_max,
                open_s=config.breakers.open_s,
                clock=self._clock,
                shelf=Shelf(parts.path / BREAKERS_FILE),
            ),
            threads=Bulkhead(COMPONENT, 2),
            attempts=TRIES,
        )
        self._size = BATCH
        self._read_to: dict[int, int] = {}  # by scope, the number up to which nothing is unread
        self._left: dict[int, set[int]] = {}  # by scope, the memories without an answer when asked alone
        self._patterns = config.privacy.compiled
        self._warned = ""

    # -- what others ask ---------------------------------------------------------------------------------------------

    def read(self, scope: Scope | None, budget: int | None, advance: Callable[[int], None]) -> FactsRead:
        """Read the memories that no model has read yet, until all are read, or something stops it."""
        tally, state, end = FactsRead(), MORE, Deadline.after(None)
        while state == MORE:
            if budget is not None and tally.calls >= budget:
                state = BUDGET if self.left(scope) else DONE
                break
            before = tally.memories
            state = self.step(tally, end, scope, hourly=budget is None)
            advance(tally.memories - before)
        tally.left, tally.stopped = self.left(scope), state
        return tally

    def step(self, tally: FactsRead, deadline: Deadline, scope: Scope | None = None, *, hourly: bool = True) -> str:
        """Read one batch: return `DONE` if nothing was left, `MORE` if there may be more, or the reason to stop."""
        parts = self._parts
        with parts.reading_facts, parts.errors():
            parts.check_open()
            if deadline.over:
                return CANCELLED
            batch = self._next(scope)
            if batch is None:
                return DONE
            if hourly and self._hour_s() > 0:
                return BUDGET
            why, found = self._ask(batch, tally, deadline)
            if found is None:
                return why
            self._take(batch, found, tally)
            return MORE

    def wait_s(self) -> float:
        """Return the seconds until the model may be asked again; 0 = now."""
        return max(self._hour_s(), self._guard.breaker.left_s if self._guard.breaker.refuses() else 0.0)

    def left(self, scope: Scope | None = None) -> int:
        """Count the memories that no model has read yet."""
        m = schema.memories.c
        query = select(func.count()).select_from(_UNREAD).where(_IS_UNREAD)
        if scope is not None:
            query = query.where(m.scope_id == self._parts.scopes.get(scope, -1))
        with self._parts.errors(), self._parts.engine.connect() as connection:
            return int(connection.execute(query).scalar_one())

    def health(self) -> Health:
        """Return the health of the model."""
        return self._guard.health()

    # -- one batch ---------------------------------------------------------------------------------------------------

    def _next(self, wanted: Scope | None) -> _Batch | None:
        """Return the next memories, of the first scope that has any, in the order in which they were written."""
        for scope, scope_id in sorted(self._parts.scopes.copy().items(), key=lambda item: item[1]):
            if (wanted is None or scope == wanted) and (found := self._unread(scope_id)):
                door = Door("redact", self._patterns)
                people = self._people(scope_id, {row.thread for row in found if row.thread is not None})
                messages = [_message(row, people.get(row.thread, frozenset()), door) for row in found]
                return _Batch(scope=scope, scope_id=scope_id, messages=_fitting(messages))
        return None

    def _unread(self, scope_id: int) -> Sequence[Any]:
        m = schema.memories.c
        left = self._left.get(scope_id, set())
        now = self._parts.expiry.now()
        query = (
            select(m.num, m.text, m.actor, m.role, m.event_at, m.created_at, m.thread)
            .select_from(_UNREAD)
            .where(m.scope_id == scope_id, m.num > self._read_to.get(scope_id, 0), _IS_UNREAD)
            .where((m.expires_at.is_(None)) | (m.expires_at > now))
            .order_by(m.num)
            .limit(self._size + len(left))
        )
        with self._parts.engine.connect() as connection:
            found = connection.execute(query).all()
        if found:
            self._read_to[scope_id] = found[0].num - 1
        return [row for row in found if row.num not in left][: self._size]

    def _people(self, scope_id: int, threads: Iterable[str]) -> dict[str | None, frozenset[str]]:
        m = schema.memories.c
        found: dict[str | None, frozenset[str]] = {}
        with self._parts.engine.connect() as connection:
            for thread in sorted(threads):
                query = select(m.actor).where(m.scope_id == scope_id, m.thread == thread, m.actor.is_not(None))
                names = connection.execute(query.distinct().order_by(m.actor).limit(PEOPLE_MAX)).scalars()
                found[thread] = frozenset(name_key(name) for name in names if role_of(name) is None)
        return found

    def _ask(self, batch: _Batch, tally: FactsRead, deadline: Deadline) -> tuple[str, Answers | None]:
        """Ask the model: return its answer, or the reason why there is none."""
        prompt, count = by_llm.prompt_for(batch.messages, self._slots), len(batch.messages)
        if self._guard.breaker.refuses():
            return OPEN, None
        self._spend()
        # Unlike in a recall, nobody waits: a slow answer may take its full time.
        begun = self._guard.begin(deadline, lambda: answers_in(self._llm(prompt), count), paced=False)
        answer = begun if isinstance(begun, Answer) else self._guard.ended(begun, lambda one: not one.claims)
        tally.calls += int(answer.begun)
        found = answer.value
        if found is not None:
            tally.refused.update(found.refused)
        if answer.reason == SUCCESS and found is not None:
            self._warned = ""
            return SUCCESS, found
        if answer.begun and answer.reason != CANCELLED:
            tally.refused[UNANSWERED] += count
            self._unanswered(batch.scope_id, batch.messages, count)
            self._warn(answer.reason, answer.detail)
            if not self._guard.breaker.refuses():
                return MORE, None
        return answer.reason, None

    def _unanswered(self, scope_id: int, messages: Sequence[Message], asked: int) -> None:
        """Ask about fewer messages next time; leave out one that was asked alone, in this process."""
        if asked == 1:
            self._left.setdefault(scope_id, set()).add(messages[0].num)
        self._size = max(1, min(self._size, len(messages)) // SMALLER)

    def _take(self, batch: _Batch, answers: Answers, tally: FactsRead) -> None:
        """Store the believed facts, and mark the memories as read."""
        said = {
            message.num: self._believed(message, answers.claims[n], tally.refused)
            for n, message in enumerate(batch.messages, 1)
            if n in answers.claims
        }
        missing = [one for one in batch.messages if one.num not in said]
        if missing:
            tally.refused[UNANSWERED] += len(missing)
            self._unanswered(batch.scope_id, missing, len(batch.messages))
        else:
            self._size = min(BATCH, self._size * SMALLER)
        self._store(batch, said, tally)

    def _believed(self, message: Message, claims: Sequence[Any], refused: Counter[str]) -> list[Said]:
        found: list[Said] = []
        if len(claims) > FACTS_MAX:
            refused[TOO_MANY] += len(claims) - FACTS_MAX
        for claim in claims[:FACTS_MAX]:
            one = checked(claim, message, self._slots)
            if isinstance(one, Said):
                found.append(one)
            else:
                refused[one] += 1
        return found

    def _store(self, batch: _Batch, said: Mapping[int, Sequence[Said]], tally: FactsRead) -> None:
        parts, m = self._parts, schema.memories.c
        nums = sorted(said)
        touching = Removing(parts)
        with parts.write_lock, parts.revisions.writing(batch.scope):
            parts.check_open()
            with writing(parts.engine) as connection:
                mine = m.scope_id == batch.scope_id
                there = set(connection.execute(select(m.num).where(mine, m.num.in_(nums))).scalars())
                made: list[dict[str, Any]] = []
                for message in batch.messages:
                    if message.num in there and message.num in said:
                        own, nobody = by_llm.rows_of(message, said[message.num])
                        made += own
                        tally.refused.update({BAD_SUBJECT: nobody} if nobody else {})
                stored = by_llm.write(connection, batch.scope_id, made)
                marks = [{"scope_id": batch.scope_id, "num": num, "by": self._name} for num in sorted(there)]
                insert_rows(connection, schema.facts_read, marks)
                touched = touching.touch(connection, batch.scope_id) if stored else None
            if touched is not None:
                parts.facts.drop(batch.scope_id)
                touching.touched(batch.scope_id, touched)
        tally.memories += len(there)
        tally.facts += stored
        tally.refused.update({RULED: len(made) - stored} if len(made) > stored else {})
        tally.refused.update({GONE: len(nums) - len(there)} if len(nums) > len(there) else {})

    # -- the budget of an hour, which is kept in the store ------------------------------------------------------------

    def _hour_s(self) -> float:
        """Return the seconds until the next call may begin; 0 = now."""
        with self._parts.engine.connect() as connection:
            since, calls = self._spent(connection)
        return 0.0 if calls < self._settings.llm_calls_per_hour else max(1.0, since + HOUR_S - self._clock())

    def _spend(self) -> None:
        with self._parts.write_lock:
            self._parts.check_open()
            with writing(self._parts.engine) as connection:
                since, calls = self._spent(connection)
                put_meta(connection, spent_key(connection), json.dumps({"since": since, "calls": calls + 1}))

    def _spent(self, connection: Connection) -> tuple[float, int]:
        """Return the start of the hour in wall seconds, and the calls in it."""
        now = self._clock()
        try:
            noted = json.loads(get_meta(connection, spent_key(connection)) or "{}")
            since, calls = noted["since"], noted["calls"]
        except (ValueError, TypeError, KeyError):
            return now, 0
        known = is_number(since) and is_whole(calls)
        return (since, calls) if known and since <= now < since + HOUR_S else (now, 0)

    # -- small things ------------------------------------------------------------------------------------------------

    def _warn(self, reason: str, detail: str) -> None:
        """Warn once about a failure, until the model works again."""
        if reason != self._warned:
            self._warned = reason
            logger.warning("The language model for facts did not answer (%s): %s", reason, told(detail))


_UNREAD = schema.memories.outerjoin(
    schema.facts_read,
    and_(schema.facts_read.c.scope_id == schema.memories.c.scope_id, schema.facts_read.c.num == schema.memories.c.num),
)
_IS_UNREAD = schema.facts_read.c.num.is_(None)


def _message(row: Any, people: frozenset[str], door: Door) -> Message:
    at = from_micros(row.created_at if row.event_at is None else row.event_at)
    role = role_of(row.actor) if row.role is None else Role(row.role)
    return message_of(row.num, row.text, at, actor=row.actor, role=role, thread=row.thread, people=people, door=door)


def _fitting(messages: Sequence[Message]) -> list[Message]:
    found: list[Message] = []
    chars = 0
    for message in messages:
        chars += len(message.sent)
        if found and chars > BATCH_CHARS_MAX:
            break
        found.append(message)
    return found


CLOSE_S = 5.0  # for the batch that is being written
AGAIN_S = 60.0  # after a failure that says nothing of when it will be over


class FactFilling:
    """Reads facts in the background. Threads may share it. Holds `reader` weakly: a model may hold the store."""

    def __init__(self, reader: FactReader) -> None:
        self._reader = weakref.ref(reader)
        self._all = Deadline.after(None)
        self._filling = Filling(self._step, self._failed)

    def wake(self) -> None:
        """Say that there may be something to read."""
        self._filling.wake()

    def stop(self) -> None:
        """Stop for good, without waiting for an answer that is under way."""
        self._all.cancel()
        self._filling.stop(CLOSE_S)

    def _step(self) -> bool:
        reader = self._reader()
        if reader is None or self._all.over or self._filling.halted:
            return False
        state = reader.step(FactsRead(), self._all)
        if state not in (DONE, MORE) and not self._all.over:
            self._filling.wake(after=reader.wait_s() or AGAIN_S)
        return state == MORE

    def _failed(self, error: BaseException) -> None:
        if not isinstance(error, StoreClosed) and not self._all.over:
            logger.warning("Facts could not be read with the language model: %s", told(error))
            self._filling.wake(after=AGAIN_S)
