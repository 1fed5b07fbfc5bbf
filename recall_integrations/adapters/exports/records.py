"""Records: mem0's memories, the rows of a table, and e-mails."""

from __future__ import annotations

import csv
import html
import mailbox
import re
from collections.abc import Iterator, Mapping
from datetime import tzinfo
from email import message_from_binary_file, policy
from email.utils import parseaddr
from functools import partial
from typing import Any

from recall_integrations.adapters.exports.files import BOM, Entry, File, Made, entries
from recall_integrations.adapters.rows import MEANT, MEMORY_KEYS, SCOPE_KEYS, TIME_KEYS, memory_of, parse_line
from recall_integrations.errors import InvalidInput, InvalidMemory
from recall_integrations.types import Memory, MemoryType, Scope
from recall_integrations.types.messages import moment
from recall_integrations.types.numbers import is_whole


def lines(file: File, zone: tzinfo) -> Iterator[Entry]:
    """Read our own JSON Lines. Only a line feed ends a line."""
    with file.open() as opened:
        for number, raw in enumerate(opened, start=1):
            line = raw.removeprefix(BOM).strip()
            try:
                if line:
                    row = parse_line(line)
                    named = {key: row[key] for key in SCOPE_KEYS if row.get(key) is not None}
                    yield Entry(f"line {number}", memory_of(row, Scope())[1], named, row=row)
            except InvalidInput as e:
                yield Entry(f"line {number}", problem=str(e).rstrip("."))


def results(file: File) -> list[Any]:
    """Return the memories of mem0 in a file; empty where it is something else."""
    return file.items("memory", file.json.get("results") if isinstance(file.json, dict) else file.json)


def is_mem0(file: File) -> bool:
    """Say whether a file holds memories of mem0, or the answer that there are none."""
    return bool(results(file)) or file.json == [] or (isinstance(file.json, dict) and file.json.get("results") == [])


def mem0(file: File, zone: tzinfo) -> Iterator[Entry]:
    """Read what `get_all` and `search` of mem0 return. A user and an agent are the scope, a run is the thread."""
    yield from entries(f"{file.name}, memory", results(file), partial(_of_mem0, zone=zone))


def _of_mem0(item: Any, *, zone: tzinfo) -> Made:
    created, updated, ends = (moment(item.get(key), zone) for key in ("created_at", "updated_at", "expiration_date"))
    about = {**(item.get("metadata") or {}), **({"categories": item["categories"]} if item.get("categories") else {})}
    ids = {
        key: item[key] for key in ("id", "actor_id", "run_id", "user_id", "agent_id") if item.get(key) not in ("", None)
    }
    ids = {key: str(value) if is_whole(value) else value for key, value in ids.items()}
    memory = Memory(item["memory"], id=ids.get("id"), type=MemoryType.FACT, actor=ids.get("actor_id"),
                    role=item.get("role"), event_at=updated or created, created_at=created, expires_at=ends,
                    thread=ids.get("run_id"), metadata=about)  # fmt: skip
    return memory, {key: ids[key] for key in ("user_id", "agent_id") if key in ids}


def table(file: File, zone: tzinfo) -> Iterator[Entry]:
    """Read a table: columns named as fields of a memory, or as others call these, are those; others are metadata.

    Without a column for the text, a row is its text: "name: value", one a line.
    """
    first = file.text.split("\n", 1)[0]
    rows = csv.DictReader(file.text.splitlines(keepends=True), delimiter=max(",;\t|", key=first.count), restkey="")
    meant: dict[str, str] = {}
    for column in rows.fieldnames or ():
        key = re.sub(r"\W+", "_", column.strip().lower()).strip("_")
        field = key if key in (*MEMORY_KEYS, *SCOPE_KEYS) else MEANT.get(key, "metadata")
        meant[column] = "metadata" if field in ("relations", *meant.values()) else field
    yield from entries(f"{file.name}, row", rows, partial(_of_row, meant=meant, zone=zone))


def _of_row(row: Any, *, meant: Mapping[str, str], zone: tzinfo) -> Made:
    if row.pop("", None):
        raise InvalidMemory("it has more cells than the first row has names")
    given = {name: value.strip() for name, value in row.items() if value and value.strip()}
    fields: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    for name, value in given.items():
        field = meant[name]
        if field == "metadata":
            metadata[name] = value
        elif field in TIME_KEYS:
            fields[field] = moment(value, zone)
            metadata |= {} if fields[field] else {name: value}  # what cannot be read stays
        elif field in ("entities", "refs"):
            fields[field] = [one.strip() for one in re.split(r"[;,]", value) if one.strip()]
        else:
            fields[field] = {"importance": float, "position": int}.get(field, str)(value)
    if "text" not in meant.values():
        fields["text"] = "\n".join(f"{name}: {value}" for name, value in given.items())
    if not fields.get("text"):
        return None
    scope = {key: fields.pop(key) for key in SCOPE_KEYS if key in fields}
    return Memory(fields.pop("text"), **fields, metadata=metadata), scope


def is_mbox(file: File) -> bool:
    """Say whether a file holds e-mails."""
    return file.path is not None and re.match(rb"From \S.*\n[\w-]+:", file.head) is not None


def mbox(file: File, zone: tzinfo) -> Iterator[Entry]:
    """Read e-mails: subject and text, without what they quote. The first message of a conversation names the thread."""
    box: Any = mailbox.mbox(str(file.path), partial(message_from_binary_file, policy=policy.default), create=False)  # type: ignore[arg-type]
    try:
        yield from entries(f"{file.name}, message", box.iterkeys(), lambda key: _of_mail(box[key], zone))
    finally:
        box.close()


_TAGS = re.compile(r"(?is)<(style|script|head)\b.*?</\1>|<[^>]*>")


def _of_mail(mail: Any, zone: tzinfo) -> Memory | None:
    head = {name: " ".join(str(mail[name] or "").split()) for name in ("subject", "from", "to", "message-id", "date")}
    part = mail.get_body(("plain", "html"))
    text = "" if part is None else part.get_content().replace("\r\n", "\n")
    text = html.unescape(_TAGS.sub("\n", text)) if part is not None and part.get_content_subtype() == "html" else text
    lines = [line.strip() for line in text.split("\n-- \n")[0].split("\n") if not line.startswith(">")]
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
    thread = [*str(mail["references"] or mail["in-reply-to"] or "").split(), head["message-id"]][0]
    name, address = parseaddr(head["from"])
    return Memory(
        f"{head['subject']}\n\n{body}".strip(),
        id=head["message-id"] or None,
        actor=name or address or None,
        channel="email",
        event_at=moment(head["date"], zone),
        thread=thread or None,
        metadata={key: value for key in ("subject", "to") if (value := head[key])} | {"from": address},
    ) if body else None  # fmt: skip
