"""A pytest plugin of `mutation.py`: Hypothesis draws the same few examples every time, so that a mutant that is killed
once is killed again, and soon."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("mutants", max_examples=25, derandomize=True, deadline=None, database=None)
settings.load_profile("mutants")
