"""Stop words of languages other than English: the Snowball lists, as NLTK keeps them and `llama-index-core` ships them.

They are small (50 to 350 words for most languages). The larger collections were measured too (docs/languages.md): they
hold "money", "woman" and "Moscow", which a memory may be about. Where one of these lists does so, `content_words` names
the words, and they are looked for; to tell languages apart the whole list is taken. The files are read from the
installed package, when a language is first met, and are no part of this one. Where they are not found nothing is
left out: rare words decide anyway, BM25 over them loses less than .01.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
from pathlib import Path

logger = logging.getLogger(__name__)

NAMES = {
    "ar": "arabic",
    "ca": "catalan",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "es": "spanish",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "he": "hebrew",
    "hu": "hungarian",
    "id": "indonesian",
    "it": "italian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
}
"""Languages with a list, and what its file is called."""

_FOLDER = Path("core", "_static", "nltk_cache", "corpora", "stopwords")


@functools.cache
def listed(code: str) -> frozenset[str]:
    """Return the stop words of a language in lower case, as the list spells them; empty if it has no list."""
    folder = _folder()
    if code not in NAMES or folder is None:
        return frozenset()
    try:
        return frozenset((folder / NAMES[code]).read_text(encoding="utf-8").lower().split())
    except OSError:  # another version of the package
        return frozenset()


@functools.cache
def _folder() -> Path | None:
    spec = importlib.util.find_spec("llama_index")  # finds the package without importing it
    places = () if spec is None else spec.submodule_search_locations or ()
    found = next((Path(place) / _FOLDER for place in places if (Path(place) / _FOLDER).is_dir()), None)
    if found is None:
        logger.warning("llama-index-core has no lists of stop words at %s: languages are told apart less well", _FOLDER)
    return found
