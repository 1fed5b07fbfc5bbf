from __future__ import annotations

import errno
import hmac
import json
import os
import stat
import threading
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from recall_integrations import Scope
from recall_integrations.errors import ConfigError, InvalidArgument, InvalidScope, NotFound
from recall_integrations.serving import tokens as module
from recall_integrations.serving.tokens import Grant, Token, Tokens
from tests.rows import each_row

NOW = datetime(2026, 11, 22, tzinfo=timezone.utc)


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path / "tokens.json", clock=lambda: NOW)


def test_a_token_is_random_and_its_file_holds_only_a_digest(tokens: Tokens) -> None:
    first, noted = tokens.add(scopes=["u1"], name="app")
    second, _ = tokens.add(scopes=["u1"])
    assert first != second and len(first.split("_", 2)[2]) == 43
    text = tokens.path.read_text()
    assert first not in text and first.split("_", 2)[2] not in text and noted.digest in text
    assert tokens.find(first) == noted
    if os.name == "posix":
        assert stat.S_IMODE(tokens.path.stat().st_mode) == 0o600


def test_what_is_no_token_is_found_nowhere(tokens: Tokens) -> None:
    made, _ = tokens.add(scopes=["u1"])
    for wrong in ("", "recall_", made[:-1], made + "x", made.upper(), "ünïcode", "\x00"):
        assert tokens.find(wrong) is None


def test_all_digests_are_compared_whichever_it_is(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [tokens.add(scopes=["u1"])[0] for _ in range(3)]
    seen: list[str] = []
    compare = hmac.compare_digest

    def counted(a: str, b: str) -> bool:
        seen.append(b)
        return compare(a, b)

    monkeypatch.setattr(module.hmac, "compare_digest", counted)
    for given in (*made, "none"):
        seen.clear()
        tokens.find(given)
        assert len(seen) == 3


def test_one_that_is_over_or_taken_back_is_refused(tokens: Tokens) -> None:
    made, noted = tokens.add(scopes=["u1"], name="app", expires_at=NOW + timedelta(days=1))
    assert tokens.find(made) is not None
    assert Tokens(tokens.path, clock=lambda: NOW + timedelta(days=1)).find(made) is None
    other = Tokens(tokens.path, clock=lambda: NOW)
    assert other.revoke("app").id == noted.id
    assert tokens.find(made) is None  # though another object wrote it
    with pytest.raises(NotFound, match="There are: none"):
        tokens.revoke("app")


def test_what_cannot_be_a_token_writes_nothing(tokens: Tokens) -> None:
    for bad in ({"scopes": []}, {"scopes": ["u1"], "rights": ["all"]}, {"scopes": ["u1"], "rights": []},
                {"scopes": ["u1"], "privacy": "none"}, {"scopes": ["u1"], "expires_at": NOW}, {"scopes": ["a/b/c/d"]},
                {"scopes": ["u1"], "name": "a\nb"}):  # fmt: skip
        with pytest.raises((InvalidArgument, InvalidScope)):
            tokens.add(**bad)
    assert not tokens.path.exists()


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_a_file_that_others_may_read_is_refused(tokens: Tokens) -> None:
    tokens.add(scopes=["u1"])
    tokens.path.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        Tokens(tokens.path).list()


@each_row("text", ["", "[]", "{}", '{"format": 2, "tokens": []}', '{"format": 1, "tokens": [{}]}'])
def test_a_damaged_file_is_an_error_and_no_open_door(tokens: Tokens, text: str) -> None:
    tokens.path.write_text(text)
    tokens.path.chmod(0o600)
    with pytest.raises(ConfigError):
        tokens.find("recall_x")


@pytest.mark.parametrize("left_out", ["privacy", "expires_at", "rights"])
def test_what_a_record_leaves_out_opens_no_door(tokens: Tokens, left_out: str) -> None:
    tokens.add(scopes=["u1"], privacy="block")
    kept = json.loads(tokens.path.read_text())
    del kept["tokens"][0][left_out]
    tokens.path.write_text(json.dumps(kept))
    with pytest.raises(ConfigError, match=left_out):
        Tokens(tokens.path).list()


def test_what_was_written_reads_the_same(tokens: Tokens) -> None:
    tokens.add(scopes=["u1/-/team-*", "u2"], rights=["read", "admin"], privacy="redact", expires_at=NOW + timedelta(1))
    assert Tokens(tokens.path, clock=lambda: NOW).list() == tokens.list()
    assert json.loads(tokens.path.read_text())["tokens"][0]["grants"] == ["u1/-/team-*", "u2/-/-"]


@each_row(
    ("text", "reached", "beyond"),
    [
        ("u1", [Scope("u1")], [Scope("u1", "a"), Scope("u2"), Scope()]),
        ("u1/*", [Scope("u1"), Scope("u1", "a", "n")], [Scope("u10"), Scope()]),
        ("u1/-/team-*", [Scope("u1", "", "team-x")], [Scope("u1", "a", "team-x"), Scope("u1", "", "tea")]),
        ("u1/a*", [Scope("u1", "ab", "n")], [Scope("u1", "b")]),
        ("*", [Scope(), Scope("u1", "a", "n")], []),
        ("u%2A", [Scope("u*")], [Scope("u1")]),
    ],
)
def test_what_a_grant_reaches(text: str, reached: list[Scope], beyond: list[Scope]) -> None:
    grant = Grant.of(text)
    assert all(map(grant.holds, reached)) and not any(map(grant.holds, beyond))
    assert Grant.of(str(grant)) == grant


def test_all_of_a_user_is_more_than_one_scope() -> None:
    assert Grant.of("u1/*").covers("u1") and Grant.of("*").covers("u1")
    assert not any(Grant.of(text).covers("u1") for text in ("u1", "u1/a*", "u1/-/*", "u2/*"))


def test_a_token_that_is_revoked_does_not_come_back_with_one_that_is_added(
    tokens: Tokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, noted = tokens.add(scopes=["u1"])
    others = [Tokens(tokens.path, clock=lambda: NOW) for _ in range(2)]
    write, adding, revoked = Tokens._write, threading.Event(), threading.Event()

    def slow(self: Tokens, rows: Iterable[Token]) -> None:
        if self is others[0]:  # it has read the file
            adding.set()
            revoked.wait(0.3)
        write(self, rows)

    monkeypatch.setattr(Tokens, "_write", slow)
    added: list[str] = []
    thread = threading.Thread(target=lambda: added.append(others[0].add(scopes=["u2"])[0]))
    thread.start()
    assert adding.wait(5)
    others[1].revoke(noted.id)
    revoked.set()
    thread.join(5)
    assert tokens.find(gone) is None and tokens.find(added[0]) is not None


@pytest.mark.skipif(os.name != "posix", reason="there are no such permissions")
def test_a_file_that_others_may_read_from_now_on_is_refused_from_now_on(tokens: Tokens) -> None:
    made, _ = tokens.add(scopes=["u1"])
    assert tokens.find(made) is not None
    tokens.path.chmod(0o640)
    with pytest.raises(ConfigError, match="chmod 600"):
        tokens.find(made)


@pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")
@pytest.mark.parametrize("linked", [False, True])
def test_what_lies_where_the_file_is_written_becomes_no_file_of_tokens(tokens: Tokens, linked: bool) -> None:
    beside, elsewhere = tokens.path.with_name(f".{tokens.path.name}.new"), tokens.path.with_name("elsewhere")
    (elsewhere if linked else beside).touch(0o644)
    if linked:
        beside.symlink_to(elsewhere)
    token = tokens.add(scopes=["u1"])[0]
    assert tokens.find(token) and not tokens.path.is_symlink()
    assert not linked or elsewhere.read_text() == ""


def test_what_cannot_be_written_leaves_nothing_behind(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    tokens.add(scopes=["u1"])

    def full(*_given: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = tokens.path.read_text()
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(ConfigError, match="No space"):
            tokens.add(scopes=["u2"])
    assert tokens.path.read_text() == before
    assert {path.name for path in tokens.path.parent.iterdir()} <= {"tokens.json", "tokens.json.lock"}


def test_a_star_before_the_end_is_a_mistake() -> None:
    for text in ("*/agent", "u*1", "u1/*/n", "**", "u1/-*", "a/b/c/*"):
        with pytest.raises(InvalidScope, match="at the end"):
            Grant.of(text)


@pytest.mark.parametrize("text", ["u1/a/%2A", "u1/a/n%2A", "%2A", "%2A*", "u1/%2Aa*"])
def test_a_star_that_belongs_to_a_name_reaches_no_more_when_the_file_is_read_again(tokens: Tokens, text: str) -> None:
    tokens.add(scopes=[text])
    (again,) = Tokens(tokens.path, clock=lambda: NOW).list()
    assert again.grants == (Grant.of(text),)
    assert not again.grants[0].holds(Scope("u1", "a", "another"))
