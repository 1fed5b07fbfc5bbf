"""Who asks, and what they may: the caller of a request.

With tokens the scope is the token's, and a request that names another one is refused. Without, whoever reaches the
server is on this machine, and the request names the scope.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from recall_integrations.adapters.scopes import scope_text
from recall_integrations.privacy.modes import MODES, check_mode
from recall_integrations.serving.problems import Refused
from recall_integrations.serving.tokens import RIGHTS, Grant, Token
from recall_integrations.types import Scope

STATE = "recall_caller"  # where the gate leaves the caller, in the state of a request
HEADER = {"WWW-Authenticate": "Bearer"}
SEND_TOKEN = "Send a token: 'Authorization: Bearer TOKEN'."


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Who asks.

    Args:
        name: the id of the token, or the address, for rates and logs.
        scope: where requests go that name no scope; `None` = nowhere.
        grants: the scopes that it reaches; `None` = all of them.
        rights: `read`, `write`, `admin`.
        privacy: the least that is withheld from it.
    """

    name: str
    scope: Scope | None = None
    grants: tuple[Grant, ...] | None = None
    rights: tuple[str, ...] = RIGHTS
    privacy: str = "allow"

    @classmethod
    def with_token(cls, token: Token, privacy: str) -> Caller:
        """Who has a token.

        Args:
            token: theirs.
            privacy: the least that the server withholds from anybody.
        """
        return cls(
            name=token.id,
            scope=next((grant.scope for grant in token.grants if not grant.prefix), None),
            grants=token.grants,
            rights=token.rights,
            privacy=strictest((privacy, token.privacy)),
        )

    def where(self, named: Scope | None) -> Scope:
        """The scope of a request.

        Args:
            named: the one that it names.

        Raises:
            Refused: it may not go there, or names none where one is needed.
        """
        if self.grants is None:
            return named or Scope()
        if named is None:
            if self.scope is None:
                raise Refused(422, "INVALID_SCOPE", "This token reaches several scopes. Name one of them in `scope`.")
            return self.scope
        if not any(grant.holds(named) for grant in self.grants):
            raise Refused(403, "FORBIDDEN", "This token does not reach that scope. Leave `scope` out, or use another.")
        return named

    def everywhere(self, scopes: Iterable[Scope]) -> list[Scope]:
        """Those of some scopes that it reaches."""
        grants = self.grants
        return [s for s in scopes if grants is None or any(grant.holds(s) for grant in grants)]

    def covers(self, user_id: str) -> bool:
        """Whether it reaches every scope of a user, those that are not there yet included."""
        return self.grants is None or any(grant.covers(user_id) for grant in self.grants)

    def mode(self, asked: str | None) -> str:
        """The privacy mode of a request, which may be stricter than the least, and not less strict.

        Args:
            asked: what it asks for; `None` = the least.

        Raises:
            Refused: it asks to see more than it may.
            InvalidArgument: that is no mode.
        """
        if asked is None:
            return self.privacy
        if MODES.index(check_mode(asked)) < MODES.index(self.privacy):
            raise Refused(
                403,
                "PRIVACY_VIOLATION",
                f"Everything is given with privacy {self.privacy!r} or stricter here. Leave `privacy` out.",
            )
        return asked

    def must(self, right: str) -> None:
        """Refuse what this caller may not do.

        Raises:
            Refused: it lacks the right.
        """
        if right not in self.rights:
            raise Refused(403, "FORBIDDEN", f"This token has no right to {right}. Use one made with --right {right}.")

    def __str__(self) -> str:
        return self.name if self.scope is None else f"{self.name} ({scope_text(self.scope)})"


def strictest(modes: Iterable[str]) -> str:
    """The privacy mode that withholds most."""
    return max(modes, key=MODES.index)


async def known(request: Request) -> Caller:
    """The caller of a request.

    Raises:
        Refused: there is no token, where one is needed.
    """
    caller: Caller | None = getattr(request.state, STATE, None)
    if caller is None:
        raise Refused(401, "UNAUTHORIZED", SEND_TOKEN, headers=HEADER)
    return caller


async def reader(request: Request) -> Caller:
    """The caller, who may read."""
    caller = await known(request)
    caller.must("read")
    return caller


async def writer(request: Request) -> Caller:
    """The caller, who may write."""
    caller = await known(request)
    caller.must("write")
    return caller


async def admin(request: Request) -> Caller:
    """The caller, who may see what concerns everybody."""
    caller = await known(request)
    caller.must("admin")
    return caller


Known = Annotated[Caller, Depends(known)]
Reader = Annotated[Caller, Depends(reader)]
Writer = Annotated[Caller, Depends(writer)]
Admin = Annotated[Caller, Depends(admin)]
