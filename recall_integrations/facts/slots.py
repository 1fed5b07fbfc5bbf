"""The schema of slots: what there is to say of somebody, and whether one value of it holds at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from recall_integrations.records import record

OPEN = "open:"  # before the name of a slot that the schema does not have: "my locker code is 4711"


@record(frozen=True, slots=True, kw_only=True)
class Slot:
    """An attribute of somebody or something.

    Args:
        name: of the slot, in lower case with underscores.
        nouns: what people call it, in lower case; the first is how we say it.
        one: whether one value holds at a time, so that a newer one supersedes; else values add up.
    """

    name: str
    nouns: tuple[str, ...]
    one: bool = True


def _one(name: str, *nouns: str) -> Slot:
    return Slot(name=name, nouns=nouns)


def _many(name: str, *nouns: str) -> Slot:
    return Slot(name=name, nouns=nouns, one=False)


SLOTS: tuple[Slot, ...] = (
    _one("name", "name", "full name", "first name", "last name", "surname"),
    _one("nickname", "nickname"),
    _one("phone_number", "phone number", "phone", "mobile number", "cell number", "cell", "mobile", "number"),
    _one("email", "email address", "email", "e-mail", "mail address"),
    _one("address", "address", "home address", "postal address", "street address"),
    _one("home", "home town", "place of residence", "city", "town", "country", "home"),
    _one("employer", "employer", "company", "workplace", "place of work"),
    _one("job", "job", "job title", "occupation", "profession", "role", "position", "title"),
    _one("boss", "boss", "manager", "supervisor", "line manager"),
    _one("team", "team", "department"),
    _one("school", "school", "university", "college"),
    _one("major", "major", "field of study", "subject of study", "degree"),
    _one("birthday", "birthday", "date of birth", "birth date"),
    _one("age", "age"),
    _one("height", "height"),
    _one("weight", "weight"),
    _one("hometown", "birthplace", "place of birth", "hometown"),
    _one("nationality", "nationality", "citizenship"),
    _one("marital_status", "marital status", "relationship status"),
    _one("partner", "partner", "wife", "husband", "spouse", "girlfriend", "boyfriend", "fiance", "fiancee"),
    _one("diet", "diet"),
    _one("religion", "religion", "faith"),
    _one("blood_type", "blood type", "blood group"),
    _one("doctor", "doctor", "gp", "physician"),
    _one("dentist", "dentist"),
    _one("therapist", "therapist"),
    _one("medication", "medication", "medicine"),
    _one("car", "car", "vehicle"),
    _one("phone_model", "phone model", "smartphone", "handset"),
    _one("computer", "computer", "laptop"),
    _one("bank", "bank"),
    _one("gym", "gym"),
    _one("landlord", "landlord", "landlady"),
    _one("rent", "rent"),
    _one("salary", "salary", "pay", "income"),
    _one("time_zone", "time zone", "timezone"),
    _one("working_hours", "working hours", "schedule", "shift"),
    _one("wifi_password", "wifi password", "wi-fi password"),
    _one("editor", "editor", "ide", "code editor"),
    _one("favourite_colour", "favourite colour", "favorite color", "favourite color", "favorite colour"),
    _one("favourite_food", "favourite food", "favorite food", "favourite dish", "favorite dish"),
    _one("favourite_drink", "favourite drink", "favorite drink"),
    _one("favourite_book", "favourite book", "favorite book"),
    _one("favourite_film", "favourite film", "favorite film", "favourite movie", "favorite movie"),
    _one(
        "favourite_music",
        "favourite band",
        "favorite band",
        "favourite music",
        "favorite music",
        "favourite song",
        "favorite song",
    ),
    _one("favourite_place", "favourite place", "favorite place", "favourite restaurant", "favorite restaurant"),
    _one("favourite_team", "favourite team", "favorite team"),
    _one("status", "status", "state"),
    _one("deadline", "deadline", "due date"),
    _one("location", "location", "place", "venue", "room"),
    _one("owner", "owner", "lead", "person in charge"),
    _one("version", "version", "release"),
    _one("price", "price", "cost"),
    _one("budget", "budget"),
    _many("language", "language", "languages"),
    _many("allergy", "allergy", "allergies"),
    _many("friend", "friend", "friends"),
    _many("child", "child", "children", "kid", "kids", "son", "daughter", "sons", "daughters"),
    _many("sibling", "sibling", "siblings", "brother", "sister", "brothers", "sisters"),
    _many("pet", "pet", "pets", "dog", "cat", "dogs", "cats"),
    _many("hobby", "hobby", "hobbies", "pastime"),
    _many("skill", "skill", "skills"),
    _many("instrument", "instrument", "instruments"),
    _many("sport", "sport", "sports"),
    _many("likes", "likes"),
    _many("dislikes", "dislikes"),
)


class Slots:
    """A schema: the shipped slots, and those that a user adds or changes by name.

    Args:
        more: of the user; one of a shipped name takes its place.
    """

    def __init__(self, more: Iterable[Slot] = ()) -> None:
        self._by_name = {slot.name: slot for slot in (*SLOTS, *more)}
        self.of_noun: dict[str, str] = {}
        for slot in self._by_name.values():
            for noun in slot.nouns:
                self.of_noun.setdefault(noun, slot.name)

    @classmethod
    def of(cls, settings: Mapping[str, Mapping[str, Any]]) -> Slots:
        """The schema with those of `facts.slots`."""
        own = (Slot(name=name, nouns=tuple(slot["nouns"]), one=slot["one"]) for name, slot in settings.items())
        return cls(own) if settings else DEFAULT

    def __iter__(self) -> Iterator[Slot]:
        return iter(self._by_name.values())

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def get(self, name: str) -> Slot | None:
        """The slot of a name; `None` = the schema has none of it."""
        return self._by_name.get(name)

    def one(self, name: str) -> bool:
        """Whether one value of it holds at a time; of an open slot one does."""
        slot = self._by_name.get(name)
        return slot is None or slot.one

    def called(self, name: str) -> str:
        """How people call it."""
        slot = self._by_name.get(name)
        return name.removeprefix(OPEN).replace("_", " ") if slot is None else slot.nouns[0]


DEFAULT = Slots()
