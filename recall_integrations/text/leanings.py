"""Evidence for the language of a scope, from lines whose own language cannot be told.

"Vendí la moto" has no function word that only Spanish has, and `detection` rightly tells nothing. A scope of such notes
is Spanish all the same. So each such note gives shares of one vote to every language that it may be in: by its
function words and letters, as the detector counts them, and by beginnings and endings that are common in few languages
("-ung", "-ción", "-ing"). The shares are whole numbers, so their sum does not depend on the order in which they came,
and the share of a forgotten memory can be subtracted again.
"""

from __future__ import annotations

from collections.abc import Mapping

from recall_integrations.patterns import regex
from recall_integrations.text.detection import CHARS_MAX, OTHER_SCRIPT, VOTE, votes_of

WHOLE = 16  # the vote of a text whose language is told, and the most that one gives that tells none
_SHAPE_VOTE = VOTE // 2  # of a word by its letters; a function word that one language has gives a whole one
_WORDS_MAX = 24  # of a text that are looked at by their letters

# How words begin and end in few languages. Of one that fits several, each has its share.
_SHAPES: Mapping[str, str] = {
    "de": r"\w{2,}(?:ung|ungen|heit|keit|lich|schaft|chen|cht|tz|tzt|lt|rzt|pf|eur|ieren|iert|igt|ufen|ben|gen|hren)"
    r"|sch[^o]\w+|ge\w{3,}t|ver[dfgklmsz]\w+|zw?[aeu]h?n?\w*t|\w*[aeou]hr\w*|\w*[ae]u[fs]\w*en|pf\w+"
    r"|\w{3,}(?:sch|zeug)\w*",
    "es": r"\w{2,}(?:ci[oó]n|ciones|dad|ando|iendo|[aeiu]d[ao]s?|[aei]r|ar[ií]a|[^h]ero|era|mente|[éíó]|illo|illa|ez)"
    r"|\w{3,}aje|ll[aeou]\w+|hu?e\w+|\w*ñ\w*|\w*[aeiou]rr[aeiou]\w*",
    "fr": r"\w{2,}(?:eux|euse|eau|eaux|oir|oire|ais|ait|ée|ées|és?|ille|eille|euil|eur|elle|ette|ège|ère|ier|ière|age)"
    r"|\w+(?:oy|ouv|cqu|qu[eé])\w*|\w*ç[aou]\w*",
    "it": r"\w{2,}(?:zion[ei]|ett[oaie]|[aiu]t[oaie]|ggi|ggio|cchi[oa]?|iere|zz[oaie]|[aei]re|ità|glia|gli|[àìù])"
    r"|sc[ei]\w+|\w*cch\w*|\w*[aeiou]gli\w*",
    "pt": r"\w{2,}(?:ção|ções|ões|ão|ãos|nh[aoe]s?|lh[aoe]s?|ei|[aei]r|[aei]d[ao]s?|mente|agem|eir[ao]|ou|eu|iu|ês)",
    "nl": r"\w*(?:ij|aa|uu|oe[kdlnr]|eeu|ieuw)\w*|ge\w{3,}d|\w{2,}(?:tje|tjes|heid|lijk)",
    "en": r"\w{2,}(?:ing|ed|ly|ght|ness|ful|tion|sion|ow|ay|ey|[^aeiou]y|ee|ll|ks|ts|ds|ch|sh|th|er|es|ck|le|nd|ve|se)"
    r"|(?:wh|sh|th|kn|wr)\w+|\w*(?:oo|ea|ee|ou|igh|aw|ew)\w*",
}
_SHAPE = {code: regex(f"(?:{shapes})") for code, shapes in _SHAPES.items()}
_WORD = regex(r"[^\W\d_]{3,24}")


def leanings(text: str) -> dict[str, int]:
    """Return the languages that a text in Latin letters speaks for, with their shares, together `WHOLE` at most.

    English is among them. Empty for a text in another script, whose language the detector tells. Some 10 to 20 µs for a
    line. Never raises.
    """
    sample = text[:CHARS_MAX]
    if not sample.isascii() and OTHER_SCRIPT.search(sample):
        return {}
    found, known = votes_of(sample)
    _add_shapes(sample, known, found)
    total = sum(found.values())
    if total <= 0:
        return {}
    whole = max(total, VOTE)
    shares = ((code, round(WHOLE * votes / whole)) for code, votes in sorted(found.items()))
    return {code: share for code, share in shares if share > 0}


def _add_shapes(sample: str, known: frozenset[str], found: dict[str, int]) -> None:
    """Add the votes of the words that are no function words, by their beginnings and endings."""
    words = dict.fromkeys(_WORD.findall(sample))
    for raw in list(words)[:_WORDS_MAX]:
        word = raw.lower()
        if word in known:
            continue
        codes = [code for code, shape in _SHAPE.items() if shape.fullmatch(word)]
        for code in codes:
            found[code] = found.get(code, 0) + _SHAPE_VOTE // len(codes)
