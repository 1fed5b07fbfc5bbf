"""A cache of recent phrasings: the same question within minutes costs no second call, in any process."""

from __future__ import annotations

import hashlib
import json
import time
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path

from recall_integrations.records import record
from recall_integrations.resilience.shared_file import SharedFile
from recall_integrations.types.numbers import is_number

_ENDS = " \t.?!…。？！"


@record(frozen=True, slots=True)
class Entry:
    """Phrasings, and when they were found, in seconds of the clock."""

    at: float
    texts: tuple[str, ...]


Entries = Mapping[str, Entry]  # least recently used first


def key_of(query: str, *fingerprint: object) -> str:
    """Return a digest of the query and of all that its phrasings depend on besides.

    Queries that differ in case, in white space or in the marks at their end are one.
    """
    text = " ".join(unicodedata.normalize("NFKC", query).casefold().split()).strip(_ENDS)
    said = json.dumps([text, *map(str, fingerprint)], ensure_ascii=False)
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class RewriteCache:
    """A cache of phrasings that threads and, through its file, processes share. It holds digests of queries."""

    def __init__(
        self, path: Path, *, ttl_s: float = 180.0, entries_max: int = 50, clock: Callable[[], float] = time.time
    ) -> None:
        self._ttl_s, self._max, self._clock = ttl_s, entries_max, clock
        self._file: SharedFile[Entries] = SharedFile(path, nothing=dict, decode=_decoded, encode=_encoded)

    def get(self, key: str) -> tuple[str, ...] | None:
        """Return the phrasings, if they are still good."""
        if not self._max or not self._good(self._file.read().get(key)):
            return None
        found: list[tuple[str, ...]] = []

        def used(entries: Entries) -> Entries:
            found.clear()
            entry = entries.get(key)
            if entry is None or not self._good(entry):
                return entries
            found.append(entry.texts)
            return {**{k: e for k, e in entries.items() if k != key}, key: entry}

        self._file.update(used)
        return found[0] if found else None

    def put(self, key: str, texts: tuple[str, ...]) -> None:
        """Keep phrasings."""
        if not self._max:
            return

        def added(entries: Entries) -> Entries:
            others = {k: e for k, e in entries.items() if k != key and self._good(e)}
            more = {**others, key: Entry(self._clock(), texts)}
            return dict(list(more.items())[-self._max :])

        self._file.update(added)

    def _good(self, entry: Entry | None) -> bool:
        return entry is not None and 0 <= self._clock() - entry.at < self._ttl_s  # a clock put back: not known how old


def _encoded(entries: Entries) -> str:
    return json.dumps({key: [entry.at, *entry.texts] for key, entry in entries.items()}, ensure_ascii=False)


def _decoded(text: str) -> Entries:
    loaded = json.loads(text)
    if not isinstance(loaded, Mapping):
        raise ValueError("Kept phrasings must be a JSON object.")
    for values in loaded.values():
        good = isinstance(values, list) and len(values) > 1 and is_number(values[0])
        if not good or not all(isinstance(text, str) for text in values[1:]):
            raise ValueError("A kept phrasing must be a list of a time and texts.")
    return {str(key): Entry(values[0], tuple(values[1:])) for key, values in loaded.items()}
