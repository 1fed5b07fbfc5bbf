"""Answers of a Chroma server to a request that is too large, and the setting that makes requests smaller.

Chroma Cloud answers with status 422 and `ChromaError`: "Quota exceeded: 'Number of records' exceeded quota limit for
action 'Upsert': current usage of 500 exceeds limit of 300". Older servers sent the same with status 429, which means
that there are too many requests as well; so it is the text that counts. A server of one's own tells the client how
many vectors one request may hold, and the client refuses more.
"""

from __future__ import annotations

import re

SAID_MAX = 200  # letters of what a server says
BATCH, RESULTS = "vectors.batch_max", "vectors.results_max"
_SETTING = {"Number of records": BATCH, "Limit value": RESULTS, "Number of results": RESULTS}
_QUOTA = re.compile(
    r"'(?P<what>[A-Za-z ()]{1,60})' exceeded quota limit for action '(?P<action>[A-Za-z ]{1,40})': "
    r"current usage of (?P<asked>\d{1,12}) exceeds limit of (?P<most>\d{1,12})"
)
_BATCH = re.compile(r"Batch size (?P<asked>\d{1,12}) exceeds maximum batch size (?P<most>\d{1,12})")
_ANY = re.compile(r"quota (exceeded|limit)", re.IGNORECASE)
# For a body with too many bytes for the server, or for a proxy before it.
BODY = f"it takes no request as large as this one. Set {BATCH} lower."


def of_a_request(said: str) -> str:
    """Say which limit one request broke, and which setting to lower; empty = the text names no such limit.

    No other part of the text is repeated.
    """
    quota = _QUOTA.search(said)
    if quota is not None and quota["what"] in _SETTING:
        what = f"its limit of {quota['what']!r} for {quota['action']!r} is {int(quota['most']):,}"
        return f"{what}, and a request had {int(quota['asked']):,}. {_lower(_SETTING[quota['what']], quota['most'])}"
    batch = _BATCH.search(said)
    if batch is not None:
        asked, most = int(batch["asked"]), int(batch["most"])
        return f"it takes {most:,} vectors at once, and a request had {asked:,}. {_lower(BATCH, batch['most'])}"
    return ""


def of_a_quota(said: str) -> str:
    """Say which quota a request broke, also one without a setting; empty = the text names no quota, or one of
    concurrent requests, which passes.
    """
    found = of_a_request(said)
    if found or not _ANY.search(said) or "concurrent" in said.lower():
        return found
    return (
        f"it says: {said[:SAID_MAX]}. Have that quota raised there; if it is one of what a request may hold, set "
        f"{BATCH} or {RESULTS} lower."
    )


def _lower(setting: str, most: str) -> str:
    return f"Set {setting} to {int(most)} or less, or have the limit raised there."
