"""BM25 over stems, in tantivy, each with its scope in front (`<scope>:<stem>`): a query reaches only its own scope.

tantivy would take the documents of all scopes for N, so every term is boosted by the ratio of the two idf values. The
average length is still that of all, so these scores only choose what `indexes.bm25` scores by the scope's own numbers.
"""

from __future__ import annotations

import json
import struct
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from recall_integrations import text
from recall_integrations.errors import IndexUnavailable
from recall_integrations.owner_only import make_directory
from recall_integrations.resilience.forking import park_in_children
from recall_integrations.text import stems
from recall_integrations.text.analyser import K1, PIVOT
from recall_integrations.text.by_language import LOOK

HEAP_BYTES = 64_000_000
TERMS_MAX = 64  # distinct stems of a query that are looked up
_FILLER = "~"  # no stem and without a scope, so never looked for
_FOOTER_MARK = 1337
WEAKER = 0.6  # of what a stem gives, for a form of the word that differs from the one that was asked for


class Put(NamedTuple):
    """A memory to index: its scope, number, and text with the actor in front."""

    scope_id: int  # with `num`, `content`: scope, number and text of the memory
    num: int
    content: str | None
    language: str | None = LOOK  # language in which its words are read
    stems: Sequence[str] | None = None  # stems of the words, where they are known


class WordIndex(Protocol):
    """Questions to a lexical index."""

    def document_frequency(self, scope_id: int, term: str) -> int:
        """Count the living memories of the scope that hold the stem."""

    def vocabulary(self, scope_id: int) -> list[tuple[str, int]]:
        """Return all stems of the scope with the number of living memories that hold each."""

    def search(
        self,
        scope_id: int,
        terms: Sequence[str],
        scope_count: int,
        limit: int,
        frequency: Callable[[str], int] | None = None,
        weaker: Sequence[str] = (),
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return likely memories for the stems, and scores to choose by, falling."""


class LexicalIndex:
    """A tantivy index in a directory. One writer; any number of searching threads."""

    def __init__(self, path: Path) -> None:
        import tantivy

        self._tantivy = tantivy
        self.path = path
        self._lock = threading.Lock()
        builder = tantivy.SchemaBuilder()
        builder.add_unsigned_field("num", stored=False, indexed=True, fast=True)
        builder.add_text_field("body", stored=False, tokenizer_name="stems", index_option="freq")
        self._schema = builder.build()
        with _named(f"The lexical index in {path} cannot be opened"):
            make_directory(path)
            self._index = tantivy.Index(self._schema, path=str(path))
            analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
            self._index.register_tokenizer("stems", analyzer)
            self._writer: Any = None  # made at the first write; its threads and heap are not free
            park_in_children(self)
            self._index.reload()
            self._searcher: Any = self._index.searcher()

    def apply(
        self, puts: Iterable[Put | tuple[int, int, str]], deletes: Sequence[int], *, replay: bool = False
    ) -> None:
        """Add memories, as `Put` or its first three fields, and remove nums, in one commit."""
        with _named("The lexical index cannot be written"), self._lock:
            if self._writer is None:
                self._writer = self._index.writer(heap_size=HEAP_BYTES, num_threads=1)
            try:
                self._write(puts, deletes, replay)
            except BaseException:
                self._writer = None  # a writer that failed is dead; its uncommitted changes are dropped
                raise

    def _write(self, puts: Iterable[Put | tuple[int, int, str]], deletes: Sequence[int], replay: bool) -> None:
        make = self._tantivy.Document
        # Not delete_documents_by_term: it takes every Python int for a signed term and would miss this field.
        for num in deletes:
            self._writer.delete_documents_by_query(self._num(num))
        for scope_id, num, content, language, known in (Put(*put) for put in puts):
            if replay:
                self._writer.delete_documents_by_query(self._num(num))
            prefix = f"{scope_id}:"
            document = make()
            document.add_unsigned("num", num)
            words = [prefix + s for s in (stems(content or "", language) if known is None else known)]
            words.extend([_FILLER] * (PIVOT - len(words)))
            document.add_text("body", " ".join(words))
            self._writer.add_document(document)
        self._writer.commit()
        self._publish()

    def _publish(self) -> None:
        """Show what was committed. The lock is held: of two at once, the later must not show the earlier state."""
        self._index.reload()
        self._searcher = self._index.searcher()

    def refresh(self) -> None:
        """Load the commits of another process."""
        with _named("The lexical index cannot be read again"), self._lock:
            self._publish()

    def _num(self, num: int) -> Any:
        return self._tantivy.Query.term_query(self._schema, "num", num)

    def park(self) -> list[object]:
        """Return the writer, to be kept unused in a forked child."""
        writer, self._writer = self._writer, None
        return [] if writer is None else [writer]

    @property
    def count(self) -> int:
        """Number of living documents."""
        return int(self._searcher.num_docs)

    def nums(self) -> NDArray[np.int64]:
        """Return the numbers of all living documents, rising; one that is there twice comes twice."""
        searcher = self._searcher
        with _named("The lexical index failed to list its documents"):
            hits = searcher.search(self._tantivy.Query.all_query(), limit=max(1, searcher.num_docs), count=False).hits
            found = searcher.fast_field_values("num", [address for _, address in hits])
        return np.sort(np.asarray(found, dtype=np.int64))

    def document_frequency(self, scope_id: int, term: str) -> int:
        """Count the living memories of the scope that hold the stem."""
        searcher = self._searcher
        if not self._postings(searcher, scope_id, term):
            return 0
        # Its own number counts forgotten memories until segments merge, which any scope's write may start.
        with _named("The lexical index failed to count"):
            return int(searcher.search(self._query(scope_id, term), limit=1, count=True).count)

    def _postings(self, searcher: Any, scope_id: int, term: str) -> int:
        return int(searcher.doc_freq("body", f"{scope_id}:{term}"))

    def _query(self, scope_id: int, term: str) -> Any:
        return self._tantivy.Query.term_query(self._schema, "body", f"{scope_id}:{term}", index_option="freq")

    def vocabulary(self, scope_id: int) -> list[tuple[str, int]]:
        """Return all stems of the scope with their counts of living memories."""
        searcher = self._searcher
        prefix = f"{scope_id}:"
        with _named("The lexical index failed to list its terms"):
            # Without a filter, forgotten memories would count until segments merge.
            terms = searcher.terms_with_prefix("body", prefix, self._tantivy.Query.all_query())
        return [(term[len(prefix) :], count) for term, count in terms]

    def search(
        self,
        scope_id: int,
        terms: Sequence[str],
        scope_count: int,
        limit: int,
        frequency: Callable[[str], int] | None = None,
        weaker: Sequence[str] = (),
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return nums of likely memories for the stems and scores to choose by, falling; empty without a known stem."""
        t, searcher = self._tantivy, self._searcher
        total = max(1, searcher.num_docs)
        clauses = []
        with _named("The lexical index failed to search"):
            for term, weight in weighted(terms, weaker):
                held = self.document_frequency(scope_id, term) if frequency is None else frequency(term)
                postings = self._postings(searcher, scope_id, term)
                if not held or not postings:
                    continue
                own, theirs = idf(held, scope_count), idf(postings, total)
                query = t.Query.boost_query(self._query(scope_id, term), weight * own / theirs)
                clauses.append((t.Occur.Should, query))
            if not clauses:
                return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
            hits = searcher.search(t.Query.boolean_query(clauses), limit=limit, count=False).hits
            nums = searcher.fast_field_values("num", [address for _, address in hits])
        return np.asarray(nums, dtype=np.int64), np.asarray([score for score, _ in hits], dtype=np.float32)

    def close(self) -> None:
        """Release the writer's lock and threads."""
        with self._lock:
            writer, self._writer = self._writer, None
            if writer is not None:
                with _named("The lexical index did not finish its work"):
                    writer.wait_merging_threads()


def damaged(path: Path) -> str | None:
    """Describe damage to the files of a tantivy index, by the checksums at their ends; `None` = there is none."""
    try:
        segments = json.loads((path / "meta.json").read_text(encoding="utf-8"))["segments"]
        for segment in segments:
            name, deletes = segment["segment_id"].replace("-", ""), segment["deletes"]
            parts = {p for p in path.glob(f"{name}.*") if p.suffix != ".del"}
            if deletes is not None:
                parts.add(path / f"{name}.{deletes['opstamp']}.del")
            for part in sorted(parts):
                if not _agrees(part.read_bytes()):
                    return f"{part.name} was changed or damaged"
    except FileNotFoundError as e:
        return f"{Path(str(e.filename)).name} is missing"
    except (OSError, ValueError, LookupError, TypeError, AttributeError, struct.error) as e:
        return f"its files cannot be read ({type(e).__name__})"
    return None


def _agrees(content: bytes) -> bool:
    """Check a file against its footer: JSON with a CRC-32, its length, and a number that marks it."""
    length, mark = struct.unpack("<II", content[-8:])
    if mark != _FOOTER_MARK:
        return False
    body = len(content) - 8 - length
    return body >= 0 and bool(zlib.crc32(content[:body]) == json.loads(content[body:-8])["crc"])


@contextmanager
def _named(what: str) -> Iterator[None]:
    """Wrap an error of tantivy, which raises ValueError and OSError for damage, and panics of BaseException."""
    try:
        yield
    except BaseException as e:
        if isinstance(e, Exception) or type(e).__name__ == "PanicException":
            raise IndexUnavailable(f"{what}: {e}.") from e
        raise  # an interrupt must stay one


def idf(frequency: int, documents: int) -> float:
    """Return `text.idf`, at least a tenth of a nat: a word that all memories hold still tells them from none."""
    return max(0.1, text.idf(frequency, documents))


def weighted(terms: Sequence[str], weaker: Sequence[str]) -> list[tuple[str, float]]:
    """Return the distinct stems that are looked up, each with its share of a gain."""
    distinct = list(dict.fromkeys(terms))[:TERMS_MAX]
    others = [term for term in dict.fromkeys(weaker) if term not in distinct][:TERMS_MAX]
    return [*((term, 1.0) for term in distinct), *((term, WEAKER) for term in others)]


def ceiling(terms: Sequence[str], frequency: Callable[[str], int], documents: int) -> float:
    """Return the score that BM25 approaches for a text full of every term: `(k1 + 1) * sum idf`."""
    distinct = list(dict.fromkeys(terms))[:TERMS_MAX]
    return (K1 + 1) * sum(idf(frequency(term), documents) for term in distinct)
