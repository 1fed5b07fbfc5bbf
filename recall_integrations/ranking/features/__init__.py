"""Evidence for each candidate."""
