"""Values that stand in phrasings from which the slot reader is taught. None of them is in `slots.py`."""

from __future__ import annotations

import random
from collections.abc import Callable

from benchmarks.facts.generator.slots import MONTHS, SLOTS
from recall_integrations.config.sections import ANY_KIND
from recall_integrations.facts.slots import SHIPPED

GIVEN = tuple(
    "Adam Beatrice Carlos Dora Emil Fiona Greta Hugo Irma Jakob Karin Luca Marta Nils Olga Piotr Rita Stefan Tanja Uwe "
    "Vera Walter Yann Zoe Amir Bella Chen Divya Esra Fumiko".split()
)
FAMILY = tuple(
    "Abbott Bianchi Carvalho Duarte Eklund Fischer Gomez Hoffman Iqbal Johansson Keller Larsen Mendes Novak Ortega "
    "Parker Rossi Schmidt Turner Ueda Vargas Weber Young Zhang".split()
)
_PLACES = (
    "Madrid Vienna Chicago Osaka Porto Warsaw Leeds Lyon Nairobi Seattle Cork Ghent Turin Basel Denver Perth Quito"
)
_MEASURED = frozenset(value for slot in SLOTS for value in slot.values)
_FIRST = "North Blue Green Silver Old Iron Sun River Oak Stone Star Clear Red Bright Wild".split()
_SECOND = "field bridge works ford point leaf gate line wood".split()
_FIRMS = "Labs|Systems|Group|Studio|& Sons|House".split("|")
_STREETS = "Church High Elm Station Park Queen King Birch Lake".split()
_WAYS = "Street Road Avenue Lane Close".split()

_OF_KIND = {
    "work": "nurse|plumber|data analyst|translator|baker|paramedic|carpenter|UX designer|tax adviser|teacher",
    "language": "German|Italian|Turkish|Korean|Dutch|Arabic|Swahili|Greek",
    "diet": "vegan|vegetarian|keto|low-carb|halal|dairy-free|paleo",
    "instrument": "piano|violin|drums|flute|guitar|cello",
    "sport": "tennis|football|rowing|climbing|judo|hockey|swimming",
    "marital": "married|single|divorced|engaged",
    "medicine": "ibuprofen|metformin 500 mg|sertraline|insulin",
    "subject": "history|physics|maths|biology|law",
    "team": "Arsenal|the Hawks|Lazio|the Wolves",
    "religion": "Buddhist|Catholic|Muslim|agnostic",
    "nationality": "German|Brazilian|Irish|Indian",
    "blood": "A+|0 negative|B+|AB",
    "vehicle": "Toyota Yaris|VW Golf|Ford Focus|Tesla Model 3|Renault Clio|Kia Ceed",
    "activity": "knitting|chess|surfing|baking|gardening|sketching",
}
_OF_SLOT = {
    "favourite_colour": "red|yellow|violet|navy|orange|pink|black",
    "favourite_food": "pizza|sushi|curry|dumplings|pancakes|paella",
    "favourite_drink": "espresso|green tea|lemonade|cider|cocoa",
    "favourite_film": "Alien|Casablanca|Amélie|Jaws|Up",
    "favourite_book": "Dracula|Emma|Dune|Middlemarch|Persuasion",
    "wifi_password": "sunny-4711|Coffee22bean|blue7sky|hunter-9310",
    "time_zone": "UTC|MST|GMT+2|Pacific Time|IST",
    "editor": "Nano|PyCharm|Zed|Notepad++|Helix",
    "room": "room 12|room 304|the Library|B12|the Cellar",
    "budget": "9,000 pounds|2,400 euros|75,000 dollars",
    "rent": "£1,150|980 euros|1,400 dollars",
    "salary": "£41,000|52,000 euros|88,000 dollars",
    "price": "£25|19 euros|240 dollars",
    "shoe_size": "39|44|UK 8|7.5",
    "version": "2.4.1|v3|1.12|0.9-beta",
    "working_hours": "9 to 5|7 to 3|nights|half days",
    "allergy": "cats|shrimp|gluten|walnuts|dust",
    "pet": "a hamster|a tabby cat|a spaniel called Pip|two goldfish",
    "phone_model": "Galaxy A5|Nokia 8|iPhone SE|Fairphone 3",
    "computer": "Dell Latitude|MacBook Pro|Framework 13|Lenovo Yoga",
    "school": "Hillcrest School|St Mary's|Eastfield College|Park Academy",
    "team": "payments|platform team|growth|the search team",
    "age": "34|27|51|19",
    "height": "1.80 m|5'11|172 cm",
    "weight": "71 kg|160 lbs|83 kg",
    "shirt_size": "M|XL|medium|38",
    "pronouns": "they/them|she/her|he/him",
    "nickname": "Ziggy|Bee|Mo|Cap",
    "handedness": "left-handed|right-handed",
    "eye_colour": "brown|green|hazel|blue",
    "hair_colour": "blonde|black|ginger|brown",
    "condition": "asthma|migraines|diabetes|eczema",
    "operating_system": "Ubuntu|Windows 11|macOS|Fedora",
    "browser": "Firefox|Chrome|Safari|Brave",
    "programming_language": "Rust|Python|Go|Kotlin",
    "username": "owl_77|nightfox|mk1989",
    "favourite_cuisine": "Thai|Italian|Ethiopian|Korean",
    "favourite_author": "Austen|Le Guin|Borges|Woolf",
    "favourite_show": "Fargo|The Wire|Bluey|Dark",
    "favourite_music": "jazz|techno|folk|metal",
    "favourite_game": "Tetris|Catan|Zelda|chess",
    "favourite_season": "autumn|spring|winter|summer",
    "favourite_animal": "otters|owls|foxes|elephants",
    "favourite_number": "7|13|42|11",
    "status": "in review|on hold|done|blocked",
    "location": "the annex|Hall B|third floor|the depot",
    "learning": "Japanese|to weld|piano|SQL",
    "skill": "welding|public speaking|SQL|juggling",
    "preference": "aisle seats|short answers|tea over coffee|email",
    "likes": "hiking|spicy food|jazz|rain",
    "dislikes": "olives|crowds|small talk|coriander",
}


def _firm(rng: random.Random) -> str:
    if rng.random() < 0.6:
        return rng.choice(_FIRST) + rng.choice(_SECOND)
    return f"{rng.choice(_FIRST)} {rng.choice(_FIRMS)}"


def _phone(rng: random.Random) -> str:
    return rng.choice(
        (
            f"020 7946 0{rng.randrange(1_000):03}",
            f"+1 415 555 {rng.randrange(10_000):04}",
            f"06{rng.randrange(10, 99)} {rng.randrange(10**6):06}",
            f"{rng.randrange(200, 999)}-{rng.randrange(10**4):04}",
        )
    )


def _email(rng: random.Random) -> str:
    name = rng.choice(GIVEN).lower() + rng.choice(("", f".{rng.choice(FAMILY).lower()}", str(rng.randrange(99))))
    return f"{name}@{rng.choice(('fastmail.example', 'web.example', 'postbox.example'))}"


def _person(rng: random.Random) -> str:
    return rng.choice(GIVEN) if rng.random() < 0.5 else f"{rng.choice(GIVEN)} {rng.choice(FAMILY)}"


def _date(rng: random.Random) -> str:
    day, month = rng.randrange(1, 29), rng.choice(MONTHS)
    return f"{month} {day}" if rng.random() < 0.5 else f"{day} {month}"


def _code(rng: random.Random) -> str:
    return rng.choice(
        (
            f"{rng.choice(_FIRST).lower()}{rng.randrange(99):02}",
            f"{rng.randrange(10**4):04}",
            f"{rng.choice('ABCDEFG')}-{rng.randrange(1_000):03}",
        )
    )


_MADE: dict[str, Callable[[random.Random], str]] = {
    "phone": _phone,
    "email": _email,
    "person": _person,
    "date": _date,
    "code": _code,
    "organisation": _firm,
    "address": lambda rng: f"{rng.randrange(1, 99)} {rng.choice(_STREETS)} {rng.choice(_WAYS)}",
    "place": lambda rng: rng.choice([each for each in _PLACES.split() if each not in _MEASURED]),
    "titled": lambda rng: f"Dr {rng.choice(FAMILY)}",
    "number": lambda rng: rng.choice((f"{rng.randrange(2, 99)}", f"{rng.randrange(5, 400)}0")),
    "name": lambda rng: rng.choice(_FIRST) + rng.choice(_SECOND),
    "thing": lambda rng: f"{rng.choice(_FIRST)} {rng.choice(('X1', '200', 'Pro', 'Mini', 'Seven'))}",
    ANY_KIND: lambda rng: f"{rng.choice(_FIRST)} {rng.choice((*_SECOND, *_FIRMS))}",
}


def value(slot: str, rng: random.Random) -> str:
    """A value of a slot, by its name; of one that the schema lacks, two words."""
    kind = str(SHIPPED[slot]["kind"]) if slot in SHIPPED else ANY_KIND
    listed = _OF_SLOT.get(slot) or _OF_KIND.get(kind)
    if listed:
        return rng.choice([each for each in listed.split("|") if each not in _MEASURED])
    return _MADE.get(kind, _MADE[ANY_KIND])(rng)
