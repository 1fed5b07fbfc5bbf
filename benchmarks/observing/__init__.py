"""What observing recalls costs."""
