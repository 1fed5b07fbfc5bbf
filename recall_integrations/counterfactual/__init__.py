"""The recall that would have been returned without an arm, a kind of evidence or a rule."""
