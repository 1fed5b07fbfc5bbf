"""What makes one score of the evidence."""
