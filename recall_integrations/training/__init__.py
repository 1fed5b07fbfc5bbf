"""Fits rankers and calibrations to labelled questions."""
