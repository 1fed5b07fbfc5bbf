"""Make the tables of a language ready before a query needs them: off the recall's path, some 100 ms of work once.

A store reports the languages of its memories when it is opened and when the first memory in one is written. Their
tables are then read in the background. A query that comes meanwhile waits for tables in the making, rather than make
them twice. English has few tables, which a query makes, and a store in English starts nothing.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable

from recall_integrations.errors import InvalidArgument
from recall_integrations.languages import READ
from recall_integrations.query.by_table import cues, negation, person, sessions
from recall_integrations.query.temporal.parser import prepare_rules
from recall_integrations.query.temporal.translation import date_kinds
from recall_integrations.text import stop_words
from recall_integrations.text.detection import detect_language

WAIT_S = 1.0  # for tables that are being made; ten times as long as it takes

logger = logging.getLogger("recall_integrations")

_making: dict[str, threading.Thread] = {}  # by language, once in a process


def warm(languages: Iterable[str]) -> None:
    """Make the tables of languages ready in the background, once in a process; those without tables are passed over."""
    for code in languages:
        if code not in READ or code in _making:
            continue
        thread = threading.Thread(target=_make, args=(code,), name="recall-tables", daemon=True)
        if _making.setdefault(code, thread) is thread:  # no other thread was faster
            try:
                thread.start()
            except RuntimeError:  # the process can start no more threads: the first query makes them
                _making.pop(code, None)


def is_warm(language: str) -> bool:
    """Say whether the tables of a language are ready, or being made."""
    return language in _making


def settle(language: str) -> None:
    """Wait for the tables of a language if they are being made right now."""
    thread = _making.get(language)
    if thread is not None and thread.is_alive():  # in a forked child no thread goes on
        thread.join(WAIT_S)


def prepare(language: str) -> None:
    """Make the tables of a language ready now."""
    detect_language("whatever is read first")  # its own lists of words
    stop_words(language)
    prepare_rules()
    date_kinds(language)
    of_cues = (cues.types_of, cues.questions_of, cues.relations_of, cues.intents_of)
    for words_of in (negation.words_of, person.words_of, sessions.words_of, *of_cues):
        words_of(language).prepare()


def _make(language: str) -> None:
    try:
        prepare(language)
    except InvalidArgument as e:  # a query in it says so again, and goes on without that table
        logger.warning("The tables of the language %s cannot be read: %s", language, e)
