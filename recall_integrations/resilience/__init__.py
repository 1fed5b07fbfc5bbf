"""Deadlines, and threads for what may hang."""
