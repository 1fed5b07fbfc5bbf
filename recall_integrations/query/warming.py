"""Make the tables of a language ready before a query needs them: off the recall's path, some 100 ms of work once.

A store reports the languages of its memories when it is opened and when the first memory in one is written. Their
tables are then read in the background. A query that comes meanwhile waits for tables in the making, rather than make
them twice. English has no tables, and a store in English starts nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from recall_integrations.errors import InvalidArgument
from recall_integrations.languages import READ
from recall_integrations.query.by_table import cues, negation, person, sessions
from recall_integrations.query.date_words import date_words
from recall_integrations.query.temporal.parser import prepare_rules
from recall_integrations.text import stop_words
from recall_integrations.text.detection import detect_language

WAIT_S = 1.0  # for tables that are being made; ten times as long as it takes
PAUSE_S = 0.25  # before the rarely needed tables are made: the first recall shall not share the processor with them

logger = logging.getLogger("recall_integrations")


class _Making(NamedTuple):
    thread: threading.Thread
    usual: threading.Event  # set when the tables that nearly every query needs are ready


_making: dict[str, _Making] = {}  # by language, once in a process


def warm(languages: Iterable[str]) -> None:
    """Make the tables of languages ready in the background, once in a process; those without tables are passed over."""
    fresh = [code for code in languages if code in READ and code not in _making]
    if not fresh:
        return
    mine: dict[str, _Making] = {}
    thread = threading.Thread(target=_make, args=(mine,), name="recall-tables", daemon=True)
    for code in fresh:
        making = _Making(thread, threading.Event())
        if _making.setdefault(code, making) is making:  # no other thread was faster
            mine[code] = making
    try:
        if mine:
            thread.start()
    except RuntimeError:  # the process can start no more threads: the first query makes them
        for code in mine:
            _making.pop(code, None)


def is_warm(language: str) -> bool:
    """Say whether the tables of a language are ready, or being made."""
    return language in _making


def settle(language: str, *, whole: bool = False) -> None:
    """Wait for the tables of a language if they are being made right now; with `whole` also for the rarely needed."""
    making = _making.get(language)
    if making is None or not making.thread.is_alive():  # in a forked child no thread goes on
        return
    if whole:
        making.thread.join(WAIT_S)
    else:
        making.usual.wait(WAIT_S)


def prepare(language: str) -> None:
    """Make the tables of a language ready now."""
    _prepare_usual(language)
    sessions.prepare(language)


def _prepare_usual(language: str) -> None:
    detect_language("whatever is read first")  # its own lists of words
    stop_words(language)
    negation.prepare(language)
    prepare_rules()
    date_words(language)
    person.prepare(language)
    cues.prepare(language)


def _make(mine: Mapping[str, _Making]) -> None:
    for code, making in mine.items():
        _attempt(_prepare_usual, code)
        making.usual.set()
    time.sleep(PAUSE_S)
    for code in mine:
        _attempt(sessions.prepare, code)


def _attempt(step: Callable[[str], None], language: str) -> None:
    try:
        step(language)
    except InvalidArgument as e:  # a query in it says so again, and goes on without that table
        logger.warning("The tables of the language %s cannot be read: %s", language, e)
