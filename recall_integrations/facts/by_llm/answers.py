"""Reads a language model's answer, by message; nothing of it is believed yet (`validation`).

It reads lines of JSON, one for a message; also one array, or one object with a list, of such objects, and any of
these in a fence. Any other part is counted, and the message that it was about stays unread.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from recall_integrations.records import record
from recall_integrations.types.numbers import is_whole

ANSWER_CHARS_MAX = 200_000  # no answer about some hundred messages is as long
LINES_MAX = 5_000
TOO_LONG, NO_JSON, UNKNOWN, TWICE, NO_LIST = "too long", "no JSON", "unknown message", "answered twice", "no list"


@record(frozen=True, slots=True, kw_only=True)
class Answers:
    """The content of an answer.

    Args:
        claims: number of the message → its claims; an empty list says that it states nothing.
        refused: how many parts could not be read, by reason.
        chars: length of the answer.
    """

    claims: Mapping[int, Sequence[Any]] = field(default_factory=dict)
    refused: Mapping[str, int] = field(default_factory=dict)
    chars: int = 0


def answers_in(text: str, count: int) -> Answers:
    """Read an answer.

    Args:
        text: the answer.
        count: number of messages that were asked about: they have the numbers from 1 on.
    """
    if len(text) > ANSWER_CHARS_MAX:
        return Answers(refused={TOO_LONG: 1}, chars=len(text))
    refused: Counter[str] = Counter()
    claims: dict[int, Sequence[Any]] = {}
    for each in _objects(text, refused):
        n = each.get("n")
        if not is_whole(n) or not 1 <= n <= count:
            refused[UNKNOWN] += 1
        elif n in claims:
            refused[TWICE] += 1
        elif not isinstance(stated := each.get("facts"), list):
            refused[NO_LIST] += 1
        else:
            claims[n] = stated
    return Answers(claims=claims, refused=refused, chars=len(text))


def _objects(text: str, refused: Counter[str]) -> list[Mapping[str, Any]]:
    whole = _loaded(_bare(text))
    if whole is not None:
        return _of_one(whole, refused)
    found: list[Mapping[str, Any]] = []
    for line in text.splitlines()[:LINES_MAX]:
        bare = line.strip().rstrip(",")
        if not bare or bare in "[]" or bare.startswith("```"):
            continue
        one = _loaded(bare)
        if isinstance(one, dict):
            found.append(one)
        else:
            refused[NO_JSON] += 1
    return found


def _of_one(whole: Any, refused: Counter[str]) -> list[Mapping[str, Any]]:
    """Return the objects in an answer that is one piece of JSON."""
    if isinstance(whole, dict) and "n" not in whole:
        whole = next((value for value in whole.values() if isinstance(value, list)), [])
    listed = whole if isinstance(whole, list) else [whole]
    found: list[Mapping[str, Any]] = [one for one in listed if isinstance(one, dict)]
    if len(found) < len(listed):
        refused[NO_JSON] += len(listed) - len(found)
    return found


def _bare(text: str) -> str:
    """Return a text without a fence around it."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        return text[text.index("\n") : -3]
    return text


def _loaded(text: str) -> Any:
    """Read JSON; `None` where it is none. Numbers without end and nesting without end are none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
