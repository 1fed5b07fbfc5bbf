"""Readers of queries in other languages than English: one for each section of the table files, for all languages.

The English readers of the same names call them (`negation.find_negations(text, language="de")`). They find nothing
if a language has no tables.
"""
