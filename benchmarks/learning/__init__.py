"""Learning from use: a simulation of people who click, and what becomes of the versions that are learned from it."""
