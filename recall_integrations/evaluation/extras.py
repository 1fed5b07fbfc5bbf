"""The one gate to the packages of the `bench` extra."""

from __future__ import annotations

import importlib
from typing import Any

from recall_integrations.errors import MissingExtra


def require(module: str) -> Any:
    """Import `module`.

    Raises:
        MissingExtra: it, or something it imports, is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as e:
        raise MissingExtra(
            f"The benchmarks need {module!r} ({e}). Install it with: pip install 'recall-integrations[bench]'"
        ) from e


PEERS = (
    "bm25s",
    "langchain_chroma",
    "langchain_classic.retrievers",
    "langchain_community.retrievers",
    "llama_index.retrievers.bm25",
    "llama_index.vector_stores.chroma",
)
METRICS = "ir_measures"
PROCESSES = "psutil"


def check(*modules: str, peers: bool = False) -> None:
    """Before a long run: whether it can come to its end.

    Args:
        modules: what it needs at the end.
        peers: whether it compares with the frameworks' retrievers.

    Raises:
        MissingExtra: one is not installed.
    """
    for module in (*modules, *(PEERS if peers else ())):
        require(module)
