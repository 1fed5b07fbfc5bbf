"""Every kind of memory side by side, each stage changed in turn, and pictures of the tables."""
