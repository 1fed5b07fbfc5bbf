"""HTML in which text can only be text: whatever is put in is escaped, unless it is markup that was made here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from recall_integrations.text.one_line import plain

VOID = frozenset({"meta"})  # of HTML; what is drawn in SVG is closed


class Markup(str):
    """Text that is markup already. Only this module makes any."""

    __slots__ = ()


Content = str | int | Markup | Iterable["Content"]


def text(value: Content) -> Markup:
    """Content as markup; text is escaped, and loses what would steer a display (control and direction characters)."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, str | int):
        lines = str(value).split("\n")
        return Markup(escape("\n".join(_kept(line) for line in lines), quote=True))
    return Markup("".join(text(one) for one in value))


def _kept(line: str) -> str:
    """As `plain`, with the spaces at its ends, of which those before it may be an indent."""
    start = " " * (len(line) - len(line.lstrip(" ")))
    end = " " if len(line) > 1 and line[-1:].isspace() else ""
    return f"{start}{plain(line)}{end}"


def tag(name: str, /, *content: Content, **attributes: str | float | None) -> Markup:
    """An element.

    Args:
        name: of the element.
        content: between its tags.
        attributes: without `None`; `class_` is `class`, and `_` in a name is `-`.
    """
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_number(value), quote=True)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{said}>" if name in VOID and not content else f"<{name}{said}>{text(content)}</{name}>")


def _number(value: str | float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def table(heads: Sequence[Content], rows: Iterable[Sequence[Content]], *, caption: str = "") -> Markup:
    """A table whose first column names the row; the other columns are figures."""
    body = [
        tag("tr", tag("th", row[0], scope="row"), [tag("td", cell, class_="figure") for cell in row[1:]])
        for row in rows
    ]
    return tag(
        "table",
        tag("caption", caption) if caption else "",
        tag("thead", tag("tr", [tag("th", one, scope="col") for one in heads])),
        tag("tbody", body),
    )


def style(css: str) -> Markup:
    """A style sheet of ours."""
    return Markup(f"<style>{css}</style>")


DOCTYPE = Markup("<!doctype html>\n")
