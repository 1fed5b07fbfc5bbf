"""What the page shows, as plain data: a recall with its times, names, memories in time, what is going on."""
