"""Deadlines, breakers, and threads for calls that may hang."""
