"""What a rewriter is worth, and what a bad one costs: measured with scripted ones."""
