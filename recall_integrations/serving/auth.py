"""The caller of a request: its name, scopes and rights.

With tokens the scope is the token's, and a request that names another one is refused. Without tokens,
every caller is on this machine, and the request names the scope.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from recall_integrations.adapters.scopes import scope_text
from recall_integrations.privacy.door import MODES, check_mode
from recall_integrations.serving.problems import Refused
from recall_integrations.serving.tokens import RIGHTS, Grant, Token
from recall_integrations.types import Scope

STATE = "recall_caller"  # where the gate leaves the caller, in the state of a request
HEADER = {"WWW-Authenticate": "Bearer"}
SEND_TOKEN = "Send a token: 'Authorization: Bearer TOKEN'."


@dataclass(frozen=True, kw_only=True)
class Caller:
    """The caller of a request."""

    name: str  # the id of the token, or the address, for rates and logs
    scope: Scope | None = None  # the scope of requests that name none; `None` = they must name one
    grants: tuple[Grant, ...] | None = None  # the scopes that the caller reaches; `None` = all
    rights: tuple[str, ...] = RIGHTS  # `read`, `write`, `admin`
    privacy: str = "allow"  # the least strict mode of its requests

    @classmethod
    def with_token(cls, token: Token, privacy: str) -> Caller:
        """Return the caller that has a token."""
        return cls(
            name=token.id,
            scope=next((grant.scope for grant in token.grants if not grant.prefix), None),
            grants=token.grants,
            rights=token.rights,
            privacy=strictest((privacy, token.privacy)),
        )

    def where(self, named: Scope | None) -> Scope:
        """Return the scope of a request."""
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
        """Return the scopes that the caller reaches."""
        grants = self.grants
        return [s for s in scopes if grants is None or any(grant.holds(s) for grant in grants)]

    def covers(self, user_id: str) -> bool:
        """Say whether the caller reaches every scope of a user, future scopes included."""
        return self.grants is None or any(grant.covers(user_id) for grant in self.grants)

    def mode(self, asked: str | None) -> str:
        """Return the privacy mode of a request: the least of this caller, or a stricter one."""
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
        """Refuse the request of a caller without a right."""
        if right not in self.rights:
            raise Refused(403, "FORBIDDEN", f"This token has no right to {right}. Use one made with --right {right}.")

    def __str__(self) -> str:
        return self.name if self.scope is None else f"{self.name} ({scope_text(self.scope)})"


def strictest(modes: Iterable[str]) -> str:
    """Return the privacy mode that withholds most."""
    return max(modes, key=MODES.index)


async def known(request: Request) -> Caller:
    """Return the caller of a request."""
    caller: Caller | None = getattr(request.state, STATE, None)
    if caller is None:
        raise Refused(401, "UNAUTHORIZED", SEND_TOKEN, headers=HEADER)
    return caller


async def reader(request: Request) -> Caller:
    """Return the caller if it has the right `read`."""
    caller = await known(request)
    caller.must("read")
    return caller


async def writer(request: Request) -> Caller:
    """Return the caller if it has the right `write`."""
    caller = await known(request)
    caller.must("write")
    return caller


async def admin(request: Request) -> Caller:
    """Return the caller if it has the right `admin`."""
    caller = await known(request)
    caller.must("admin")
    return caller


Known = Annotated[Caller, Depends(known)]
Reader = Annotated[Caller, Depends(reader)]
Writer = Annotated[Caller, Depends(writer)]
Admin = Annotated[Caller, Depends(admin)]
