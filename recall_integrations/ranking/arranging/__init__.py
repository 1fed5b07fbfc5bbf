"""What changes the order after ranking."""
