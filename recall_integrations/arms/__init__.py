"""The arms of a recall: each looks for candidates in its own way."""
