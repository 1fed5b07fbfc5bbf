"""Translate dates in other languages: a language's table maps its phrases to English ones that the grammar reads.

    text ─ atoms (scan) ─ phrases of the table (patterns) ─▶ "last week", with its place in the text ─▶ grammar

A table (`recall_integrations/languages/*.yaml`, section `dates`) has words by class and phrases in the order in which
they are tried; docs/languages.md describes the format. Only what a phrase of the table matches is read as a date, and
all calendar arithmetic is the grammar's.
"""

from __future__ import annotations

from recall_integrations.query.temporal.translation.reader import Fragment, Reader, reader

__all__ = ["Fragment", "Reader", "reader"]
