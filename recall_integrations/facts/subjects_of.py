"""The subject of a fact in normal form: the same key for what is said and for what is asked."""

from __future__ import annotations

from recall_integrations.facts.said import ME, YOU
from recall_integrations.types.roles import Role, role_of

USER = ""  # the user, and whoever speaks without a name
SHARED = "the"  # the subject of "the door code", which is the user's whoever speaks of it
_MY = ("my ", "our ")
_YOUR = "your "


def speaker_key(actor: str | None, role: Role | None) -> str:
    """Return the key of a speaker: that of their name; `USER` for the user, and for whoever has no name."""
    if actor is None or role is Role.USER or role_of(actor) is Role.USER:
        return USER
    return name_key(actor)


def name_key(name: str) -> str:
    """Return the key of a name: "Priya  Raman" and "priya raman" are the same, and so are "the app" and "app"."""
    return " ".join(name.replace("’", "'").casefold().split()).removeprefix("the ")


def subject_key(subject: str, actor: str | None = None, role: Role | None = None) -> str | None:
    """Return the key of a subject as a text has it; `None` where nobody can tell whom it is of.

    Args:
        subject: the subject, as in `said.Said.subject`.
        actor, role: who says it. For a query these are `None`: the user asks.
    """
    if subject == ME:
        return speaker_key(actor, role)
    if subject == SHARED:
        return USER
    if subject == YOU:
        return USER if role is Role.ASSISTANT else None
    key = name_key(subject)
    if key.startswith(_YOUR):
        return f"{USER}'s {key.removeprefix(_YOUR)}" if role is Role.ASSISTANT else None
    for mine in _MY:
        if key.startswith(mine):
            return f"{speaker_key(actor, role)}'s {key.removeprefix(mine)}"
    return key
