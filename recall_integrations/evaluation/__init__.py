"""Measuring recall on labelled questions of one's own.

    from recall_integrations.evaluation import evaluate, compare

`evaluate` says how good recalls of one's own store are, `compare` which of two evaluations is better
(docs/evaluate.md). What measures on research data, or compares with other libraries, is in `benchmarks/` of the
repository.
"""

from recall_integrations.evaluation.evaluation import Evaluation, evaluate
from recall_integrations.evaluation.metrics import labels_needed
from recall_integrations.evaluation.reports import Comparison, compare

__all__ = ["Comparison", "Evaluation", "compare", "evaluate", "labels_needed"]
