"""The readers of queries in other languages than English: one for each section of the table files, for all of them.

They are called by the readers beside which they stand (`negation.find_negations(text, language="de")`), and find
nothing where a language has no tables.
"""
