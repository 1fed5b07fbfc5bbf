"""Move a store to another place: between directories and databases, while it is read and written."""
