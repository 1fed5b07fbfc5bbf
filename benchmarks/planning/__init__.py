"""What the rules of the planner and its plans are worth."""
