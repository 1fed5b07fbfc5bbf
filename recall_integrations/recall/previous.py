"""Which of what tells a slot is the one before, where a query asks for that.

    what was my gym before?            the newest but one that tells it
    who cut her hair before Marta?     the newest that tells it, was told before what says "Marta", and does not say it

Who asks may name the value that came next. What says it is that value, however often it was said again since; without
that, what was said again would be taken for the one before.
"""

from __future__ import annotations

from collections.abc import Sequence

from recall_integrations.facts.latest.evidence import CHARS
from recall_integrations.indexes.scope_view import ScopeView
from recall_integrations.patterns import regex
from recall_integrations.text import stems

TELLS_MIN = 0.5  # share of telling it
# The same of what only has to be that value or the one after it: what says the one that came next, or is found best.
HINTS_MIN = 0.1
_NEXT = regex(
    r"\b(?:before|prior\sto|(?:un)?till?|up\sto|replaced\sby|made\sway\sfor|gave\sway\sto)\b(?P<named>[^,;?!]*)", 2
)
_ASKS = regex(r"\b(?:what|which|who|whom|whose|where|how|did|does|do)\b", 2)
_EMPTY = frozenset(
    stems(
        "before now then here there this that these those it i he she they we you my our his her their its was were is "
        "are be been being got get gets getting became become turned changed change moved move switched switch went "
        "going go came come took take had have has a an the of to in at on for with by last current new old latest one "
        "up over into as and or not what which who where did do does so just"
    )
)


def named_next(query: str) -> frozenset[str]:
    """Stems of the value that a query names as the one that came next: "before Marta"; empty = it names none."""
    found = _NEXT.search(query)
    if found is None:
        return frozenset()
    clause, begin = found["named"], found.start("named")
    asks = _ASKS.search(clause)  # "before Warsaw where did she live"
    clause = clause if asks is None else clause[: asks.start()]
    rest = f"{query[:begin]} {query[begin + len(clause) :]}"
    return frozenset(stems(clause)).difference(_EMPTY, stems(rest))


def before(query: str, rows: Sequence[int], texts: Sequence[str], told: Sequence[float], view: ScopeView) -> int | None:
    """The row that tells what was before; `None` = nothing seems to.

    Args:
        query: what is asked.
        rows: candidates, best first.
        texts: what they say.
        told: how likely each tells what is asked.
        view: of the scope.
    """
    named, at = named_next(query), {row: int(view.at[row]) for row in rows}
    of_next = {row for row, text in zip(rows, texts, strict=True) if not named.isdisjoint(stems(text[:CHARS]))}
    newest = sorted(
        (row for row, share in zip(rows, told, strict=True) if share >= TELLS_MIN and row not in of_next),
        key=lambda row: (-at[row], -row),
    )
    hints = [row for row, share in zip(rows, told, strict=True) if share >= HINTS_MIN]
    if of_next:
        change = max((at[row] for row in hints if row in of_next), default=None)
        return next((row for row in newest if change is None or at[row] < change), None)
    if len(newest) == 1 and rows[0] in hints and at[newest[0]] < at[rows[0]]:
        return newest[0]  # what is found best tells it in words that say less
    return newest[1] if len(newest) > 1 else None
