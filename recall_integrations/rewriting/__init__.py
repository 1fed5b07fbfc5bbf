"""The optional LLM step, and what guards it."""
