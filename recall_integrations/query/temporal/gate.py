"""Select the rules of a grammar that can match at all, from the set of symbols of a text.

Most patterns hold a class without which they cannot match: `NUM COUNTED` needs a number and a word that is counted. Up
to `NEEDS_MAX` such needs of each rule are kept, the rarest ones, as bits of whole numbers: so a few look-ups for each
distinct symbol tell which of hundreds of rules are worth a search. No rule that could match is ever left out: an
optional or forbidden part is no need, and of alternatives any one will do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from recall_integrations.patterns import regex

NEEDS_MAX = 3
_PIECE = regex(
    r"\s*(?:(?P<name>[a-z]\w*):)?"
    r"(?:(?P<word>[a-z][a-z']*)|(?P<cls>[A-Z][A-Z0-9]*)|(?P<op>\(\?<?[=!]|[()|?^$]|\{\d(?:,\d)?\}))"
)

Needs = list[frozenset[str]]
Members = Callable[["str | None", "str | None"], frozenset[str]]
_Piece = tuple["str | None", "str | None", "str | None", "str | None"]  # a part's name, a word, a class, a sign


def needs(pattern: str, members: Members) -> Needs:
    """Return sets of symbols, of each of which every match of `pattern` holds one.

    Args:
        pattern: pattern as in the table of `grammar`.
        members: function that returns the symbols of a word, or else of a class.
    """
    read: list[_Piece] = [(piece["name"], piece["word"], piece["cls"], piece["op"]) for piece in pieces(pattern)]
    found, at = _alternatives(read, 0, members)
    if at != len(read):
        raise ValueError(f"unbalanced brackets in the pattern {pattern!r}")
    return found


def pieces(pattern: str) -> Iterator[re.Match[str]]:
    """Yield the pieces of a pattern of `grammar`: a word, a class or a sign each, the first two maybe with a name.

    Raises:
        ValueError: it cannot be read.
    """
    position, end = 0, len(pattern.rstrip())
    while position < end:
        piece = _PIECE.match(pattern, position)
        if piece is None:
            raise ValueError(f"cannot read the pattern {pattern!r} at {position}")
        yield piece
        position = piece.end()


def _alternatives(pieces: Sequence[_Piece], at: int, members: Members) -> tuple[Needs, int]:
    """Return the needs of the pieces up to the closing bracket, and its place."""
    branches: list[Needs] = [[]]
    while at < len(pieces):
        _, word, name, op = pieces[at]
        if op == ")":
            break
        if op == "|":
            branches.append([])
            at += 1
            continue
        if op in ("^", "$"):
            at += 1
            continue
        if op is None:
            found, at = [members(word, name)], at + 1
        else:
            found, at = _alternatives(pieces, at + 1, members)
            at += 1  # the closing bracket
            if op.endswith("!"):
                found = []
        if at < len(pieces) and (quantifier := pieces[at][-1]) and (quantifier == "?" or quantifier[0] == "{"):
            at += 1
            if quantifier == "?" or quantifier[1] == "0":
                found = []
        branches[-1].extend(found)
    if len(branches) == 1:
        return branches[0], at
    if not all(branches):
        return [], at
    return [frozenset[str]().union(*(min(branch, key=len) for branch in branches))], at


class Gate:
    """Selects the rules that can match a text with given symbols.

    Args:
        rules: the needs of each rule, in order.
    """

    def __init__(self, rules: Sequence[Needs]) -> None:
        self._free = [0] * NEEDS_MAX  # rules with fewer needs than so many
        self._waiting: list[dict[str, int]] = [{} for _ in range(NEEDS_MAX)]
        for i, found in enumerate(rules):
            rarest = sorted(dict.fromkeys(found), key=len)[:NEEDS_MAX]
            for place in range(NEEDS_MAX):
                if place >= len(rarest):
                    self._free[place] |= 1 << i
                    continue
                waiting = self._waiting[place]
                for symbol in rarest[place]:
                    waiting[symbol] = waiting.get(symbol, 0) | 1 << i

    def open(self, symbols: Iterable[str]) -> int:
        """Return the rules that may match if these symbols occur: bit `i` for rule `i`."""
        first, second, third = self._free
        one, two, three = self._waiting
        for symbol in symbols:
            first |= one.get(symbol, 0)
            second |= two.get(symbol, 0)
            third |= three.get(symbol, 0)
        return first & second & third
