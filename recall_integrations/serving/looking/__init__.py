"""Data of the page: a recall with its times, names, memories in time, and recent activity."""
