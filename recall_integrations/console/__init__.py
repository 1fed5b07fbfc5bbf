"""What the `recall` command is made of: reading its arguments, importing, and showing results."""
