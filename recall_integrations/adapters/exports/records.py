"""Records: mem0's memories, the rows of a table, and e-mails."""

from __future__ import annotations

import csv
import html
import io
import mailbox
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, tzinfo
from email import message_from_binary_file, policy
from email.utils import parseaddr
from functools import partial
from typing import Any

from dateutil.parser import parse

from recall_integrations.adapters.exports.chats import order_of
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
    delimiter = max(",;\t|", key=first.count)
    rows, again = (csv.DictReader(io.StringIO(file.text), delimiter=delimiter, restkey="") for _ in range(2))
    given: dict[str, list[str]] = {}
    with suppress(csv.Error):  # the row is reported below
        for row in again:
            for column in filter(row.get, again.fieldnames or ()):
                given.setdefault(column, []).append(row[column].strip())
    meant: dict[str, str] = {}
    times: dict[str, Callable[[str], datetime | None]] = {}
    for column in rows.fieldnames or ():
        key = re.sub(r"\W+", "_", column.strip().lower()).strip("_")
        field = key if key in (*MEMORY_KEYS, *SCOPE_KEYS) else MEANT.get(key, "metadata")
        taken = next((name for name, other in meant.items() if other == field and field != "metadata"), None)
        if field in TIME_KEYS:
            times[column] = partial(_time, day_first=_day_first(given.get(column, ())), zone=zone)
            if taken and not any(map(times[taken], given.get(taken, ()))):  # times of day, with the date beside
                meant[taken], taken = "metadata", None
        meant[column] = "metadata" if field == "relations" or taken else field
    yield from entries(f"{file.name}, row", rows, partial(_of_row, meant=meant, times=times))


_DATE = re.compile(r"(\d{1,4})[./-](\d{1,2})[./-](\d{1,4})(?!\d)")


def _day_first(values: Iterable[str]) -> bool:
    """Say whether the dates of a column have the day before the month, where the year is last."""
    dates = [(int(found[1]), int(found[2]), int(found[3])) for value in values if (found := _DATE.match(value))]
    return order_of([date for date in dates if date[0] <= 31], sorted_=False) == (2, 1, 0)


def _time(value: str, *, day_first: bool, zone: tzinfo) -> datetime | None:
    """Read a time in any form; `None` where year, month or day is left open."""
    if (found := moment(value, zone)) is not None:
        return found
    try:
        read = {
            parse(value, dayfirst=day_first, default=datetime(year, year % 12, 2 * year % 28)) for year in (1996, 2001)
        }
    except (ValueError, OverflowError):
        return None
    one = read.pop()
    return None if read else one if one.tzinfo else one.replace(tzinfo=zone)


def _of_row(row: Any, *, meant: Mapping[str, str], times: Mapping[str, Callable[[str], datetime | None]]) -> Made:
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
            fields[field] = times[name](value)
            if fields[field] is None:
                raise InvalidMemory(
                    f"column {name!r} needs a date such as 2026-03-12 or 2026-03-12 09:30, not {value[:60]!r}"
                )
        elif field in ("entities", "refs"):
            fields[field] = [one.strip() for one in re.split(r"[;,]", value) if one.strip()]
        elif field in ("importance", "position"):
            try:
                fields[field] = float(value) if field == "importance" else int(value)
            except ValueError as e:
                wanted = "a number from 0 to 1" if field == "importance" else "a whole number"
                raise InvalidMemory(f"column {name!r} needs {wanted}, not {value[:60]!r}") from e
        else:
            fields[field] = value
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
