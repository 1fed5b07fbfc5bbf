"""Recalls over somebody else's vector store: read once, followed, asked for what is near, and never changed."""
