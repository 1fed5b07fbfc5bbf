"""Privacy: personal data and secrets are recognised and hidden, and everything leaves a recall through one door."""
