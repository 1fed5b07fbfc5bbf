"""Measuring recall on labelled questions of one's own.

    from recall_integrations.evaluation import evaluate, compare

`evaluate` says how good recalls of one's own store are, `compare` which of several configurations is better
(docs/evaluate.md). What measures on research data, or compares with other libraries, is in `benchmarks/` of the
repository.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recall_integrations.evaluation.comparison import Comparison, compare
    from recall_integrations.evaluation.evaluation import Evaluation, evaluate
    from recall_integrations.evaluation.metrics import labels_needed

__all__ = ["Comparison", "Evaluation", "compare", "evaluate", "labels_needed"]

_HOMES = {
    **dict.fromkeys(("Comparison", "compare"), "comparison"),
    **dict.fromkeys(("Evaluation", "evaluate"), "evaluation"),
    "labels_needed": "metrics",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
