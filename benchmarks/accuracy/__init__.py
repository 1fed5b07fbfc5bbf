"""How often what is read of a query is right: dates, and what it leaves out."""
