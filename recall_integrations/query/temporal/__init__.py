"""Read the time that a query speaks of: `parse_window(text, now)` returns a `TemporalWindow` or `None`.

    text ─ gate ─ tokens ─ numbers ─ holidays ─ traps ─ dates ─ relative ─ parts ─ times ─ offsets
         ─ ranges ─ bounds ─▶ window

The grammar is a list of tables (`rules_*`): to teach it a phrase, add a row (see `grammar`); to teach it a holiday, add
a row to `holidays.json`; to teach it a word, add it to its class in `lexicon`. Other languages are led to its English
(`translation`).
"""

from recall_integrations.query.temporal.parser import explain, parse_window

__all__ = ["explain", "parse_window"]
