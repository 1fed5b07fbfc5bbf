"""The slots that histories are told of: what they are called, what values they take, and in which half they are."""

from __future__ import annotations

import random
import string
from dataclasses import dataclass

DEV, TEST = "dev", "test"
FREE = "free"  # phrasings only: of another hand
PERSON, THING = "person", "thing"

GIVEN = tuple(
    "Harriet Tobias Leonie Marek Farida Gustav Imogen Jorge Keiko Ludmila Nadim Odette Pavel Rosalind Samira Thaddeus "
    "Ursula Viktor Wanda Yusuf Zelda Anselm Bettina Cosmo".split()
)
FAMILY = tuple(
    "Adebayo Brandt Castellano Dvorak Eriksen Fontaine Grabowski Hashimoto Ivanova Jansen Kowalczyk Lindqvist Moreau "
    "Nakamura Okafor Petrov Quispe Rosenthal Suleiman Tanaka".split()
)
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class FactSlot:
    """A slot of the generator.

    Args:
        name: as in the sections of `dev.txt` and `test.txt`.
        noun: what it is called in texts; empty = only by phrasings of its own.
        nouns: of more than one.
        values: `|` between values; in each `#` is a digit and `^` a letter, `<given>`, `<family>` and `<date>` what
            they say.
        half: `dev` or `test`.
        group: slots of one group do not share a scope: one says something of the other.
        of: `person` or `thing`.
        one: whether one value holds at a time.
        schema: whether the shipped schema has it.
        fixed: whether it does not change (it may be corrected).
    """

    name: str
    noun: str
    nouns: str
    values: tuple[str, ...]
    half: str
    group: str = ""
    of: str = PERSON
    one: bool = True
    schema: bool = True
    fixed: bool = False

    def value(self, random_: random.Random) -> str:
        """A value."""
        pattern = random_.choice(self.values)
        for name, pool in (("<given>", GIVEN), ("<family>", FAMILY)):
            if name in pattern:
                pattern = pattern.replace(name, random_.choice(pool))
        if "<date>" in pattern:
            pattern = pattern.replace("<date>", f"{random_.randint(1, 28)} {random_.choice(MONTHS)}")
        return "".join(_drawn(char, random_) for char in pattern)

    def distinct(self, count: int, random_: random.Random) -> list[str]:
        """So many different values; none is part of another."""
        found: list[str] = []
        while len(found) < count:
            value = self.value(random_)
            if not any(value.lower() in other.lower() or other.lower() in value.lower() for other in found):
                found.append(value)
        return found


def _drawn(char: str, random_: random.Random) -> str:
    if char == "#":
        return str(random_.randint(1, 9))
    return random_.choice(string.ascii_uppercase) if char == "^" else char


def _slots(half: str, rows: str, *, of: str = PERSON, one: bool = True, schema: bool = True) -> list[FactSlot]:
    """From lines of `name; noun; nouns; group; values`; a `!` before the name is a fixed slot."""
    found = []
    for row in rows.strip().splitlines():
        name, noun, nouns, group, values = (part.strip() for part in row.split(";"))
        found.append(
            FactSlot(
                name=name.removeprefix("!"), noun=noun, nouns=nouns, values=tuple(v.strip() for v in values.split("|")),
                half=half, group=group, of=of, one=one, schema=schema, fixed=name.startswith("!"),
            )
        )  # fmt: skip
    return found


_CITIES = "Berlin | Lisbon | Oslo | Toronto | Kyoto | Valencia | Krakow | Bristol | Denver | Auckland | Ghent | Nairobi"
_FIRMS = "Halvorsen Freight | Bluepeak | Mirador Labs | Quillon | Tandem Health | Ostrava Steel | Fernway | Nimbus Rail"
_PLACES = "the Copper Kettle | Noodle Yard | Café Lumen | the Green Olive | Bao House | the canteen | Pita Corner"

SLOTS: tuple[FactSlot, ...] = (
    *_slots(DEV, f"""
phone_number; phone number; phone numbers; phone; 555-01## | 555-02## | 07700 900### | +49 30 55501## | 212-555-01##
email; email address; email addresses; email; <given>.##@inbox3.example | <given>@<family>.example | mail##@post.example
address; address; addresses; home; ## Alder Lane | ## Mill Road | ## Harbour Street | ## Poplar Avenue | ## Chapel Row
home; ; ; home; {_CITIES}
employer; employer; employers; work; {_FIRMS}
boss; boss; bosses; work; <given> <family> | <given>
!birthday; birthday; birthdays; birthday; <date>
diet; diet; diets; food; vegan | vegetarian | pescatarian | gluten-free | keto | paleo | low-carb | lactose-free
partner; partner; partners; partner; <given> | <given> <family>
favourite_colour; favourite colour; favourite colours; colour; blue | green | crimson | teal | yellow | lilac | orange
favourite_food; favourite food; favourite foods; food; ramen | lasagne | pierogi | mushroom risotto | falafel | pho
wifi_password; wifi password; wifi passwords; wifi; tulip-#### | Maple##oak | river##stone | kettle####^ | sunny##hill
gym; gym; gyms; gym; Ironworks | Pulse Fitness | Northside Gym | FitBarn | The Boiler Room | Kraftwerk | CityLift
car; car; cars; car; Skoda Octavia | Fiat Panda | Volvo V60 | Honda Jazz | Renault Zoe | Mazda 3 | Toyota Yaris
doctor; doctor; doctors; health; Dr <family> | Dr <given> <family>
time_zone; time zone; time zones; home; CET | PST | GMT+8 | Eastern Time | IST | Mountain Time | JST
editor; editor; editors; editor; Vim | Emacs | VS Code | Sublime Text | PyCharm | Zed | Helix | Kate
"""),
    *_slots(DEV, """
deadline; deadline; deadlines; deadline; <date>
room; room; rooms; room; room ^## | room ### | the Aquarium | the Attic | the Library | the Garden Room
budget; budget; budgets; money; #,#00 euros | ##,000 euros | ##,500 dollars | ###,000 pounds
""", of=THING),
    *_slots(DEV, """
language; language; languages; language; Spanish | Polish | Hindi | Finnish | Korean | Swahili | Turkish | Dutch
allergy; allergy; allergies; food; peanuts | shellfish | pollen | penicillin | latex | sesame | kiwi | cat hair
hobby; hobby; hobbies; hobby; pottery | birdwatching | beekeeping | woodcarving | chess | calligraphy | geocaching
""", one=False),
    *_slots(DEV, f"""
locker_code; locker code; locker codes; locker; #### | ##-##-##
parking_spot; parking spot; parking spots; parking; ^## | spot ## | bay ### | level # bay ##
library_card_number; library card number; library card numbers; library; LC-##### | ^######
standing_desk_height; standing desk height; standing desk heights; desk; 1## cm | ## inches | 9# cm
badge_number; badge number; badge numbers; badge; ^^-#### | #####
alarm_time; alarm time; alarm times; alarm; 5:1# am | 6:2# am | 7:3# am | 8:4# am
lunch_place; lunch place; lunch places; food; {_PLACES}
""", schema=False),
    *_slots(TEST, """
job; job; jobs; work; nurse | carpenter | data analyst | translator | chef | tram driver | electrician | archivist
team; team; teams; work; Payments | Search | Platform | Field Ops | Design Systems | Billing | Growth | Data Quality
favourite_film; favourite film; favourite films; film; Paper Moon | Brazil | Amelie | Heat | Solaris | Stalker | Fargo
favourite_drink; favourite drink; favourite drinks; food; mint tea | cider | espresso | oat latte | ginger beer | mezcal
favourite_book; favourite book; favourite books; book; Middlemarch | Dune | Emma | Persuasion | Ulysses | Walden | Kim
dentist; dentist; dentists; health; Dr <family> | Dr <given> <family>
landlord; landlord; landlords; home; Mr <family> | Mrs <family> | <given> <family>
rent; rent; rents; money; 7#0 euros | 8#5 euros | 1,#50 euros | 9#0 pounds
salary; salary; salaries; money; 4#,000 euros | 5#,500 euros | 6#,000 dollars | 7#,000 pounds
school; university; universities; school; Leiden | Uppsala | McGill | Coimbra | Aarhus | Otago | Bologna | Heidelberg
phone_model; smartphone; smartphones; phone; Pixel # | Fairphone # | iPhone 1# | Galaxy S2# | Nothing Phone #
computer; laptop; laptops; computer; ThinkPad X# | MacBook Air | Framework 1# | Dell XPS 1# | Zenbook 1#
working_hours; schedule; schedules; work; 9 to 5 | 7 to 3 | 10 to 6 | Monday to Thursday | noon to 8 | mornings only
bank; bank; banks; bank; Triodos | Harbour Savings | N26 | Nordea | First Cooperative | Monzo | Sparkasse | Wise
shoe_size; shoe size; shoe sizes; shoes; size 4# | size 3# | UK ## | EU 4#.5
internet_provider; internet provider; internet providers; internet; Fibra | Netcologne | Starlink | Zen | Orange | Telia
"""),
    *_slots(TEST, """
owner; owner; owners; owner; <given> | <given> <family>
version; version; versions; version; #.#.# | v#.## | #.##
price; price; prices; money; ## euros | #49 dollars | 1,#00 pounds | ##.50 euros
""", of=THING),
    *_slots(TEST, """
friend; friend; friends; friend; <given> | <given> <family>
pet; pet; pets; pet; Biscuit the cat | Rufus the dog | Mango the parrot | Pepper the rabbit | Olive the tortoise
instrument; instrument; instruments; instrument; cello | banjo | accordion | flute | drums | ukulele | oboe | harp
sport; sport; sports; sport; badminton | volleyball | rowing | fencing | handball | curling | judo | water polo
""", one=False),
    *_slots(TEST, """
coffee_order; coffee order; coffee orders; food; a flat white | a cortado | an oat cappuccino | a long black | a mocha
gate_code; gate code; gate codes; gate; ####^ | *####
hairdresser; hairdresser; hairdressers; hair; <given> | <given> <family> | Salon <family>
membership_number; membership number; membership numbers; club; M-##### | ###-###
cleaning_day; cleaning day; cleaning days; cleaning; Monday | Tuesday | Wednesday | Thursday | Friday | Saturday
thermostat_setting; thermostat setting; thermostat settings; heating; 1#.5 degrees | 2#.5 degrees | 1# degrees C
""", schema=False),
)  # fmt: skip
BY_NAME = {slot.name: slot for slot in SLOTS}
