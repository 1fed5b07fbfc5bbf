"""The page in a real browser: what it shows, by mouse and by keyboard, in the dark, on a small screen, for a screen
reader; and that neither memories nor scopes of others get anywhere by it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from recall_integrations import Memory, QueryOptimizer, Scope
from recall_integrations.console import demo as demo_data
from recall_integrations.console.demo import demo_optimizer
from recall_integrations.serving.app import create_app
from recall_integrations.serving.served import Served
from recall_integrations.serving.tokens import Tokens
from tests.needs import needed, program

NOT_SAM = "Who is working on Kestral, but not Sam?"
HOSTILE = Scope("hostile")
EVIL = (
    Memory(id="img", text='quince <img src=x onerror="window.pwned=1"> and <b>bold</b>'),
    Memory(
        id="script", text='"><script>window.pwned=2</script> quince jam', actor='"><img src=x onerror=window.pwned=3>'
    ),
    Memory(id="rtl", text="quince \u202eevil\u202d \u2067txt.exe", thread="</script><script>window.pwned=4</script>"),
    Memory(id="long", text="quince " + "word " * 20_000),
    Memory(id='<img src=x onerror="window.pwned=5">', text="quince \U0001f34f pie 🍏 for 𝔼ve", type="fact"),
)


@contextmanager
def listening(served: Served) -> Iterator[str]:
    import uvicorn

    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(create_app(served), log_level="warning", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]}, daemon=True)
        thread.start()
        until = time.monotonic() + 30
        while not server.started and time.monotonic() < until:
            time.sleep(0.02)
        try:
            yield f"http://127.0.0.1:{taken.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(10)


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with demo_optimizer() as demo:
        demo.store.remember_many(EVIL, scope=HOSTILE)
        optimizer = QueryOptimizer(demo.store, clock=lambda: demo_data.NOW)
        for scope in (demo_data.SCOPE, HOSTILE):
            optimizer.recall("quince", scope=scope)
        yield Served(store=demo.store, optimizer=optimizer)


@pytest.fixture(scope="module")
def address(served: Served) -> Iterator[str]:
    with listening(served) as found:
        yield found


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    browser = program("chromium", "chromium-browser", "google-chrome", why="needs Chromium: apt-get install chromium")
    playwright = needed("playwright.sync_api", "needs Playwright: pip install playwright")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        yield found
        found.close()


class Pages:
    """Opens pages, and notes what the console and the policy say."""

    def __init__(self, browser: Any, address: str) -> None:
        self._browser, self.address = browser, address
        self.said: list[str] = []
        self._contexts: list[Any] = []

    def __call__(self, view: str = "ask", *, width: int = 1200, scheme: str = "light", address: str = "") -> Any:
        context = self._browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, reduced_motion="reduce"
        )
        self._contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda message: self.said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.goto(f"{address or self.address}/look/#{view}")
        return page

    def close(self) -> None:
        for context in self._contexts:
            context.close()


@pytest.fixture
def pages(chromium: Any, address: str) -> Iterator[Pages]:
    made = Pages(chromium, address)
    yield made
    made.close()


def ask(page: Any, question: str, scope: str = "demo/-/-") -> None:
    page.wait_for_selector("#scope option", state="attached")
    page.select_option("#scope", scope)
    page.fill("#query", question)
    page.press("#query", "Enter")
    page.wait_for_selector(".hits .hit, .callout.bad")


def shown(page: Any) -> list[str]:
    """Ids of the hits, in their order."""
    return [
        str(one) for one in page.eval_on_selector_all(".hit[data-id]:not(.gone)", "all => all.map(e => e.dataset.id)")
    ]


def until(page: Any, script: str) -> None:
    page.wait_for_function(script)


def know_what_each_is_worth(page: Any) -> None:
    """Found out by itself after a quick recall; after one that took long, on request only."""
    on_request = page.locator("text=Find out what each is worth")
    if on_request.is_visible():
        on_request.click()
    until(page, "() => [...document.querySelectorAll('.part .num')].every((one) => one.textContent)")


# -- what is shown -----------------------------------------------------------------------------------------------------


def test_a_recall_is_explained_from_the_question_to_the_hits(pages: Pages, served: Served) -> None:
    page = pages()
    ask(page, NOT_SAM)
    result = served.optimizer.recall(NOT_SAM, scope=demo_data.SCOPE)
    assert shown(page) == [hit.memory.id for hit in result]
    assert page.locator(".question mark.negated").inner_text().startswith("not Sam")
    assert "name" in page.locator(".question mark.entity").inner_text()  # said by a word, and not by colour alone
    first = page.locator(".hit[data-id]").first.inner_text()
    for words in ("1st", "likely relevant", *result.hits[0].reason.split("; ")):
        assert words in first
    body = page.inner_text("main")
    for words in (
        "Where it was looked for",
        "by words",
        "of the deadline",
        "Which rule decided",
        "decides",
        "specificity",
    ):
        assert words in body
    assert page.locator(".run").count() >= 3
    assert pages.said == []


def test_what_is_ticked_off_moves_the_places_and_is_said(pages: Pages) -> None:
    page = pages()
    ask(page, NOT_SAM)
    before = shown(page)
    know_what_each_is_worth(page)
    page.uncheck("[data-key='rule:negation']")
    page.wait_for_selector(".move.up")
    assert shown(page)[0] == "kestrel-sam"
    assert "another comes first" in page.inner_text("#said")
    assert "1 → " in page.inner_text(".hits") and "leaves" in page.inner_text(".hits")
    page.click("text=Put everything back")
    until(page, "() => !document.querySelector('.move')")
    assert shown(page) == before


def test_after_a_recall_that_took_long_it_is_found_out_on_request(pages: Pages) -> None:
    page = pages()

    def slow(route: Any) -> None:
        reply = route.fetch()
        told = reply.json()
        told["timings_ms"]["total"] = 1_000.0
        route.fulfill(response=reply, json=told)

    page.route("**/look/recall", slow)
    ask(page, NOT_SAM)
    assert page.is_visible("text=Find out what each is worth")
    assert not any(page.locator(".part .num").all_inner_texts())
    know_what_each_is_worth(page)
    assert not page.is_visible("text=Find out what each is worth")


def test_nothing_and_mistakes_are_said_in_words(pages: Pages) -> None:
    page = pages()
    ask(page, NOT_SAM)
    page.click("text=Filters and time")
    page.fill("input[placeholder='fact, event']", "nonsense")
    page.press("#query", "Enter")
    page.wait_for_selector(".callout.bad")
    assert "nonsense" in page.inner_text(".callout.bad")


@pytest.mark.slow
def test_names_times_one_memory_and_what_goes_on(pages: Pages) -> None:
    page = pages("names")
    page.wait_for_selector("#scope option", state="attached")
    page.select_option("#scope", "demo/-/-")
    page.click(".namelist button:has-text('Inbox3')")
    assert "owns" in page.inner_text(".linklist")
    assert page.locator(".node.chosen").count() == 1
    page.click("text=Its memories in time")
    page.wait_for_selector(".memories button")
    assert "Inbox3" in page.inner_text(".memories")
    page.focus(".chartbox")
    told = page.inner_text("main .dim >> nth=0")
    page.keyboard.press("+")
    until(page, "() => document.querySelector('#said').textContent.includes('from')")
    page.click(".memories button >> nth=0")
    page.wait_for_selector("dialog blockquote")
    assert page.evaluate("document.activeElement.id") == "dialog-title"
    page.keyboard.press("Escape")
    until(page, "() => !document.querySelector('dialog').open")
    assert told and pages.said == []


# -- for everybody -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_everything_is_reached_by_keys(pages: Pages) -> None:
    page = pages()
    page.wait_for_selector("#query")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "query"
    page.select_option("#scope", "demo/-/-")
    page.wait_for_selector("#query")
    page.keyboard.press("/")
    page.keyboard.type(NOT_SAM)
    page.keyboard.press("Enter")
    page.wait_for_selector(".hits .hit")
    wanted, seen = "rule:negation", set()
    for _ in range(120):
        page.keyboard.press("Tab")
        at = page.evaluate("(() => { const e = document.activeElement; return [e.dataset.key || '', e.tagName, "
                           "getComputedStyle(e).outlineStyle]; })()")  # fmt: skip
        seen.add(at[1])
        assert at[2] != "none", at
        if at[0] == wanted:
            break
    else:
        pytest.fail("the check box was not reached")
    assert {"BUTTON", "INPUT", "SUMMARY"} <= seen
    page.keyboard.press("Space")
    page.wait_for_selector(".move.up")
    assert shown(page)[0] == "kestrel-sam"


CONTRAST = """() => {
  const parts = (colour) => {
    const [r, g, b, a] = colour.match(/[\\d.]+/g).map(Number);
    return [r, g, b, a === undefined ? 1 : a];
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((v) => v / 255).map((v) => (v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4));
    return .2126 * x + .7152 * y + .0722 * z;
  };
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const own = parts(getComputedStyle(at).backgroundColor);
      if (own[3] === 1) return own;
    }
    return [255, 255, 255, 1];
  };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !node.checkVisibility()) continue;
    if (node.closest(":disabled, .unseen, svg, option, noscript")) continue;
    const [one, two] = [light(parts(getComputedStyle(node).color)), light(ground(node))];
    const ratio = (Math.max(one, two) + .05) / (Math.min(one, two) + .05);
    if (ratio < 4.5) found.push([walk.currentNode.data.trim().slice(0, 40), ratio.toFixed(2)]);
  }
  return found;
}"""


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read_by_light_and_in_the_dark(pages: Pages, scheme: str) -> None:
    page = pages(scheme=scheme)
    ask(page, NOT_SAM)
    page.uncheck("[data-key='rule:negation']")
    page.wait_for_selector(".move.up")
    assert page.evaluate(CONTRAST) == []
    red = int(page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]"))
    assert (red < 60) == (scheme == "dark")
    for wanted in ("light", "dark"):
        page.click("#theme")
        assert page.evaluate("document.documentElement.dataset.theme") == wanted
    assert int(page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]")) < 60


@pytest.mark.slow
def test_every_control_has_a_name(pages: Pages) -> None:
    roles = {"button", "textbox", "searchbox", "combobox", "checkbox", "link", "group", "region", "image", "dialog"}
    for view in ("ask", "names", "time"):
        page = pages(view)
        page.wait_for_selector("#scope option", state="attached")
        if view == "ask":
            ask(page, NOT_SAM)
            page.click("text=Everything as tables")
        else:
            page.wait_for_selector({"names": ".graph", "time": ".chart"}[view])
        tree = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
        named = [n for n in tree if not n.get("ignored") and n.get("role", {}).get("value") in roles]
        assert len(named) > 5
        nameless = [
            n["role"]["value"] for n in named if n["role"]["value"] != "group" and not n.get("name", {}).get("value")
        ]
        assert nameless == [], view
        titles = [n for n in tree if n.get("role", {}).get("value") == "heading"]
        assert titles


@pytest.mark.slow
@pytest.mark.parametrize("view", ["ask", "names", "time"])
def test_nothing_is_wider_than_a_small_screen(pages: Pages, view: str) -> None:
    page = pages(view, width=360)
    page.wait_for_selector("#scope option", state="attached")
    if view == "ask":
        ask(page, NOT_SAM)
        page.click("text=Everything as tables")
    else:
        page.wait_for_selector({"names": ".graph", "time": ".chart"}[view])
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


# -- what must not happen ----------------------------------------------------------------------------------------------


def test_what_memories_say_is_text(pages: Pages) -> None:
    page = pages()
    ask(page, "quince", "hostile/-/-")
    assert sorted(shown(page)) == sorted(str(memory.id) for memory in EVIL)
    assert '<img src=x onerror="window.pwned=1">' in page.inner_text(".hits")
    assert page.locator("main img, main script, .hits b").count() == 0
    assert len(page.inner_text("main")) < 20_000  # of the long one a part only
    page.click("text=/Show more of/")
    assert len(page.inner_text("main")) < 60_000
    page.uncheck("[data-key='arm:lexical']")
    page.wait_for_selector(".move")
    page.click(".hit[data-id='script'] button.link >> nth=-1")
    page.wait_for_selector("dialog blockquote")
    assert "<script>" in page.inner_text("dialog")
    page.keyboard.press("Escape")
    for view in ("names", "time"):
        page.evaluate(f"location.hash = '{view}'")
        page.wait_for_selector({"names": ".graph, main p.card", "time": ".memories"}[view])
    assert page.evaluate("window.pwned") is None
    assert pages.said == []


def test_scripts_of_others_do_not_run(pages: Pages) -> None:
    page = pages()
    page.wait_for_selector("#query")
    page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.pwned = 6';"
        "document.body.append(s); const p = document.createElement('p');"
        "p.setAttribute('onclick', 'window.pwned = 7'); document.body.append(p); p.click(); }"
    )
    assert page.evaluate("window.pwned") is None
    assert any("Content Security Policy" in text for text in pages.said)


def test_a_token_is_asked_for_kept_for_the_tab_and_reaches_its_scope_only(
    pages: Pages, served: Served, tmp_path: Path
) -> None:
    tokens = Tokens(tmp_path / "tokens.json")
    token, _ = tokens.add(scopes=["demo"], rights=("read",))
    with listening(Served(store=served.store, optimizer=served.optimizer, tokens=tokens)) as address:
        page = pages(address=address)
        page.wait_for_selector("#token-field")
        page.fill("#token-field", "wrong")
        page.keyboard.press("Enter")
        page.wait_for_selector("dialog .callout.bad")
        page.fill("#token-field", token)
        page.keyboard.press("Enter")
        page.wait_for_selector("#query")
        assert page.eval_on_selector_all("#scope option", "all => all.map(e => e.value)") == ["demo/-/-"]
        ask(page, NOT_SAM)
        assert shown(page)
        assert token not in page.content() and page.evaluate("localStorage.length") == 0
        assert page.evaluate("document.cookie") == "" and token not in page.url
        refused = page.evaluate(
            "async (t) => (await fetch('memory?scope=hostile&id=img', "
            "{ headers: { Authorization: `Bearer ${t}` } })).status",
            token,
        )
        assert refused == 403


def test_where_no_text_may_be_seen_none_is(pages: Pages) -> None:
    page = pages()
    page.wait_for_selector("#privacy")
    page.select_option("#privacy", "block")
    ask(page, NOT_SAM)
    text = page.inner_text("main")
    assert shown(page) and "The text is not shown." in text and "The question is not shown." in text
    assert "ledger" not in text
    page.evaluate("location.hash = 'names'")
    page.wait_for_selector("text=Names are not shown with this setting.")


# -- changing memories -------------------------------------------------------------------------------------------------


def test_a_memory_is_judged_corrected_and_forgotten(pages: Pages, served: Served) -> None:
    scope = Scope("editor")
    given = Memory("The quince jam is in the cellar", id="jam", actor="Mei", thread="t", metadata={"jar": 3})
    served.store.remember_many([given, Memory("The quince tree stands by the wall", id="tree")], scope=scope)
    page = pages()
    ask(page, "Where are the quince jars?", "editor/-/-")
    assert "jars" in page.inner_text(".facts") and "jar ·" not in page.inner_text(".facts")  # as the question spells it
    with page.expect_response("**/feedback") as reply:
        page.click(".hit[data-id='jam'] >> text=It helped")
    assert reply.value.json()["kept"] == {"editor/-/-": {"jam": 1.0}}
    until(page, "() => document.querySelector('#said').textContent.includes('it helped')")

    def opened() -> None:
        page.click(".hit[data-id='jam'] >> text=around it")
        page.wait_for_selector("dialog blockquote")

    opened()
    page.click("dialog >> text=Correct it")
    page.fill("dialog textarea", "The quince jam is in the kitchen")
    page.click("dialog >> text=Save it")
    page.wait_for_selector(".hit[data-id='jam'] >> text=kitchen")
    found = served.store.get("jam", scope=scope)
    assert found is not None and found.text == "The quince jam is in the kitchen"
    assert (found.actor, found.thread, found.metadata) == ("Mei", "t", {"jar": 3})
    opened()
    page.click("dialog >> text=Forget it")
    assert served.store.get("jam", scope=scope) is not None  # it is asked for twice
    page.click("dialog >> text=Yes, forget it")
    until(page, "() => document.querySelector('[data-id=tree]') && !document.querySelector('[data-id=jam]')")
    assert served.store.get("jam", scope=scope) is None and shown(page) == ["tree"]
    assert pages.said == []


def test_only_those_who_may_write_are_offered_to_and_no_redacted_text_is_corrected(
    pages: Pages, served: Served, tmp_path: Path
) -> None:
    tokens = Tokens(tmp_path / "tokens.json")
    token, _ = tokens.add(scopes=["demo"], rights=("read",))
    with listening(Served(store=served.store, optimizer=served.optimizer, tokens=tokens)) as address:
        page = pages(address=address)
        page.fill("#token-field", token)
        page.keyboard.press("Enter")
        ask(page, NOT_SAM)
        assert page.locator("text=It helped").count() == 0
        page.click(".hit >> nth=0 >> text=around it")
        page.wait_for_selector("dialog blockquote")
        assert page.locator("dialog >> text=/Correct it|Forget it/").count() == 0
    page = pages()
    page.wait_for_selector("#privacy")
    page.select_option("#privacy", "redact")
    ask(page, NOT_SAM)
    page.click(".hit >> nth=0 >> text=around it")
    page.wait_for_selector("dialog >> text=Forget it")
    assert page.locator("dialog >> text=Correct it").count() == 0
