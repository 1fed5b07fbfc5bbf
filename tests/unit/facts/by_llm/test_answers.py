"""What is taken from an answer, and what is counted instead."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.facts import by_llm as answers
from recall_integrations.facts.by_llm import answers_in
from tests.rows import each_row

ONE = {"n": 1, "facts": [{"slot": "home", "value": "Lisbon"}]}
TWO = {"n": 2, "facts": []}
LINES = f"{json.dumps(ONE)}\n{json.dumps(TWO)}"


@each_row(
    "text",
    [
        LINES,
        f"\n{LINES}\n\n",
        f"```json\n{LINES}\n```",
        f"```\n{LINES}\n```",
        json.dumps([ONE, TWO]),
        json.dumps([ONE, TWO], indent=2),
        f"```json\n{json.dumps([ONE, TWO], indent=2)}\n```",
        json.dumps({"messages": [ONE, TWO]}),
        f"[\n{json.dumps(ONE)},\n{json.dumps(TWO)}\n]",
    ],
)
def test_the_shapes_that_models_give(text: str) -> None:
    found = answers_in(text, 2)
    assert dict(found.claims) == {1: ONE["facts"], 2: []}
    assert not found.refused


@each_row(
    ("text", "claims", "refused"),
    [
        ("", {}, {answers.NO_JSON: 1}),
        ("Sure! Here are the facts:", {}, {answers.NO_JSON: 1}),
        (f"Sure!\n{LINES}", {1: ONE["facts"], 2: []}, {}),
        (f"{json.dumps(TWO)}\n" + json.dumps(ONE)[:-9], {2: []}, {}),  # cut short
        (json.dumps({"n": 3, "facts": []}), {}, {answers.UNKNOWN: 1}),
        (json.dumps({"n": 0, "facts": []}), {}, {answers.UNKNOWN: 1}),
        (json.dumps({"n": True, "facts": []}), {}, {answers.UNKNOWN: 1}),
        (json.dumps({"n": "1", "facts": []}), {}, {answers.UNKNOWN: 1}),
        (json.dumps([{"facts": []}]), {}, {}),
        (json.dumps([TWO, {"n": 2, "facts": [{"slot": "home"}]}]), {2: []}, {answers.TWICE: 1}),
        (json.dumps({"n": 1, "facts": {"slot": "home"}}), {}, {answers.NO_LIST: 1}),
        (json.dumps({"n": 1}), {}, {answers.NO_LIST: 1}),
        ("[1, 2, null]", {}, {answers.NO_JSON: 1}),
        ("7", {}, {answers.NO_JSON: 1}),
        ("{}", {}, {}),
        ("[" * 100_000, {}, {answers.NO_JSON: 1}),
        ('{"n":1,"facts":[' + "1" * 10_000 + "]}", {}, {answers.NO_JSON: 1}),
        ("x" * 1_000_000, {}, {answers.TOO_LONG: 1}),
    ],
)
def test_what_cannot_be_read_is_counted(text: str, claims: object, refused: object) -> None:
    found = answers_in(text, 2)
    assert dict(found.claims) == claims
    assert dict(found.refused) == refused


@given(st.text() | st.lists(st.sampled_from([*'{}[]",:\n', "n", "facts", "1", "null"])).map("".join), st.integers(1, 5))
def test_nothing_breaks_it(text: str, count: int) -> None:
    assert set(answers_in(text, count).claims) <= set(range(1, count + 1))
