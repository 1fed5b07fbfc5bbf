"""Lines of a user in a store without an assistant."""

from __future__ import annotations

from recall_integrations import Memory, MemoryStore, QueryOptimizer

THINGS = ("budget", "offsite", "logo", "office", "roadmap")


def test_what_the_user_said_comes_before_a_document_about_it() -> None:
    with MemoryStore.open() as store:
        for thing in THINGS:
            line = f"Honestly, the {thing} seems a bit too expensive for me this year"
            store.remember(Memory(line, id=thing, actor="user", role="user"))
            store.remember(Memory(f"What the board said about the {thing}: it is too expensive", type="chunk"))
        optimizer = QueryOptimizer(store)
        hits = [optimizer.recall(f"What did I say about the {thing}?").hits[0] for thing in THINGS]
    assert [hit.memory.id for hit in hits] == list(THINGS)
    assert all("the user said it" in hit.reason for hit in hits)


def test_a_user_who_answers_a_person_is_half_of_a_chat() -> None:
    asked = {"What do you have for breakfast?": "Porridge with plums.", "Where did you leave the ladder?": "Behind it."}
    with MemoryStore.open() as store:
        for number, (question, answer) in enumerate(asked.items()):
            store.remember(Memory(question, actor="Lena", thread="t", position=2 * number))
            store.remember(Memory(answer, id=answer, actor="user", role="user", thread="t", position=2 * number + 1))
        optimizer = QueryOptimizer(store)
        for question, answer in asked.items():
            assert optimizer.recall(question).hits[0].memory.id == answer
