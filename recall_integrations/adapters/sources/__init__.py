"""Existing vector stores as a `Source`: their rows are read, and never changed."""
