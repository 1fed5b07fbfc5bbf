"""Changes of the order after ranking."""
