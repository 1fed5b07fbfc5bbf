"""What a scope is made of, on scopes that can be counted by hand, and that the way there leaves no trace."""

from __future__ import annotations

from collections import Counter, defaultdict
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_integrations.indexes.kind import GATES, Kind, KindCounter, how_long
from recall_integrations.indexes.lexicon import Lexicon
from recall_integrations.types.roles import ROLE_CODES, Role
from tests.columns import ColumnsBuilder, TextRow, columns_of
from tests.rows import each_row

USER, ASSISTANT = ROLE_CODES[Role.USER], ROLE_CODES[Role.ASSISTANT]
Memory = tuple[int, int, int, int]  # thread, actor, role, length


def columns(memories: list[Memory]) -> list[np.ndarray]:
    return [np.asarray([m[i] for m in memories], dtype=np.int32) for i in range(4)]


def counted(*memories: Memory) -> Kind:
    counter = KindCounter()
    counter.add(*columns(list(memories)))
    return counter.kind()


def test_spelling_counts_where_word_vectors_do_not() -> None:
    kind = Kind(short=0.2)
    assert kind.gates(6, unread=1)["spelling"] == pytest.approx(0.8)
    assert kind.gates(12, unread=0.5)["spelling"] == pytest.approx(0.8 * 0.5 * 0.5)
    assert kind.gates(18, unread=1)["spelling"] == 0
    assert kind.gates(6, unread=-0.5)["spelling"] == 0


def test_an_empty_scope_is_of_no_kind() -> None:
    assert KindCounter().kind() == Kind() == counted()


def test_two_who_talk_are_a_pair() -> None:
    kind = counted((0, 0, 0, 20), (0, 1, 0, 20), (0, 0, 0, 20), (1, 0, 0, 20))
    assert kind.pairs == 3 / 4  # the fourth stands alone in its thread
    assert (kind.crowd, kind.roles, kind.threaded, kind.named) == (0, 0, 3 / 4, 1)


def test_three_who_talk_are_a_crowd() -> None:
    kind = counted((0, 0, 0, 20), (0, 1, 0, 20), (0, 2, 0, 20), (1, 0, 0, 20), (1, 1, 0, 20))
    assert (kind.pairs, kind.crowd) == (2 / 5, 3 / 5)


def test_who_has_no_name_is_no_actor() -> None:
    kind = counted((0, 0, 0, 20), (0, -1, 0, 20), (0, 1, 0, 20), (-1, -1, 0, 20))
    assert kind.pairs == 3 / 4  # the narrator's memory is in the thread of the two
    assert kind.named == 2 / 4
    alone = counted((0, 0, 0, 20), (0, -1, 0, 20))
    assert (alone.pairs, alone.threaded) == (0, 1)


def test_no_thread_is_not_one_thread() -> None:
    assert counted((-1, 0, 0, 20), (-1, 1, 0, 20)).threaded == 0
    assert counted((-1, 0, 0, 20), (-1, 1, 0, 20)).pairs == 0


def test_users_and_assistants_have_roles_and_tools_do_not() -> None:
    other = ROLE_CODES[Role.TOOL], ROLE_CODES[Role.SYSTEM]
    assert counted((0, 0, USER, 20), (0, 1, ASSISTANT, 20), *((0, 2, role, 20) for role in other)).roles == 2 / 4


def test_short_by_hand() -> None:
    assert counted((-1, -1, 0, 20)).short == 0.5
    assert counted((-1, -1, 0, 0)).short == 1
    assert counted((-1, -1, 0, 20), (-1, -1, 0, 60)).short == pytest.approx((1 / 2 + 1 / 4) / 2)


def test_gates_by_hand() -> None:
    kind = Kind(pairs=0.6, crowd=0.075, roles=0.25, spoken=0.25, threaded=0.9, named=0.5, short=0.2)
    gates = kind.gates(12, 0.43)
    assert set(gates) == set(GATES)
    assert gates == pytest.approx(
        {
            "always": 1,
            "people": 0.6,
            "crowd": 0.075,
            "roles": 0.25,
            "spoken": 0.25,
            "apart": 0.075,  # 1 - .6 - .075 - .25
            "notes": 0,  # too long for notes
            "unsaid": 0,
            "long": 0.48,  # (12 - 6) / 12 · (1 - .04)
            "untold": 0,  # a turn says all
            "documents": 0.02,  # .1 · .5 · .8 = .04, times 1 - (.43 - .38) / .1
            "strong_documents": 0,
            "strong_untold": 0,
            "spelling": 0,  # word vectors are worth all there is
        }
    )


@each_row(
    ("short", "said", "notes", "unsaid"),
    [(0.35, 0, 0, 0), (0.45, 0, 0.5, 0.5), (0.8, 0.2, 1, 1), (0.8, 0.275, 1, 0.5), (0.8, 0.35, 1, 0), (0.8, 1, 1, 0)],
)
def test_what_notes_are_and_when_none_says_what_is_asked_for(
    short: float, said: float, notes: float, unsaid: float
) -> None:
    gates = Kind(short=short).gates(3, said=said)
    assert (gates["notes"], gates["unsaid"]) == pytest.approx((notes, unsaid))
    chat = Kind(short=short, pairs=1.0).gates(3, said=said)
    assert chat["notes"] == chat["unsaid"] == 0


@each_row(("said", "asked", "untold"), [(0.2, 3, 1), (0.525, 3, 0.5), (0.525, 9, 0.375), (0.7, 3, 0)])
def test_when_no_turn_of_a_chat_with_an_assistant_says_what_is_asked_for(
    said: float, asked: int, untold: float
) -> None:
    assert Kind(roles=1.0).gates(asked, said=said)["untold"] == pytest.approx(untold)
    assert Kind(pairs=1.0).gates(asked, said=said)["untold"] == 0


@each_row(("worth", "share"), [(0, 0), (1, 0), (3, 0.5), (5, 1), (6, 1)])
def test_documents_and_chats_are_read_otherwise_with_a_strong_embedding(worth: float, share: float) -> None:
    assert Kind(roles=1.0).gates(3, said=0.2, worth=worth)["strong_untold"] == pytest.approx(share)
    gates = Kind().gates(3, 0.3, worth=worth)
    assert gates["strong_documents"] == pytest.approx(share * gates["documents"])
    assert gates["documents"] == 1


@each_row(("asked", "long"), [(0, 0), (6, 0), (7, 1 / 12), (18, 1), (200, 1)])
def test_when_a_query_is_long(asked: int, long: float) -> None:
    assert how_long(asked) == pytest.approx(long)
    assert Kind(threaded=1).gates(asked)["long"] == pytest.approx(long)
    assert Kind().gates(asked)["long"] == 0


@each_row(("rarity", "open_by"), [(0, 1), (0.38, 1), (0.43, 0.5), (0.48, 0), (1, 0)])
def test_plain_documents_open_their_gate_to_questions_in_common_words(rarity: float, open_by: float) -> None:
    assert Kind().gates(9, rarity)["documents"] == pytest.approx(open_by)
    assert Kind(threaded=1).gates(9, rarity)["documents"] == Kind(named=1).gates(9, rarity)["documents"] == 0


@each_row(("count", "open_by"), [(0, 0), (50, 0), (125, 0.5), (200, 1), (10_000, 1)])
def test_in_a_handful_of_documents_no_word_is_common(count: int, open_by: float) -> None:
    assert Kind().gates(9, 0.3, count)["documents"] == pytest.approx(open_by)


def test_chats_with_an_assistant_are_no_chats_of_people() -> None:
    gates = counted((0, 0, USER, 20), (0, 1, ASSISTANT, 20)).gates(5)
    assert (gates["people"], gates["roles"], gates["apart"]) == (0, 1, 0)


def test_lines_of_a_user_whom_nobody_answers_are_notes() -> None:
    gates = counted(*[(0, 0, USER, 5)] * 4).gates(5)
    assert (gates["people"], gates["roles"], gates["apart"]) == (0, 0, 1)
    assert counted(*[(0, 1, ASSISTANT, 5)] * 4).roles == 0
    assert counted((0, 0, USER, 20), *[(0, 0, USER, 20)] * 10, (0, 1, ASSISTANT, 20)).roles == 6 / 12
    assert counted((0, 0, USER, 20), *[(0, 0, USER, 20)] * 10, (0, 1, ASSISTANT, 20)).pairs == 0
    assert counted((0, 0, USER, 20), (0, 1, 0, 20)).pairs == 1  # a chat of the user with a person


def test_gates_are_never_negative() -> None:
    assert Kind(pairs=0.06, roles=0.9).gates(0)["apart"] == pytest.approx(0.04)
    assert min(Kind(pairs=1, crowd=1, roles=1, threaded=1, named=1, short=1).gates(0).values()) == 0


# --- the way there ----------------------------------------------------------------------------------------------

memory = st.tuples(
    st.integers(-1, 3), st.integers(-1, 3), st.sampled_from(sorted(ROLE_CODES.values())), st.integers(0, 90)
)


def recount(memories: list[Memory]) -> Kind:
    """The definitions, read word by word."""
    n = len(memories)
    if not n:
        return Kind()
    actors: dict[int, set[int]] = defaultdict(set)
    for thread, actor, _, _ in memories:
        if actor >= 0:
            actors[thread].add(actor)
    sizes = Counter(thread for thread, *_ in memories)
    inside = [m for m in memories if m[0] >= 0]
    spoken = sum(m[2] in (USER, ASSISTANT) for m in memories)
    rarer = min(sum(m[2] == role for m in memories) for role in (USER, ASSISTANT))
    people = 1 - spoken / n if rarer else 1
    return Kind(
        pairs=people * sum(len(actors[m[0]]) == 2 for m in inside) / n,
        crowd=people * sum(len(actors[m[0]]) >= 3 for m in inside) / n,
        roles=min(spoken, 6 * rarer) / n,
        spoken=spoken / n,
        threaded=sum(sizes[m[0]] > 1 for m in inside) / n,
        named=sum(m[1] >= 0 for m in memories) / n,
        short=sum(round(1_000_000 / (1 + m[3] / 20)) for m in memories) / 1_000_000 / n,
    )


@settings(deadline=None)
@given(st.lists(st.tuples(memory, st.booleans()), max_size=30), st.randoms(use_true_random=False))
def test_whatever_comes_and_goes_in_whatever_order(made: list[tuple[Memory, bool]], random: Random) -> None:
    counter = KindCounter()
    waiting = list(range(len(made)))
    random.shuffle(waiting)
    there: list[int] = []
    while waiting or any(made[i][1] for i in there):
        gone = [i for i in there if made[i][1]]
        if waiting and (not gone or random.random() < 0.6):
            size = random.randint(1, len(waiting))
            batch, waiting = waiting[:size], waiting[size:]
            counter.add(*columns([made[i][0] for i in batch]))
            there += batch
        else:
            batch = random.sample(gone, random.randint(1, len(gone)))
            counter.remove(*columns([made[i][0] for i in batch]))
            there = [i for i in there if i not in batch]
        assert counter.kind() == recount([made[i][0] for i in there])


@settings(deadline=None)
@given(st.lists(memory, max_size=20))
def test_every_share_and_gate_lies_between_0_and_1(memories: list[Memory]) -> None:
    kind = counted(*memories)
    for asked in (0, 9, 40):
        assert all(0 <= value <= 1 for value in kind.gates(asked).values())


# --- in the columns of a scope ----------------------------------------------------------------------------------

CHAT = [
    TextRow(num=1, text="Which shed is green?", actor="Sam", thread="t", position=0),
    TextRow(num=2, text="The old one by the gate", actor="Priya", thread="t", position=1),
    TextRow(num=3, text="a note about tomatoes"),
    TextRow(num=4, text="What should I plant?", actor="user", thread="u", position=0),
]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(-1, 4), st.integers(0, 4), st.integers(0, 50)), max_size=40))
def test_counting_all_at_once_is_counting_one_after_the_other(given_rows: list[tuple[int, int, int, int]]) -> None:
    threads, actors, roles, lengths = np.asarray(given_rows, dtype=np.int32).reshape(-1, 4).T
    counter = KindCounter()
    for row in range(len(threads)):
        part = slice(row, row + 1)
        counter.add(threads[part], actors[part], roles[part], lengths[part])
    counted_all = KindCounter.counted(threads, actors, roles, lengths)
    read = KindCounter(counted_all)
    assert read.kind() == counter.kind()
    for other in (read, counter):
        other.add(threads[::2], actors[::2], roles[::2], lengths[::2])
        other.remove(threads[1::2], actors[1::2], roles[1::2], lengths[1::2])
    assert read.kind() == counter.kind()


def test_columns_know_their_kind() -> None:
    kind = columns_of(CHAT, Lexicon()).kind
    assert (kind.pairs, kind.roles, kind.threaded, kind.named) == (2 / 4, 0, 2 / 4, 3 / 4)
    # shed, green; old, one, gate; note, tomatoes; plant
    assert kind.short == pytest.approx(sum(1 / (1 + n / 20) for n in (2, 3, 2, 1)) / 4, abs=1e-6)


def test_what_is_forgotten_no_longer_counts() -> None:
    builder = ColumnsBuilder(Lexicon())
    builder.append(CHAT)
    old = builder.snapshot()
    builder.kill([2, 2, 77])
    builder.kill([2])
    assert builder.snapshot().kind == columns_of([CHAT[0], *CHAT[2:]], Lexicon()).kind
    assert old.kind == columns_of(CHAT, Lexicon()).kind
    builder.kill([1, 3, 4])
    assert builder.snapshot().kind == Kind()
