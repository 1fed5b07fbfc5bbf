"""False alarms of redaction, and what it costs."""
