"""Multi-hop encyclopaedia questions, HotpotQA and MuSiQue. No data comes with the package."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.datasets.data import Collection, EvaluationData, read_json
from recall_integrations.errors import InvalidArgument, InvalidInput
from recall_integrations.evaluation.questions import Question
from recall_integrations.types import Memory, Scope

__all__ = ["MULTIHOP", "load_multihop"]

MULTIHOP = "multi-hop"  # the family of HotpotQA and MuSiQue

_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


def load_multihop(path: str | Path, name: str) -> EvaluationData:
    """Read HotpotQA or MuSiQue in the layout of a question file beside a `…_corpus.json`: one collection.

    A document becomes a `chunk` memory, text "title. text". Its id is its title; where titles repeat (MuSiQue splits
    articles into passages), the second is `title#2` and so on, in corpus order. Passages of one title share a thread.

    Args:
        path: the folder (or its parent, if it is called `multihop`).
        name: `hotpotqa` or `musique`: the files' prefix; `hotpotqa_train` names one of several exactly.

    Raises:
        InvalidArgument: a file is missing, ambiguous or of another layout; the message names the path and the place.
    """
    file, corpus = _multihop_files(Path(path), name)
    scope = Scope(user_id="multihop", namespace=name)
    memories: list[Memory] = []
    by_text: dict[tuple[str, str], str] = {}
    by_title: dict[str, list[str]] = {}
    for number, (title, body) in enumerate(_documents(read_json(corpus), corpus)):
        clean = _CONTROL.sub(" ", title).strip()
        ids = by_title.setdefault(title, [])
        unique = f"{clean}#{len(ids) + 1}" if ids else clean
        try:
            memory = Memory(
                text=f"{title}. {body}",
                id=unique,
                type="chunk",
                thread=clean,
                position=len(ids),
                metadata={"title": title},
            )
        except InvalidInput as e:
            raise InvalidArgument(f"{corpus}: document {number} cannot be a memory: {e}") from e
        memories.append(memory)
        by_text.setdefault((title, body), unique)
        ids.append(unique)
    questions = tuple(_multihop_questions(read_json(file), file, scope, by_text, by_title))
    return EvaluationData(
        name=name,
        collections=(Collection(name=name, scope=scope, memories=tuple(memories), questions=questions),),
        family=MULTIHOP,
    )


def _documents(loaded: object, file: Path) -> Iterator[tuple[str, str]]:
    if isinstance(loaded, dict) and loaded:  # HotpotQA: title → sentences
        for title, sentences in loaded.items():
            if not isinstance(sentences, list) or not all(isinstance(s, str) for s in sentences):
                raise InvalidArgument(f"{file}: the document {title!r} is not a list of sentences.")
            yield title, "".join(sentences)
    elif isinstance(loaded, list) and loaded:  # MuSiQue: a list of passages
        for number, row in enumerate(loaded):
            if not isinstance(row, dict) or not all(isinstance(row.get(k), str) for k in ("title", "text")):
                raise InvalidArgument(f"{file}: document {number} needs the texts 'title' and 'text'.")
            yield row["title"], row["text"]
    else:
        raise InvalidArgument(f"{file} must hold a list of passages, or a mapping from title to sentences.")


def _multihop_questions(
    loaded: object,
    file: Path,
    scope: Scope,
    by_text: Mapping[tuple[str, str], str],
    by_title: Mapping[str, Sequence[str]],
) -> Iterator[Question]:
    if not isinstance(loaded, list) or not loaded:
        raise InvalidArgument(f"{file} must hold a non-empty list of questions.")
    for number, row in enumerate(loaded):
        if not isinstance(row, dict) or not isinstance(row.get("question"), str) or not row["question"].strip():
            raise InvalidArgument(f"{file}: question {number} has no 'question' text.")
        try:
            if "supporting_facts" in row:
                gold = [doc for title, _ in row["supporting_facts"] for doc in by_title.get(title, ())]
                category = str(row.get("type", "all"))
            else:
                keys = [(p["title"], p["paragraph_text"]) for p in row["paragraphs"] if p["is_supporting"]]
                gold = [by_text[key] for key in keys if key in by_text]
                category = str(row["id"]).split("_")[0].rstrip("0123456789") or "all"
        except (KeyError, TypeError, ValueError) as e:
            raise InvalidArgument(
                f"{file}: question {number} has neither supporting facts nor paragraphs: {e!r}"
            ) from e
        yield Question(
            id=f"{scope.namespace}/{number}",
            text=row["question"],
            relevant=tuple(dict.fromkeys(gold)),
            category=category,
            scope=scope,
        )


def _multihop_files(folder: Path, name: str) -> tuple[Path, Path]:
    if (folder / "multihop").is_dir():
        folder = folder / "multihop"
    if not folder.is_dir():
        raise InvalidArgument(
            f"{folder} is not a folder. Pass the one that holds {name}*.json and {name}*_corpus.json."
        )
    exact = folder / f"{name}_corpus.json"
    found = [exact] if exact.is_file() else sorted(folder.glob(f"{name}*_corpus.json"))
    if len(found) != 1:
        state = "no" if not found else "more than one"
        raise InvalidArgument(f"{folder} holds {state} {name}*_corpus.json. Name one, such as 'hotpotqa_train'.")
    file = found[0].with_name(found[0].name.replace("_corpus.json", ".json"))
    if not file.is_file():
        raise InvalidArgument(f"{file} is missing beside {found[0].name}.")
    return file, found[0]
