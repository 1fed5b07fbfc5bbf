"""Readers of queries by the table files, for all languages. They find nothing if a language has no tables."""
