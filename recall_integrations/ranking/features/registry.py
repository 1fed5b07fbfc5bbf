"""List of all features, file by file. A new one is an entry in the file of its group, and nothing else.

The order is that of columns, of sums (floating point: another order gives other last digits), and of the table in
docs/ranking.md.
"""

from __future__ import annotations

from recall_integrations.ranking.features.dates import DATES
from recall_integrations.ranking.features.exchange import EXCHANGE
from recall_integrations.ranking.features.feature import FeatureSet
from recall_integrations.ranking.features.nearby import NEARBY
from recall_integrations.ranking.features.neighbours import NEIGHBOURS
from recall_integrations.ranking.features.record import RECORD
from recall_integrations.ranking.features.speakers import SPEAKERS
from recall_integrations.ranking.features.subject import SUBJECT
from recall_integrations.ranking.features.terms import TERMS
from recall_integrations.ranking.features.threads import THREADS
from recall_integrations.ranking.features.vectors import VECTORS
from recall_integrations.ranking.features.words import WORDS

FEATURES = FeatureSet(
    (
        *WORDS,
        *NEIGHBOURS,
        *THREADS,
        *NEARBY,
        *VECTORS,
        *SPEAKERS,
        *EXCHANGE,
        *SUBJECT,
        *DATES,
        *RECORD,
        *TERMS,
    )
)
