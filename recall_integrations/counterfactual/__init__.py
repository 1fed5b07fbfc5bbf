"""What a recall would have returned without an arm, a kind of evidence or a rule."""
