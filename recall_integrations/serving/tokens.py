"""Tokens: they name a caller, its scopes and its rights. The file holds only digests; a token is shown once.

    recall_<id>_<43 characters>     256 random bits; the id is no secret, and names the token in lists and logs

A digest needs no salt and no slow hash: nobody guesses 256 bits.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from filelock import FileLock, Timeout
from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    PlainSerializer,
    ValidationError,
)

from recall_integrations.adapters.scopes import EMPTY, SYNTAX, parse_scope, scope_text
from recall_integrations.errors import ConfigError, InvalidArgument, InvalidScope, NotFound
from recall_integrations.owner_only import FILE_MODE, opener
from recall_integrations.privacy.door import MODES, check_mode
from recall_integrations.serving.problems import Refused
from recall_integrations.types import Scope, checked_time

FORMAT: Literal[1] = 1
PREFIX = "recall_"
RIGHTS = ("read", "write", "admin")
LOCK_S = 10.0  # a change waits for another one
ANY = "*"


@dataclass(frozen=True)
class Grant:
    """Scopes that a token reaches: one, or all whose text (`scope_text`) begins so."""

    scope: Scope | None
    begin: str = ""

    @classmethod
    def of(cls, text: str) -> Grant:
        """Read a scope, or a pattern whose last part ends in `*`: `u1/-/team-*`, `u1/*`, `*`."""
        if ANY in text[:-1]:
            raise InvalidScope(
                f"In {text!r} a '*' stands before the end. It means 'any', at the end only: u1/*. In a name, write %2A."
            )
        if not text.endswith(ANY):
            return cls(parse_scope(text))
        *whole, last = text[:-1].split("/")
        if len(whole) > 2 or unquote(last) == EMPTY:  # which stands for an empty part, and begins none
            raise InvalidScope(f"{text!r} is no pattern of scopes. Write {SYNTAX} A '*' at the end: any.")
        parts = scope_text(parse_scope("/".join(whole))).split("/")[: len(whole)]
        return cls(None, "/".join([*parts, unquote(last).replace("%", "%25").replace("/", "%2F")]))

    def __str__(self) -> str:
        written = self.begin if self.scope is None else scope_text(self.scope)
        written = written.replace(ANY, "%2A")  # one that belongs to a name is not one that means any
        return written if self.scope is not None else written + ANY

    def holds(self, scope: Scope) -> bool:
        return scope == self.scope if self.scope is not None else scope_text(scope).startswith(self.begin)

    def covers(self, user_id: str) -> bool:
        """Say whether the grant reaches every scope of a user."""
        return self.scope is None and scope_text(Scope(user_id)).startswith(self.begin, 0, -len("-/-"))


_Read = BeforeValidator(lambda given: Grant.of(given) if isinstance(given, str) else given)
_Granted = Annotated[InstanceOf[Grant], _Read, PlainSerializer(str)]


class Token(BaseModel):
    """The record of a token, without the token itself."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(pattern="^[0-9a-f]{8}$")  # names the token
    digest: str = Field(min_length=64, max_length=64)  # SHA-256 of the token, in hexadecimal
    name: str = ""  # the purpose of the token
    # Scopes that it reaches; the first is for requests that name none.
    grants: tuple[_Granted, ...] = Field(min_length=1)
    # No default below: what a file leaves out, or spells otherwise, must not open a door.
    rights: tuple[Literal["read", "write", "admin"], ...]  # `admin`: metrics and details of health
    privacy: Literal["allow", "redact", "block"]  # the least strict mode of requests with it
    created_at: AwareDatetime  # when it was made
    expires_at: AwareDatetime | None  # when it expires; `None` = never

    def expired(self, now: datetime) -> bool:
        return self.expires_at is not None and now >= self.expires_at


class _File(BaseModel):
    format: Literal[1]
    tokens: tuple[Token, ...]


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


class Tokens:
    """The tokens of a file. A change by another process takes effect with the next request.

    Args:
        path: the file; it need not be there.
        clock: the time by which tokens expire.
    """

    def __init__(
        self, path: str | os.PathLike[str], clock: Callable[[], datetime] = lambda: datetime.now(timezone.utc)
    ) -> None:
        self.path, self._clock = Path(path), clock
        self._seen: tuple[int, ...] | None = None
        self._tokens: tuple[Token, ...] = ()

    def list(self) -> tuple[Token, ...]:
        """Return all tokens, in the order in which they were made.

        Raises:
            ConfigError: the file cannot be read, others may read it, or it is no file of tokens.
        """
        try:
            found = self.path.stat()
            seen = (found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode)
            if seen != self._seen:
                if os.name == "posix" and stat.S_IMODE(found.st_mode) & 0o077:
                    raise ConfigError(
                        f"Others may read {self.path}; a file of tokens is its owner's. Run: chmod 600 {self.path}"
                    )
                self._tokens, self._seen = _File.model_validate_json(self.path.read_bytes()).tokens, seen
        except FileNotFoundError:
            self._seen, self._tokens = None, ()
        except OSError as e:
            raise ConfigError(f"Cannot read the tokens in {self.path}: {e.strerror}. Check its permissions.") from e
        except ValidationError as e:
            first = e.errors(include_input=False)[0]
            wrong = " ".join([".".join(map(str, first["loc"])), first["msg"]]).strip()
            raise ConfigError(f"{self.path} is no file of tokens ({wrong}). Make one with `recall token add`.") from e
        return self._tokens

    def find(self, token: str) -> Token | None:
        """Return the record of a token; `None` where it is unknown or has expired. Takes equally long for every record.

        Raises:
            ConfigError: as `list`.
        """
        given, found = _digest(token), None
        for one in self.list():
            if hmac.compare_digest(given, one.digest):
                found = one
        return None if found is None or found.expired(self._clock()) else found

    def add(
        self,
        *,
        scopes: Iterable[str],
        name: str = "",
        rights: Iterable[str] = ("read", "write"),
        privacy: str = "allow",
        expires_at: datetime | None = None,
    ) -> tuple[str, Token]:
        """Make a token and store its digest; return the token, which is stored nowhere, and its record.

        Raises:
            InvalidScope, InvalidArgument: nothing was written.
            ConfigError: the file cannot be read or written.
        """
        grants = tuple(dict.fromkeys(map(Grant.of, scopes)))
        if not grants:
            raise InvalidArgument("A token needs a scope. Give one: u1, or u1/* for all scopes of u1.")
        wanted = tuple(right for right in RIGHTS if right in (given := set(rights)))
        if len(wanted) != len(given) or not wanted:
            raise InvalidArgument(f"Rights are some of {', '.join(RIGHTS)}, not {', '.join(sorted(given)) or 'none'}.")
        if not name.isprintable():
            raise InvalidArgument("The name of a token holds what cannot be printed. Give it a plain one.")
        now = self._clock()
        if expires_at is not None and checked_time(expires_at, "expires_at", InvalidArgument) <= now:
            raise InvalidArgument("A token must end in the future.")
        made = secrets.token_hex(4)
        token = f"{PREFIX}{made}_{secrets.token_urlsafe(32)}"
        about: dict[str, Any] = {"name": name, "rights": wanted, "privacy": check_mode(privacy)}
        noted = Token(id=made, digest=_digest(token), grants=grants, created_at=now, expires_at=expires_at, **about)
        with self._changing():
            self._write((*self.list(), noted))
        return token, noted

    def revoke(self, wanted: str) -> Token:
        """Delete a token, by its id or its name.

        Raises:
            NotFound: no token has it, or several have that name.
        """
        with self._changing():
            known = self.list()
            found = [one for one in known if one.id == wanted] or [one for one in known if one.name == wanted]
            if len(found) != 1:
                has = ", ".join(one.id for one in known) or "none"
                what = "Several tokens are" if found else "No token is"
                raise NotFound(f"{what} called {wanted!r}. There are: {has}.")
            self._write(one for one in known if one is not found[0])
        return found[0]

    # -- the file --------------------------------------------------------------------------------------------------

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Lock the file, inside of the block: else one process could restore a token that another revokes."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = FileLock(f"{self.path}.lock", timeout=LOCK_S, mode=FILE_MODE)
            lock.acquire()
        except Timeout as e:
            raise ConfigError(f"Somebody else is changing {self.path}. Try again in a moment.") from e
        except OSError as e:
            raise ConfigError(f"Cannot write the tokens to {self.path}: {e.strerror}.") from e
        try:
            yield
        finally:
            lock.release()

    def _write(self, tokens: Iterable[Token]) -> None:
        """Write the file in one step: a server that reads it meanwhile sees the old file or the new one."""
        held = _File(format=FORMAT, tokens=tuple(tokens)).model_dump_json(indent=1)
        beside = self.path.with_name(f".{self.path.name}.new")
        try:
            beside.unlink(missing_ok=True)  # of a process that was killed, or put there by somebody
            try:
                with open(beside, "x", encoding="utf-8", opener=opener) as file:
                    file.write(held)
                    file.flush()
                    os.fsync(file.fileno())
                beside.replace(self.path)
            finally:
                beside.unlink(missing_ok=True)  # there only where it was not written whole
        except OSError as e:
            raise ConfigError(f"Cannot write the tokens to {self.path}: {e.strerror}.") from e


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
        return cls(
            name=token.id,
            scope=next((grant.scope for grant in token.grants if grant.scope is not None), None),
            grants=token.grants,
            rights=token.rights,
            privacy=max(privacy, token.privacy, key=MODES.index),  # the stricter one
        )

    def where(self, named: Scope | None) -> Scope:
        if self.grants is None:
            return named or Scope()
        if named is None:
            if self.scope is None:
                raise Refused(422, "INVALID_SCOPE", "This token reaches several scopes. Name one of them in `scope`.")
            return self.scope
        if not any(grant.holds(named) for grant in self.grants):
            raise Refused(403, "FORBIDDEN", "This token does not reach that scope. Leave `scope` out, or use another.")
        return named

    def tenant(self, scope: Scope | None) -> tuple[str, Scope | None]:
        """Return who shares places with others: the caller, for a scope or its own."""
        return self.name, self.scope if scope is None else scope

    def everywhere(self, scopes: Iterable[Scope]) -> list[Scope]:
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
        if right not in self.rights:
            raise Refused(403, "FORBIDDEN", f"This token has no right to {right}. Use one made with --right {right}.")
