"""What people say of recalls: kept at once, and replayed a moment later."""
