"""The subjects of replies among the hits, in words: read from the turns before them when somebody reads the reason."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from recall_integrations.delivery.subjects import Turn, said_so, subject_of

Reply = tuple[str, Sequence[str]]


class Subjects(Mapping[int, str]):
    """Row → "tomato plants, two turns before", for replies whose subject is found.

    The texts are those of the recall, so that the store may be closed, or changed, when the reason is read. A subject
    is read once and kept; two threads read the same.
    """

    __slots__ = ("_asked", "_replies", "_told")

    def __init__(self, replies: Mapping[int, Reply], asked: Collection[str]) -> None:
        self._replies, self._asked = replies, asked
        self._told: dict[int, str] = {}

    def get(self, row: int, default: str = "") -> str:  # type: ignore[override]
        """Return the subject of the reply in a row; `default` where it has none, or the row is no reply."""
        if row not in self._replies:
            return default
        told = self._told.get(row)
        if told is None:
            text, before = self._replies[row]
            # The question itself says little, or the turns before it would not count: the nearest turn is left out.
            subject = subject_of(Turn(text=text), [Turn(text=one) for one in before], asked=self._asked, first=2)
            told = self._told[row] = "" if subject is None else said_so(subject)
        return told or default

    def __getitem__(self, row: int) -> str:
        told = self.get(row)
        if not told:
            raise KeyError(row)
        return told

    def __iter__(self) -> Iterator[int]:
        return (row for row in self._replies if self.get(row))

    def __len__(self) -> int:
        return sum(1 for _ in self)
