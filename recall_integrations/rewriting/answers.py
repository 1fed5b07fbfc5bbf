"""Parsing of a language model's answer: query text, bounded in length and number, and nothing else."""

from __future__ import annotations

import json
import re
import unicodedata

from recall_integrations.patterns import regex

REWRITES_MAX = 3
REWRITE_CHARS_MAX = 300
OUTPUT_CHARS_MAX = 20_000

_THINKING = regex(r"<(think|thinking|reasoning)>[^<]*(?:<(?!/\1>)[^<]*)*(?:</\1>|$)", re.IGNORECASE)
_PREFIX = regex(
    r"(?:[-*+•‣◦·–—>#]+\s+|[(\[]?\d{1,2}[.):\]]+(?=[\s\"'`*“])\s*|[(\[]?[a-c][.)\]]+\s+|"
    r"(?:rewrite|rewritten query|request|memory|memories|alternative|phrasing|query|option|version|variation)s?"
    r"\s*\d{0,2}\s*[:)]+\s*)",
    re.IGNORECASE,
)
_CHATTER = regex(
    r"(?:sure\b|certainly|of course|okay|here (?:are|is)|here's|sorry|i'm sorry|i am sorry|as an ai|"
    r"i (?:cannot|can't|am unable to) (?:help|assist|comply|rewrite|rephrase|fulfil|provide|answer)|"
    r"unfortunately|let me know|i hope|note that|n/a\b|none\b\.?$|null\b|no (?:rewrites?|alternatives?)\b)",
    re.IGNORECASE,
)
_WRAPPERS = "\"'`*_“”„‘’«» \t"


def parse_rewrites(output: object, original: str, most: int = REWRITES_MAX, *, prompt: str = "") -> tuple[str, ...]:
    """Return the phrasings in a model's answer: at most `most`, different from the query and from each other.

    `prompt`: the prompt without the query; a line that repeats a part of it is no phrasing.

    Takes lines or a JSON list of strings. Bullets, numbers, quotes, bold marks and labels are taken off; introductions,
    refusals, code fences, reasoning blocks and lines over 300 characters are left out. Anything else gives `()`. Never
    raises.
    """
    if not isinstance(output, str):
        return ()
    text = _THINKING.sub("\n", output[:OUTPUT_CHARS_MAX].replace("’", "'"))
    seen, asked = {_normal(original)}, _normal(prompt)
    found: list[str] = []
    for line in _from_json(text) or text.splitlines():
        cleaned = _cleaned(line)
        normal = _normal(cleaned)
        if normal and normal not in seen and normal not in asked and not _is_noise(cleaned):
            seen.add(normal)
            found.append(cleaned)
        if len(found) >= most:
            break
    return tuple(found)


def _from_json(text: str) -> list[str]:
    start, end = text.find("["), text.rfind("]")
    if start < 0 or end < start or text[:start].strip(" \n`:{").count("\n") > 1:
        return []
    try:
        items = json.loads(text[start : end + 1])
    except (ValueError, RecursionError):
        return []
    return [item for item in items if isinstance(item, str)] if isinstance(items, list) else []


def _cleaned(line: str) -> str:
    text = "".join(c if unicodedata.category(c) not in ("Cc", "Cs", "Co") else " " for c in line)
    text = " ".join(text.split())
    for _ in range(3):  # "- **1. Rewrite:** …" carries several
        text = text.strip(_WRAPPERS)
        match = _PREFIX.match(text)
        if match is None or match.end() == len(text):
            break
        text = text[match.end() :]
    return text.strip(_WRAPPERS)


def _is_noise(text: str) -> bool:
    letters = sum(c.isalpha() for c in text)
    return (
        letters < 2
        or len(text) > REWRITE_CHARS_MAX
        or text.endswith(":")
        or text[0] in "{}[]<|~"
        or _CHATTER.match(text) is not None
    )


def _normal(text: str) -> str:
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))
