"""What verbs say: the usual ways, in their tenses, and what they must not be read from."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from recall_integrations.facts.sentences import said_in

AT = datetime(2026, 5, 1, tzinfo=timezone.utc)
SAID = """
Priya lives at 14 Mill Lane. | address is 14 Mill Lane
Priya lives in Lisbon. | home is Lisbon
Priya is living in Lisbon. | home is Lisbon
Priya is based in Oslo. | home is Oslo
Priya resides in Oslo. | home is Oslo
Priya moved from Oslo to Lisbon. | home is Lisbon
Priya moved to Lisbon from Oslo. | home is Lisbon
Priya relocated to Lisbon. | home is Lisbon
Priya has moved to Lisbon. | home is Lisbon
Priya just moved to Lisbon, boxes everywhere. | home is Lisbon
Priya settled down in Lisbon. | home is Lisbon
Priya left Oslo for good. | home not Oslo
Priya moved away from Oslo. | home not Oslo
Priya moved out of Oslo. | home not Oslo
Priya no longer lives in Oslo. | home not Oslo
Priya doesn't live in Oslo any more. | home not Oslo
Priya still lives in Oslo. | home is Oslo
Priya is still in Oslo. | home is Oslo
Priya is in Oslo now. | home is Oslo
Priya has been living in Oslo since 2019. | home is Oslo
Priya once lived in Oslo. | home was Oslo
Priya previously lived in Oslo. | home was Oslo
Priya formerly lived in Oslo. | home was Oslo
Priya used to live in Oslo. | home was Oslo
Priya works at Globex. | employer is Globex
Priya works for Globex. | employer is Globex
Priya is employed at Globex. | employer is Globex
Priya started at Globex. | employer is Globex
Priya joined Globex. | employer is Globex
Priya is now at Globex. | employer is Globex
Priya used to work at Globex. | employer was Globex
Priya no longer works at Globex. | employer not Globex
Priya stopped working at Globex. | employer not Globex
Priya quit her job at Globex. | employer not Globex
Priya left her job at Globex. | employer not Globex
Priya resigned from Globex. | employer not Globex
Priya reports to Sam Brandt. | boss is Sam Brandt
Priya used to report to Sam Brandt. | boss was Sam Brandt
Priya follows a vegan diet. | diet is vegan
Priya keeps to a vegan diet. | diet is vegan
Priya sticks to a keto diet. | diet is keto
Priya eats vegan food only. | diet is vegan
Priya became vegan. | diet is vegan
Priya went vegan. | diet is vegan
Priya gave up the keto diet. | diet not keto
Priya is no longer vegan. | diet not vegan
Priya is together with Ursula Brandt. | partner is Ursula Brandt
Priya is with Ursula Brandt now. | partner is Ursula Brandt
Priya is married to Ursula Brandt. | partner is Ursula Brandt
Priya broke up with Ursula Brandt. | partner not Ursula Brandt
Priya lives with her partner Zelda. | partner is Zelda
Priya has a new partner, Farida. | partner is Farida
Priya prefers yellow now as a colour. | favourite_colour is yellow
Priya likes green best of all colours. | favourite_colour is green
Priya likes pho more than any other food. | favourite_food is pho
Priya goes to Pulse Fitness to work out. | gym is Pulse Fitness
Priya works out at Pulse Fitness. | gym is Pulse Fitness
Priya joined Northside, her new gym. | gym is Northside
Priya is a member of CityLift, the gym. | gym is CityLift
Priya goes to the canteen for lunch. | open:lunch place is canteen
Priya bought a Toyota Yaris and drives it now. | car is Toyota Yaris
Priya drives a Mazda 3. | car is Mazda 3
Priya no longer owns the Skoda Octavia. | car not Skoda Octavia
Priya sold the Skoda Octavia. | car not Skoda Octavia
Priya parks in bay 984. | open:parking spot is bay 984
Priya parks in level 6 bay 24. | open:parking spot is level 6 bay 24
Priya sets her alarm for 5:12 am. | open:alarm time is 5:12 am
Priya got a new badge, number 98454. | open:badge number is 98454
Priya sees Dr Tan. | doctor is Dr Tan
Priya used to see Dr Zelda Lindqvist. | doctor was Dr Zelda Lindqvist
Priya switched from Dr Tan to Dr Bell as her doctor. | doctor is Dr Bell
Priya no longer has Dr Tan as her doctor. | doctor not Dr Tan
Priya uses Zed as her editor. | editor is Zed
Priya used to use Vim as her editor. | editor was Vim
Priya switched to Emacs from Vim. | editor is Emacs
Priya stopped using PyCharm. | editor not PyCharm
Priya plays the cello. | instrument is cello
Priya took up the cello. | instrument is cello
Priya plays tennis. | sport is tennis
Priya gave up tennis. | sport not tennis
Priya speaks Finnish. | language is Finnish
Priya learned Finnish. | language is Finnish
Priya is learning Finnish. | learning is Finnish
Priya has Hindi among her languages. | language is Hindi
Priya is allergic to kiwi. | allergy is kiwi
Priya is no longer allergic to kiwi. | allergy not kiwi
Priya took up pottery. | hobby is pottery
Priya enjoys geocaching. | hobby is geocaching
Priya gave up birdwatching. | hobby not birdwatching
Priya is into calligraphy. | hobby is calligraphy
Priya moved to 93 Harbour Street. | address is 93 Harbour Street
Priya no longer uses the email address sam@inbox3.example. | email not sam@inbox3.example
Priya doesn't have 27 Harbour Street as her address anymore. | address not 27 Harbour Street
Priya no longer has 45123 as her phone number. | phone_number not 45123
Project Kestrel used to be in the Library. | location was Library
Project Kestrel is no longer in the Library. | location not Library
Project Kestrel takes place in room H18. | location is room H18
Inbox3 is in the Garden Room from now on. | location is Garden Room
Project Kestrel is due on 2 August. | deadline is 2 August
Project Kestrel costs 45,000 euros. | price is 45,000 euros
Project Kestrel no longer has 3,400 pounds as its budget. | budget not 3,400 pounds
"""
CASES = [tuple(part.strip() for part in line.split("|")) for line in SAID.strip().splitlines()]
NONE = """
I'd love to live in Lisbon.
Does Priya live in Lisbon?
If I move to Lisbon I will call.
Sam says Priya lives in Lisbon.
I'm in Lisbon this week.
I'm with Sam on this.
I moved to the kitchen.
I left the office.
I left Lisbon yesterday.
We went hiking yesterday.
I used Zoom for work.
I have lunch at noon.
I saw Dr Tan yesterday.
I got a great deal.
I joined a gym.
I own a house.
I switched to tea.
I stopped worrying.
I enjoy being here.
I gave up waiting.
I quit smoking.
I like that best.
I prefer not to say.
I set the table.
I got up at noon.
I go to bed to sleep.
I keep the change as a tip.
I see what you mean.
Sam left the room and laughed.
I might work at Globex.
"""


@pytest.mark.parametrize(("text", "wanted"), CASES)
def test_a_verb_says_what_holds(text: str, wanted: str) -> None:
    assert wanted in [f"{said.slot} {said.op} {said.value}" for said in said_in(text, AT)]


@pytest.mark.parametrize("text", NONE.strip().splitlines())
def test_what_says_nothing_is_not_read(text: str) -> None:
    assert not [said for said in said_in(text, AT) if said.confidence > 0.6]


def test_a_change_of_work_says_both_sides() -> None:
    said = said_in("Sam left Globex and joined Acme.", AT)
    assert [(one.op, one.value) for one in said] == [("not", "Globex"), ("is", "Acme")]


def test_the_old_value_of_a_role_is_told() -> None:
    (said,) = said_in("I switched from Dr Tan to Dr Bell as my doctor.", AT)
    assert (said.value, said.instead_of) == ("Dr Bell", "Dr Tan")
