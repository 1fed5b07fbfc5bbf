"""Makes hits for the caller: privacy, token budget, reasons."""
