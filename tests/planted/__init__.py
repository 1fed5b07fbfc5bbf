"""Identifiers made up from valid rules, and the surroundings they are planted in. No real data."""
