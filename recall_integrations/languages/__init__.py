"""Tables for the languages that queries are read in besides English: one file for each.

`de.yaml` holds the words of German that the readers of dates, negation, persons, questions, types and sessions look
for. A language is such a file and a test file; adding one needs no code (docs/languages.md). English has `en.json`.
"""

from recall_integrations.languages.tables import READ, Tables, name_of, tables

__all__ = ["READ", "Tables", "name_of", "tables"]
