"""What is told of errors outside a recall: in logs, and in the notices of a store.

Nobody has said there what may be seen, and logs go further than answers do. So personal data and secrets are hidden
in all of them, whatever the privacy mode of a recall: an embedding or a database may quote what it was given.
"""

from __future__ import annotations

from recall_integrations.privacy.door import Door


def told(error: object) -> str:
    """An error or a sentence about one, redacted; of a long one, that it was withheld."""
    return Door("redact").detail(str(error))
