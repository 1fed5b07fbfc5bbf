"""Plans and weights learned from use: signatures, steps from the shipped weights, versions and their rollout."""
