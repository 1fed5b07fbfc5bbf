"""The language of a text: `detect_language(text) -> Language`. `text.detection` describes the method."""

from recall_integrations.text.detection import UNKNOWN, Language, detect_language

__all__ = ["UNKNOWN", "Language", "detect_language"]
