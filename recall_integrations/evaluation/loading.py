"""Which data sets there are: a name and what reads it. To add one, write its loader and enter it in `LOADERS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation import datasets_jsonl
from recall_integrations.evaluation.datasets import load_locomo, load_multihop
from recall_integrations.evaluation.questions import EvaluationData

__all__ = ["DATASETS", "LOADERS", "Loader", "load"]

Loader = Callable[[Path, str], EvaluationData]  # the path that the user gave, and the name

LOADERS: Mapping[str, Loader] = {
    "locomo": lambda path, _: load_locomo(path),
    "hotpotqa": load_multihop,
    "musique": load_multihop,
    datasets_jsonl.NAME: lambda path, _: datasets_jsonl.load_jsonl(path),
}
PREFIXES: Mapping[str, Loader] = {"hotpotqa": load_multihop, "musique": load_multihop}  # of longer names
DATASETS = tuple(LOADERS)


def load(data_path: str | Path, dataset: str) -> EvaluationData:
    """The data set called `dataset`; `hotpotqa_train` is one of several files of HotpotQA.

    Raises:
        InvalidArgument: an unknown name, or data that cannot be read.
    """
    loader = LOADERS.get(dataset) or next((own for name, own in PREFIXES.items() if dataset.startswith(name)), None)
    if loader is None:
        raise InvalidArgument(f"Unknown data set {dataset!r}. Use one of: {', '.join(DATASETS)}.")
    return loader(Path(data_path), dataset)
