"""Where what was learned of a scope is kept: `learning/<digest>/` in the store's directory.

The digest is keyed, so that a listing of the directory does not say whose it is.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from recall_integrations.types import Scope

LEARNING = "learning"
LEARNS = "LOCK.learning"  # of the process that learns
_DIGEST_BYTES = 12


def name_of(scope: Scope, key: bytes) -> str:
    """Of the directory of a scope, by the store's key."""
    said = json.dumps([scope.user_id, scope.agent_id, scope.namespace], ensure_ascii=False)
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES, key=key[:64]).hexdigest()


def forget(directory: Path, scope: Scope, key: bytes) -> None:
    """Remove what was learned of a scope.

    Raises:
        OSError: it cannot be removed.
    """
    path = directory / LEARNING / name_of(scope, key)
    if path.is_dir():
        shutil.rmtree(path)
