"""The language of a text: `detect_language(text) -> Language`. What it goes by is told in `text.detection`."""

from recall_integrations.text.detection import UNKNOWN, Language, detect_language

__all__ = ["UNKNOWN", "Language", "detect_language"]
