"""The `recall` command: reading its arguments, importing, and showing results."""
