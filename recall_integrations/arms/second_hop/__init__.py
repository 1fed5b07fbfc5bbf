"""Links from documents to others, over the names that both say."""
