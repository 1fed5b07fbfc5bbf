"""Text to vectors: the bundled static model, and adapters for what users already have."""
