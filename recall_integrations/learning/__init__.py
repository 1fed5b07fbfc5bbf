"""Plans and weights that follow use: signatures, steps from the shipped weights, versions and their rollout."""
