"""Who asks for an amount is answered by one: "how many books do I have?" not by "sorted my books on May 28"."""

from __future__ import annotations

from recall_integrations.facts.rules.values import MONTH
from recall_integrations.patterns import regex

_ASKS = regex(r"\bhow\s(?:many|much|long|old|tall|far)\b", 2)
_DATE = regex(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)?\s(?:of\s)?{MONTH}\b(?:,?\s\d{{4}})?|{MONTH}\.?\s(?:the\s)?\d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\s\d{{4}})?|"
    r"\d{4}-\d\d-\d\d|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}|\d{1,2}:\d\d|(?:19|20)\d\d|the\s\d{1,2}(?:st|nd|rd|th))\b",
    2,
)
_TELLS = regex(
    r"\d|\b(?:no|none|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|"
    r"fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|dozen|couple|pair|twins?|both|half|halved|quarter|double[ds]?|"
    r"twice|triple[ds]?|nothing|free|(?:an?|the\swhole|all|half\san?)\s(?:second|minute|hour|day|night|week|fortnight|month|year|decade))\b",
    2,
)


def asks_amount(query: str) -> bool:
    """Whether a query asks how many, how much, how long, how old, how tall or how far."""
    return _ASKS.search(query) is not None


def tells_amount(text: str) -> bool:
    """Whether a text has a number, in digits or as a word, or a length of time, beside dates and times of day."""
    return _TELLS.search(_DATE.sub(" ", text)) is not None
