"""Chats of ChatGPT, Claude, Slack, Discord and WhatsApp, and records: of mem0, tables, e-mails, Markdown notes.

A note (Obsidian, basic-memory, any folder) is a chunk for each section; its links and tags are entities.
"""

from __future__ import annotations

import csv
import html
import io
import mailbox
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, time, timedelta, tzinfo
from email import message_from_binary_file, policy
from email.utils import parseaddr
from functools import partial
from itertools import pairwise
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any

import yaml
from dateutil.parser import parse

from recall_integrations.adapters.exports.files import BOM, ODD, Entry, File, Made, entries, odd
from recall_integrations.adapters.rows import MEANT, MEMORY_KEYS, SCOPE_KEYS, TIME_KEYS, memory_of, parse_line
from recall_integrations.adapters.shapes import plain
from recall_integrations.errors import InvalidInput, InvalidMemory
from recall_integrations.types import Memory, MemoryType, Relation, Scope
from recall_integrations.types.memory import ID_CHARS_MAX
from recall_integrations.types.messages import WHEN, moment
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


NONE: tuple[Any, ...] = ([], {"results": []}, {"results": [], "relations": []})  # mem0 without memories


def results(file: File) -> list[Any]:
    """Return the memories of mem0 in a file; empty where it is something else."""
    return file.items("memory", file.json.get("results") if isinstance(file.json, dict) else file.json)


def mem0(file: File, zone: tzinfo) -> Iterator[Entry]:
    """Read what `get_all` and `search` of mem0 return. A user and an agent are the scope, a run is the thread."""
    yield from entries(f"{file.name}, memory", results(file), partial(_of_mem0, zone=zone))


def _of_mem0(found: Any, *, zone: tzinfo) -> Made:
    item: dict[str, Any] = {key: str(value) if is_whole(value) else value for key, value in found.items()}
    created, updated, ends = (moment(item.get(key), zone) for key in ("created_at", "updated_at", "expiration_date"))
    if ends is not None and ends.time() == time():  # mem0's memories live through the day
        with suppress(OverflowError):  # the last day there is
            ends += timedelta(days=1)
    about = {**(item.get("metadata") or {}), **({"categories": item["categories"]} if item.get("categories") else {})}
    memory = Memory(item["memory"], id=item.get("id"), type=MemoryType.FACT, actor=item.get("actor_id"),
                    role=item.get("role"), event_at=updated or created, created_at=created, expires_at=ends,
                    thread=item.get("run_id"), metadata=about)  # fmt: skip
    return memory, {key: item[key] for key in ("user_id", "agent_id") if item.get(key)}


def table(file: File, zone: tzinfo) -> Iterator[Entry]:
    """Read a table: columns named as fields of a memory, or as others call these, are those; others are metadata.

    Without a column for the text, a row is its text: "name: value", one a line.
    """
    first = file.text.split("\n", 1)[0]
    reader = csv.DictReader(io.StringIO(file.text), delimiter=max(",;\t|", key=first.count), restkey="")
    rows, meant = list(reader), dict[str, str]()
    times: dict[str, dict[str, datetime]] = {}
    for column in reader.fieldnames or ():
        key = re.sub(r"\W+", "_", column.strip().lower()).strip("_")
        field = key if key in (*MEMORY_KEYS, *SCOPE_KEYS) else MEANT.get(key, "metadata")
        if field in TIME_KEYS:  # a column of times of day leaves its place to one of dates
            meant |= {name: "metadata" for name, known in times.items() if meant[name] == field and not known}
            times[column] = _times([value.strip() for row in rows if (value := row[column])], zone)
        meant[column] = "metadata" if field in ("relations", *meant.values()) else field
    yield from entries(f"{file.name}, row", rows, partial(_of_row, meant=meant, times=times))


_DATE = re.compile(r"(\d\d?)[./-](\d\d?)[./-](\d{2,4})\b")
_WHOLE = (datetime(1996, 4, 16), datetime(2001, 9, 26))  # a date that is the same from both leaves nothing open
_WANTED: Mapping[str, tuple[Callable[[str], Any], str]] = {
    "importance": (float, "a number from 0 to 1"),
    "position": (int, "a whole number"),
    "type": (MemoryType, f"one of {', '.join(MemoryType)}"),
    **dict.fromkeys(TIME_KEYS, (str, "a date such as 2026-03-12 or 2026-03-12 09:30")),
}


def _times(values: list[str], zone: tzinfo) -> dict[str, datetime]:
    """Return the times of a column that can be read. All its dates have the day and the month in the same order."""
    dates = [(int(found[1]), int(found[2]), int(found[3])) for value in values if (found := _DATE.match(value))]
    day_first = order_of(dates, by_time=False) == (2, 1, 0)
    times: dict[str, datetime] = {}
    for value in dict.fromkeys(values):
        with suppress(ValueError, OverflowError):
            known = moment(value, zone)
            one, other = (known or parse(value, dayfirst=day_first, default=open_) for open_ in _WHOLE)
            times |= {value: one if one.tzinfo else one.replace(tzinfo=zone)} if one == other else {}
    return times


def _of_row(row: Any, *, meant: Mapping[str, str], times: Mapping[str, Mapping[str, datetime]]) -> Made:
    if row.pop("", None):
        raise InvalidMemory("it has more cells than the first row has names")
    given = {name: value.strip() for name, value in row.items() if value and value.strip()}
    fields: dict[str, Any] = {}
    metadata: dict[str, Any] = {}
    for name, value in given.items():
        field = meant[name]
        if field == "metadata":
            metadata[name] = value
        elif field in ("entities", "refs"):
            fields[field] = [one.strip() for one in re.split(r"[;,]", value) if one.strip()]
        else:
            read, wanted = _WANTED.get(field, (str, ""))
            try:
                fields[field] = times[name][value] if field in TIME_KEYS else read(value)
            except (LookupError, ValueError) as e:
                raise InvalidMemory(f"column {name!r} needs {wanted}, not {value[:60]!r}") from e
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
    about = {key: value for key in ("subject", "to") if (value := head[key])} | {"from": address}
    return Memory(f"{head['subject']}\n\n{body}".strip(), id=head["message-id"] or None, actor=name or address or None,
                  channel="email", event_at=moment(head["date"], zone), thread=thread or None,
                  metadata=about) if body else None  # fmt: skip


# -- notes -------------------------------------------------------------------------------------------------------------

CHUNK_CHARS = 1_500  # a longer section is cut between paragraphs
FOLDER = "notes_folder"  # key of the metadata that tells the folder that was given
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S | re.M)
_FENCE = re.compile(r"^ {0,3}(`{3,}(?!.*`)|~{3,})(.*)")
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t#]*$")
_LINK = re.compile(r"!?\[\[([^\[\]|#^]*)(?:[#^][^\[\]|]*)?(?:\|([^\[\]]*))?\]\]")
_TAG = re.compile(r"(?:^|(?<=[\s(]))#([^\W\d][\w/-]*)")
_RELATION = re.compile(r"^\s*[-*] ([^\W\d_][\w ]{0,40}?) \[\[([^\[\]|#^]+)[^\[\]]*\]\]", re.M)  # basic-memory's
_DAY = re.compile(r"\d{4}-\d\d-\d\d")


def markdown(file: File, zone: tzinfo) -> Iterator[Entry]:
    """Read a note. Its front matter is the metadata of its chunks; a title, a date and tags in it count."""
    found = _FRONT.match(file.text)
    try:
        front = yaml.safe_load(found[1]) if found else {}
    except yaml.YAMLError as e:
        yield Entry(file.name, problem=f"its front matter is no YAML ({' '.join(str(e).split())[:120]})")
        return
    front = front if isinstance(front, dict) else {}
    title, day = str(front.get("title") or file.stem), _DAY.search(file.stem)
    times = [front.get(key) for key in (*WHEN, "modified", "updated")] + [day and day[0]]
    event_at = next((at for time in times if time and (at := moment(time, zone))), None)
    thread = f"{file.export}/{file.name}"
    about = plain({**front, "source": file.name, FOLDER: file.folder})
    tags = front.get("tags") or ()
    tags = re.split(r"[,\s]+", tags) if isinstance(tags, str) else list(map(str, tags))
    ids: Counter[str] = Counter()

    def chunk(section: tuple[list[str], str]) -> Memory:
        path, text = section
        path = path if path and path[0].casefold() == title.casefold() else [title, *path]
        key = f"{thread}#{'/'.join(path[1:])}"[: ID_CHARS_MAX - 10]
        ids[key] += 1
        named = (title, *tags, *_TAG.findall(text), *(link[1] for link in _LINK.finditer(text)))
        stated = [(verb.strip().lower().replace(" ", "_"), to.strip()) for verb, to in _RELATION.findall(text)]
        return Memory(f"{' > '.join(path)}\n\n{_unlinked(text)}", id=key if ids[key] == 1 else f"{key}#{ids[key]}",
                      type=MemoryType.CHUNK, event_at=event_at, thread=thread,
                      entities=[name for one in named if (name := one.strip("# "))],
                      relations=[Relation(title, verb, to) for verb, to in stated],
                      metadata={**about, "heading": path[-1]} if len(path) > 1 else about)  # fmt: skip

    yield from entries(f"{file.name}, section", _sections(file.text[found.end() if found else 0 :]), chunk)


def _unlinked(text: str) -> str:
    return _LINK.sub(lambda link: link[2] or link[1], text)


def _sections(body: str) -> Iterator[tuple[list[str], str]]:
    """Yield the texts between headings, each with the headings above it; none that is blank."""
    above: list[tuple[int, str]] = []
    held, fence = "", ""
    for line in [*body.split("\n"), None]:
        if mark := _FENCE.match(line or ""):  # what closes it is as long, of the same kind, and alone
            closes = fence and mark[1].startswith(fence) and not mark[2].strip()
            fence = "" if closes else fence or mark[1]
        heading = None if line is None or fence else _HEADING.match(line)
        if line is None or heading:
            yield from (([name for _, name in above], text) for text in _cut(held))
            held = ""
        if heading:
            depth = len(heading[1])
            above = [*(one for one in above if one[0] < depth), (depth, _unlinked(heading[2]))]
        elif line is not None:
            held += f"{line}\n"


def _cut(text: str) -> Iterator[str]:
    held = ""
    for paragraph in filter(str.strip, re.split(r"\n\s*\n", text.rstrip())):
        if held and len(held) + len(paragraph) > CHUNK_CHARS:
            yield held
            held = ""
        held = f"{held}\n\n{paragraph}" if held else paragraph.strip("\n")
    if held:
        yield held


def _said(text: str | None, **fields: Any) -> Memory | None:
    return Memory(text, **fields) if text and text.strip() else None


def _conversations(
    file: File, key: str, messages: Callable[[Any], Iterable[Any]], make: Callable[..., Memory | None], zone: tzinfo
) -> Iterator[Entry]:
    for number, chat in enumerate(file.items(key), start=1):
        where = f"{file.name}, conversation {number}"
        try:
            said, title = list(messages(chat)), chat.get("title") or chat.get("name")
            thread = str(chat.get("uuid") or chat.get("conversation_id") or chat.get("id") or title)
        except ODD as e:
            yield Entry(where, problem=odd(e))
            continue
        about = {"title": title} if title else {}
        yield from entries(f"{where}, message", said, partial(make, thread=thread, about=about, zone=zone))


def chatgpt(file: File, zone: tzinfo) -> Iterator[Entry]:
    """Read `conversations.json` of ChatGPT: of each conversation the branch that the user saw last."""
    return _conversations(file, "mapping", _branch, _of_chatgpt, zone)


def _branch(chat: Any) -> Iterable[Any]:
    nodes: dict[Any, Any] = chat["mapping"]
    branch: list[Any] = []
    node = nodes.get(chat.get("current_node") or next(reversed(nodes), None))
    while node is not None and len(branch) < len(nodes):  # which also ends a loop
        branch.insert(0, node.get("message"))
        node = nodes.get(node.get("parent"))
    return branch


def _of_chatgpt(message: Any, *, thread: str, about: Mapping[str, Any], zone: tzinfo) -> Memory | None:
    role = message and message["author"]["role"]  # the root of the tree has no message
    if role not in ("user", "assistant") or message.get("recipient") not in (None, "all"):
        return None
    hidden = (message.get("metadata") or {}).get("is_visually_hidden_from_conversation")
    if hidden or message["content"]["content_type"] not in ("text", "multimodal_text"):
        return None
    parts = [part if isinstance(part, str) else part.get("text") for part in message["content"]["parts"]]
    return _said("\n".join(filter(None, parts)), id=message["id"], role=role, actor=role, channel="chatgpt",
                 thread=thread, event_at=moment(message.get("create_time"), zone), metadata=about)  # fmt: skip


def claude(file: File, zone: tzinfo) -> Iterator[Entry]:
    """Read `conversations.json` of Claude. A message without text is what was attached to it."""
    return _conversations(file, "chat_messages", itemgetter("chat_messages"), _of_claude, zone)


def _of_claude(message: Any, *, thread: str, about: Mapping[str, Any], zone: tzinfo) -> Memory | None:
    attached = message.get("attachments") or []
    texts = [block["text"] for block in message.get("content") or () if block.get("type") == "text"]
    texts = texts if any(texts) else [message.get("text")]
    texts = texts if any(texts) else [one.get("extracted_content") for one in attached]
    names = [name for one in (*attached, *(message.get("files") or ())) if (name := one.get("file_name"))]
    role = "user" if message["sender"] == "human" else message["sender"]
    return _said("\n".join(filter(None, texts)), id=message["uuid"], role=role, actor=role, channel="claude",
                 thread=thread, event_at=moment(message.get("created_at"), zone),
                 metadata={**about, "attachments": names} if names else about)  # fmt: skip


_DAY_FILE = re.compile(r"(?:^|([^/]+)/)\d{4}-\d\d-\d\d\.json$")
_SPOKEN = (None, "bot_message", "me_message", "thread_broadcast", "file_share")  # other kinds tell of joins, topics, …
_MARK = re.compile(r"<([@#!]?)([^|>]+)(?:\|([^>]*))?>")


def is_slack(file: File) -> bool:
    """Say whether a file is a day of a channel of Slack."""
    return _DAY_FILE.search(file.name) is not None and bool(file.items("ts"))


def slack(file: File, zone: tzinfo) -> Iterator[Entry]:
    """Read a day of a channel of Slack; names come from `users.json`. Replies are a thread of their own."""
    found = _DAY_FILE.search(file.name)
    users = next((other for name, other in file.beside.items() if PurePosixPath(name).name == "users.json"), None)
    names = {user["id"]: _slack_name(user) for user in (users.items("id") if users else ()) if user.get("id")}
    made = partial(_of_slack, channel=(found and found[1]) or file.export, names=names, zone=zone)
    yield from entries(f"{file.name}, message", file.items("ts"), made)


def _slack_name(user: Mapping[str, Any]) -> str | None:
    told = {**user, **(user.get("profile") or user.get("user_profile") or {})}
    return next((told[key] for key in ("real_name", "display_name", "username", "name") if told.get(key)), None)


def _of_slack(message: Any, *, channel: str, names: Mapping[str, str | None], zone: tzinfo) -> Memory | None:
    if message.get("subtype") not in _SPOKEN:
        return None

    def plain(mark: re.Match[str]) -> str:
        kind, what, label = mark.groups()
        return (kind if kind in "@#" else "") + (label or names.get(what) or what)

    user = message.get("user") or message.get("bot_id")
    root = message.get("thread_ts")
    text = html.unescape(_MARK.sub(plain, message.get("text") or ""))
    return _said(text, id=f"slack-{channel}-{message['ts']}", actor=names.get(user) or _slack_name(message) or user,
                 channel=channel, thread=f"{channel}/{root}" if root else channel,
                 event_at=moment(float(message["ts"]), zone))  # fmt: skip


def is_discord(file: File) -> bool:
    """Say whether a file is a channel of Discord."""
    return isinstance(file.json, dict) and {"guild", "channel", "messages"} <= set(file.json)


def discord(file: File, zone: tzinfo) -> Iterator[Entry]:
    """Read a channel that DiscordChatExporter wrote as JSON."""
    channel = file.json["channel"].get("name") or "unknown"
    made = partial(_of_discord, channel=channel, thread=f"{file.json['guild'].get('name')}/{channel}", zone=zone)
    yield from entries(f"{file.name}, message", file.json["messages"], made)


def _of_discord(message: Any, *, channel: str, thread: str, zone: tzinfo) -> Memory | None:
    if message.get("type", "Default") not in ("Default", "Reply", "ThreadStarterMessage"):
        return None
    author = message["author"]
    return _said(message["content"], id=f"discord-{message['id']}", actor=author.get("nickname") or author["name"],
                 channel=channel, thread=thread, event_at=moment(message["timestamp"], zone))  # fmt: skip


_SPACE = "[ \u00a0\u202f]"
_WHATSAPP = re.compile(
    rf"^[\u200e\u200f]*\[?(\d{{1,4}})[./-](\d{{1,2}})[./-](\d{{1,4}}),?{_SPACE}(\d{{1,2}})[:.](\d\d)(?:[:.](\d\d))?"
    rf"(?:{_SPACE}?([AaPp])\.?{_SPACE}?[Mm]\.?)?(?:\]|{_SPACE}[-–]){_SPACE}(.*)$"
)
_MEDIA = re.compile(  # what the app itself writes: for a picture, on iOS and Android, or a deleted message
    r"\u200e|(?:<[^<>]+>|null|Missed (?:group )?(?:voice|video) call|This message was deleted"
    r"(?: by admin .+)?|You deleted this message(?: as admin)?|(?:Du hast diese|Diese) Nachricht (?:wurde )?gelöscht"
    r"|(?:Se eliminó|Eliminaste) este mensaje|Ce message a été supprimé|Vous avez supprimé ce message)\.?$"
)
_EDITED = re.compile(r"\s*\u200e<[^<>]+>$")


def is_whatsapp(file: File) -> bool:
    """Say whether a file is a chat of WhatsApp."""
    lines = file.head.decode("utf-8", "replace").splitlines()[:3] if file.suffix in (".txt", "") else ()
    return any(map(_WHATSAPP.match, lines))


def whatsapp(file: File, zone: tzinfo) -> Iterator[Entry]:
    """Read a chat that WhatsApp wrote as text. Its dates are in the order in which they make sense."""
    said: list[tuple[re.Match[str], list[str]]] = []
    for line in file.text.split("\n"):
        if found := _WHATSAPP.match(line):
            said.append((found, [found[8]]))
        elif said:
            said[-1][1].append(line)
    order = order_of([(int(found[1]), int(found[2]), int(found[3])) for found, _ in said])
    thread = re.sub(r" \(\d+\)$", "", file.export if file.stem == "_chat" else file.stem)
    read = entries(f"{file.name}, message", said, partial(_of_whatsapp, order=order, thread=thread, zone=zone))
    for (found, _), entry in zip(said, read, strict=True):  # the time as written: a longer export may read it otherwise
        told = entry.memory and [thread, entry.memory.actor, entry.memory.text, found.groups()[:7]]
        yield entry._replace(row={"whatsapp": told})


def order_of(dates: list[tuple[int, int, int]], *, by_time: bool = True) -> tuple[int, int, int]:
    """Return the places of year, month and day: those that make every date one, and the fewest go back in time; or, if
    they need not be `by_time`, that make them rise or fall throughout."""

    def unlikely(order: tuple[int, int, int]) -> tuple[int, int]:
        read = [tuple(date[place] for place in order) for date in dates]
        back = sum(b < a for a, b in pairwise(read))
        told = back if by_time else back > 0 and read != sorted(read, reverse=True)
        return sum(month > 12 for _, month, _ in read), told

    if any(date[0] > 31 for date in dates):
        return 0, 1, 2
    return min(((2, 1, 0), (2, 0, 1)), key=unlikely)  # equally likely: the day comes first


def _of_whatsapp(
    said: tuple[re.Match[str], list[str]], *, order: tuple[int, int, int], thread: str, zone: tzinfo
) -> Memory | None:
    found, (first, *more) = said
    actor, colon, first = first.partition(": ")
    text = "\n".join([first, *more]).rstrip()
    if not colon or _MEDIA.match(text):  # "Messages and calls are end-to-end encrypted", "<Media omitted>"
        return None
    year, month, day = (int(found[1 + place]) for place in order)
    hour, half = int(found[4]), found[7]
    hour = hour % 12 + 12 * (half in "Pp") if half else hour
    at = datetime(year + 2_000 * (year < 100), month, day, hour, int(found[5]), int(found[6] or 0), tzinfo=zone)
    return _said(_EDITED.sub("", text), actor=actor.strip("\u200e ~\u202f\u00a0"), channel="whatsapp", thread=thread,
                 event_at=at)  # fmt: skip
