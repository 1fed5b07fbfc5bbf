"""What is kept word by word is what the tokenizer says of the whole text."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_integrations.embeddings.static import KeptWords, StaticEmbedding, bundled
from tests.quick import examples
from tests.rows import each_row

TOKENIZER = bundled()._model.tokenizer
PLAIN = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E).filter(lambda c: c != "["), max_size=80)


def by_tokenizer(text: str) -> list[int]:
    ids: list[int] = TOKENIZER.encode(text, add_special_tokens=False).ids
    return ids


@settings(max_examples=examples(300))
@given(st.lists(PLAIN, min_size=1, max_size=4), st.sampled_from([3, 8_192]))
def test_ids_are_those_of_the_whole_text(texts: list[str], kept: int) -> None:
    words = KeptWords(kept)
    for text in [*texts, *texts]:
        assert words.ids(text, TOKENIZER) == by_tokenizer(text)


@each_row(
    "text",
    [
        "What's new in bx4751400_v2? 3.5% of $20 (e.g. ~user@host.com) -- a/b\\c",
        "x" * 101 + " y " + "z" * 250,
        "word word WORD",
        "",
        "   ",
    ],
)
def test_signs_long_words_and_nothing(text: str) -> None:
    assert KeptWords().ids(text, TOKENIZER) == by_tokenizer(text)


@each_row("text", ["[PAD] and [UNK]", "café", "a\tb", "日本"])
def test_the_tokenizer_is_asked_about_anything_else(text: str) -> None:
    assert KeptWords().ids(text, TOKENIZER) is None


def test_a_query_has_the_vector_of_a_document() -> None:
    embedding = StaticEmbedding()
    for text in ("Who said yes to it?", "Who said no to it?", "[PAD]", "日本"):
        assert np.array_equal(embedding.embed_query(text), embedding.embed_documents([text])[0])
