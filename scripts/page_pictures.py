"""Pictures of the page for the documentation: the memories of `recall demo`, looked at in Debian's chromium.

    python scripts/page_pictures.py docs/pictures

The memories are always the same; times on the pictures are those of the machine.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from recall_integrations import QueryOptimizer
from recall_integrations.console import demo as demo_data
from recall_integrations.console.demo import demo_optimizer
from recall_integrations.serving.app import create_app
from recall_integrations.serving.served import Served

QUESTION = "When was Inbox3 fixed on 17 March?"
NEGATED = "Who is working on Kestral, but not Sam?"
OTHERS = ("What's my badge number?", "what did I work on last Tuesday and Wednesday?", "Who is Sarah's manager?")
BYTES_MAX = 200_000


@contextmanager
def server() -> Iterator[str]:
    """The demonstration's memories, served on this machine; gives the address."""
    import uvicorn

    with demo_optimizer() as demo:
        optimizer = QueryOptimizer(demo.store, clock=lambda: demo_data.NOW)
        served = Served(store=demo.store, optimizer=optimizer)
        with closing(socket.socket()) as listening:
            listening.bind(("127.0.0.1", 0))
            address = f"http://127.0.0.1:{listening.getsockname()[1]}"
            running = uvicorn.Server(uvicorn.Config(create_app(served), log_level="warning"))
            thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
            thread.start()
            for _ in range(600):
                if running.started:
                    break
                time.sleep(0.05)
            for question in (*OTHERS, QUESTION, NEGATED):  # so that all that is read at the first recall is there
                optimizer.recall(question, scope=demo_data.SCOPE)
            try:
                yield address
            finally:
                running.should_exit = True
                thread.join(10)


def asked(page: Any, address: str, question: str) -> None:
    """Ask, and wait until everything is there."""
    page.goto(f"{address}/look/#ask")
    page.wait_for_selector("#scope option", state="attached")
    page.fill("#query", question)
    page.press("#query", "Enter")
    page.wait_for_selector(".hits .hit")
    page.wait_for_function("() => [...document.querySelectorAll('.part .num')].some((one) => one.textContent)")


def take(folder: Path, only: str) -> None:
    """All pictures, or those whose names begin so."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or sys.exit("chromium is not installed: apt-get install chromium")
    with server() as address, sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])

        def page(width: int, height: int, scheme: str = "light", scale: float = 1) -> Any:
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=scheme, device_scale_factor=scale
            )
            return context.new_page()

        def shot(page: Any, name: str, **options: Any) -> None:
            path = folder / f"{name}.png"
            page.screenshot(path=path, **options)
            Image.open(path).convert("RGB").quantize(192).save(path, optimize=True)  # a third of the size
            size = path.stat().st_size
            print(f"{path} {size:,} bytes{' (too large)' if size > BYTES_MAX else ''}")

        for name, width, height, scheme in (
            ("recall-explained", 1200, 900, "light"),
            ("page-dark", 1200, 900, "dark"),
            ("page-narrow", 360, 780, "light"),
        ):
            if not name.startswith(only):
                continue
            looking = page(width, height, scheme)
            asked(looking, address, QUESTION)
            looking.evaluate("document.activeElement.blur()")
            shot(looking, name)
        if "page-without".startswith(only):
            looking = page(1200, 900)
            asked(looking, address, NEGATED)
            looking.click("[data-key='rule:negation']")
            looking.wait_for_selector(".move.up")
            time.sleep(0.4)
            looking.evaluate("scrollTo(0, document.querySelector('.hits').getBoundingClientRect().top + scrollY - 130)")
            shot(looking, "page-without")
        for name, view, ready in (
            ("page-names", "names", ".graph"),
            ("page-time", "time", ".chart"),
        ):
            if not name.startswith(only):
                continue
            looking = page(1200, 760)
            looking.goto(f"{address}/look/#{view}")
            looking.wait_for_selector(ready)
            if view == "names":
                looking.click(".namelist button >> nth=1")
            shot(looking, name)
        browser.close()


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="pictures whose names begin so")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    take(given.folder, given.only)


if __name__ == "__main__":
    main()
