"""Many users in one store, answered by several processes: in PostgreSQL, and in a directory."""
