"""Rankers, which make one score of the evidence."""
