"""Of two hits about the same thing the model of pairs says which one comes first, as recalls show it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pytest

from recall_integrations import Hit, Memory, MemoryStore, QueryOptimizer, RecallConfig
from recall_integrations.config import FactsConfig, RerankConfig
from recall_integrations.embeddings.static import bundled
from recall_integrations.ranking.arranging import newer
from recall_integrations.ranking.arranging.moves import NEWER
from recall_integrations.ranking.arranging.newer import SHIPPED, PairModel
from recall_integrations.ranking.arranging.pairs import INPUTS
from recall_integrations.ranking.calibration import Logistic
from recall_integrations.types.query import PLANS
from tests.rows import each_row

CODES = ("The code of the garage is 4417", "The code of the garage is 2093")
QUERY = "What is the code of the garage?"
Use = Callable[..., None]


def model(bias: float = 0.0, **weights: float) -> PairModel:
    """By names of inputs, with "_" for "·"."""
    named = {name.replace("_", "·"): value for name, value in weights.items()}
    assert named.keys() <= set(INPUTS)
    vector = np.asarray([named.get(name, 0.0) for name in INPUTS])
    low, high = np.full(len(INPUTS), -np.inf), np.full(len(INPUTS), np.inf)
    pairs = Logistic(names=INPUTS, weights=vector, low=low, high=high, bias=bias)
    return PairModel(pairs=pairs, words=np.zeros((0, 512)), version="by hand")


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Use:
    """Rank by a model made by hand."""

    def put(bias: float = 0.0, **weights: float) -> None:
        made = model(bias, **weights)
        monkeypatch.setattr(newer, "shipped", lambda: made)

    return put


@pytest.fixture
def notes() -> Iterator[MemoryStore]:
    """Nothing is read of the texts: only the model tells which one holds."""
    with MemoryStore.open(config=RecallConfig(facts=FactsConfig(read=False))) as store:
        yield store


def hits(store: MemoryStore, query: str = QUERY) -> list[Hit]:
    return QueryOptimizer(store).recall(query, k=5, time_budget_ms=60_000).hits


def ids(found: Sequence[Hit]) -> list[str]:
    return [hit.memory.id for hit in found]


def sources(hit: Hit) -> set[str]:
    return {part.source for part in hit.contributions}


def on(day: int) -> datetime:
    return datetime(2026, 5, day, 9, tzinfo=timezone.utc)


def test_a_model_that_says_no_moves_nothing(use: Use, notes: MemoryStore) -> None:
    use(bias=-1.0)
    notes.remember_many([Memory(text, id=f"m{i}") for i, text in enumerate(CODES)])
    found = hits(notes)
    assert len(found) == 2
    assert not any(NEWER in sources(hit) for hit in found)


def test_a_swap_is_a_contribution_and_scores_still_fall(use: Use, notes: MemoryStore) -> None:
    notes.remember_many(
        [Memory(text, id=f"m{i}") for i, text in reversed(list(enumerate(CODES)))]
    )  # the first is newer
    use(bias=-1.0)
    before = ids(hits(notes))
    assert before == ["m1", "m0"]
    use(bias=1.0)
    found = hits(notes)
    assert ids(found) == before[::-1]
    assert any(NEWER in sources(hit) for hit in found)
    assert found[0].score >= found[1].score
    assert ids(hits(notes)) == ids(found)  # the same, however often it is asked


def test_pairs_that_are_not_alike_are_not_compared(use: Use, notes: MemoryStore) -> None:
    texts = [CODES[0], "Otto, our cat, eats salmon and sleeps all day", "The library closes at nine on weekdays"]
    notes.remember_many([Memory(text, id=f"m{i}") for i, text in enumerate(texts)])
    use(bias=-1.0)
    before = ids(hits(notes))
    use(bias=9.0)
    found = hits(notes)
    assert ids(found) == before
    assert not any(NEWER in sources(hit) for hit in found)


@pytest.mark.parametrize("type_", ["observation", "chunk"])
@pytest.mark.parametrize("texts", [CODES, CODES[::-1]])
def test_where_there_are_no_dates_the_order_of_writing_tells(
    use: Use, notes: MemoryStore, texts: Sequence[str], type_: str
) -> None:
    use(newer_1=1.0)
    for i, text in enumerate(texts):
        notes.remember(Memory(text, id=f"m{i}", type=type_))
    assert ids(hits(notes)) == ["m1", "m0"]


@pytest.mark.parametrize("texts", [CODES, CODES[::-1]])
def test_dates_tell_before_the_order_of_writing(use: Use, notes: MemoryStore, texts: Sequence[str]) -> None:
    use(newer_1=1.0)
    for i, text in enumerate(texts):
        notes.remember(Memory(text, id=f"m{i}", event_at=on(20 - i)))
    assert ids(hits(notes)) == ["m0", "m1"]


def test_a_date_and_none_tell_nothing(use: Use, notes: MemoryStore) -> None:
    notes.remember(Memory(CODES[0], id="m0", type="chunk", event_at=on(20)))
    notes.remember(Memory(CODES[1], id="m1", type="chunk"))  # of a document nobody knows when it was
    use(bias=9.0)
    assert not any(NEWER in sources(hit) for hit in hits(notes))


def test_a_query_for_the_past_may_turn_it(use: Use, notes: MemoryStore) -> None:
    use(newer_1=1.0, newer_past_1=-2.0)
    for i, text in enumerate(CODES):
        notes.remember(Memory(text, id=f"m{i}"))
    assert ids(hits(notes)) == ["m1", "m0"]
    assert ids(hits(notes, "What was the code of the garage?")) == ["m0", "m1"]


def test_cosines_of_an_embedding_that_puts_all_texts_near_each_other_make_nothing_alike(use: Use) -> None:
    def squeezed(texts: Sequence[str]) -> np.ndarray:
        own = 0.4 * bundled().embed_documents(list(texts))
        return np.hstack([own, np.ones((len(own), 1), dtype=np.float32)])

    use(bias=9.0)
    with MemoryStore.open(embedding=squeezed, config=RecallConfig(facts=FactsConfig(read=False))) as store:
        store.remember_many([Memory(CODES[0]), Memory("Otto, our cat, eats salmon and sleeps all day")])
        assert not any(NEWER in sources(hit) for hit in hits(store))


def test_the_weights_of_the_package_belong_to_its_inputs() -> None:
    loaded = PairModel.load()
    assert loaded.version == json.loads(SHIPPED.read_text(encoding="utf-8"))["version"]
    assert loaded.words.shape[1] == 2 * bundled().dimensions
    assert loaded.pairs.names[: len(INPUTS)] == INPUTS


def test_a_model_with_other_inputs_is_refused(tmp_path: Path) -> None:
    kept = json.loads(SHIPPED.read_text(encoding="utf-8"))
    del kept["pairs"]["inputs"]["alike"]
    path = tmp_path / "newer.json"
    path.write_text(json.dumps(kept))
    with pytest.raises(ValueError, match="alike"):
        PairModel.load(path)


@each_row(
    ("query", "asked", "like"),
    [
        ("what is the bakery oven set to?", "The bakery oven is set to 210", "The bistro oven is set to 180"),
        ("which bag is packed?", "The hiking bag is packed", "The gym bag is empty again"),
        ("who waters the ferns?", "Ilse waters the ferns", "Tomas waters the cacti"),
        ("what does the parrot eat", "The parrot eats seeds", "The hamster now eats carrots"),
        (
            "what is the limit of the blue card?",
            "The blue card has a limit of 500",
            "The green card has a limit of 900 now",
        ),
        (
            "who maintains the invoice exporter?",
            "Noor maintains the invoice exporter",
            "Paul maintains the image resizer",
        ),
        ("what size does my son wear?", "My son wears size 34", "My daughter wears size 31 now"),
        ("which database does the wiki use?", "The wiki runs on PostgreSQL", "The shop runs on MariaDB"),
        ("what time is the morning ferry?", "The morning ferry leaves at 7:10", "The evening ferry leaves at 19:40"),
    ],
)
def test_what_is_told_later_of_another_thing_takes_no_place(
    notes: MemoryStore, query: str, asked: str, like: str
) -> None:
    notes.remember_many(
        [Memory(asked, id="asked"), Memory("We had soup on Sunday", id="beside"), Memory(like, id="like")]
    )
    assert ids(hits(notes, query))[0] == "asked"


@each_row(
    ("query", "before", "now"),
    [
        ("where do I keep the spare key?", "I keep the spare key under the pot", "I moved the spare key to the shed"),
        ("who is our accountant?", "Our accountant is Ms Roth", "Mr Lang is our accountant now"),
        ("what is the alarm code?", "The alarm code is 4410", "The alarm code was changed to 9012"),
        ("how much is the rent?", "The rent is 900 a month", "From March the rent is 960"),
        ("is the printer broken?", "The printer is broken", "The printer was repaired today"),
        ("where does my sister live?", "My sister lives in Graz", "My sister has moved to Linz"),
        ("what day is choir?", "Choir is on Mondays", "Choir has moved to Thursdays"),
        ("which broadband is it?", "Broadband: Telmo", "Quit Telmo, with Fibra since May"),
    ],
)
def test_what_is_told_later_of_the_same_thing_comes_first(
    notes: MemoryStore, query: str, before: str, now: str
) -> None:
    notes.remember_many(
        [Memory(before, id="before"), Memory("We had soup on Sunday", id="beside"), Memory(now, id="now")]
    )
    assert ids(hits(notes, query))[0] == "now"
    assert ids(hits(notes, query.upper()))[0] == "now"


def test_of_a_list_the_entry_that_is_asked_for_stays(use: Use, notes: MemoryStore) -> None:
    use(bias=-1.0)
    things = ("kettle", "hammer", "lantern", "pump")
    notes.remember_many([Memory(f"The {thing} lies on the {thing} shelf", id=thing) for thing in things])
    before = ids(hits(notes, "kettle shelf"))
    assert before[0] == "kettle"
    use(bias=9.0)
    assert ids(hits(notes, "kettle shelf"))[0] == "kettle"


def test_a_number_takes_no_place_of_one_with_another_sign(use: Use, notes: MemoryStore) -> None:
    notes.remember_many([Memory("In Bern it was 18 °C", id="bern"), Memory("In Oslo it was -18 °C", id="oslo")])
    use(bias=9.0)
    assert ids(hits(notes, "where was it 18 °C?"))[0] == "bern"


def test_notes_of_another_year_tell_no_change(use: Use, notes: MemoryStore) -> None:
    use(bias=9.0)
    notes.remember_many([Memory(f"Notes of the planning meeting of {year}", id=str(year)) for year in (2024, 2023)])
    (first, second) = hits(notes, "planning meetings of 2024")
    assert (first.memory.id, second.superseded_by) == ("2024", None)


def test_where_both_say_the_identifier_a_name_keeps_nothing(use: Use, notes: MemoryStore) -> None:
    texts = {"open": "Invoice 2026-018 to Dorn: open.", "paid": "Invoice 2026-018: paid."}
    notes.remember_many([Memory(text, id=key) for key, text in texts.items()])
    use(bias=9.0)
    assert ids(hits(notes, "has Dorn paid 2026-018?"))[0] == "paid"


def test_what_came_after_is_not_asked_for(notes: MemoryStore) -> None:
    texts = {"old": "I use Vim as my editor", "new": "My editor is Helix now, switched from the other one"}
    notes.remember_many([Memory(text, id=key) for key, text in texts.items()])
    assert ids(hits(notes, "which editor do I use?"))[0] == "new"
    assert ids(hits(notes, "which editor did I use before Helix?"))[0] == "old"


@each_row(
    ("query", "other", "asked"),
    [
        (
            "what do I buy before the Oslo trip?",
            "Before the Bergen trip: buy sunscreen",
            "Before the Oslo trip: buy tape",
        ),
        ("which pill do I take before bed?", "Take the blue pill before breakfast", "Take the white pill before bed"),
        (
            "what did we check before Antwerp?",
            "We checked the valves before Genoa",
            "We checked the pumps before Antwerp",
        ),
        ("which is open until nine?", "The museum is open until six", "The library is open until nine"),
    ],
)
def test_what_a_memory_says_before_of_is_asked_for(notes: MemoryStore, query: str, other: str, asked: str) -> None:
    notes.remember_many([Memory(other, id="other"), Memory(asked, id="asked"), Memory("We had soup", id="beside")])
    assert ids(hits(notes, query))[0] == "asked"


def test_a_longer_number_is_no_other_sign(use: Use, notes: MemoryStore) -> None:
    notes.remember_many([Memory("Gate 8 opens at six", id="early"), Memory("Gate 8 opens at 18", id="late")])
    use(bias=9.0)
    assert ids(hits(notes, "when does gate 8 open?"))[0] == "late"


@each_row(
    ("query", "own", "other"),
    [
        ("what car do I drive?", "I drive a Skoda", "Tom sold his Skoda, got a Kia"),
        ("which firm do I work at?", "I work at Contoso", "Lee quit Contoso and started at Fabrikam"),
        ("who is my dentist?", "My dentist is Dr. Novak", "Met Dr. Novak at the bakery"),
        (
            "wie lautet das Passwort für Jira?",
            "Das Passwort für Jira ist Amsel9",
            "Confluence: Passwort geändert, Meise4",
        ),
    ],
)
def test_what_shares_a_name_takes_no_place_of_what_is_ones_own(
    notes: MemoryStore, query: str, own: str, other: str
) -> None:
    notes.remember_many([Memory(own, id="own"), Memory("Sat in the park with Ida", id="x"), Memory(other, id="other")])
    assert ids(hits(notes, query))[0] == "own"


def test_the_newer_memory_comes_first_under_a_reranker_too() -> None:
    def alike(_query: str, texts: Sequence[str]) -> list[float]:
        return [1.0] * len(texts)

    config = RecallConfig(rerank=RerankConfig(plans=PLANS, regret_max=0))
    with MemoryStore.open() as store:
        store.remember_many(
            [
                Memory("The standup is at nine", id="march", event_at=datetime(2026, 3, 2, tzinfo=timezone.utc)),
                Memory("The standup moved to ten", id="june", event_at=datetime(2026, 6, 1, tzinfo=timezone.utc)),
                Memory("The kitchen is painted green", id="kitchen"),
            ]
        )
        for reranker in (None, alike):
            optimizer = QueryOptimizer(store, config=config, reranker=reranker)
            result = optimizer.recall("when is the standup?", k=3, time_budget_ms=60_000)
            assert result.rerank.used is (reranker is not None)
            assert [hit.memory.id for hit in result.hits][:2] == ["june", "march"]
            assert result.hits[1].superseded_by == "june"
            optimizer.close()


def test_a_value_that_changed_in_long_texts_of_a_small_store(notes: MemoryStore) -> None:
    rest = (
        " We talked for an hour with {0}, Ravi and the neighbours about garden walls, old bricks, a broken {1}, cheap "
        "paint, the summer party, missing chairs, late trains and Anna's surprise birthday cake."
    )
    notes.remember(Memory("The rent is 900 euros a month." + rest.format("Paul", "mower"), id="old", event_at=on(1)))
    notes.remember(Memory("The rent went up to 950 euros." + rest.format("Olga", "fence"), id="new", event_at=on(20)))
    assert ids(hits(notes, "how much is the rent a month?")) == ["new", "old"]
