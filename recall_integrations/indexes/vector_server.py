"""Nearest neighbours of large scopes in Chroma, and on a Chroma server, which may be away.

The metadata of a collection names the store that made it, and the point of the journal beyond which it holds nothing.
"""

from __future__ import annotations

import json
import math
import os
import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from recall_integrations.config import VectorsConfig
from recall_integrations.database.connections import within
from recall_integrations.errors import ConfigError, IndexUnavailable, RecallTimeout, VectorsAway, VectorsRefused, extra
from recall_integrations.indexes.vectors import (
    HNSW,
    CollectionLost,
    CollectionServer,
    Labels,
    Seen,
    VectorsLate,
    VectorsOver,
    home_name,
)

SAID_MAX = 200  # letters of what a server says
RAISED = "Have the limit raised there."
_OF_A_REQUEST = ("Number of records", "Limit value", "Number of results")
_QUOTA = re.compile(
    r"'(?P<what>[A-Za-z ()]{1,60})' exceeded quota limit for action '(?P<action>[A-Za-z ]{1,40})': "
    r"current usage of (?P<asked>\d{1,12}) exceeds limit of (?P<most>\d{1,12})"
)
_BATCH = re.compile(r"Batch size (?P<asked>\d{1,12}) exceeds maximum batch size (?P<most>\d{1,12})")
_ANY = re.compile(r"quota (exceeded|limit)", re.IGNORECASE)
# For a body with too many bytes for the server, or for a proxy before it.
BODY = f"it takes no request as large as this one. {RAISED}"


def of_a_request(said: str) -> str:
    """Say which limit one request broke; empty = the text names no such limit."""
    quota = _QUOTA.search(said)
    if quota is not None and quota["what"] in _OF_A_REQUEST:
        what = f"its limit of {quota['what']!r} for {quota['action']!r} is {int(quota['most']):,}"
        return f"{what}, and a request had {int(quota['asked']):,}. {RAISED}"
    batch = _BATCH.search(said)
    if batch is not None:
        asked, most = int(batch["asked"]), int(batch["most"])
        return f"it takes {most:,} vectors at once, and a request had {asked:,}. {RAISED}"
    return ""


def of_a_quota(said: str) -> str:
    """Say which quota a request broke; empty = the text names none, or one of concurrent requests, which passes."""
    found = of_a_request(said)
    if found or not _ANY.search(said) or "concurrent" in said.lower():
        return found
    return f"it says: {said[:SAID_MAX]}. {RAISED}"


T = TypeVar("T")
MAJOR = "1"  # of servers that can be used
STORE, SEQ, DIGEST = "recall_store", "recall_seq", "recall_digest"  # in the metadata of a collection
# What those that run a server decide for it is left to them.
SERVED_HNSW = {key: HNSW[key] for key in ("space", "max_neighbors", "ef_construction", "ef_search")}


class ChromaServer(CollectionServer):
    """Chroma, wherever it is. Threads share it; chromadb is loaded at the first request."""

    labels: Labels | None = None  # `None` = nothing but numbers and vectors leaves the record

    hnsw: Mapping[str, object] = HNSW
    batch, results = 1_000, 10_000  # most vectors of a request, most neighbours or numbers of an answer
    where: Mapping[str, str] = MappingProxyType({})  # the tenant and the database, unless they are Chroma's own

    def __init__(self, name: str, called: str, *, limit_s: float, failures_max: int) -> None:
        super().__init__(name, called, limit_s=limit_s, failures_max=failures_max)
        self._client: Any = None
        self._collections: dict[str, Any] = {}

    def park(self) -> list[object]:
        return [] if self._client is None else [self._client]

    @property
    def opened(self) -> bool:
        return self._client is not None

    # -- collections -----------------------------------------------------------------------------------------------

    def make(self, home: str, store: str) -> None:
        model = self._asked(
            lambda client: client.create_collection(
                name=home_name(home),
                configuration={"hnsw": dict(self.hnsw)},
                metadata={STORE: store, **self._labelled(home)},
                get_or_create=True,
                **self.where,
            )
        )
        self._keep(home, model)

    def look(self, home: str, seconds: float = math.inf) -> Seen:
        model = self._asked(lambda client: client.get_collection(name=home_name(home), **self.where), seconds)
        self._keep(home, model)
        said = model.metadata or {}
        seq, digest = said.get(SEQ), said.get(DIGEST)
        return Seen(
            dimension=model.dimension or None,
            seq=seq if isinstance(seq, int) else 0,
            digest=digest if isinstance(digest, str) else "",
        )

    def mark(self, home: str, store: str, seq: int, digest: str) -> None:
        collection, metadata = self._collection(home), {STORE: store, SEQ: seq, DIGEST: digest, **self._labelled(home)}
        self._asked(lambda _: collection.modify(metadata=metadata))

    def drop(self, home: str) -> None:
        self._collections.pop(home, None)
        try:
            self._asked(lambda client: client.delete_collection(home_name(home), **self.where))
        except CollectionLost:
            return

    def apply(self, home: str, nums: Sequence[int], vectors: NDArray[np.float32], deletes: Sequence[int]) -> None:
        collection, most = self._collection(home), self.batch
        for start in range(0, len(deletes), most):
            ids = [str(n) for n in deletes[start : start + most]]
            self._asked(partial(_delete, collection, ids))
        for start in range(0, len(nums), most):
            some = nums[start : start + most]
            metadatas = None if self.labels is None else self.labels.of_vectors(some)
            self._asked(partial(_put, collection, [str(n) for n in some], vectors[start : start + most], metadatas))

    def nearest(
        self, home: str, vector: NDArray[np.float32], limit: int, *, seconds: float = math.inf
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return nums and cosines of the approximate nearest neighbours, falling."""
        collection, most = self._collection(home, seconds), min(max(1, limit), self.results)
        found = self._asked(
            lambda _: collection.query(query_embeddings=vector[None], n_results=most, include=["distances"]),
            seconds,
        )
        nums = np.asarray([int(i) for i in found["ids"][0]], dtype=np.int64)
        return nums, 1.0 - np.asarray(found["distances"][0], dtype=np.float32)

    def count(self, home: str) -> int:
        collection = self._collection(home)
        return int(self._asked(lambda _: collection.count()))

    def nums(self, home: str) -> NDArray[np.int64]:
        collection, ids = self._collection(home), list[str]()
        while part := self._asked(lambda _: collection.get(include=[], limit=self.results, offset=len(ids))["ids"]):
            ids.extend(part)
        return np.sort(np.asarray([int(i) for i in ids], dtype=np.int64))

    def _labelled(self, home: str) -> dict[str, str]:
        return {} if self.labels is None else self.labels.of_collection(home)

    def _keep(self, home: str, model: Any) -> None:
        from chromadb.api.models.Collection import Collection

        self._collections[home] = Collection(client=self._opened(), model=model, embedding_function=None)

    def _collection(self, home: str, seconds: float = math.inf) -> Any:
        found = self._collections.get(home)
        if found is None:
            self.look(home, seconds)
            found = self._collections[home]
        return found

    @abstractmethod
    def _opened(self) -> Any:
        """Return Chroma's client, made now if there is none."""

    @abstractmethod
    def _asked(self, call: Callable[[Any], T], seconds: float = math.inf) -> T:
        """Return Chroma's answer, or raise an error of ours."""


class VectorServer(ChromaServer):
    """Chroma behind HTTP."""

    def __init__(self, settings: VectorsConfig, *, failures_max: int = 3) -> None:
        called = f"The Chroma server {settings.address}"  # which has no token in it
        super().__init__(settings.address, called, limit_s=settings.timeout_ms / 1e3, failures_max=failures_max)
        self.hnsw, self.batch, self.results = SERVED_HNSW, settings.batch, settings.results
        self._settings, self.at_once = settings, settings.batch
        self._headers = _headers(settings)
        self.where = {"tenant": settings.tenant, "database": settings.database}

    def check(self, seconds: float = math.inf) -> None:
        """Check that the server can be used and takes the token."""
        settings = self._settings
        version = str(self._asked(lambda client: client.get_version(), seconds))
        if version.partition(".")[0] != MAJOR:
            raise VectorsRefused(f"{self.called} is of version {version!r}, and one of version {MAJOR} is needed.")
        try:
            self._asked(lambda client: client.get_database(settings.database, tenant=settings.tenant), seconds)
        except CollectionLost as e:
            raise VectorsRefused(
                f"{self.called} has no database {settings.database!r} of the tenant "
                f"{settings.tenant!r}. Make it there, or name another in vectors.database and vectors.tenant."
            ) from e

    def close(self) -> None:
        with self._lock:
            client, self._client = self._client, None
            self._collections.clear()
        if client is not None:
            client.let_go()

    def _opened(self) -> Any:
        with self._lock:
            if self._client is None:
                with extra("chromadb", self.called):
                    from recall_integrations.indexes import chroma_http

                self._client = chroma_http.connect(self.name, self._headers)
            return self._client

    def _asked(self, call: Callable[[Any], T], seconds: float = math.inf) -> T:
        """Return the server's answer, or raise an error of ours that says what is wrong and never holds the token."""
        client = self._opened()  # which loads chromadb: that is no part of the time

        def call_within(limit_s: float) -> T:
            with within(limit_s):
                return call(client)

        return self._ask(call_within, seconds)

    def _met(self, error: BaseException) -> IndexUnavailable:
        import httpx
        from chromadb import errors as theirs

        from recall_integrations.indexes.chroma_http import REFUSED, BadStatus

        if isinstance(error, BadStatus) and error.status in REFUSED:
            variable = self._settings.token_variable
            hint = f"the token in {variable}" if variable else "no token was sent: vectors.token_variable names it"
            return VectorsRefused(f"{self.called} refuses us (status {error.status}; {hint}).")
        limit = _limit(error)
        if limit:
            return VectorsOver(f"{self.called} refuses a request: {limit}")
        if isinstance(error, theirs.NotFoundError | theirs.InvalidDimensionException | theirs.InvalidArgumentError):
            return CollectionLost(f"{self.called} says: {error}")
        if isinstance(error, httpx.TimeoutException | RecallTimeout):
            return VectorsLate(f"{self.called} did not answer in time.")
        if isinstance(error, httpx.HTTPError):
            return VectorsAway(f"{self.called} cannot be reached: {error or type(error).__name__}.")
        if isinstance(error, BadStatus):
            return VectorsAway(f"{self.called} does not work: {error}.")
        if isinstance(error, ValueError):  # what it says is no JSON
            return VectorsRefused(f"What answers at {self.name} is no Chroma server of version {MAJOR}.")
        if type(error) is Exception:  # so the client raises what it does not know: the text of the answer
            said = _message(str(error))
            hint = f"It says: {said}" if said else "Is it one at all?"
            return VectorsRefused(f"{self.called} does not do what it is asked. {hint}")
        return VectorsAway(f"{self.called} failed: {type(error).__name__}: {str(error)[:SAID_MAX]}")


def _limit(error: BaseException) -> str:
    """Say which limit a request broke, and what to do; empty = the error is about something else."""
    from chromadb import errors as theirs

    from recall_integrations.indexes.chroma_http import BadStatus

    if isinstance(error, BadStatus):
        return error.limit
    if isinstance(error, theirs.BatchSizeExceededError):
        return of_a_request(str(error)) or BODY
    if isinstance(error, theirs.ChromaError | ValueError):
        return of_a_quota(str(error))
    return of_a_quota(_message(str(error))) if type(error) is Exception else ""


def _message(answer: str) -> str:
    """Extract the message from a Chroma server's error answer; empty = it is no answer of a Chroma server."""
    try:
        said = json.loads(answer)
    except ValueError:
        return ""
    return str(said["message"])[:SAID_MAX] if isinstance(said, dict) and "message" in said else ""


def _delete(collection: Any, ids: list[str], _client: Any) -> None:
    collection.delete(ids=ids)


def _put(
    collection: Any, ids: list[str], vectors: NDArray[np.float32], metadatas: list[dict[str, str]] | None, _client: Any
) -> None:
    collection.upsert(ids=ids, embeddings=vectors, metadatas=metadatas)


def _headers(settings: VectorsConfig) -> dict[str, str]:
    if not settings.token_variable:
        return {}
    token = os.environ.get(settings.token_variable, "")
    if not token:
        raise ConfigError(
            f"vectors.token_variable names the environment variable {settings.token_variable!r}, which is not set."
        )
    if not token.isascii() or not token.isprintable():
        raise ConfigError(f"The token in the environment variable {settings.token_variable!r} cannot be sent.")
    own = {} if settings.in_cloud else {"Authorization": f"Bearer {token}"}  # servers and proxies look at one of both
    return {"X-Chroma-Token": token, **own}
