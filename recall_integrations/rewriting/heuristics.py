"""Queries so plain that other words for them are not worth a call, recognised by their text alone."""

from __future__ import annotations

import re

from recall_integrations.patterns import regex
from recall_integrations.text import length_in_words, tokenize

SHORT_CHARS_MAX = 24
IDENTIFIER_CHARS_MAX = 512
SHORT_TOKENS_MAX = 3

_COMMAND = regex(r"(?:please\s+)?(?:show|find|list|get|open)\b(?!')", re.IGNORECASE)
_LITERAL = regex(
    r'(?:\s*(?:"[^"]+"|“[^”]+”|„[^“”]+[“”]|«[^»]+»|`[^`]+`|‘[^’]+’|(?<!\w)\'[^\']+\'(?!\w))[,;]?)+[\s.?!]*'
)
# A token that is a name for exactly one thing. Each alternative is anchored and has disjoint repetitions.
_IDENTIFIER = regex(
    r"""
      [a-z][a-z0-9+.-]*://\S+                           # URL
    | (?:~|\.{1,2})?/\S+ | [a-z]:\\\S+                  # path
    | [\w.@-]+(?:[/\\][\w.@-]+)+(?:[:\#]\d+)?           # relative path, path:line, owner/repo#1
    | [\w.-]+:[\w./-]+                                  # repo:path
    | \#\d+ | [\w.-]+\#\d+                              # issue number
    | [a-z][a-z0-9]*-\d+                                # ticket
    | [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}       # UUID
    | (?=[a-f]*\d)[0-9a-f]{7,64}                        # commit
    | [^\W_]+(?:-[^\W_]+){2,} | (?=\w*[^\W_]_[^\W_])\w+ # slug-of-words, snake_case
    | \w+(?:\.\w+)+(?:\(\))?                            # file.ext, module.name
    | [a-z]+(?-i:[A-Z])\w+                              # camelCase
    | (?=\w*\d)(?=\w*[^\W\d_])\w+                       # m1, 4f2a
    """,
    re.VERBOSE | re.IGNORECASE,
)


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
    token = token.strip("?!,;\"'()[]<>")
    return 0 < len(token) <= IDENTIFIER_CHARS_MAX and _IDENTIFIER.fullmatch(token.rstrip(".")) is not None
