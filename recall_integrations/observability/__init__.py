"""What long work shows of itself."""
