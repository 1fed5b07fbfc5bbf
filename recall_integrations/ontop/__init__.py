"""Recalls over a user's vector store: it is read once, followed, asked for near documents, and never changed."""
