"""One file for each version of the schema, named by it."""
