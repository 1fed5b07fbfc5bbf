"""One file for each version of the schema, named by it.

Nodes read and write meanwhile. A statement that locks a table of theirs stands alone in a revision, with the version:
what waits for a second lock holds the first, and is given little time. It takes moments, too, and does not write a
table anew, which would be empty for who began to read it before (`ADD COLUMN` is fine without a default that is
computed for each row).
"""
