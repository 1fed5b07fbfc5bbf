"""Kind of a scope, read from its memories: chats of people, chats with an assistant, documents, records, notes.

Evidence does not mean the same everywhere: an answer of six words is told by the question before it, one of two hundred
is not. `Kind` holds shares of the memories, and `gates` turns them into the factors with which rankers weigh evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall_integrations.records import record
from recall_integrations.types.roles import ROLE_CODES, Role

HALF = 20  # content words at which a text is half as short as one can be
LONG_FROM, LONG_SPAN = 6, 12  # content words of a query beyond which it is long, and until it is wholly so
RARE_FROM, RARE_SPAN = 0.38, 0.1  # share of the highest idf beyond which a query's words are rare, until wholly so
NOTE_FROM, NOTE_SPAN = 0.35, 0.2  # `short` from which memories are notes, and until they wholly are
SAID_FROM, SAID_SPAN = 0.35, 0.15  # share of a query that a text holds, below which nobody says what is asked for
UNTOLD_FROM = 0.7  # the same in chats with an assistant, down to `SAID_FROM`
STRONG_WORTH = 5.0  # what a cosine of a strong embedding is worth
FEW, MANY = 50, 200  # memories of a scope up to which no word is said to be common, and from which it wholly is
_UNIT = 1_000_000  # `short` is summed in whole numbers, so that the order of writes leaves no trace
HEARD = 6  # lines of a chat for each that one of the two says; more make it less of a chat
# Sums in the order in which they are kept on disk.
_SUMS = ("rows", "user", "assistant", "named", "short", "pairs", "crowd", "threaded")
Codes = NDArray[np.int32]

GATES: Mapping[str, str] = {
    "always": "1",
    "people": "pairs: chats of two people",
    "crowd": "crowd: chats of three people or more",
    "roles": "chats with an assistant",
    "spoken": "spoken: lines of a user or an assistant, whether or not the other one answers",
    "apart": "1 − people − crowd − roles: neighbours in a thread are no exchange",
    "notes": f"apart · (1 − unread) · (short − {NOTE_FROM}) / {NOTE_SPAN}, the last in [0, 1]: short memories, each "
    "for itself, in words that the bundled embedding knows",
    "unsaid": f"notes · ({SAID_FROM} − the largest share of the query's Σ idf that a candidate holds) / {SAID_SPAN}, "
    "in [0, 1]: none says what is asked for in the same words",
    "untold": f"roles · ({UNTOLD_FROM} − that share) / {UNTOLD_FROM - SAID_FROM:.2f}, in [0, 1], times 1 − how long "
    "the query is: no turn says it in the same words",
    "long": f"(content words of the query − {LONG_FROM}) / {LONG_SPAN}, in [0, 1], times 1 − plain",
    "documents": "plain · common: plain documents, asked in words that many of them hold",
    "strong_documents": f"documents · (what a cosine is worth − 1) / {STRONG_WORTH - 1:g}, in [0, 1]: with a strong "
    "embedding",
    "strong_untold": "untold, times the same",
    "spelling": "unread · (1 − short) · (1 − how long the query is): only how its words are spelled is known",
}


@record(frozen=True, slots=True, kw_only=True)
class Kind:
    """Shares of a scope's living memories, each in [0, 1]; 0 in an empty scope.

    Args:
        pairs: in threads of exactly two actors; beside chats with an assistant, times the share outside of them.
        crowd: in threads of three actors or more, times the same.
        roles: by the user of an assistant, or by the assistant; at most six for each of the rarer of the two.
        spoken: by the user of an assistant, or by the assistant.
        threaded: with another memory in their thread.
        named: with an actor.
        short: mean of `1 / (1 + content words / 20)`.
    """

    pairs: float = 0.0
    crowd: float = 0.0
    roles: float = 0.0
    spoken: float = 0.0
    threaded: float = 0.0
    named: float = 0.0
    short: float = 0.0

    @property
    def plain(self) -> float:
        """Degree in which the memories are plain documents: no threads, nobody who speaks, not short."""
        return (1 - self.threaded) * (1 - self.named) * (1 - self.short)

    @property
    def brief(self) -> float:
        """Degree in which the memories are as short as notes."""
        return float(briefness(self.short))

    def gates(
        self,
        asked: int,
        rarity: float = 1.0,
        count: int = MANY,
        unread: float = 0.0,
        said: float = 1.0,
        worth: float = 1.0,
    ) -> dict[str, float]:
        """Compute the factors of `GATES` for a query.

        Args:
            asked: content words of the query.
            rarity: mean idf of those of its words that the scope holds, as a share of the highest idf there: names and
                terms pinpoint a text (.5 and more), what a whole collection is about does not (.35).
            count: memories of the scope. In a handful every word that is said twice would be common.
            unread: 1 − the worth of word vectors in the query's language; less where words are cut into characters.
            said: the largest share of the query's Σ idf that a candidate holds.
            worth: what a cosine of the store's embedding is worth in the language of the query.
        """
        apart = max(1 - self.pairs - self.crowd - self.roles, 0.0)
        common = min(max(1 - (rarity - RARE_FROM) / RARE_SPAN, 0.0), 1.0) * min(
            max((count - FEW) / (MANY - FEW), 0.0), 1.0
        )
        unread = min(max(unread, 0.0), 1.0)
        documents = self.plain * common
        strong = min(max((worth - 1) / (STRONG_WORTH - 1), 0.0), 1.0)
        notes = apart * (1 - unread) * self.brief
        said_little = min(max((UNTOLD_FROM - said) / (UNTOLD_FROM - SAID_FROM), 0.0), 1.0)
        untold = self.roles * (1 - how_long(asked)) * said_little
        return {
            "always": 1.0,
            "people": self.pairs,
            "crowd": self.crowd,
            "roles": self.roles,
            "spoken": self.spoken,
            "apart": apart,
            "notes": notes,
            "unsaid": notes * min(max((SAID_FROM - said) / SAID_SPAN, 0.0), 1.0),
            "untold": untold,
            "long": how_long(asked) * (1 - self.plain),
            "documents": documents,
            "strong_documents": documents * strong,
            "strong_untold": untold * strong,
            "spelling": unread * (1 - self.short) * (1 - how_long(asked)),
        }


def briefness(short: Any) -> Any:
    """Return how far memories with these values of `short` are notes, in [0, 1]."""
    return np.minimum(np.maximum((short - NOTE_FROM) / NOTE_SPAN, 0.0), 1.0)


def how_long(asked: int) -> float:
    """Return 0 for a query of up to `LONG_FROM` content words, 1 from `LONG_SPAN` more."""
    return min(max((asked - LONG_FROM) / LONG_SPAN, 0.0), 1.0)


@record(frozen=True, slots=True, kw_only=True)
class Counted:
    """Counts of a `KindCounter`, as kept on disk."""

    pairs: NDArray[np.int32]  # int32 `(m, 3)`: thread, actor and memories, in order of the first two
    totals: tuple[int, ...]  # `_SUMS` of the counter


class KindCounter:
    """Counts for `Kind`, as memories come and go. The result depends on the memories present, not on the order."""

    def __init__(self, kept: Counted | None = None) -> None:
        self._sums = dict(zip(_SUMS, [0] * len(_SUMS) if kept is None else kept.totals, strict=True))
        self._actors: dict[int, dict[int, int]] = {}  # thread → actor → memories; -1 is no actor
        self._kept = kept  # threads that nobody has touched since they were read from a file

    @staticmethod
    def counted(threads: Codes, actors: Codes, roles: Codes, lengths: Codes) -> Counted:
        """Count these memories alone."""
        counter = KindCounter()
        counter.add(np.full_like(threads, -1), actors, roles, lengths)  # all but the threads, which are many
        inside = threads >= 0
        codes = int(actors.max(initial=-1)) + 2
        keys, counts = np.unique(threads[inside].astype(np.int64) * codes + actors[inside] + 1, return_counts=True)
        thread, actor = np.divmod(keys, codes)
        rows = np.bincount(thread, counts).astype(np.int64)
        speaking = np.bincount(thread[actor > 0], minlength=len(rows))
        chosen = {"pairs": speaking == 2, "crowd": speaking > 2, "threaded": rows > 1}
        sums = counter._sums | {name: int(rows[mask].sum()) for name, mask in chosen.items()}
        pairs = np.stack([thread, actor - 1, counts], axis=1).astype(np.int32)
        return Counted(pairs=pairs, totals=tuple(sums.values()))

    def add(self, threads: Codes, actors: Codes, roles: Codes, lengths: Codes) -> None:
        """Add memories: codes of thread and actor (-1 = none), codes of roles, content words."""
        self._count(threads, actors, roles, lengths, 1)

    def remove(self, threads: Codes, actors: Codes, roles: Codes, lengths: Codes) -> None:
        """Remove memories, given as for `add`."""
        self._count(threads, actors, roles, lengths, -1)

    def kind(self) -> Kind:
        """Return the current shares."""
        sums = self._sums
        rows = sums["rows"]
        if not rows:
            return Kind()
        spoken, rarer = sums["user"] + sums["assistant"], min(sums["user"], sums["assistant"])
        people = 1 - spoken / rows if rarer else 1.0
        return Kind(
            pairs=people * sums["pairs"] / rows,
            crowd=people * sums["crowd"] / rows,
            # Lines of a user without an assistant, or of an assistant without a user, are notes: nobody answers them.
            roles=min(spoken, HEARD * rarer) / rows,
            spoken=spoken / rows,
            threaded=sums["threaded"] / rows,
            named=sums["named"] / rows,
            short=sums["short"] / _UNIT / rows,
        )

    def _count(self, threads: Codes, actors: Codes, roles: Codes, lengths: Codes, sign: int) -> None:
        self._sums["rows"] += sign * len(threads)
        self._sums["user"] += sign * int((roles == ROLE_CODES[Role.USER]).sum())
        self._sums["assistant"] += sign * int((roles == ROLE_CODES[Role.ASSISTANT]).sum())
        self._sums["named"] += sign * int((actors >= 0).sum())
        self._sums["short"] += sign * int(np.rint(_UNIT / (1 + lengths / HALF)).sum())
        inside = threads >= 0
        pairs, counts = np.unique(np.stack([threads[inside], actors[inside]]), axis=1, return_counts=True)
        changed: dict[int, list[tuple[int, int]]] = {}
        for thread, actor, count in zip(*pairs.tolist(), counts.tolist(), strict=True):
            changed.setdefault(thread, []).append((actor, sign * count))
        for thread, changes in changed.items():
            own = self._of_thread(thread)
            self._thread(own, -1)
            for actor, count in changes:
                own[actor] = own.get(actor, 0) + count
                if not own[actor]:
                    del own[actor]
            self._thread(own, 1)

    def _of_thread(self, thread: int) -> dict[int, int]:
        own = self._actors.get(thread)
        if own is None:
            own = self._actors[thread] = {}
            if self._kept is not None:
                first, last = np.searchsorted(self._kept.pairs[:, 0], [thread, thread + 1])
                own.update((actor, count) for _, actor, count in self._kept.pairs[first:last].tolist())
        return own

    def _thread(self, own: Mapping[int, int], sign: int) -> None:
        """Add a thread's memories to the sums, or subtract them."""
        rows, actors = sum(own.values()), len(own) - (-1 in own)
        self._sums["threaded"] += sign * rows * (rows > 1)
        self._sums["pairs"] += sign * rows * (actors == 2)
        self._sums["crowd"] += sign * rows * (actors > 2)
