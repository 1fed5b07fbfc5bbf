"""SQLite: its tables, the engine, and single values."""
