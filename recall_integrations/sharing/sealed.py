"""Names of keys that reveal nothing, and values that count only where they were put.

A key is a keyed digest of the store, of the kind and of everything that the value depends on: no text, no
name, no scope can be read from it, and two stores never have the same. Each value follows a digest of itself and its
key: a value that was damaged, put elsewhere or made by another version does not count.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
from importlib.metadata import PackageNotFoundError, version

FORMAT = 1  # of the values
_BYTES = 16
VALUE_MAX = 1_000_000  # bytes; what is larger is not shared


@functools.cache
def made_by() -> str:
    """Return the version of the package: another version may answer differently."""
    try:
        return version("recall-integrations")
    except PackageNotFoundError:  # a checkout that is not installed
        return "unknown"


class Sealing:
    """Keys and seals of one store. Threads share it.

    Args:
        secret: the key of the store, which all its processes have and nobody else.
        store: place of the store, which tells it from copies.
        prefix: before every key.
    """

    def __init__(self, secret: bytes, store: str, prefix: str) -> None:
        self._secret = hashlib.blake2b(repr((FORMAT, made_by(), store)).encode(), key=secret[:64]).digest()
        self._prefix = prefix

    def key(self, kind: str, *parts: object) -> str:
        """Return the key of a value that depends on these parts.

        Args:
            kind: a word of ours: `result`, `rewrite`, …
            parts: told apart by their `repr`.
        """
        said = repr((kind, *parts)).encode("utf-8", "surrogatepass")
        return f"{self._prefix}:{kind}:{self._digest(said).hex()}"

    def sealed(self, key: str, value: bytes) -> bytes | None:
        """Return a value as it is put under a key; `None` = it is too large."""
        return None if len(value) > VALUE_MAX else self._of(key, value) + value

    def opened(self, key: str, held: object) -> bytes | None:
        """Return the value that was put under a key; `None` where `held` was not put there."""
        if not isinstance(held, bytes) or not _BYTES < len(held) <= VALUE_MAX + _BYTES:
            return None
        value = held[_BYTES:]
        return value if hmac.compare_digest(held[:_BYTES], self._of(key, value)) else None

    def _of(self, key: str, value: bytes) -> bytes:
        return self._digest(key.encode() + b"\0" + value)

    def _digest(self, said: bytes) -> bytes:
        return hashlib.blake2b(said, key=self._secret, digest_size=_BYTES).digest()
