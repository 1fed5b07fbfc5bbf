"""The page that all reports share."""

from __future__ import annotations

from collections.abc import Sequence

from recall_integrations.evaluation.sheets.markup import DOCTYPE, Content, Markup, style, tag, text

# Two colours that are told apart by every kind of eye; what they mean is also written.
CSS = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1c2430;--soft:#5b6675;--line:#d8dee6;--own:#0b6bcb;--other:#b5540a;
--good:#1a7f4b;--bad:#b3261e;--card:#f5f7fa}
@media (prefers-color-scheme:dark){:root{--paper:#12161c;--ink:#e6ebf2;--soft:#9aa7b8;--line:#323c49;--own:#6cb2ff;
--other:#f0a35e;--good:#63d297;--bad:#ff8f85;--card:#1a212a}}
*{box-sizing:border-box}body{margin:0 auto;max-width:62rem;padding:1.5rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}h1{font-size:1.6rem;margin:0 0 .25rem}h2{font-size:1.2rem;margin:2rem 0 .5rem}
p{margin:.4rem 0;max-width:46rem}.soft{color:var(--soft)}.note{border-left:4px solid var(--other);padding:.4rem .8rem;
background:var(--card)}.good{border-left-color:var(--good)}table{border-collapse:collapse;margin:.6rem 0;width:100%}
caption{text-align:left;color:var(--soft);padding-bottom:.3rem}th,td{padding:.3rem .6rem;border-bottom:1px solid
var(--line);text-align:left;vertical-align:top;overflow-wrap:anywhere}thead th{color:var(--soft);font-weight:600}
.figure{font-variant-numeric:tabular-nums}figure{margin:.6rem 0}figcaption{color:var(--soft);font-size:.9rem}
svg{max-width:100%;height:auto;font:13px system-ui,sans-serif}svg text{fill:var(--ink)}svg .soft{fill:var(--soft)}
.axis{stroke:var(--line)}.zero{stroke:var(--soft)}.own{fill:var(--own);stroke:var(--own)}.other{fill:var(--other);
stroke:var(--other)}.card{background:var(--card);padding:.8rem 1rem;margin:.8rem 0;border-radius:.4rem}
.card h3{font-size:1rem;margin:0 0 .4rem}ol,ul{padding-left:1.4rem;margin:.3rem 0}li{overflow-wrap:anywhere}
.yes{color:var(--good);font-weight:600}.no{color:var(--bad);font-weight:600}pre{background:var(--card);padding:.8rem;
overflow:auto}.wide{overflow-x:auto}
@media print{body{max-width:none;padding:0;font-size:11pt}.card,figure,tr{break-inside:avoid}.card,.note,pre{border:1px
solid var(--line)}}
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'"  # were anything to get in, it could load and run nothing


def whole(title: str, lead: Content, *sections: Content) -> str:
    """The page.

    Args:
        title: what it is.
        lead: what it says, in a sentence or two.
        sections: what follows.
    """
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        style(CSS),
    )
    body = tag("body", tag("main", tag("h1", title), tag("p", lead), sections))
    return text([DOCTYPE, tag("html", head, body, lang="en"), "\n"])


def section(title: str, *content: Content) -> Markup:
    """A part of it under a heading."""
    return tag("section", tag("h2", title), content)


def note(content: Content, *, good: bool = False) -> Markup:
    """What must not be overlooked."""
    return tag("p", content, class_="note good" if good else "note", role="note")


def listed(lines: Sequence[Content]) -> Markup:
    """A list; nothing without lines."""
    return tag("ul", [tag("li", line) for line in lines]) if lines else text("")
