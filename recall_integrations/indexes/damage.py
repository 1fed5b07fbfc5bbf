"""Unreadable rows of the record: each costs its memory and is named; the scope goes on without it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from recall_integrations.types import MemoryType
from recall_integrations.types.numbers import shown
from recall_integrations.types.roles import Role

UNREADABLE = (KeyError, ValueError, TypeError, OverflowError, AttributeError, RecursionError)  # what reading one raises
IDS_SHOWN = 5
_TYPES, _ROLES = frozenset(t.value for t in MemoryType), frozenset(r.value for r in Role)
_NONE = type(None)
_MICROS_MAX = 400_000_000_000_000_000  # beyond year 9999 on both sides
_NUMBERS = frozenset({int, float})

logger = logging.getLogger("recall_integrations")


class Damage:
    """Damaged memories met so far in one store. Threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._met: dict[int, dict[int, str]] = {}

    def note(self, scope_id: int, num: int, memory_id: object, what: str) -> None:
        """Note that a memory cannot be read, or not all of it."""
        with self._lock:
            known = self._met.setdefault(scope_id, {})
            if num in known:
                return
            known[num] = f"{shown(memory_id)} ({what})"
        logger.warning("Memory %s (number %d) is damaged: %s.", shown(memory_id), num, what)

    def forget(self, scope_id: int, nums: Iterable[int]) -> None:
        """Drop notes about memories that were removed or replaced."""
        if self._met:
            with self._lock:
                for num in nums:
                    self._met.get(scope_id, {}).pop(num, None)

    def of(self, scope_id: int) -> str:
        """Describe the damage of a scope in words; empty where there is none."""
        if not self._met:
            return ""
        with self._lock:
            found = [text for _, text in sorted(self._met.get(scope_id, {}).items())]
        if not found:
            return ""
        more = f" and {len(found) - IDS_SHOWN} more" if len(found) > IDS_SHOWN else ""
        return (
            f"Damaged in the database and left out: {', '.join(found[:IDS_SHOWN])}{more}. "
            "Remember them again under these ids, or restore a backup."
        )


def sound(columns: Sequence[Sequence[Any]]) -> bool:
    """Say whether ids, times, types and importance (the columns after the numbers) hold valid values."""
    ids, event_at, created_at, types, importance = columns[1:6]
    return (
        set(map(type, ids)) <= {str}
        and set(map(type, event_at)) <= {int, _NONE}
        and set(map(type, created_at)) <= {int}
        and _TYPES.issuperset(types)
        and set(map(type, importance)) <= _NUMBERS
        and all(0 <= value <= 1 for value in set(importance))
        and min(created_at, default=0) >= -_MICROS_MAX
        and max(created_at, default=0) <= _MICROS_MAX
        and all(value is None or -_MICROS_MAX <= value <= _MICROS_MAX for value in event_at)
    )


def sound_text(columns: Sequence[Sequence[Any]]) -> bool:
    """Say whether actor, role, thread and position hold valid values."""
    actors, roles, threads, positions = columns[:4]
    return (
        set(map(type, actors)) <= {str, _NONE}
        and _ROLES.issuperset(role for role in roles if role is not None)
        and set(map(type, threads)) <= {str, _NONE}
        and set(map(type, positions)) <= {int, _NONE}
    )


def sound_count(stems: Sequence[Any]) -> bool:
    """Say whether the numbers of stems are valid; all may be missing."""
    return set(map(type, stems)) <= {int, _NONE} and all(value is None or 0 <= value < 2**31 for value in stems)


def sound_words(columns: Sequence[Sequence[Any]]) -> bool:
    """Say whether words, their number, and the marks of questions are valid; all may be missing."""
    words, more, lengths, asks, asked = columns[4:9]
    return (
        set(map(type, words)) <= {str, _NONE}
        and set(map(type, more)) <= {str, _NONE}
        and set(map(type, lengths)) <= {int, _NONE}
        and all(value is None or 0 <= value < 2**31 for value in lengths)
        and set(map(type, asks)) <= {int, _NONE}
        and set(map(type, asked)) <= {bytes, _NONE}
    )
