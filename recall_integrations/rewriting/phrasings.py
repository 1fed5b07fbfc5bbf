"""Texts of rewriting: the prompt, its answer, and the queries that need none."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

from recall_integrations.patterns import regex
from recall_integrations.query.identifiers import find_identifiers
from recall_integrations.text import length_in_words, tokenize

QUERY_CHARS_MAX = 2_000
PLACE = "{query}"

PROMPTS: Mapping[str, str] = {
    name: Path(__file__).with_name(f"{name}.txt").read_text(encoding="utf-8").strip()
    for name in ("alternatives", "hypothetical")
}


def prompt_for(query: str, template: str = PROMPTS["alternatives"]) -> str:
    """Return the template with the query in place of `{query}`, as a JSON string, cut at 2,000 characters."""
    return template.replace(PLACE, json.dumps(query[:QUERY_CHARS_MAX], ensure_ascii=False))


REWRITES_MAX = 3
REWRITE_CHARS_MAX = 300
OUTPUT_CHARS_MAX = 20_000

_TAGS = regex(r"</?(?:phrasing|rewrite|alternative|query|memory|option|item|li|ul|ol)s?>", re.IGNORECASE)
_THINKING = regex(r"<(think|thinking|reasoning)>[^<]*(?:<(?!/\1>)[^<]*)*(?:</\1>|$)", re.IGNORECASE)
_PREFIX = regex(
    r"(?:[-*+•‣◦·–—>#]+\s+|[(\[]?\d{1,2}[.):\]]+(?=[\s\"'`*“])\s*|[(\[]?[a-c][.)\]]+\s+|"
    r"(?:rewrite|rewritten query|request|memory|memories|alternative|phrasing|query|option|version|variation)s?"
    r"\s*\d{0,2}\s*[:)]+\s*)",
    re.IGNORECASE,
)
_ANOTHER = regex(r"^\W*request\s*:", re.IGNORECASE | re.MULTILINE)  # a small model goes on with requests of its own
_JSON = regex(r'[\[{]\s*["{]')
_STRING = regex(r'"(?P<key>[^"\\\n]{1,60})"\s*:\s*(?P<of_key>"(?:[^"\\]|\\.)*")?|(?P<alone>"(?:[^"\\]|\\.)*")')
_ESCAPES = regex(r'"(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_ITEM = regex(r"\s*(?:\*\*)?(?:(?P<number>[(\[]?\d{1,2}[.):\]]+(?:\*\*)?)(?=[\s\"'`*“])|[-*+•‣◦·–—](?=\s))\s*")
_EXPLAINED = regex(
    r'\s*(?:\*\*|["“])(?P<inside>[^"“”*]*)(?:\*\*|["”])\s*(?P<sign>[-–—:(]|(?<=:\*\*)|(?<=:\*\*\s))\s*(?P<rest>.*)'
)
_CHATTER = regex(
    r"(?:sure\b|certainly|of course|okay|here (?:are|is)|here's|sorry|i'm sorry|i am sorry|i apologi[sz]e|"
    r"as an? (?:ai\b|(?:large )?language model)|could you (?:please )?(?:clarify|provide)|"
    r"i (?:cannot|can't|am unable to) (?:help|assist|comply|rewrite|rephrase|fulfil|provide|answer)|"
    r"i(?:'d| would| need| do not| don't| cannot| can't|'m| am)\b.{0,60}\b(?:access to (?:your|any|past|previous)|"
    r"assist (?:you|with)|clarif\w*|more (?:context|details?|information) (?:to|about what you)|"
    r"your (?:stored |personal )?(?:memories|notes|messages|requests?))|"
    r"(?:es )?tut mir leid|lo siento|(?:je suis )?désolé|mi dispiace|desculpe|извините|对不起|抱歉|"
    r"unfortunately|let me know|i hope|note that|n/a\b|none\b\.?$|null\b|no (?:rewrites?|alternatives?)\b)",
    re.IGNORECASE,
)
_WRAPPERS = "\"'`*_“”„‘’«» \t"


def parse_rewrites(output: object, original: str, most: int = REWRITES_MAX, *, prompt: str = "") -> tuple[str, ...]:
    """Return the phrasings in a model's answer: at most `most`, different from the query and from each other.

    `prompt`: the prompt without the query; a line that repeats a part of it is no phrasing.

    Takes lines or JSON, also JSON that is cut off; where some lines are items of a list, those alone. Bullets, numbers,
    quotes, bold marks, labels and explanations behind a quoted phrasing are taken off; introductions, refusals, code
    fences, reasoning blocks and lines over 300 characters are left out. Anything else gives `()`. Never raises.
    """
    if not isinstance(output, str):
        return ()
    text = without_thinking(output[:OUTPUT_CHARS_MAX]).replace("’", "'")
    seen, asked = {_normal(original)}, _normal(prompt)
    found: list[str] = []
    text = _TAGS.sub("\n", text)
    text = next((text[: m.start()] for m in _ANOTHER.finditer(text) if text[: m.start()].strip()), text)
    for line in _from_json(text) or _items(text.splitlines()):
        cleaned = _cleaned(line)
        normal = _normal(cleaned)
        if normal and normal not in seen and normal not in asked and not _is_noise(cleaned):
            seen.add(normal)
            found.append(cleaned)
        if len(found) >= most:
            break
    return tuple(found)


def without_thinking(text: str) -> str:
    """Return a model's answer without its reasoning blocks, also without one that has no end."""
    return _THINKING.sub("\n", text)


def _from_json(text: str) -> list[str]:
    """Return the strings of the first list or object, those under its first key alone where keys come again."""
    begin = _JSON.search(text)
    if begin is None:
        return []
    end = max(text.rfind(sign, begin.end()) for sign in "]}")
    found = _STRING.finditer(text, begin.start(), end if end >= 0 else len(text))
    pairs = [(m["key"] or "", m["of_key"] or m["alone"]) for m in found if m["of_key"] or m["alone"]]
    again = len({key for key, _ in pairs}) < len(pairs)
    wanted = [value for key, value in pairs if not again or key in ("", pairs[0][0])]
    return [json.loads(value, strict=False) for value in wanted if _ESCAPES.fullmatch(value)]


def _items(lines: Sequence[str]) -> list[str]:
    """Return the items of a list, of its outer level and without prose around it; all lines where there is none."""
    kinds = [(m["number"] is not None, line) for line in lines if (m := _ITEM.match(line))]
    if not kinds:
        return list(lines)
    return [_told(_ITEM.sub("", line, count=1)) for kind, line in kinds if kind == kinds[0][0]]


def _told(item: str) -> str:
    """Return what stands in bold or quotes before an explanation, and behind a label in bold."""
    found = _EXPLAINED.match(item)
    if found is None:
        return item
    label = found["inside"].endswith(":") or found["sign"] == ":"
    return found["rest"] if label else found["inside"]


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


SHORT_CHARS_MAX = 24
SHORT_TOKENS_MAX = 3

_COMMAND = regex(r"(?:please\s+)?(?:show|find|list|get|open)\b(?!')", re.IGNORECASE)
_LITERAL = regex(
    r'(?:\s*(?:"[^"]+"|“[^”]+”|„[^“”]+[“”]|«[^»]+»|`[^`]+`|‘[^’]+’|(?<!\w)\'[^\']+\'(?!\w))[,;]?)+[\s.?!]*'
)
_SLUG = regex(r"[^\W_]+(?:-[^\W_]+){2,}|(?=\w*\d)(?=\w*[^\W\d_])\w+")  # slug-of-words; m1, 4f2a


def skip_reason(query: str) -> str | None:
    """Return the reason code why a query needs no rewrite, or `None`.

    Tried in this order, so that the most telling reason is given:

    - `skip.literal_query`: all of it is quoted; the words are meant exactly;
    - `skip.identifier`: all of it is ids, slugs, paths or URLs;
    - `skip.command`: it begins with show, find, list, get or open;
    - `skip.short_query`: at most 24 characters and 3 words. An empty query is one.
    """
    text = query.strip()
    tokens = text.split()
    if text and _LITERAL.fullmatch(text):
        return "skip.literal_query"
    if tokens and all(_is_identifier(token) for token in tokens):
        return "skip.identifier"
    if _COMMAND.match(text):
        return "skip.command"
    if len(text) <= SHORT_CHARS_MAX and _words(text) <= SHORT_TOKENS_MAX:
        return "skip.short_query"
    return None


def _words(text: str) -> int:
    """Count the words of a text, also in a script without spaces between them."""
    return max(len(text.split()), length_in_words([token.word for token in tokenize(text)]))


def _is_identifier(token: str) -> bool:
    token = token.strip("?!,;\"'()[]<>").rstrip(".")
    return _SLUG.fullmatch(token) is not None or any(one.text == token for one in find_identifiers(token))


_INSTRUCTION = regex(
    r"\b(?:ignor\w*|disregard\w*|forget|override|bypass|vergiss|ignoriere?|oublie[rz]?|olvida)\b.{0,40}"
    r"\b(?:previous|prior|above|earlier|all|instructions?|rules?|prompt|anweisung\w*|instrucciones|consignes)\b"
    r"|\b(?:system|developer) prompt\b|\byou (?:are|must) now\b|\bas an ai\b|\bjailbreak\b|\bnew instructions?\b"
    r"|</?(?:system|assistant|user|instructions?|tool)\b|\[/?INST\]|<\|",
    re.IGNORECASE,
)


def instructs(text: str) -> bool:
    """Say whether a phrasing is an instruction to a model, which nobody asks of memories."""
    return _INSTRUCTION.search(text) is not None
