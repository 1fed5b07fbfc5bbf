"""The cross-encoder: when it is asked, and what becomes of its scores."""
