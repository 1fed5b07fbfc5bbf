"""The cross-encoder: when it is asked, and how its scores are used."""
