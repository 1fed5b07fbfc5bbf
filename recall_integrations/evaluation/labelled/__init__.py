"""A user's own store, asked the questions that were labelled for it: how good it is, which setting is better, and what
could be set better."""
