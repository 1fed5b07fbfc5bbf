"""The worth of cosines of the store's embedding, by language: measured once, noted in `meta`, cached.

English is measured at the first write, another language when a scope has so many memories in it that they are no
accident; it counts in the scopes of which that is true, whatever others write. Nothing is measured for the bundled
model (it is known), and for an embedding that is declared costly.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from sqlalchemy import Connection, select

from recall_integrations.database import schema
from recall_integrations.database.meta import BY_SCOPE, WRITTEN, put_meta
from recall_integrations.embeddings import probe
from recall_integrations.embeddings.base import Embedding
from recall_integrations.embeddings.static import StaticEmbedding
from recall_integrations.privacy.logs import told
from recall_integrations.resilience.failures import failures
from recall_integrations.text import language_of

COSINE_WORTH = "cosine worth of "  # key in `meta`, before the fingerprint of an embedding
IN = " in "  # and before a language that is not English
SPREAD = "spread"  # stands where a language does: how far apart cosines are, measured with English
READ_ONE_BY_ONE = 20  # scopes whose counts are read by their names
MEMORIES_MIN = 10  # of a scope in a language, before eighty texts are embedded to measure it

logger = logging.getLogger(__name__)


class CosineWorth:
    """Factors by language, and when to measure them. Threads share it.

    `measured` calls the embedding and holds no lock meanwhile; `note` is called under the store's write lock.
    """

    def __init__(self, embedding: Embedding, costly: bool) -> None:
        self._embedding = embedding
        self._bundled = isinstance(embedding, StaticEmbedding)
        self.measures = not (self._bundled or costly)
        self._known: dict[str, float] = {}
        self._written: dict[str, int] = {}  # counts of the scope that is being written to, with this write
        self._noted: dict[tuple[int, str], int] = {}  # by scope and language
        self._before: dict[tuple[int, str], int] = {}  # counts before the notes of the last write
        self._tried: set[str] = set()
        self._lock = threading.Lock()  # only one of two writers measures

    @property
    def english(self) -> float | None:
        """The measured factor of English; `None` = not yet."""
        return self._known.get(probe.ENGLISH)

    @property
    def spread(self) -> float:
        """The spread of cosines, as a multiple of that of the bundled embedding; 1 = not measured."""
        return 1.0 if self._bundled else self._known.get(SPREAD, 1.0)

    def of(self, language: str, text: str, scope_id: int | None = None) -> float:
        """Return the worth of a cosine with a text in this language, 1 = that of the bundled model in English.

        A language that was not measured gets the least of those in its script; else at most 1.

        `scope_id`: languages that are rare in this scope count as not measured; `None` = all measured ones count.
        """
        if self._bundled:
            return bundled_worth(language, text)
        english = 1.0 if self.english is None else self.english
        known = {code: v for code, v in self._known.items() if scope_id is None or self._speaks(scope_id, code)}
        found = probe.worth_in(language, text, {probe.ENGLISH: english, **known})
        return min(english, 1.0) if found is None else found

    def _speaks(self, scope_id: int, language: str) -> bool:
        return language == probe.ENGLISH or self._noted.get((scope_id, language), 0) >= MEMORIES_MIN

    @property
    def reads(self) -> bool:
        """True if notes count: for the bundled embedding none does."""
        return not self._bundled

    def load(self, connection: Connection, made_by: str | None, scopes: Collection[int] | None = None) -> None:
        """Read the notes about the embedding that made the store.

        `made_by`: the embedding; `None` = there are no notes. `scopes`: scopes whose counts of memories by language are
        read; `None` = all.
        """
        if made_by is None or not self.reads:
            return
        key, m = f"{COSINE_WORTH}{made_by}", schema.meta
        noted = select(m.c.key, m.c.value).where(m.c.key.startswith(key, autoescape=True))
        for name, value in connection.execute(noted):
            language = name[len(key) :].removeprefix(IN) or probe.ENGLISH
            if language in probe.LANGUAGES or language == SPREAD:
                self._known[language] = float(value)
        counts = select(m.c.key, m.c.value).where(m.c.key.startswith(WRITTEN, autoescape=True))
        if scopes is not None and len(scopes) <= READ_ONE_BY_ONE:
            keys = [f"{WRITTEN}{language}{BY_SCOPE}{scope}" for language in probe.LANGUAGES for scope in scopes]
            counts = select(m.c.key, m.c.value).where(m.c.key.in_(keys))
        for name, value in connection.execute(counts):
            language, _, scope = name.removeprefix(WRITTEN).partition(BY_SCOPE)
            if scope.isdecimal() and value.isdecimal():
                self._noted[int(scope), language] = int(value)

    def _counted(self, scope_id: int | None, texts: Sequence[str]) -> dict[str, int]:
        """Count, for each language still counted, the memories of a scope (`None` = a new one) with these texts."""
        counted: dict[str, int] = {}
        for language, count in Counter(filter(None, map(language_of, texts))).items():
            noted = 0 if scope_id is None else self._noted.get((scope_id, language), 0)
            if language in probe.LANGUAGES and noted < MEMORIES_MIN:
                counted[language] = noted + count
        return counted

    def measured(self, scope_id: int | None = None, texts: Sequence[str] = ()) -> Mapping[str, float]:
        """Measure languages that are due, and return their factors to note. An embedding that fails fails no write.

        `scope_id`: the scope to write to; `None` = a new one.
        """
        if not self.measures:
            return {}
        counts = [*self._counted(scope_id, texts).items()]
        counts += [(language, count) for (_, language), count in list(self._noted.items())]
        wanted = [probe.ENGLISH, *sorted({language for language, count in counts if count >= MEMORIES_MIN})]
        with self._lock:
            known = self._known.keys() if SPREAD in self._known else self._known.keys() - {probe.ENGLISH}
            due = [language for language in wanted if language not in known and language not in self._tried]
            self._tried.update(due)
        found: dict[str, float] = {}
        for place, language in enumerate(due):
            try:
                reached, spread = probe.measured(self._embedding, language)
                found[language] = probe.worth(reached)
                if language == probe.ENGLISH:
                    found[SPREAD] = spread
            except failures() as e:  # noqa: PERF203 - each is a call of a model; the memory is stored without it
                # The next write may succeed.
                self._tried.difference_update(due[place:])
                logger.warning("What the embedding is worth to the ranking could not be measured: %s", told(e))
                break
        self._known.update(found)
        return found

    def note(
        self,
        connection: Connection,
        measured: Mapping[str, float],
        scope_id: int | None = None,
        texts: Sequence[str] = (),
        *,
        more: bool = False,
    ) -> None:
        """Note measured factors, and count the texts that are written to a scope, in the caller's transaction."""
        self._written = self._counted(scope_id, texts) if self.measures else {}
        for language, value in measured.items():
            suffix = "" if language == probe.ENGLISH else f"{IN}{language}"
            put_meta(connection, f"{COSINE_WORTH}{self._embedding.fingerprint}{suffix}", repr(value))
        if not more:
            self._before = {}
        if scope_id is None:
            return
        for language, count in sorted(self._written.items()):
            put_meta(connection, f"{WRITTEN}{language}{BY_SCOPE}{scope_id}", str(count))
            self._before.setdefault((scope_id, language), self._noted.get((scope_id, language), 0))
            self._noted[scope_id, language] = count

    def forget(self, measured: Iterable[str]) -> None:
        """Forget factors that could not be noted: the next write measures them again."""
        for language in measured:
            self._known.pop(language, None)
            self._tried.discard(language)
        self._noted.update(self._before)
        self._before, self._written = {}, {}

    def again(self) -> None:
        """Try failed languages again."""
        self._tried.clear()

    def anew(self) -> None:
        """Forget all factors, since all vectors are made anew, maybe by another embedding."""
        self._known.clear()
        self.again()


def bundled_worth(language: str, text: str) -> float:
    """Return the worth of the bundled vectors of words and texts, in [0, 1]: they were made from English."""
    if language == probe.ENGLISH:  # or unknown
        return 1.0 if probe.script(text) == "LATIN" else 0.0
    return probe.bundled_worth(language) if language in probe.LANGUAGES else 0.0
