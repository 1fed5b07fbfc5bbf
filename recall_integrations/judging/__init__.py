"""Feedback of people on recalls: kept at once, and replayed a moment later."""
