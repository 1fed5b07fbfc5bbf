"""Text to words: the analyser behind BM25, rarity, negation, spelling and the ranking features."""

from recall_integrations.text.analyser import (
    IRREGULAR,
    STOP_WORDS,
    WORD_CHARS_MAX,
    Token,
    fold,
    idf,
    stem,
    stems,
    tokenize,
)

__all__ = ["IRREGULAR", "STOP_WORDS", "WORD_CHARS_MAX", "Token", "fold", "idf", "stem", "stems", "tokenize"]
