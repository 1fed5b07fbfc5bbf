"""How often the right memories come back: the comparison, its systems, its report, means and tables."""
