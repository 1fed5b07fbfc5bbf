"""Looks for settings that are better on a user's own labelled questions, and says whether they hold on others."""
