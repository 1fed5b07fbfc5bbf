"""What cosines of the store's embedding are worth, by language: measured once, noted in `meta`, kept.

English is measured at the first write, another language when so many memories in it have been written that it is no
stray word. Nothing is measured of the bundled model (it is known), and of an embedding that is declared costly.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, Engine, select

from recall_integrations.database import schema
from recall_integrations.database.meta import get_meta, put_meta
from recall_integrations.embeddings import probe
from recall_integrations.embeddings.base import Embedding
from recall_integrations.embeddings.static import StaticEmbedding
from recall_integrations.resilience.failures import failures
from recall_integrations.text import language_of

COSINE_WORTH = "cosine worth of "  # key in `meta`, before the fingerprint of an embedding
IN = " in "  # and before a language that is not English
WRITTEN = "memories written in "  # key in `meta`, before a language that is not measured yet
MEMORIES_MIN = 10  # of a language, before eighty texts are embedded to measure it

logger = logging.getLogger(__name__)


class CosineWorth:
    """Factors by language, and when they are to be measured. Threads share it.

    `measured` calls the embedding and holds no lock meanwhile; `note` is called under the store's write lock.
    """

    def __init__(self, embedding: Embedding, costly: bool) -> None:
        self._embedding = embedding
        self._bundled = isinstance(embedding, StaticEmbedding)
        self.measures = not (self._bundled or costly)
        self._known: dict[str, float] = {}
        self._written: Counter[str] = Counter()
        self._tried: set[str] = set()
        self._lock = threading.Lock()  # of two writers, one measures

    @property
    def english(self) -> float | None:
        """As measured; `None` = not yet."""
        return self._known.get(probe.ENGLISH)

    def of(self, language: str, text: str) -> float:
        """What a cosine with a text in this language is worth, 1 = as much as one of the bundled model in English.

        Of a language that was not measured, the least of those in its script; else at most 1.
        """
        if self._bundled:
            return bundled_worth(language, text)
        english = 1.0 if self.english is None else self.english
        found = probe.worth_in(language, text, {probe.ENGLISH: english, **self._known})
        return min(english, 1.0) if found is None else found

    def load(self, connection: Connection, made_by: str | None) -> None:
        """Read what was noted of the embedding that made the store."""
        if made_by is None:
            return
        key, m = f"{COSINE_WORTH}{made_by}", schema.meta
        noted = select(m.c.key, m.c.value).where(m.c.key.startswith(key, autoescape=True))
        for name, value in connection.execute(noted):
            language = name[len(key) :].removeprefix(IN) or probe.ENGLISH
            if language in probe.LANGUAGES:
                self._known[language] = float(value)

    def _with(self, connection: Connection, texts: Iterable[str]) -> Counter[str]:
        """How many memories are written in each language once these texts are, on top of what the store noted."""
        written = self._written.copy()
        for language, count in Counter(filter(None, map(language_of, texts))).items():
            if language in probe.LANGUAGES and language not in self._known:
                written[language] = int(get_meta(connection, f"{WRITTEN}{language}") or 0) + count
        return written

    def measured(self, engine: Engine | None = None, texts: Sequence[str] = ()) -> Mapping[str, float]:
        """What could be measured now and was not before, to be noted. An embedding that fails fails no write.

        Args:
            engine: of the store; needed for texts.
            texts: about to be written.
        """
        if not self.measures:
            return {}
        written = self._written
        if engine is not None and texts:
            with engine.connect() as connection:
                written = self._with(connection, texts)
        wanted = [probe.ENGLISH, *(code for code, count in sorted(written.items()) if count >= MEMORIES_MIN)]
        with self._lock:
            due = [language for language in wanted if language not in self._known and language not in self._tried]
            self._tried.update(due)
        found: dict[str, float] = {}
        for place, language in enumerate(due):
            try:
                found[language] = probe.worth(probe.mean_reciprocal_rank(self._embedding, language))
            except failures() as e:  # noqa: PERF203 - each is a call of a model; the memory is stored without it
                self._tried.difference_update(due[place + 1 :])
                logger.warning("What the embedding is worth to the ranking could not be measured: %s", e)
                break
        self._known.update(found)
        return found

    def note(self, connection: Connection, measured: Mapping[str, float], texts: Sequence[str] = ()) -> None:
        """Keep what was measured, and count the texts that are written, in the caller's transaction."""
        if texts and self.measures:
            self._written = self._with(connection, texts)
        for language, value in measured.items():
            suffix = "" if language == probe.ENGLISH else f"{IN}{language}"
            put_meta(connection, f"{COSINE_WORTH}{self._embedding.fingerprint}{suffix}", repr(value))
        for language, count in sorted(self._written.items()):
            if language not in self._known:
                put_meta(connection, f"{WRITTEN}{language}", str(count))

    def forget(self, measured: Iterable[str]) -> None:
        """It could not be noted: the next write measures it again."""
        for language in measured:
            self._known.pop(language, None)
            self._tried.discard(language)
        self._written.clear()

    def again(self) -> None:
        """What failed may be tried again."""
        self._tried.clear()

    def anew(self) -> None:
        """All vectors are made anew, maybe by another embedding."""
        self._known.clear()
        self.again()


def bundled_worth(language: str, text: str) -> float:
    """What the bundled vectors of words and texts are worth, in [0, 1]: they were made from English."""
    if language == probe.ENGLISH:  # or not to be told
        return 1.0 if probe.script(text) == "LATIN" else 0.0
    return probe.bundled_worth(language) if language in probe.LANGUAGES else 0.0
