"""The sections of a language that are not read, because it has no tables for them."""

from __future__ import annotations

from recall_integrations.languages.tables import READ, SECTIONS, tables

ENGLISH = "en"  # is read by rules of its own


def unread(language: str | None) -> tuple[str, ...]:
    """Return the sections that a language has no tables for, in the order of `SECTIONS`; all if it is unknown."""
    if language == ENGLISH:
        return ()
    if language is None or language not in READ:
        return SECTIONS
    known = tables(language)
    return tuple(section for section in SECTIONS if not getattr(known, section))
