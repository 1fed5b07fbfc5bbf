"""The retrievers that people would build otherwise, and what they have in common."""
