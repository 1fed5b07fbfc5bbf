"""Split texts into words: the analyser behind BM25, rarity, negation, spelling and the ranking features."""

from recall_integrations.text.analyser import (
    IRREGULAR,
    STOP_WORDS,
    WORD_CHARS_MAX,
    Token,
    fold,
    idf,
    in_ascii,
    is_character,
    length_in_words,
    narrow,
    tokenize,
)
from recall_integrations.text.by_language import (
    ANALYSER_VERSION,
    Placed,
    content,
    language_of,
    placed,
    stem,
    stems,
    stop_words,
    without_marks,
)

__all__ = [
    "ANALYSER_VERSION",
    "IRREGULAR",
    "STOP_WORDS",
    "WORD_CHARS_MAX",
    "Placed",
    "Token",
    "content",
    "fold",
    "idf",
    "in_ascii",
    "is_character",
    "language_of",
    "length_in_words",
    "narrow",
    "placed",
    "stem",
    "stems",
    "stop_words",
    "tokenize",
    "without_marks",
]
