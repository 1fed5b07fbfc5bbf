"""Measuring recall on labelled data of one's own: data sets, metrics, quality, abstention, what is read of queries.

What compares with other libraries, or measures what only the makers look at, is in `benchmarks/` of the repository.
"""
