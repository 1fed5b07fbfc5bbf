"""The one door."""

from __future__ import annotations

import re
import traceback

import pytest

from recall_integrations.errors import ConfigError, InvalidArgument, InvalidQuery, NotFound, RecallError
from recall_integrations.privacy.door import DETAIL_CHARS_MAX, WITHHELD, Door, passing, told
from recall_integrations.types import Degradation, Memory
from tests.rows import each_row

PHONE = "+49 170 1234567"
MEMORY = Memory(f"call {PHONE}", id="m", actor="Lena", refs=[f"tel {PHONE}", "doc:a"], thread="t", metadata={"a": "b"})


def test_the_modes() -> None:
    assert Door().text(PHONE) == PHONE and Door().memory(MEMORY) is MEMORY
    redact, block = Door("redact"), Door("block")
    assert "1234567" not in redact.text(f"call {PHONE} now") and redact.text("call me") == "call me"
    assert block.text("call me") == "" and block.memory(MEMORY).text == ""
    for door in (redact, block):
        shown = door.memory(MEMORY)
        assert "1234567" not in repr(shown) and "doc:a" in shown.refs and shown.thread == "t" and shown.id == "m"
    assert block.memory(MEMORY).actor is None and block.memory(MEMORY).metadata == {}
    with pytest.raises(InvalidArgument, match="secret"):
        Door("secret")


def test_parts_of_what_the_query_hides_are_not_said() -> None:
    door = Door("redact")
    assert "1234567" not in door.query(f"who has {PHONE}?").text
    assert door.said("says: 1234567, harbour") == f"says: {WITHHELD}, harbour"
    assert door.said("harbour 42") == "harbour 42" and door.query("who?").text == "who?"
    assert Door().said("1234567") == "1234567" and Door("block").said("harbour") == ""


def test_a_query_that_is_withheld_is_said_nowhere() -> None:
    door = Door("redact")
    door.withhold("the harbour")
    assert door.query("the harbour").text == "" and door.said("about harbour 7") == f"about {WITHHELD} 7"


@pytest.mark.parametrize("mode", ["redact", "block"])
def test_a_failure_is_told_without_what_it_quotes(mode: str) -> None:
    door = Door(mode)
    long = "ValueError: " + "4111 1111 1111 11" * DETAIL_CHARS_MAX
    told_of = door.degradations([Degradation(stage="s", reason="error", detail=d) for d in (f"E: {PHONE}", long)])
    assert [(d.stage, d.reason) for d in told_of] == [("s", "error")] * 2
    assert "1234567" not in told_of[0].detail and "4111" not in told_of[1].detail
    assert mode == "block" or told_of[1].detail == f"ValueError: [{len(long)} characters withheld]"
    given = [Degradation(stage="s", reason="error", detail=PHONE)]
    assert Door().degradations(given) == tuple(given)


class Strange(RecallError):
    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} {two}")


@each_row(
    ("error", "kind"),
    [
        (InvalidQuery(f"no {PHONE}"), InvalidQuery),
        (NotFound(PHONE), NotFound),
        (ConfigError(PHONE), ConfigError),
        (Strange("a", PHONE), RecallError),
        (ValueError(PHONE), RecallError),
        (UnicodeDecodeError("utf-8", PHONE.encode(), 0, 1, PHONE), RecallError),
    ],
)
@each_row("mode", ["redact", "block"])
def test_an_error_leaves_without_its_cause(error: Exception, kind: type[RecallError], mode: str) -> None:
    def fails() -> None:
        raise error from KeyError(PHONE)

    with pytest.raises(RecallError) as caught:
        passing(Door(mode), fails)
    assert type(caught.value) is kind and str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert "1234567" not in "".join(traceback.format_exception(caught.value)) + repr(caught.value)


def test_an_error_stays_itself_where_nothing_is_withheld() -> None:
    def fails() -> None:
        raise ValueError(PHONE)

    with pytest.raises(ValueError, match="1234567"):
        passing(Door(), fails)
    assert passing(Door("block"), lambda: 3) == 3


def test_patterns_of_the_user() -> None:
    door = Door("redact", [("badge", re.compile(r"B-\d{4}"))])
    memory = Memory("B-1234 met B-9999, not B-1234", actor="B-1234", refs=["B-9999"], metadata={"B-9999": ["B-1234"]})
    shown = door.memory(memory)
    assert shown.text == "[badge-1] met [badge-2], not [badge-1]" and shown.actor == "[badge-1]"
    assert shown.refs == ("[badge-2]",) and shown.metadata == {"[badge-2]": ["[badge-1]"]}
    assert door.text("who is B-9999?") == "who is [badge-2]?"
    assert Door("block", [("badge", re.compile(r"B-\d{4}"))]).memory(memory).refs == ("[badge-1]",)


def test_logs_are_redacted_whatever_the_mode() -> None:
    assert "1234567" not in told(ValueError(f"cannot embed {PHONE}")) and told("a plain word") == "a plain word"
