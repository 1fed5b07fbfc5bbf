"""Texts of errors outside a recall: in logs, and in the notices of a store.

No privacy mode applies there, and logs go further than answers do. So personal data and secrets are hidden
in all of them, whatever the privacy mode of a recall: an embedding or a database may quote what it was given.
"""

from __future__ import annotations

from recall_integrations.privacy.door import Door


def told(error: object) -> str:
    """Return the text of an error, or a sentence about one, redacted; for a long one, a note that it was withheld."""
    return Door("redact").detail(str(error))
