"""The graph arm over documents: memory ─ says ▶ name ─ is said by ▶ memory.

"Where was the director of Amber Lantern born?" is answered by two documents: one about the film, which names Priya
Raman, and one about her, which shares hardly a word with the question. The best candidates are the first hop. The
entities are the names they say and the query does not; other documents that say such a name are the second hop.
Nothing is extracted when memories are stored: names are read from the few first documents (`names`), and who else says
them is looked up (`holders`). For `chunk` memories only: the turns of a chat name the same people all the time.

    worth(name) = NAMED · (1 − ln n / (FADING · ln N)), and ABOUT more for a document that begins with it
    value(d)    = half the best worth + half the sum of the worths of all names by which a document leads to d

A word that may be no name ("Switching", with which a sentence begins) leads only to documents that write it large
within a sentence, or begin with it, unless the store has an entity of that name.

`N`: documents of the scope; `n`: documents that say the name, the first one left out. A name that more than √N say
leads nowhere. Documents of one thread, or that begin with the same two words, do not lead to each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from recall_integrations.arms.second_hop.holders import Keys, NamePostings, text_of
from recall_integrations.arms.second_hop.names import DocumentNames, beginning, says
from recall_integrations.indexes.kernels import heads as heads_of
from recall_integrations.indexes.scope_view import Mask, Rows, ScopeView
from recall_integrations.records import record

NAMED, ABOUT, FADING = 6.0, 4.0, 0.7
NEW_MIN = 0.5  # share of a name's words that the query must not say
CONFIRMED_MAX = 50  # pairs of documents for which the second one is read where a name is unsure
KEY_WORDS = 2  # by which names are looked up


@record(frozen=True, slots=True, kw_only=True)
class Via:
    """Way from one document to another.

    Args:
        row: row of the document before it.
        name: name in both, as that one writes it.
        about: whether the document begins with the name.
    """

    row: int
    name: str
    about: bool


@record(frozen=True, slots=True, kw_only=True)
class Links:
    """Links from documents to others, each pair once.

    Args:
        starts: the document that leads.
        rows: where it leads.
        values: float32, above 0.
        names: index into the names of the first document of the one that is worth most.
        about: whether the second document begins with that name.
    """

    starts: Rows
    rows: Rows
    values: NDArray[np.float32]
    names: NDArray[np.int64]
    about: Mask

    def and_those(self, other: Links) -> Links:
        """Return the links with other entries after these."""
        return Links(
            starts=np.concatenate([self.starts, other.starts]),
            rows=np.concatenate([self.rows, other.rows]),
            values=np.concatenate([self.values, other.values]),
            names=np.concatenate([self.names, other.names]),
            about=np.concatenate([self.about, other.about]),
        )


_NOTHING = np.empty(0, dtype=np.int64)
_NOWHERE = Links(
    starts=_NOTHING, rows=_NOTHING, values=_NOTHING.astype(np.float32), names=_NOTHING, about=_NOTHING.astype(np.bool_)
)


class SecondHop:
    """The links of one recall, from the documents that were looked at.

    Args:
        view: view with text.
        documents: which rows are living documents.
        count: number of living documents.
        holders: gives the name index that serves the view; called once a document is looked at.
        said_in: returns the names that each of some documents says.
        terms: stems of the query.
        allowed: rows that may be returned; `None` = all.
        texts: returns texts of rows, to see whether a document says an unsure name.
        is_entity: whether the store has an entity of a name; such a name is sure.
    """

    def __init__(
        self,
        view: ScopeView,
        documents: Mask,
        count: int,
        holders: Callable[[], NamePostings],
        said_in: Callable[[Rows], Sequence[DocumentNames]],
        *,
        terms: Collection[str],
        allowed: Mask | None,
        texts: Callable[[Rows], Sequence[str]],
        is_entity: Callable[[str], bool] = lambda _name: False,
    ) -> None:
        self.view = view
        self._is_entity = is_entity
        self._texts = texts
        self._documents, self._holders, self._said_in, self._allowed = documents, holders, said_in, allowed
        self._count = max(count, 2)
        self._terms = terms
        self._said: dict[int, DocumentNames] = {}
        self.links = _NOWHERE

    def look(self, rows: Rows) -> None:
        """Add the links of documents; rows that are no documents, or were looked at, are skipped."""
        fresh = [row for row in rows.tolist() if row not in self._said and self._documents[row]]
        if fresh:
            found = self._found(np.asarray(fresh, dtype=np.int64))
            self.links = self.links.and_those(found) if len(self.links.rows) else found

    def reach(self, besides: Rows, limit: int) -> Rows:
        """Return the best documents that links lead to and that are not in `besides`, at most `limit`; ties by id."""
        rows, values = self.links.rows, self.links.values
        if not len(rows):
            return rows
        there = np.zeros(self.view.size, dtype=np.bool_)
        there[besides] = True
        fresh = ~there[rows]
        if self._allowed is not None:
            fresh &= self._allowed[rows]
        rows, values = rows[fresh], values[fresh]
        rising = np.argsort(values, kind="stable")
        best = dict(zip(rows[rising].tolist(), values[rising].tolist(), strict=True))  # the last one stays
        distinct = np.fromiter(best.keys(), dtype=np.int64, count=len(best))
        return self.view.top(distinct, np.fromiter(best.values(), dtype=np.float32, count=len(best)), limit)[0]

    def via(self, start: int, row: int) -> Via:
        """Return how one document leads to another."""
        links, said = self.links, self._said[start]
        at = int(np.flatnonzero((links.starts == start) & (links.rows == row))[0])
        name = int(links.names[at])
        return Via(row=start, name=self._shared(said, name, row), about=bool(links.about[at]))

    def _shared(self, said: DocumentNames, name: int, row: int) -> str:
        """Return the name, or its first words, by which it was looked up, if `row` says no more of it."""
        text = text_of(self.view)
        stems = said.stems[name][said.stems[name] >= 0]
        there = text.lexicon.stems[text.words[text.starts[row] : text.starts[row + 1]]]
        if len(stems) <= KEY_WORDS:
            return said.names[name]
        spots = np.flatnonzero(there[: len(there) - len(stems) + 1] == stems[0])
        whole = any((there[spot : spot + len(stems)] == stems).all() for spot in spots.tolist())
        return said.names[name] if whole else beginning(said.names[name], KEY_WORDS)

    def _found(self, starts: Rows) -> Links:
        said, holders = self._said_in(starts), self._holders()
        stem_of = text_of(self.view).lexicon.stem_of
        asked = np.asarray([stem_of(term) for term in self._terms], dtype=np.int32)
        self._said.update(zip(starts.tolist(), said, strict=True))
        stems, keys = np.concatenate([own.stems for own in said]), np.concatenate([own.keys for own in said])
        filled = stems >= 0
        new = filled & ~np.logical_or.reduce(stems[:, :, None] == asked, axis=2)
        led = (np.add.reduce(new, axis=1) >= np.maximum(NEW_MIN * np.add.reduce(filled, axis=1), 1)).nonzero()[0]
        if not len(led):
            return _NOWHERE
        keys, spread = keys[led], math.sqrt(self._count)
        ends = np.cumsum([len(own.names) for own in said])
        owner = np.searchsorted(ends, led, side="right")
        index = led - np.concatenate([[0], ends])[owner]
        entry, rows = holders.find(self.view, keys, int(spread) + 1)
        if not len(entry):
            return _NOWHERE
        away = rows != starts[owner[entry]]
        entry, rows = entry[away], rows[away]
        n = np.bincount(entry, minlength=len(keys))
        near = (n <= spread)[entry]
        entry, rows = entry[near], rows[near]
        heads = holders.heads(self.view)
        about = (heads[:, rows] == keys[entry]).any(axis=0)
        worth = (NAMED * (1 - np.log(np.maximum(n, 1)) / (FADING * math.log(self._count))))[entry] + ABOUT * about
        kept = self._confirmed([said[o] for o in owner.tolist()], owner, index, entry, rows, worth)
        entry, rows = entry[kept], rows[kept]
        return self._joined(starts[owner[entry]], rows, worth[kept], index[entry], about[kept], heads)

    def _confirmed(
        self,
        said: Sequence[DocumentNames],
        owner: NDArray[np.int64],
        index: NDArray[np.int64],
        entry: NDArray[np.int64],
        rows: Rows,
        worth: NDArray[np.float64],
    ) -> Rows:
        """Return the entries whose name is sure, is an entity, or is confirmed by the document that it leads to.

        Documents are read for the best CONFIRMED_MAX pairs only; the others lose the entries that would need it.

        Args:
            said, owner, index: of each name: its document's names, that document's place in the starts, its own there.
            entry, rows, worth: name, document that says it, and the worth of that.
        """
        unsure = np.asarray([own.unsure[i] for own, i in zip(said, index.tolist(), strict=True)], dtype=np.bool_)
        names = {i: said[i].names[int(index[i])] for i in sorted(set(entry[unsure[entry]].tolist()))}
        for i in [i for i, name in names.items() if self._is_entity(name)]:
            unsure[i] = False
            del names[i]
        kept = ~unsure[entry]
        open_ = (~kept).nonzero()[0]
        if not len(open_):
            return kept.nonzero()[0]
        _, pair = np.unique(owner[entry] * self.view.size + rows, return_inverse=True)
        best = np.zeros(int(pair.max()) + 1)
        np.maximum.at(best, pair, worth)
        values = best + np.bincount(pair, worth)
        if len(values) > CONFIRMED_MAX:
            open_ = open_[values[pair[open_]] >= np.partition(values, -CONFIRMED_MAX)[-CONFIRMED_MAX]]
        read = np.unique(rows[open_])
        texts = dict(zip(read.tolist(), self._texts(read), strict=True))
        looked_up = {i: beginning(name, KEY_WORDS) for i, name in names.items()}
        for i in open_.tolist():
            kept[i] = says(texts[int(rows[i])], looked_up[int(entry[i])])
        return np.flatnonzero(kept)

    def _joined(
        self, starts: Rows, rows: Rows, worth: NDArray[np.float64], names: NDArray[np.int64], about: Mask, heads: Keys
    ) -> Links:
        """Join the entries of two documents' names into one entry for each pair."""
        pair = starts * self.view.size + rows
        order = np.lexsort((names, -worth, pair))
        pair, worth = pair[order], worth[order]
        first = heads_of(pair)
        if not len(first):
            return _NOWHERE
        values = (worth[first] + np.add.reduceat(worth, first)) / 2
        best = order[first]
        apart = ~self._alike(starts[best], rows[best], heads)
        best, values = best[apart], values[apart]
        return Links(
            starts=starts[best], rows=rows[best], values=values.astype(np.float32), names=names[best], about=about[best]
        )

    def _alike(self, a: Rows, b: Rows, heads: Keys) -> Mask:
        """Flag pairs of documents of one thread, or that begin with the same two words."""
        threads = text_of(self.view).threads
        of_thread = (threads[a] == threads[b]) & (threads[a] >= 0)
        return np.asarray(of_thread | ((heads[1][a] == heads[1][b]) & (heads[1][a] > 0)))
