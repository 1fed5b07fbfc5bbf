"""Bridges to agents' frameworks, a file each. No other part of the package imports them."""
