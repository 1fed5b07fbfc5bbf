"""Data derived from the memories, below the arms: words, vectors, columns, filters."""
