"""A Chroma server for tests that answers what it is told to, and one that has limits as Chroma Cloud has them."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import numpy as np

Answer = tuple[int, str]
API = "/api/v2/"


def problem(code: str, message: str) -> str:
    """An answer of Chroma that is an error."""
    return json.dumps({"error": code, "message": message})


def quota(what: str, action: str, asked: int, most: int) -> str:
    """What Chroma Cloud says of a quota."""
    return (
        f"Quota exceeded: '{what}' exceeded quota limit for action '{action}': current usage of {asked} exceeds limit "
        f"of {most}. Request a quota increase"
    )


class Scripted:
    """Answers what it is told to; remembers what it was sent."""

    def __init__(self) -> None:
        self.answer: Callable[[str], Answer] = lambda _path: (200, "{}")
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.slow_s = 0.0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                outer.paths.append(self.path)
                outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                time.sleep(outer.slow_s)
                status, body = outer.answered(self.command, self.path, sent)
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def do_POST(self) -> None:
                self.do_GET()

            def do_PUT(self) -> None:
                self.do_GET()

            def do_DELETE(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None:
                return

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, _request: object, _address: object) -> None:
                """One whose client went away is no error, and what is printed of it stands in what others print."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def answered(self, _method: str, path: str, _sent: bytes) -> Answer:
        """What one request gets."""
        return self.answer(path)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Limited(Scripted):
    """Holds collections in memory, and refuses what is larger than Chroma Cloud takes.

    Args:
        most: records of a write, and results of an answer.
        collection_most: records of a collection.
        said_most: records of a write, as the server tells its client.
    """

    def __init__(self, most: int = 300, *, collection_most: int = 1_000_000, said_most: int = 1_000) -> None:
        self.most, self.collection_most, self.said_most = most, collection_most, said_most
        self.collections: dict[str, dict[str, Any]] = {}
        self.asked: list[tuple[str, int]] = []  # what was done, and how much of it was asked for
        self.refused = 0
        self._lock = threading.Lock()
        super().__init__()

    def sizes(self, action: str) -> list[int]:
        """How much was asked for by each request of a kind."""
        return [size for name, size in self.asked if name == action]

    def held(self, name: str) -> list[int]:
        """The numbers that a collection holds, rising."""
        return sorted(map(int, self.collections[name]["vectors"]))

    def answered(self, method: str, path: str, sent: bytes) -> Answer:
        parts = urlsplit(path).path.removeprefix(API).split("/")
        given = json.loads(sent) if sent else {}
        with self._lock:
            if parts == ["version"]:
                return 200, '"1.0.0"'
            if parts == ["pre-flight-checks"]:
                return 200, json.dumps({"max_batch_size": self.said_most})
            if len(parts) == 4:
                return 200, json.dumps({"id": str(uuid.UUID(int=1)), "name": parts[3], "tenant": parts[1]})
            if len(parts) == 5:
                return self._made(given)
            found = self._found(parts[5])
            if found is None:
                return 404, problem("NotFoundError", "there is no such collection")
            if len(parts) == 7:
                return self._done(found, parts[6], given)
            return self._looked(found, method, given)

    def _made(self, given: dict[str, Any]) -> Answer:
        made = {
            "id": str(uuid.uuid4()),
            "name": given["name"],
            "tenant": "default_tenant",
            "database": "default_database",
            "dimension": None,
            "metadata": given["metadata"],
            "configuration_json": {},
            "vectors": {},
        }
        return self._shown(self.collections.setdefault(given["name"], made))

    def _found(self, called: str) -> dict[str, Any] | None:
        """A collection by its name or its id."""
        return next((one for one in self.collections.values() if called in (one["name"], one["id"])), None)

    def _looked(self, found: dict[str, Any], method: str, given: dict[str, Any]) -> Answer:
        if method == "DELETE":
            del self.collections[found["name"]]
        elif method == "PUT":
            found["metadata"] = given["new_metadata"]
        return self._shown(found)

    @staticmethod
    def _shown(found: dict[str, Any]) -> Answer:
        return 200, json.dumps({key: value for key, value in found.items() if key != "vectors"})

    def _done(self, found: dict[str, Any], action: str, given: dict[str, Any]) -> Answer:
        what, size = {
            "upsert": ("Number of records", len(given.get("ids") or ())),
            "delete": ("Number of records", len(given.get("ids") or ())),
            "query": ("Number of results", given.get("n_results", 0)),
            "get": ("Limit value", given.get("limit") or 0),
            "count": ("", 0),
        }[action]
        self.asked.append((action, size))
        most = self.most
        if action == "upsert" and len(found["vectors"].keys() | set(given["ids"])) > self.collection_most:
            what, size, most = "Collection size (records)", len(found["vectors"]) + size, self.collection_most
        if size > most:
            self.refused += 1
            return 422, problem("ChromaError", quota(what, action.capitalize(), size, most))
        return 200, json.dumps(getattr(self, f"_{action}")(found, given))

    def _upsert(self, found: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
        found["vectors"].update(zip(given["ids"], given["embeddings"], strict=True))
        found["dimension"] = len(given["embeddings"][0])
        return {}

    def _delete(self, found: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
        for name in given["ids"]:
            found["vectors"].pop(name, None)
        return {}

    def _count(self, found: dict[str, Any], _given: dict[str, Any]) -> int:
        return len(found["vectors"])

    def _get(self, found: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
        begin = given["offset"] or 0
        return {"ids": list(found["vectors"])[begin : begin + given["limit"]]}

    def _query(self, found: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
        names = list(found["vectors"])
        matrix = np.asarray(list(found["vectors"].values()), dtype=np.float64).reshape(len(names), -1)
        (vector,) = np.asarray(given["query_embeddings"], dtype=np.float64)
        lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(vector)
        cosines = matrix @ vector / np.maximum(lengths, 1e-12)
        best = np.argsort(-cosines, kind="stable")[: given["n_results"]]
        return {"ids": [[names[i] for i in best]], "distances": [[1.0 - float(cosines[i]) for i in best]]}
