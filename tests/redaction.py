"""Redaction of a single text."""

from __future__ import annotations

from recall_integrations.privacy.redactor import Redactor


def redact(text: str) -> tuple[str, int]:
    """Return a text with placeholders, and their number."""
    redactor = Redactor()
    return redactor.text(text), redactor.counts.total()
