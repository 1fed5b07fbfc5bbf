from __future__ import annotations

import numpy as np

from recall_integrations import Memory, MemoryStore, QueryOptimizer
from recall_integrations.ranking.bridge import bridge
from recall_integrations.ranking.columns import TextRow, columns_of
from recall_integrations.ranking.lexicon import shared

TEXTS = [
    "Priya Raman. She directed the film Amber Lantern with a small crew.",
    "Amber Lantern. A story about a lighthouse in winter.",
    "Amber Alert. A system that warns the public.",
    "Harbour Lights. A story about a ferry.",
]


def values(texts=TEXTS, documents=None, scores=(4.0, 0.0, 0.1, 0.2), terms=("priya", "raman", "direct")):
    columns = columns_of((TextRow(num=i, text=t) for i, t in enumerate(texts)), shared())
    given = np.ones(len(texts), dtype=bool) if documents is None else np.asarray(documents)
    rows = np.arange(len(texts))
    return bridge(
        columns, rows, np.asarray(scores, dtype=np.float32), given, terms, lambda _term: 1, len(texts)
    ).tolist()


def test_a_document_whose_subject_the_best_hit_names():
    assert values() == [0.0, 1.0, 0.0, 0.0]


def test_half_a_subject_is_none_and_what_the_query_says_is_no_bridge():
    assert values(texts=[TEXTS[0], TEXTS[2]], scores=(4.0, 0.0)) == [0.0, 0.0]
    assert values(terms=("amber", "lantern")) == [0.0, 0.0, 0.0, 0.0]


def test_turns_of_a_chat_do_not_begin_with_their_subject():
    assert values(documents=[False] * 4) == [0.0] * 4


def test_texts_without_words():
    assert values(texts=["", "...", "Amber Lantern"], scores=(1.0, 0.5, 0.0)) == [0.0, 0.0, 0.0]


def test_the_second_hop_comes_first_and_says_why():
    with MemoryStore.open() as store:
        chunks = [Memory(t, id=str(i), type="chunk") for i, t in enumerate(TEXTS)]
        others = [Memory(f"Winter market number {i} opens late.", type="chunk") for i in range(6)]
        store.remember_many([*chunks, *others])
        optimizer = QueryOptimizer(store)
        result = optimizer.recall("What is the film that Priya Raman directed about?", k=3)
        optimizer.close()
    assert [h.memory.id for h in result.hits[:2]] == ["0", "1"]
    assert "its subject is named in a better hit" in result.hits[1].reason
    assert any(c.source == "bridge" and c.added > 0 for c in result.hits[1].contributions)
