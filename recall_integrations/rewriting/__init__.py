"""The optional step that asks an LLM for other words, and its safeguards."""
