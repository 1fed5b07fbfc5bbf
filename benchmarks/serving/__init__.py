"""What a served store answers under load."""
