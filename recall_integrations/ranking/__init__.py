"""Candidates in, ranked hits out: fusion, rerank, diversity, negation."""
