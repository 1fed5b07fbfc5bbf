"""Stores as new users have them: small, plain, and with values that change."""
