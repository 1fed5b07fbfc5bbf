"""How well and how fast the language of one line is told: ours beside whichever libraries are installed.

    python scripts/measure_language_detection.py DATA

`DATA` is the folder with `languages/`, `locomo/` and `talk/`. The questions of each language should be told as such;
of English texts the share that is taken for another language is what costs. Libraries that are looked for: py3langid,
pycld2, whatlang, lingua, langdetect. None of them is needed by the package.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from recall_integrations.text import detection
from recall_integrations.text.detection import detect_language

MADE_UP = Path(__file__).resolve().parents[1] / "benchmarks" / "made_up"
TEXTS_MAX = 400  # of a set, for libraries that take more than a millisecond
Detector = Callable[[str], "str | None"]
_ISO3 = {"eng": "en", "deu": "de", "spa": "es", "rus": "ru", "cmn": "zh", "ara": "ar"}


def texts_of(data: Path) -> dict[str, list[str]]:
    """Sets of texts by name; the name begins with the code of their language."""
    found: dict[str, list[str]] = {}
    for folder in sorted((data / "languages").iterdir()):
        found[f"{folder.name} questions"] = _fields(folder / "questions.jsonl", "query")
    found["en questions"] = _fields(data / "talk" / "questions.jsonl", "query")
    found["en turns"] = list(_turns(data / "locomo" / "locomo10.json"))
    found["en lines"] = _fields(data / "talk" / "memories.jsonl", "text")
    for folder, field in (("dates", "input"), ("negation", "query")):
        for path in sorted((MADE_UP / folder).glob("*.jsonl")):
            found[f"{path.stem} {folder}"] = _fields(path, field)
    return {name: list(dict.fromkeys(texts)) for name, texts in found.items()}


def _fields(path: Path, field: str) -> list[str]:
    return [json.loads(line)[field] for line in path.read_text(encoding="utf-8").splitlines()]


def _turns(path: Path) -> Iterator[str]:
    for conversation in json.loads(path.read_text(encoding="utf-8")):
        for key, turns in conversation["conversation"].items():
            if key.startswith("session_") and isinstance(turns, list):
                yield from (turn["text"] for turn in turns if turn.get("text"))


def _ours(text: str) -> str | None:
    detection._detected.cache_clear()
    return detect_language(text).code


def detectors() -> dict[str, tuple[Detector, bool]]:
    """Detectors by name, and whether they are slow."""
    found: dict[str, tuple[Detector, bool]] = {"ours": (_ours, False)}
    try:
        import py3langid

        found["py3langid"] = (lambda text: str(py3langid.classify(text)[0]), False)
    except ImportError:
        pass
    try:
        import pycld2

        found["pycld2"] = (lambda text: _cld2(pycld2, text), False)
    except ImportError:
        pass
    try:
        import whatlang

        found["whatlang"] = (lambda text: _whatlang(whatlang, text), False)
    except ImportError:
        pass
    try:
        import lingua

        built = lingua.LanguageDetectorBuilder.from_all_languages().build()
        found["lingua"] = (lambda text: _lingua(built, text), True)
    except ImportError:
        pass
    try:
        import langdetect

        found["langdetect"] = (lambda text: str(langdetect.detect(text)).split("-")[0], True)
    except ImportError:
        pass
    return found


def _cld2(library: object, text: str) -> str | None:
    reliable, _, details = library.detect(text)  # type: ignore[attr-defined]
    return str(details[0][1]).split("-")[0] if reliable else None


def _whatlang(library: object, text: str) -> str | None:
    found = library.detect(text)  # type: ignore[attr-defined]
    return None if found is None else _ISO3.get(found.lang, found.lang)


def _lingua(detector: object, text: str) -> str | None:
    found = detector.detect_language_of(text)  # type: ignore[attr-defined]
    return None if found is None else str(found.iso_code_639_1.name).lower()


def _answer(detector: Detector, text: str) -> str | None:
    try:
        return detector(text)
    except Exception:  # noqa: BLE001 - libraries raise their own errors for texts without letters: no answer
        return None


def main(data: Path) -> None:
    sets = texts_of(data)
    table = Table("detector", "texts", "number", "right", "no answer", "wrong", "taken for another", "µs a text")
    for name, (detector, slow) in detectors().items():
        _answer(detector, "The first call loads what it needs.")
        for label, every in sets.items():
            texts, code = every[:TEXTS_MAX] if slow else every, label.split()[0]
            begin = time.process_time()
            told = [_answer(detector, text) for text in texts]
            took = (time.process_time() - begin) / len(texts) * 1e6
            shares = [
                sum(t == code for t in told) / len(told),
                sum(t is None for t in told) / len(told),
                sum(t not in {code, None} for t in told) / len(told),
                sum(t not in {"en", None} for t in told) / len(told) if code == "en" else None,
            ]
            shown = ["" if share is None else f"{share:.4f}" for share in shares]
            table.add_row(name, label, str(len(texts)), *shown, f"{took:.1f}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
