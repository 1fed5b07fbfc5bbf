"""What people have elsewhere, as memories: a format recognises a file by its content, and reads it entry by entry."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import tzinfo
from typing import NamedTuple

from recall_integrations.adapters.exports import records
from recall_integrations.adapters.exports.files import ODD, Entry, File, odd
from recall_integrations.errors import InvalidArgument

JSONL, MARKDOWN = "jsonl", "markdown"


class Format(NamedTuple):
    """A format: what it is, whether a file is in it, and how one is read; a time without a zone is in that given."""

    what: str
    is_it: Callable[[File], object]
    read: Callable[[File, tzinfo], Iterator[Entry]]


def _is_jsonl(file: File) -> object:
    return file.suffix in (".jsonl", ".ndjson") or re.match(rb'\s*\{[^\n]*"text"\s*:[^\n]*\}\s*(\n|$)', file.head)


# The first that recognises a file reads it.
FORMATS: Mapping[str, Format] = {
    "chatgpt": Format("conversations.json of ChatGPT", lambda file: file.items("mapping"), records.chatgpt),
    "claude": Format("conversations.json of Claude", lambda file: file.items("chat_messages"), records.claude),
    "slack": Format("an export of Slack, as a folder or zip", records.is_slack, records.slack),
    "discord": Format("JSON of DiscordChatExporter", records.is_discord, records.discord),
    "mem0": Format("JSON of mem0's get_all", lambda f: records.results(f) or f.json in records.NONE, records.mem0),
    "whatsapp": Format("a chat of WhatsApp as text", records.is_whatsapp, records.whatsapp),
    MARKDOWN: Format("Markdown notes", lambda file: file.suffix in (".md", ".markdown"), records.markdown),
    "mbox": Format("e-mails in a file", records.is_mbox, records.mbox),
    "csv": Format("a table with names of columns", lambda file: file.suffix in (".csv", ".tsv"), records.table),
    JSONL: Format("a JSON object a line, as `recall export` writes it", _is_jsonl, records.lines),
}


def read(file: File, name: str, zone: tzinfo) -> Iterator[Entry]:
    """Read a file in the format of this name; a file in another shape ends with a problem."""
    try:
        yield from FORMATS[name].read(file, zone)
    except ODD as e:
        yield Entry(file.name, problem=odd(e))


def chosen(files: Mapping[str, File], name: str | None) -> tuple[list[tuple[File, str]], list[str]]:
    """Return the files that can be read, each with the name of its format, and the names of the others.

    Args:
        files: of an export.
        name: the only format to read; a file that was given itself is read as that, whatever it looks like.

    Raises:
        InvalidArgument: there is no such format, or no file that can be read.
    """
    if name is not None and name not in FORMATS:
        raise InvalidArgument(f"There is no format {name!r}. There are: {', '.join(FORMATS)}.")
    found: list[tuple[File, str]] = []
    others: list[str] = []
    for file in files.values():
        formats = FORMATS if name is None else {name: FORMATS[name]}
        known = next((key for key, one in formats.items() if one.is_it(file)), None)
        file.forget()
        if name is not None and len(files) == 1 and file.path is not None:
            known = name
        if known is None:
            others.append(file.name)
        else:
            found.append((file, known))
    if not found:
        wanted = "; ".join(f"{key} ({FORMATS[key].what})" for key in ([name] if name else FORMATS))
        what = f"{next(iter(files))} is not" if len(files) == 1 else f"None of {len(files):,} files is"
        hint = "Name its format (--format, format=), or give a CSV with a column 'text'. There are"
        raise InvalidArgument(f"{what} in a format that is recognised. {hint}: {wanted}.")
    return found, others
