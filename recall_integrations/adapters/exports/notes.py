"""Markdown notes (Obsidian, basic-memory, any folder of them): a chunk for each section, links and tags as entities."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import tzinfo

import yaml

from recall_integrations.adapters.exports.files import Entry, File, entries
from recall_integrations.adapters.shapes import plain
from recall_integrations.types import Memory, MemoryType, Relation
from recall_integrations.types.memory import ID_CHARS_MAX
from recall_integrations.types.messages import WHEN, moment

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
