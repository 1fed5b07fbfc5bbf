"""Roles in a conversation with an assistant, and the names that frameworks give them.

`user` asks, `assistant` is asked, `system` sets the rules, `tool` reports to the assistant. A memory's role is given,
or else read from its actor's name where that is a spelling of one: "User", "HumanMessage", "AI", "assistant: Claude",
"user (Sam)". People and things that only begin like one ("AI Research Lab", "System Administrator") have none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache


class Role(str, Enum):
    """Role of an actor in a conversation with an assistant."""

    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"
    TOOL = "tool"

    def __str__(self) -> str:
        return self.value


NO_ROLE = 0
# Codes for columns of int8.
ROLE_CODES: Mapping[Role | None, int] = {None: NO_ROLE, **{role: code for code, role in enumerate(Role, 1)}}

SPELLINGS: Mapping[Role, tuple[str, ...]] = {
    Role.USER: ("user", "human", "end user", "prompter"),
    Role.ASSISTANT: (
        *("assistant", "ai", "bot", "chatbot", "model"),
        *("ai assistant", "ai bot", "ai model", "chat bot", "llm", "language model", "chatgpt", "gpt"),
    ),
    Role.SYSTEM: ("system", "developer", "system prompt"),
    Role.TOOL: ("tool", "function", "tool result", "tool call", "function call"),
}
_ROLES = {spelling: role for role, spellings in SPELLINGS.items() for spelling in spellings}
# "Kate (model)" and "Ben (developer)" say what somebody does for a living.
_BEHIND = frozenset("user human assistant ai bot chatbot".split())
_CHARS_MAX = 200  # characters that are looked at; a name behind a role may be longer
_DECORATION = " \t*#<>|[](){}\"'`:_-"  # "<|user|>", "### Human:", "[AI]"
_NAME_FOLLOWS = re.compile(r":|\||\(|\[| [-–—] ")
_CLASS = re.compile(r"[ _]?(?:message|msg)(?:[ _]?chunk)?$")  # "HumanMessage", "AIMessageChunk"


def role_of(actor: str | None) -> Role | None:
    """Return the role that an actor's name spells, in any case, with or without a name beside it; else `None`."""
    return None if not actor else _role_of(actor[:_CHARS_MAX])


@lru_cache(maxsize=4_096)
def _role_of(actor: str) -> Role | None:
    name = actor.casefold().strip(_DECORATION)
    if (role := _spelled(name)) is not None:
        return role
    parts = _NAME_FOLLOWS.split(name)
    if len(parts) == 1:
        return None
    if (role := _spelled(parts[0])) is not None:
        return role
    behind = parts[-1].strip()
    return _ROLES[behind] if behind in _BEHIND else None


def _spelled(name: str) -> Role | None:
    word = _CLASS.sub("", name.strip().removeprefix("messagerole.").removeprefix("the "))
    return _ROLES.get(" ".join(re.split(r"[\s_-]+", word.strip())))
