"""How often the right memories come back: systems compared, every kind of memory, each stage changed, abstention."""
