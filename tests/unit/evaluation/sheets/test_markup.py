"""Markup in which text can only be text."""

from __future__ import annotations

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.evaluation.sheets.markup import Markup, table, tag, text
from recall_integrations.evaluation.sheets.page import whole


class Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert all(not name.startswith("on") for name, _ in attrs)


@given(st.text(), st.text())
def test_whatever_is_put_in_adds_no_element(one: str, other: str) -> None:
    seen = Seen()
    seen.feed(tag("p", one, tag("b", other), title=other))
    assert seen.tags == ["p", "b"]


def test_markup_is_not_escaped_twice_and_text_is() -> None:
    assert tag("p", tag("b", "a & b")) == "<p><b>a &amp; b</b></p>"
    assert isinstance(text("<b>"), Markup)
    assert text(f"{tag('b', 'x')}") == "&lt;b&gt;x&lt;/b&gt;"  # what was made into text is text


def test_lines_keep_their_indent() -> None:
    assert text("a:\n  b: 1\n    c") == "a:\n  b: 1\n    c"


def test_attributes() -> None:
    assert tag("td", class_="figure", stroke_width=1.50) == '<td class="figure" stroke-width="1.5"></td>'
    assert tag("a", title='"><script>') == '<a title="&quot;&gt;&lt;script&gt;"></a>'
    assert tag("p", title=None) == "<p></p>"


def test_a_table_names_its_rows() -> None:
    assert table(("a", "b"), [("r", "1")]).count('scope="row"') == 1


def test_a_page_fetches_nothing_and_runs_nothing() -> None:
    page = whole("A <title>", "lead")
    assert "default-src 'none'" in page.replace("&#x27;", "'")
    assert "<script" not in page
    assert "http://" not in page.replace("http-equiv", "")
    assert "https://" not in page
    assert "prefers-color-scheme:dark" in page
    assert "@media print" in page
