"""Roles: the spellings of frameworks, the field of a memory, what the store and its columns keep."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from recall_integrations import Filters, Memory, MemoryStore, QueryOptimizer, Scope, errors
from recall_integrations.adapters.rows import memory_data
from recall_integrations.indexes.lexicon import Lexicon, query_terms
from recall_integrations.query.entities import EntityIndex
from recall_integrations.query.entities.state import entity_id_of
from recall_integrations.query.findings import implicit_user
from recall_integrations.store.importing import Importer
from recall_integrations.types.roles import ROLE_CODES, SPELLINGS, Role, role_of
from tests.columns import ColumnsBuilder, TextRow
from tests.rows import each_row

SPELT = {
    Role.USER: (
        "user", "User", "USER", "human", "Human", "HumanMessage", "HumanMessageChunk", "UserMessage", "user (Sam)",
        "User: Sam", "user - Sam Okafor", "Sam (user)", "<|user|>", "### Human:", "[USER]", "MessageRole.USER",
        "human_message", "end_user", "the user", "Human [Priya Raman]", " user ",
    ),
    Role.ASSISTANT: (
        "assistant", "Assistant", "ai", "AI", "AIMessage", "AIMessageChunk", "assistant: Claude", "AI (GPT-4)", "bot",
        "Chatbot", "chat bot", "model", "MessageRole.CHATBOT", "Claude (assistant)", "AI assistant", "AI-assistant",
        "<|assistant|>", "ChatGPT",
    ),
    Role.SYSTEM: ("system", "System", "SystemMessage", "developer", "Developer"),
    Role.TOOL: ("tool", "Tool", "ToolMessage", "function", "FunctionMessage", "tool: search", "tool_result"),
}  # fmt: skip
NO_ROLES = (
    *("Caroline", "Melanie", "Priya Raman", "AI Research Lab", "System Administrator", "Human Resources", "Users"),
    *("human-resources", "assistant manager", "Assistant to the Regional Manager", "Kate (model)", "Ben (developer)"),
    *("user_1", "user@example.org", "Userow", "Botond", "Toolan", "calendar", "sms", "", " ", ":", "(", "Message"),
)


@each_row(("role", "name"), [(role, name) for role, names in SPELT.items() for name in names])
def test_spellings(role: Role, name: str) -> None:
    assert role_of(name) is role


@each_row("name", NO_ROLES)
def test_names_of_people_and_things(name: str) -> None:
    assert role_of(name) is None


def test_no_actor_has_no_role_and_long_names_are_read_quickly() -> None:
    assert role_of(None) is None
    assert role_of("user " + "(" * 1_000) is Role.USER
    assert role_of("x" * 1_000) is None


def test_tables_agree() -> None:
    assert set(ROLE_CODES) == {None, *Role}
    assert sorted(ROLE_CODES.values()) == list(range(5))
    assert all(role_of(spelling) is role for role, spellings in SPELLINGS.items() for spelling in spellings)


@each_row(
    ("fields", "role"),
    [
        ({}, None),
        ({"actor": "Sam"}, None),
        ({"actor": "User"}, Role.USER),
        ({"actor": "Sam", "role": Role.USER}, Role.USER),
        ({"actor": "Sam", "role": "user"}, Role.USER),
        ({"actor": "Claude", "role": "AI"}, Role.ASSISTANT),
        ({"actor": "Model", "role": "human"}, Role.USER),
        ({"role": "tool"}, Role.TOOL),
    ],
)
def test_role_of_a_memory(fields: dict[str, str], role: Role | None) -> None:
    assert Memory("hello", **fields).role is role


@each_row("role", ["boss", "", 7, ["user"]])
def test_what_is_no_role_is_a_clear_error(role: object) -> None:
    with pytest.raises(errors.InvalidMemory, match=r"Memory\.role is .*user, assistant, system, tool"):
        Memory("hello", role=role)  # type: ignore[arg-type]


SAID = [
    Memory("hello", id="a", actor="User"),
    Memory("hi", id="b", actor="Claude", role="assistant"),
    Memory("a note", id="c"),
    Memory("42", id="d", role="tool"),
    Memory("fine", id="e", actor="Sam"),
    Memory("it is I", id="f", actor="Model", role="user"),
]
ROLES = [Role.USER, Role.ASSISTANT, None, Role.TOOL, None, Role.USER]


def test_roles_are_stored_and_columns_have_them(tmp_path: Path) -> None:
    for _ in range(2):  # written, and read again by another process
        with MemoryStore.open(tmp_path / "s") as store:
            if not store.count():
                store.remember_many(SAID)
            found = [store.get(m.id or "") for m in SAID]
            assert [m and m.role for m in found] == ROLES
            columns = store.view(store.scope_id(Scope()) or 0).text
            assert columns is not None and columns.roles.dtype == np.int8
            assert columns.roles.tolist() == [ROLE_CODES[r] for r in ROLES]
            names = {code: [columns.actor_names[a] for a in actors] for code, actors in columns.role_actors.items()}
            assert names == {1: ["User", "Model"], 2: ["Claude"]}


def test_columns_grow_and_keep_older_snapshots() -> None:
    builder = ColumnsBuilder(Lexicon())
    builder.append([TextRow(num=1, text="a", actor="User"), TextRow(num=2, text="b", actor="Claude", role="assistant")])
    first = builder.snapshot()
    builder.append(TextRow(num=i, text="c", actor="AI") for i in range(3, 200))
    second = builder.snapshot()
    assert first.roles.tolist() == [1, 2]
    assert second.roles.tolist() == [1, 2] + [2] * 197
    assert [second.actor_names[a] for a in second.role_actors[2]] == ["Claude", "AI"]


@each_row("roles", [7, ["boss"], [None], "boss"])
def test_filters_take_roles_only(roles: object) -> None:
    with pytest.raises(errors.InvalidFilter, match=r"Filters\.roles"):
        Filters(roles=roles)  # type: ignore[arg-type]
    assert Filters(roles=["human", "user"]).roles == (Role.USER,)
    assert Filters(roles=["user"])


def test_roles_are_exported_and_imported(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps({k: v for k, v in memory_data(m).items() if v is not None}) for m in SAID))
    with MemoryStore.open() as store:
        importer = Importer(store)
        importer.read(path, Scope())
        assert [store.get(m.id or "").role for m in SAID] == ROLES  # type: ignore[union-attr]
        importer.read(path, Scope())
        assert (importer.report.new, importer.report.unchanged) == (len(SAID), len(SAID))


# -- who asks, and who is asked ----------------------------------------------------------------------------------------


def test_i_is_the_actor_with_the_role_of_the_user() -> None:
    scope = Scope(user_id="u1")
    with MemoryStore.open() as store:
        store.remember_many(
            [
                Memory("I painted the shed", actor="Sam Okafor", role="user"),
                Memory("Well done", actor="Claude", role="assistant"),
            ],
            scope=scope,
        )
        optimizer = QueryOptimizer(store)
        mine = optimizer.parse("what did I paint?", scope=scope)
        assert [(r.name, r.mention) for r in mine.entity_refs if r.stage == "implicit"] == [("Sam Okafor", "I")]
        assert query_terms(mine).asker == ("user", "human", "sam", "okafor")
        yours = optimizer.parse("what did you tell me about the shed?", scope=scope)
        assert [(r.name, r.mention) for r in yours.entity_refs if r.stage == "implicit"] == [("Sam Okafor", "")]
        assert query_terms(yours).asker == ()
        assert (mine.asked_role, yours.asked_role) == (Role.USER, Role.ASSISTANT)


def test_without_roles_the_user_is_as_before() -> None:
    scope = Scope(user_id="u1")
    with MemoryStore.open() as store:
        store.remember_many([Memory("I painted the shed", actor="Sam"), Memory("Well", actor="Kim")], scope=scope)
        optimizer = QueryOptimizer(store)
        for text, mention in (("what did I paint?", "I"), ("what did you tell me about it?", "me")):
            parsed = optimizer.parse(text, scope=scope)
            assert [(r.name, r.mention) for r in parsed.entity_refs if r.stage == "implicit"] == [("u1", mention)]
            assert query_terms(parsed).asker == ("user", "human", "u1")


@each_row(
    ("speakers", "name"),
    [
        ((), "u1"),
        (("Sam Lee",), "Sam Lee"),
        (("Sam Lee", "sam lee"), "Sam Lee"),
        (("Sam Lee", "Kim"), "u1"),
        (("Nobody",), "u1"),
        (("Sam Lee",) * 17, "u1"),
    ],
)
def test_only_one_actor_can_be_the_user(speakers: tuple[str, ...], name: str) -> None:
    index = EntityIndex()
    for known in ("Sam Lee", "Kim"):
        index.add(entity_id_of(known, b""), known)
    ref = implicit_user(Scope(user_id="u1"), index, speakers)
    assert (ref.name, ref.entity_id) == (name, entity_id_of(name, b""))


def test_the_named_user_goes_before_the_role() -> None:
    index = EntityIndex()
    for known in ("Sam Lee", "Kim"):
        index.add(entity_id_of(known, b""), known)
    assert implicit_user(Scope(user_id="kim"), index, ["Sam Lee"]).name == "Kim"
