"""Chats: exports of ChatGPT, Claude, Slack, Discord and WhatsApp."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, tzinfo
from functools import partial
from itertools import pairwise
from operator import itemgetter
from pathlib import PurePosixPath
from typing import Any

from recall_integrations.adapters.exports.files import ODD, Entry, File, entries, odd
from recall_integrations.types import Memory
from recall_integrations.types.messages import moment


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
