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
NEXT_MIN = 0.1  # the same of what says the value that came next: its time is that of the change
_NEXT = regex(
    r"\b(?:before|prior\sto|(?:un)?till?|up\sto|replaced\sby|made\sway\sfor|gave\sway\sto)\b(?P<named>(?:[^,;?!]|,(?=\d))*)",
    2,
)
_ASKS = regex(r"\b(?:what|which|who|whom|whose|where|how|did|does|do)\b", 2)
_EMPTY = frozenset(
    stems(
        "before now then here there this that these those it i he she they we you my our his her their its was were is "
        "are be been being got get gets getting became become turned changed change moved move switched switch went "
        "going go came come took take had have has a an the of to in at on for with by last current new old latest one "
        "up over into as and or not what which who where did do does so just",
        None,
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
    return frozenset(stems(clause, None)).difference(_EMPTY, stems(rest, None))


def before(query: str, rows: Sequence[int], texts: Sequence[str], told: Sequence[float], view: ScopeView) -> int | None:
    """The row that tells what was before; `None` = nothing seems to.

    Args:
        query: what is asked.
        rows: candidates, best first.
        texts: what they say.
        told: how likely each tells what is asked.
        view: of the scope.
    """
    shares, at = dict(zip(rows, told, strict=True)), {row: int(view.at[row]) for row in rows}
    following = _following(named_next(query), rows, texts)
    newest = sorted(
        (row for row in rows if shares[row] >= TELLS_MIN and row not in following), key=lambda row: (-at[row], -row)
    )
    if following:
        change = max(at[row] for row in [one for one in following if shares[one] >= NEXT_MIN] or following)
        return next((row for row in newest if at[row] < change), None)
    return newest[1] if len(newest) > 1 else None


def _following(named: frozenset[str], rows: Sequence[int], texts: Sequence[str]) -> list[int]:
    """Rows that hold the most of a name: "Pixel 6" holds a part of "Pixel 9"."""
    held = [len(named.intersection(stems(text[:CHARS], None))) for text in texts] if named else []
    most = max(held, default=0)
    return [row for row, count in zip(rows, held, strict=True) if count == most] if most else []
