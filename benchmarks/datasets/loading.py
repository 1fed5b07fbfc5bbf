"""Which data sets there are: a name and what reads it. To add one, write its loader and enter it in `LOADERS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from benchmarks.datasets import jsonl, locomo_when
from benchmarks.datasets.data import EvaluationData
from benchmarks.datasets.locomo import load_locomo
from benchmarks.datasets.multihop import load_multihop
from recall_integrations.errors import InvalidArgument

__all__ = ["DATASETS", "LANGUAGES", "LOADERS", "Loader", "load"]

Loader = Callable[[Path, str], EvaluationData]  # the path that the user gave, and the name
LANGUAGES = "languages"  # a folder with a data set for each language, and their family


def _folder(path: Path, name: str) -> EvaluationData:
    """A data set with files as one's own has them, in the folder of its name: in `path`, or `path` itself."""
    parts = Path(name).parts
    within = path if path.absolute().parts[-len(parts) :] == parts else path / name
    return replace(jsonl.load_jsonl(within), name=name)


def _language(path: Path, name: str) -> EvaluationData:
    return replace(_folder(path, name), family=LANGUAGES)


LOADERS: Mapping[str, Loader] = {
    "locomo": lambda path, _: load_locomo(path),
    locomo_when.NAME: lambda path, _: locomo_when.load_locomo_when(path),
    "hotpotqa": load_multihop,
    "musique": load_multihop,
    "assistant": _folder,
    "projects": _folder,
    "phone": _folder,
    "documents": _folder,
    "talk": _folder,
    "preferences": _folder,
    "code": _folder,
    "claims": _folder,
    jsonl.NAME: lambda path, _: jsonl.load_jsonl(path),
}
PREFIXES: Mapping[str, Loader] = {  # of longer names
    "hotpotqa": load_multihop,
    "musique": load_multihop,
    f"{LANGUAGES}/": _language,
}
DATASETS = (*LOADERS, f"{LANGUAGES}/NAME")


def load(data_path: str | Path, dataset: str) -> EvaluationData:
    """The data set called `dataset`; `hotpotqa_train` is one of several files of HotpotQA, `languages/de` a language.

    Raises:
        InvalidArgument: an unknown name, or data that cannot be read.
    """
    loader = LOADERS.get(dataset) or next((own for name, own in PREFIXES.items() if dataset.startswith(name)), None)
    if loader is None:
        raise InvalidArgument(f"Unknown data set {dataset!r}. Use one of: {', '.join(DATASETS)}.")
    return loader(Path(data_path), dataset)
