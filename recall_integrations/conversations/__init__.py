"""Memories that an LLM reads in conversations."""
