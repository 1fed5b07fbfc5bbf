"""Questions that went wrong, laid out for reading."""
