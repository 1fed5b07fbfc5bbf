"""Names that facts are told under: those of one entity are one subject, those of two people are nobody's."""

from __future__ import annotations

from recall_integrations.query.entities import EntityIndex
from recall_integrations.store.fact_tables import subject_names


def index(**named: tuple[str, ...]) -> EntityIndex:
    made = EntityIndex()
    for entity_id, (name, *aliases) in named.items():
        made.add(entity_id, name, aliases)
    return made


def of(subject: str, **named: tuple[str, ...]) -> tuple[str, ...]:
    return subject_names(index(**named))(subject)


def test_the_names_of_one_entity_are_one_subject() -> None:
    raman = ("Priya Raman", "Priya", "PR")
    for name in ("priya raman", "priya", "pr"):
        assert of(name, a=raman) == ("priya raman", "priya", "pr")
        assert of(f"{name}'s sister", a=raman) == ("priya raman's sister", "priya's sister", "pr's sister")


def test_a_name_that_nobody_declared_is_itself() -> None:
    assert of("sam", a=("Priya Raman", "Priya")) == ("sam",)
    assert of("raman", a=("Priya Raman", "Priya")) == ("raman",)
    assert of("priya") == ("priya",) and of("") == ("",) and of("'s sister") == ("'s sister",)
    assert of("priya-raman", a=("Priya Raman", "Priya")) == ("priya-raman",)  # another key is another subject


def test_a_name_of_two_is_of_nobody_and_is_none_of_their_names() -> None:
    two = {"a": ("Priya Raman", "Priya", "PR"), "b": ("Priya Shah", "Priya")}
    assert of("priya", **two) == () and of("priya's sister", **two) == ()
    assert of("priya raman", **two) == ("priya raman", "pr") and of("priya shah", **two) == ("priya shah",)
    assert of("priya", a=("Priya",), b=("Priya Shah", "Priya")) == ()


def test_an_article_makes_no_other_name() -> None:
    assert of("app", a=("The App", "Kestrel")) == ("app", "kestrel")
    assert of("kestrel", a=("The App", "Kestrel")) == ("app", "kestrel")
