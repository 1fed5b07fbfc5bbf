"""The system of record (SQL), the change journal, and the in-memory columns derived from them."""
