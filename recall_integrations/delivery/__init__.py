"""What leaves the package: privacy, token budget, reasons."""
