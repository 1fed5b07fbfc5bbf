"""Exports of other programs as memories. All files are made up, in the shape that these programs write."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from recall_integrations import Memory, MemoryStore, RecallConfig, Scope
from recall_integrations.errors import InvalidArgument, InvalidMemory
from recall_integrations.store.importing import ImportReport
from tests.rows import each_row

UTC = timezone.utc


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with MemoryStore.open() as opened:
        yield opened


def put(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def kept(store: MemoryStore, scope: Scope | None = None) -> list[Memory]:
    return list(store.iterate(scope=scope))


def said(store: MemoryStore) -> list[tuple[str | None, str]]:
    return [(memory.actor, memory.text) for memory in kept(store)]


def counts(report: ImportReport) -> tuple[int, int, int]:
    return report.new, report.replaced, report.unchanged


# -- chats with an assistant -------------------------------------------------------------------------------------------


def node(name: str, parent: str | None, children: list[str], message: dict[str, Any] | None) -> dict[str, Any]:
    return {"id": name, "parent": parent, "children": children, "message": message}


def turn(name: str, role: str, parts: list[Any], at: float | None = 1_767_258_000.25, **more: Any) -> dict[str, Any]:
    content = {"content_type": more.pop("content_type", "text"), "parts": parts}
    return {
        "id": name, "author": {"role": role, "name": None, "metadata": {}}, "create_time": at, "update_time": None,
        "content": content, "status": "finished_successfully", "weight": 1.0, "metadata": {}, "recipient": "all",
        **more,
    }  # fmt: skip


def chatgpt_export() -> list[dict[str, Any]]:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1", "width": 9}
    spoken = {"content_type": "audio_transcription", "text": "and a window seat", "direction": "in"}
    mapping = {
        "root": node("root", None, ["sys"], None),
        "sys": node("sys", "root", ["q"], turn("sys", "system", [""], None)),
        "q": node("q", "sys", ["old", "new"], turn("q", "user", ["I am flying to Porto on 4 May"])),
        "old": node("old", "q", [], turn("old", "assistant", ["An answer that was made anew"])),
        "new": node("new", "q", ["tool"], turn("new", "assistant", ["Porto is lovely in May."])),
        "tool": node("tool", "new", ["pic"], turn("tool", "tool", ["Model set context updated."])),
        "pic": node("pic", "tool", ["call"], turn("pic", "user", [picture, "my ticket", spoken],
                                                  content_type="multimodal_text")),
        "call": node("call", "pic", [], turn("call", "assistant", ["search()"], recipient="web")),
    }  # fmt: skip
    return [
        {"title": "Porto", "create_time": 1_767_258_000.0, "mapping": mapping, "current_node": "call",
         "conversation_id": "c-1"},
        {"title": "Broken", "mapping": None, "conversation_id": "c-2"},
        {"title": "Odd", "conversation_id": "c-3", "current_node": "x", "mapping": {
            "x": node("x", None, [], {"id": "x", "author": None, "content": {"content_type": "text", "parts": []}})}},
    ]  # fmt: skip


def test_chatgpt_keeps_the_branch_that_was_seen_last(store: MemoryStore, tmp_path: Path) -> None:
    report = store.import_from(put(tmp_path / "conversations.json", chatgpt_export()))
    assert [(str(m.role), m.text, m.thread) for m in kept(store)] == [
        ("user", "I am flying to Porto on 4 May", "c-1"),
        ("assistant", "Porto is lovely in May.", "c-1"),
        ("user", "my ticket\nand a window seat", "c-1"),
    ]
    assert kept(store)[0].event_at == datetime(2026, 1, 1, 9, 0, 0, 250_000, tzinfo=UTC)
    assert kept(store)[0].metadata == {"title": "Porto"}
    assert [bad.where for bad in report.bad] == [
        "conversations.json, conversation 2",
        "conversations.json, conversation 3, message 1",
    ]
    assert counts(report) == (3, 0, 0)
    assert counts(store.import_from(tmp_path / "conversations.json")) == (0, 0, 3)


def test_a_zip_is_read_as_it_was_sent_and_a_longer_chat_is_continued(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps(chatgpt_export()))
        archive.writestr("user.json", json.dumps({"id": "user-1", "email": "someone@example.org"}))
        archive.writestr("__MACOSX/._conversations.json", b"\x00")
    report = store.import_from(path)
    assert counts(report) == (3, 0, 0) and report.others == ["user.json"]
    longer = chatgpt_export()[:1]
    longer[0]["mapping"]["more"] = node("more", "pic", [], turn("more", "assistant", ["Seat 4A then."]))
    longer[0]["current_node"] = "more"
    assert counts(store.import_from(put(tmp_path / "c.json", longer))) == (1, 0, 3)
    assert [memory.position for memory in kept(store)] == [0, 1, 2, 3]


def test_claude_keeps_texts_and_names_what_was_attached(store: MemoryStore, tmp_path: Path) -> None:
    def message(name: str, sender: str, text: str, **more: Any) -> dict[str, Any]:
        content = more.pop("content", [{"type": "text", "text": text, "citations": []}])
        return {"uuid": name, "sender": sender, "text": text, "content": content, "attachments": [], "files": [],
                "created_at": "2026-02-03T10:00:00.123456Z", "updated_at": "2026-02-03T11:00:00Z", **more}  # fmt: skip

    thinking = [{"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "Use a tahini sauce."}]
    pasted = {"file_name": "list.txt", "file_size": 9, "file_type": "txt", "extracted_content": "Leeks, rice, dill"}
    chat = {
        "uuid": "k-1", "name": "Dinner", "account": {"uuid": "a"}, "created_at": "2026-02-03T10:00:00Z",
        "chat_messages": [
            message("1", "human", "I am allergic to peanuts", files=[{"file_name": "plate.jpg"}]),
            message("2", "assistant", "old text", content=thinking),
            message("3", "human", "", content=[], attachments=[pasted]),
            message("4", "human", "", content=[]),
            {"uuid": "5", "sender": "human"},
            "nonsense",
        ],
    }  # fmt: skip
    report = store.import_from(put(tmp_path / "conversations.json", [chat, {"uuid": "k-2", "chat_messages": 3}]))
    assert [(str(m.role), m.text) for m in kept(store)] == [
        ("user", "I am allergic to peanuts"),
        ("assistant", "Use a tahini sauce."),
        ("user", "Leeks, rice, dill"),
    ]
    assert kept(store)[0].metadata == {"title": "Dinner", "attachments": ["plate.jpg"]}
    assert kept(store)[0].event_at == datetime(2026, 2, 3, 10, 0, 0, 123_456, tzinfo=UTC)
    assert (len(report.bad), report.empty, len(report.threads)) == (2, 2, 1)


# -- chats of people ---------------------------------------------------------------------------------------------------


def slack_export(folder: Path) -> Path:
    put(folder / "users.json", [
        {"id": "U1", "name": "priya", "real_name": "Priya Raman", "profile": {"display_name": "pr"}},
        {"id": "U2", "name": "sam", "profile": {"real_name": "Sam Ode", "display_name": ""}},
    ])  # fmt: skip
    put(folder / "channels.json", [{"id": "C1", "name": "kestrel", "members": ["U1", "U2"]}])
    put(folder / "kestrel" / "2026-03-01.json", [
        {"type": "message", "subtype": "channel_join", "user": "U2", "ts": "1772355600.000100", "text": "has joined"},
        {"type": "message", "user": "U1", "ts": "1772355700.000200", "thread_ts": "1772355700.000200",
         "text": "<@U2> we chose &lt;Postgres&gt; in <#C1|kestrel>, see <https://example.org/a|the notes>"},
        {"type": "message", "user": "U9", "ts": "1772355800.000300", "text": "fine by me",
         "user_profile": {"real_name": "Lena Holm"}},
        {"type": "message", "user": "U1", "text": "no time"},
    ])  # fmt: skip
    put(folder / "kestrel" / "2026-03-02.json", [
        {"type": "message", "user": "U2", "ts": "1772442100.000400", "thread_ts": "1772355700.000200", "text": "Good!"},
        {"type": "message", "subtype": "bot_message", "username": "deploys", "ts": "1772442200.0005", "text": "done"},
    ])  # fmt: skip
    return folder


def test_slack_has_names_channels_and_threads(store: MemoryStore, tmp_path: Path) -> None:
    report = store.import_from(slack_export(tmp_path / "Acme export"))
    assert said(store) == [
        ("Priya Raman", "@Sam Ode we chose <Postgres> in #kestrel, see the notes"),
        ("Lena Holm", "fine by me"),
        ("Sam Ode", "Good!"),
        ("deploys", "done"),
    ]
    threads = ["kestrel/1772355700.000200", "kestrel", "kestrel/1772355700.000200", "kestrel"]
    assert [m.thread for m in kept(store)] == threads
    assert {m.channel for m in kept(store)} == {"kestrel"}
    assert kept(store)[0].event_at == datetime(2026, 3, 1, 9, 1, 40, 200, tzinfo=UTC)
    assert [bad.where for bad in report.bad] == ["kestrel/2026-03-01.json, message 4"]
    assert (report.empty, sorted(report.others)) == (1, ["channels.json", "users.json"])
    day = store.import_from(tmp_path / "Acme export" / "kestrel" / "2026-03-02.json")
    assert counts(day) == (0, 1, 1)  # users.json is not beside it: the id of Sam stands for the name
    store.import_from(tmp_path / "Acme export")
    with zipfile.ZipFile(tmp_path / "slack.zip", "w") as archive:
        for path in (tmp_path / "Acme export").rglob("*.json"):
            archive.write(path, path.relative_to(tmp_path / "Acme export").as_posix())
    assert counts(store.import_from(tmp_path / "slack.zip")) == (0, 0, 4)


def test_discord_keeps_what_people_wrote(store: MemoryStore, tmp_path: Path) -> None:
    def message(name: str, content: str, kind: str = "Default", **more: Any) -> dict[str, Any]:
        author = {"id": "7", "name": "lena", "nickname": "Lena H", "isBot": False, **more}
        return {"id": name, "type": kind, "timestamp": "2026-01-05T18:30:00.5+01:00", "content": content,
                "author": author, "attachments": [], "embeds": [], "mentions": []}  # fmt: skip

    export = {
        "guild": {"id": "1", "name": "Climbers"},
        "channel": {"id": "2", "type": "GuildTextChat", "category": "Text", "name": "routes"},
        "messages": [message("a", "Sunday at nine?"), message("b", "joined", "GuildMemberJoin"),
                     message("c", "", "Default"), message("d", "Yes", "Reply", nickname=None), {"id": "e"}],
    }  # fmt: skip
    report = store.import_from(put(tmp_path / "Climbers - routes.json", export))
    assert said(store) == [("Lena H", "Sunday at nine?"), ("lena", "Yes")]
    first = kept(store)[0]
    assert (first.thread, first.channel, first.id) == ("Climbers/routes", "routes", "discord-a")
    assert first.event_at == datetime(2026, 1, 5, 17, 30, 0, 500_000, tzinfo=UTC)
    assert (report.empty, len(report.bad)) == (2, 1)


ANDROID = """\
12/03/2026, 09:05 - Messages and calls are end-to-end encrypted.
12/03/2026, 09:05 - Priya: The plumber comes on Monday
between nine and ten
12/03/2026, 21:15 - Sam Ode: <Media omitted>
13/03/2026, 00:20 - Sam Ode: ok: see you
"""
AMERICAN = """\
3/2/26, 9:05\u202fAM - Priya: The plumber comes on Monday
3/2/26, 12:15\u202fPM - Sam: ok
3/13/26, 12:20 AM - Sam: late
"""
IPHONE = """\
\u200e[02.03.26, 09:05:10] Kestrel: \u200eMessages and calls are end-to-end encrypted.
[02.03.26, 09:05:11] Priya: The plumber comes on Monday
[02.03.26, 09:06:00] ~\u202fSam: \u200eimage omitted
[03.03.26, 12:15:00] ~\u202fSam: ok \u200e<This message was edited>
"""
DAYS_UNDER_13 = "3/4/26, 10:00 - A: one\n3/5/26, 10:00 - A: two\n3/5/26, 11:00 - A: three\n4/1/26, 10:00 - A: four\n"


@each_row(
    "text, wanted",
    [
        (ANDROID, [("Priya", "The plumber comes on Monday\nbetween nine and ten", "2026-03-12T09:05:00+01:00"),
                   ("Sam Ode", "ok: see you", "2026-03-13T00:20:00+01:00")]),
        (AMERICAN, [("Priya", "The plumber comes on Monday", "2026-03-02T09:05:00+01:00"),
                    ("Sam", "ok", "2026-03-02T12:15:00+01:00"), ("Sam", "late", "2026-03-13T00:20:00+01:00")]),
        (IPHONE, [("Priya", "The plumber comes on Monday", "2026-03-02T09:05:11+01:00"),
                  ("Sam", "ok", "2026-03-03T12:15:00+01:00")]),
        (DAYS_UNDER_13, [("A", "one", "2026-03-04T10:00:00+01:00"), ("A", "two", "2026-03-05T10:00:00+01:00"),
                         ("A", "three", "2026-03-05T11:00:00+01:00"), ("A", "four", "2026-04-01T10:00:00+02:00")]),
        ("2026-03-04, 10:00 - A: one\n31/02/2026, 10:00 - A: no day\n", [("A", "one", "2026-03-04T10:00:00+01:00")]),
    ],
)  # fmt: skip
def test_whatsapp_reads_every_order_of_dates(text: str, wanted: list[tuple[str, str, str]], tmp_path: Path) -> None:
    path = put(tmp_path / "WhatsApp Chat with Priya.txt", text)
    with MemoryStore.open(config=RecallConfig(timezone="Europe/Berlin")) as store:
        store.import_from(path)
        found = kept(store)
        assert [(m.actor, m.text, m.event_at) for m in found] == [
            (actor, text, datetime.fromisoformat(at)) for actor, text, at in wanted
        ]
        assert {(m.thread, m.channel) for m in found} == {("WhatsApp Chat with Priya", "whatsapp")}
        put(path, text + text.rstrip("\n").split("\n")[-1].replace(": ", ": and ", 1) + "\n")
        assert store.import_from(path).unchanged == len(wanted)


# -- records -----------------------------------------------------------------------------------------------------------

MEM0 = {
    "results": [
        {"id": "8d2e", "memory": "Is allergic to peanuts", "hash": "f0", "metadata": {"app": "cook"}, "score": None,
         "created_at": "2026-01-05T01:00:00.000001-08:00", "updated_at": None, "user_id": "u1", "run_id": "r-1"},
        {"id": "8d2f", "memory": "Lives in Lisbon", "created_at": "2026-01-05T01:00:00-08:00", "user_id": "u2",
         "updated_at": "2026-02-05T01:00:00-08:00", "agent_id": "cook", "categories": ["travel"], "metadata": None},
        {"id": "8d30", "memory": None, "user_id": "u1"},
    ]
}  # fmt: skip


@each_row("data", [MEM0, MEM0["results"]])
def test_mem0_keeps_ids_times_and_scopes(data: Any, tmp_path: Path) -> None:
    with MemoryStore.open() as store:
        report = store.import_from(data)  # as its client returns it
        first, second = store.get("8d2e", scope=Scope("u1")), store.get("8d2f", scope=Scope("u2", "cook"))
        assert first is not None and second is not None and len(report.bad) == 1
        assert (first.text, first.thread, first.metadata) == ("Is allergic to peanuts", "r-1", {"app": "cook"})
        assert first.event_at == first.created_at == datetime(2026, 1, 5, 9, 0, 0, 1, tzinfo=UTC)
        assert second.event_at == datetime(2026, 2, 5, 9, 0, tzinfo=UTC)
        assert second.metadata == {"categories": ["travel"]}
        assert counts(store.import_from(put(tmp_path / "mem0.json", data))) == (0, 0, 2)


def test_a_table_maps_its_columns(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_bytes(
        b"\xef\xbb\xbfNote ID;Body;Author;Date;Entities;Importance;City\r\n"
        b'1;"Rent is due; on the 5th";Sam;2026-03-01 09:00;Flat, Bank;0.9;Porto\r\n'
        b"2;;Sam;2026-03-02;;;\r\n"
        b"3;Buy salt;Sam;some day;;much;\r\n"
        b"4;Buy tea;;;;;\r\n"
        b"5;Buy tea;;some day;;;\r\n"
        b"6;Buy tea;;;;;;x;y\r\n"
        b"7;Buy rice;;;;much;\r\n"
    )
    report = store.import_from(path)
    rent, tea = kept(store)
    assert (rent.text, rent.actor, rent.entities) == ("Rent is due; on the 5th", "Sam", ("Flat", "Bank"))
    assert (rent.importance, rent.metadata) == (0.9, {"Note ID": "1", "City": "Porto"})
    assert rent.event_at == datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
    assert (tea.text, tea.event_at, tea.metadata) == ("Buy tea", None, {"Note ID": "4"})
    assert [bad.where[-5:] for bad in report.bad] == ["row 3", "row 5", "row 6", "row 7"] and report.empty == 1
    assert report.bad[1].problem == "column 'Date' needs a date such as 2026-03-12 or 2026-03-12 09:30, not 'some day'"
    assert report.bad[3].problem == "column 'Importance' needs a number from 0 to 1, not 'much'"
    assert counts(store.import_from(path)) == (0, 0, 2)


def test_a_table_without_a_text_has_its_rows_as_texts(store: MemoryStore, tmp_path: Path) -> None:
    store.import_from(put(tmp_path / "cities.tsv", "city\tcountry\nPorto\tPortugal\nPorto\tPortugal\n"))
    assert [m.text for m in kept(store)] == ["city: Porto\ncountry: Portugal"] * 2
    assert kept(store)[0].metadata == {"city": "Porto", "country": "Portugal"}


MBOX = """\
From priya@example.org Sun Mar  1 09:00:00 2026
From: Priya Raman <priya@example.org>
To: sam@example.org
Subject: =?utf-8?q?Caf=C3=A9?= on Friday
Message-ID: <1@example.org>
Date: Sun, 01 Mar 2026 10:00:00 +0100
Content-Type: text/plain; charset="iso-8859-1"
Content-Transfer-Encoding: quoted-printable

The caf=E9 is booked.

--=20
Priya, Kestrel

From sam@example.org Sun Mar  1 11:00:00 2026
From: sam@example.org
Subject: Re: Lunch
Message-ID: <2@example.org>
In-Reply-To: <1@example.org>
References: <1@example.org>
Date: Sun, 01 Mar 2026 11:00:00 +0000
Content-Type: text/html; charset="utf-8"

<html><head><style>p { }</style></head><body><p>Two&nbsp;o'clock?</p><br></body></html>

From sam@example.org Sun Mar  1 11:30:00 2026
From: sam@example.org
Message-ID: <3@example.org>
References: <1@example.org> <2@example.org>

> Two o'clock?
Yes

From x@example.org Sun Mar  1 12:00:00 2026
Subject: empty

"""


def test_mail_keeps_conversations_and_drops_quotes(store: MemoryStore, tmp_path: Path) -> None:
    report = store.import_from(put(tmp_path / "All mail.mbox", MBOX))
    assert said(store) == [
        ("Priya Raman", "Café on Friday\n\nThe café is booked."),
        ("sam@example.org", "Re: Lunch\n\nTwo\u00a0o'clock?"),
        ("sam@example.org", "Yes"),
    ]
    assert [m.thread for m in kept(store)] == ["<1@example.org>"] * 3
    assert kept(store)[0].event_at == datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
    assert kept(store)[0].metadata["from"] == "priya@example.org" and report.empty == 1
    assert counts(store.import_from(tmp_path / "All mail.mbox")) == (0, 0, 3)


# -- notes -------------------------------------------------------------------------------------------------------------

KESTREL = """\
---
title: Project Kestrel
tags: [work, #db]
date: 2026-03-12
permalink: projects/kestrel
---
Led by [[people/Priya|Priya Raman]]. #launch

# Decisions

We chose **PostgreSQL**, see [[Databases#Engines]].

```sh
# not a heading
```

## Open

- depends_on [[Billing]] (since March)

# Empty
"""


def vault(folder: Path) -> Path:
    put(folder / "Projects" / "Kestrel.md", KESTREL.replace("#db", '"#db"'))
    put(folder / "2026-03-13.md", "# 2026-03-13\n\nLunch with Lena.\n\n## Later\n\nCalled the bank.\n")
    put(folder / ".obsidian" / "app.md", "settings")
    put(folder / "picture.png", "x")
    return folder


def test_notes_are_chunks_with_links_and_tags(store: MemoryStore, tmp_path: Path) -> None:
    report = store.import_from(vault(tmp_path / "Vault"))
    by_id = {m.id: m for m in kept(store)}
    assert list(by_id) == [
        "Vault/2026-03-13.md#",
        "Vault/2026-03-13.md#Later",
        "Vault/Projects/Kestrel.md#",
        "Vault/Projects/Kestrel.md#Decisions",
        "Vault/Projects/Kestrel.md#Decisions/Open",
    ]
    led, chose, still = [by_id[f"Vault/Projects/Kestrel.md#{name}"] for name in ("", "Decisions", "Decisions/Open")]
    assert led.text == "Project Kestrel\n\nLed by Priya Raman. #launch"
    assert led.entities == ("Project Kestrel", "work", "db", "launch", "people/Priya")
    assert led.metadata["permalink"] == "projects/kestrel" and led.metadata["date"] == "2026-03-12"
    assert led.event_at == datetime(2026, 3, 12, tzinfo=UTC) and str(led.type) == "chunk"
    assert chose.text.startswith("Project Kestrel > Decisions\n\nWe chose **PostgreSQL**, see Databases.")
    assert "# not a heading" in chose.text and "Databases" in chose.entities
    assert [(r.subject, r.predicate, r.object) for r in still.relations] == [
        ("Project Kestrel", "depends_on", "Billing")
    ]
    lunch = by_id["Vault/2026-03-13.md#"]
    assert (lunch.text, lunch.event_at) == ("2026-03-13\n\nLunch with Lena.", datetime(2026, 3, 13, tzinfo=UTC))
    assert {m.thread for m in kept(store)} == {"Vault/2026-03-13.md", "Vault/Projects/Kestrel.md"}
    assert report.others == ["picture.png"]


def test_a_changed_note_replaces_what_changed_and_forgets_what_is_gone(store: MemoryStore, tmp_path: Path) -> None:
    folder = vault(tmp_path / "Vault")
    store.import_from(folder)
    store.remember(Memory("Not of the vault", id="mine", thread="Vault/2026-03-13.md"))
    put(folder / "2026-03-13.md", "# 2026-03-13\n\nLunch with Noor.\n")
    dry = store.import_from(folder, dry_run=True)
    assert (counts(dry), dry.forgotten, store.count()) == ((0, 1, 3), 1, 6)
    done = store.import_from(folder)
    assert (counts(done), done.forgotten, store.count()) == ((0, 1, 3), 1, 5)
    (folder / "Projects" / "Kestrel.md").unlink()
    assert store.import_from(folder).forgotten == 0
    bad = put(folder / "bad.md", "---\n: {\n---\ntext\n")
    assert store.import_from(folder, forget_gone=True).forgotten == 0  # what could not be read may be in there
    bad.unlink()
    assert store.import_from(folder, forget_gone=True).forgotten == 3
    assert [m.id for m in kept(store)] == ["mine", "Vault/2026-03-13.md#"]
    with pytest.raises(InvalidArgument, match="Give the folder"):
        store.import_from(folder / "2026-03-13.md", forget_gone=True)


def test_a_long_section_is_cut_between_paragraphs(store: MemoryStore, tmp_path: Path) -> None:
    paragraphs = [f"Paragraph {i}. " + "word " * 100 for i in range(6)]
    store.import_from(put(tmp_path / "long.md", "\n\n".join(paragraphs)))
    assert [m.text.count("Paragraph") for m in kept(store)] == [2, 2, 2]
    assert len({m.id for m in kept(store)}) == 3


# -- every format ------------------------------------------------------------------------------------------------------


def test_a_dry_run_stores_nothing_and_says_what_it_would(store: MemoryStore, tmp_path: Path) -> None:
    report = store.import_from(put(tmp_path / "conversations.json", chatgpt_export()), dry_run=True)
    assert store.count() == 0 and counts(report) == (3, 0, 0)
    assert report.formats == {"chatgpt": 3} and report.roles == {"user": 2, "assistant": 1}
    assert report.first == report.last == datetime(2026, 1, 1, 9, 0, 0, 250_000, tzinfo=UTC)
    assert [memory.id for memory in report.samples] == ["q", "new", "pic"]


def test_a_format_that_is_said_goes_before_what_a_file_looks_like(store: MemoryStore, tmp_path: Path) -> None:
    path = put(tmp_path / "table.txt", "text,actor\nRent is due,Sam\n")
    with pytest.raises(InvalidArgument, match=r"table.txt is not in a format .*--format.* CSV .*: chatgpt .* jsonl"):
        store.import_from(path)
    store.import_from(path, format="csv")
    assert said(store) == [("Sam", "Rent is due")]
    with pytest.raises(InvalidArgument, match="no format 'notion'. There are: chatgpt, "):
        store.import_from(path, format="notion")
    with pytest.raises(InvalidArgument, match="None of 3 files .* slack"):
        store.import_from(vault(tmp_path / "Vault"), format="slack")
    for name in ("chatgpt", "whatsapp", "mbox"):
        with pytest.raises(InvalidArgument, match=f"table.txt holds nothing in the format '{name}'"):
            store.import_from(path, format=name)
    assert store.import_from(put(tmp_path / "empty.csv", "text,actor\n"), format="csv").rows == 0


def test_the_same_memory_in_two_files_is_stored_once(store: MemoryStore, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        put(tmp_path / "chats" / name / "_chat.txt", ANDROID)
    put(tmp_path / "mail" / "a.mbox", MBOX)
    put(tmp_path / "mail" / "b.mbox", MBOX)
    report = store.import_from(tmp_path / "mail")
    assert (counts(report), report.repeated) == ((3, 0, 0), 3)
    for name in ("a.jsonl", "b.jsonl"):
        put(tmp_path / "rows" / name, '{"text": "one", "id": "1"}\n')
    assert store.import_from(tmp_path / "rows").repeated == 1


def test_our_own_lines_are_checked_whole_before_anything_is_stored(store: MemoryStore, tmp_path: Path) -> None:
    folder = vault(tmp_path / "Vault")
    put(folder / "rows.jsonl", '{"text": "one"}\n{"txt": "two"}\n')
    with pytest.raises(InvalidMemory, match=r"rows\.jsonl, line 2: unknown key 'txt'.*Nothing was stored"):
        store.import_from(folder)
    assert store.count() == 0
    report = store.import_from(folder, skip_bad=True)
    assert (report.new, [bad.where for bad in report.bad]) == (6, ["line 2"])


@each_row(
    "name, content",
    [
        ("discord.json", {"guild": 1, "channel": None, "messages": []}),
        ("discord.json", {"guild": {}, "channel": {}, "messages": None}),
        ("conversations.json", [{"mapping": 3}]),
        ("conversations.json", [{"chat_messages": [3]}, 4]),
        ("2026-03-01.json", [{"ts": []}]),
        ("mem0.json", {"results": [{"memory": {}}, 3]}),
    ],
)
def test_another_shape_is_reported(name: str, content: Any, tmp_path: Path) -> None:
    with MemoryStore.open() as store:
        report = store.import_from(put(tmp_path / name, content))
        assert report.bad and store.count() == 0


def test_what_cannot_be_read_is_named(store: MemoryStore, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="Cannot read .*none.json"):
        store.import_from(tmp_path / "none.json")
    with pytest.raises(InvalidArgument, match="Cannot read .*zip"):
        store.import_from(put(tmp_path / "broken.zip", "no archive"))


# -- what goes wrong ---------------------------------------------------------------------------------------------------


def test_an_archive_that_cannot_be_unpacked_says_what_to_do(store: MemoryStore, tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps(chatgpt_export()))
    whole = path.read_bytes()
    path.write_bytes(whole[:60] + b"\xff" * 40 + whole[100:])
    with pytest.raises(InvalidArgument, match="Cannot read .*Get the archive anew; or unpack it"):
        store.import_from(path)
    central = whole.index(b"PK\x01\x02")
    path.write_bytes(whole[:6] + b"\x01" + whole[7 : central + 8] + b"\x01" + whole[central + 9 :])
    with pytest.raises(InvalidArgument, match="needs a password. Unpack it, and give the folder"):
        store.import_from(path)


def test_mem0_ids_may_be_numbers_and_a_bad_scope_is_one_bad_entry(store: MemoryStore) -> None:
    items = [
        {"id": 1, "memory": "one", "user_id": 7, "run_id": 3, "expiration_date": "2990-01-31"},
        {"id": 2, "memory": "two", "user_id": [8]},
        {"id": 3, "memory": "three", "user_id": "9", "expiration_date": "9999-12-31"},
    ]
    report = store.import_from({"results": items})
    assert [m.expires_at for m in kept(store, Scope("7"))] == [datetime(2990, 2, 1, tzinfo=UTC)]
    assert [m.text for m in kept(store, Scope("9"))] == ["three"]
    assert [(m.id, m.thread) for m in kept(store, Scope("7"))] == [("1", "3")]
    assert [bad.where for bad in report.bad] == ["data, memory 2"] and "user_id" in report.bad[0].problem


@each_row("data", [{"results": []}, {"results": [], "relations": []}, []])
def test_an_answer_without_memories_is_no_error(data: Any) -> None:
    with MemoryStore.open() as store:
        assert counts(store.import_from(data)) == (0, 0, 0)


def test_whatsapp_is_stored_once_when_its_dates_are_read_otherwise(store: MemoryStore, tmp_path: Path) -> None:
    first = "3/4/26, 10:00 - A: one\n3/4/26, 10:00 - A: ok\n3/4/26, 10:00 - A: ok\n"
    assert counts(store.import_from(put(tmp_path / "Chat with A.txt", first))) == (3, 0, 0)
    report = store.import_from(put(tmp_path / "Chat with A (1).txt", first + "3/13/26, 10:00 - A: two\n"))
    assert counts(report) == (1, 3, 0)
    assert [m.text for m in kept(store)] == ["one", "ok", "ok", "two"]
    assert {(m.thread, m.event_at and m.event_at.month) for m in kept(store)} == {("Chat with A", 3)}


@each_row(
    "line",
    ["This message was deleted", "You deleted this message", "Missed voice call", "Diese Nachricht wurde gelöscht."],
)
def test_what_whatsapp_says_itself_is_no_memory(line: str, tmp_path: Path) -> None:
    with MemoryStore.open() as store:
        report = store.import_from(
            put(tmp_path / "c.txt", f"12/03/2026, 09:05 - A: {line}\n13/03/2026, 09:05 - A: x\n")
        )
        assert (said(store), report.empty) == ([("A", "x")], 1)


def test_a_note_that_was_emptied_is_forgotten(store: MemoryStore, tmp_path: Path) -> None:
    note = put(tmp_path / "Vault" / "a.md", "# One\n\nSalt.\n\n# Two\n\nTea.\n")
    store.import_from(tmp_path / "Vault")
    put(note, "\n")
    assert store.import_from(tmp_path / "Vault").forgotten == 2 and store.count() == 0


def test_folders_of_one_name_do_not_forget_the_notes_of_each_other(store: MemoryStore, tmp_path: Path) -> None:
    for place in "ab":
        put(tmp_path / place / "notes" / f"{place}.md", "Salt.\n")
        assert store.import_from(tmp_path / place / "notes", forget_gone=True).forgotten == 0
    assert store.count() == 2
    (tmp_path / "b" / "notes" / "b.md").rename(tmp_path / "b" / "notes" / "c.md")
    assert store.import_from(tmp_path / "b" / "notes", forget_gone=True).forgotten == 1
    assert sorted(m.id or "" for m in kept(store)) == ["notes/a.md#", "notes/c.md#"]


@each_row(
    "fence, inside",
    [("```", "~~~"), ("~~~", "```"), ("````", "```"), ("```", "```sh")],
)
def test_only_its_own_fence_ends_code(fence: str, inside: str, tmp_path: Path) -> None:
    with MemoryStore.open() as store:
        store.import_from(put(tmp_path / "n.md", f"{fence}\n{inside}\n# no heading\n{fence}\n\n# Heading\n\nSalt.\n"))
        assert [m.metadata.get("heading") for m in kept(store)] == [None, "Heading"]


@each_row(
    "column, wanted",
    [
        (["31/12/2025", "05/06/2026 14:30"], ["2025-12-31 00:00", "2026-06-05 14:30"]),
        (["12/31/2025", "05/06/2026 2:30 PM"], ["2025-12-31 00:00", "2026-05-06 14:30"]),
        (["05/06/2026", "01/02/2026"], ["2026-06-05 00:00", "2026-02-01 00:00"]),  # nothing tells: the day comes first
        (["3/4/26", "3/5/26", "4/1/26"], ["2026-03-04 00:00", "2026-03-05 00:00", "2026-04-01 00:00"]),
        (["4/1/26", "3/5/26", "3/4/26"], ["2026-04-01 00:00", "2026-03-05 00:00", "2026-03-04 00:00"]),
        (["Dec 31 2025", "2026-01-02", ""], ["2025-12-31 00:00", "2026-01-02 00:00", None]),
    ],
)
def test_a_column_of_dates_has_one_order(column: list[str], wanted: list[str | None], tmp_path: Path) -> None:
    with MemoryStore.open() as store:
        rows = "".join(f"note {i};{value};10:15\n" for i, value in enumerate(column))
        store.import_from(put(tmp_path / "t.csv", "text;date;time\n" + rows))
        assert [m.event_at and f"{m.event_at:%Y-%m-%d %H:%M}" for m in kept(store)] == wanted


@each_row("date", ["Monday", "12:30", "May 2026", "31", "13/13/2026", "n/a"])
def test_a_date_that_is_not_whole_is_a_bad_entry(date: str, tmp_path: Path) -> None:
    with MemoryStore.open() as store:
        report = store.import_from(put(tmp_path / "t.csv", f"text;date\nTea;{date}\n"))
        assert "column 'date' needs a date" in report.bad[0].problem and store.count() == 0


def test_a_time_of_day_before_the_date_is_metadata(store: MemoryStore, tmp_path: Path) -> None:
    store.import_from(put(tmp_path / "t.csv", "time,date,text\n10:15,2026-03-12,Tea\n"))
    assert [(m.event_at, m.metadata) for m in kept(store)] == [(datetime(2026, 3, 12, tzinfo=UTC), {"time": "10:15"})]


@each_row("head", ["Datum;Autor;Nachricht", "Fecha;Autor;Mensaje", "Horodatage;Auteur;Texte"])
def test_columns_may_be_named_in_other_languages(head: str, tmp_path: Path) -> None:
    with MemoryStore.open() as store:
        store.import_from(put(tmp_path / "t.csv", f"{head}\n31.12.2025;Sam;Tea\n"))
        assert [(m.actor, m.text, m.event_at) for m in kept(store)] == [
            ("Sam", "Tea", datetime(2025, 12, 31, tzinfo=UTC))
        ]
