"""What travels: memories, queries, plans and results."""
