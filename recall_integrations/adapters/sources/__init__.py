"""Vector stores that people have already, as a `Source`: what is in them is read, and nothing of it is ever changed."""
