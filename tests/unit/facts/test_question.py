"""Queries about states, by shape: what is asked, of whom, in which time; and queries that ask for none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.facts.question import HISTORY, MODES, NOW, PREVIOUS, THEN, WHEN, StateAsked, state_asked
from recall_integrations.facts.slots import DEFAULT, Slot, Slots
from tests.rows import each_row
from tests.spent import seconds_of


def asked(query: str, *, windowed: bool = False) -> StateAsked:
    found = state_asked(query, windowed=windowed)
    assert found is not None, query
    return found


@each_row(
    ("query", "slots", "subject", "value"),
    [
        ("what is my phone number?", "phone_number", "", ""),
        ("what's my current address", "address", "", ""),
        ("where do I live (now)?", "home/address", "", ""),
        ("where do I live now?", "home/address", "", ""),
        ("what is Sam's favourite colour?", "favourite_colour", "Sam", ""),
        ("do you know my birthday?", "birthday", "", ""),
        ("tell me Priya's email", "email", "Priya", ""),
        ("my wifi password?", "wifi_password", "", ""),
        ("which editor do I use?", "editor", "", ""),
        ("do I still live in Berlin?", "home", "", "Berlin"),
        ("what is my sister's phone number?", "phone_number", "my sister", ""),
        ("what is the user's phone number?", "phone_number", "", ""),
        ("what is my locker code?", "open:locker code", "", ""),
        ("who do I report to", "boss", "", ""),
        ("what do I drive", "car", "", ""),
        ("which languages do I speak", "language", "", ""),
        ("what's my wifi password", "wifi_password", "", ""),
        ("Hey, what's my phone number again?", "phone_number", "", ""),
        ("Can you tell me what my address is?", "address", "", ""),
        ("what is our wifi password?", "wifi_password", "", ""),
        ("What's the wifi password?", "wifi_password", "", ""),
        ("Who is my boss now?", "boss", "", ""),
        ("Who's Priya's manager?", "boss", "Priya", ""),
        ("who is my dentist", "dentist", "", ""),
        ("Where am I living now?", "home/address", "", ""),
        ("Which city do I live in?", "home", "", ""),
        ("Which company does Priya work for?", "employer", "Priya", ""),
        ("what company do I work at?", "employer", "", ""),
        ("what's Priya Raman's job title?", "job", "Priya Raman", ""),
        ("What is the status of Project Kestrel?", "status", "Project Kestrel", ""),
        ("what's Project Kestrel's deadline?", "deadline", "Project Kestrel", ""),
        ("When is the deadline for Project Kestrel?", "deadline", "Project Kestrel", ""),
        ("When is my birthday?", "birthday", "", ""),
        ("When's Sam's birthday?", "birthday", "Sam", ""),
        ("when is Sam's birthday", "birthday", "Sam", ""),
        ("what do I earn?", "salary", "", ""),
        ("what languages does Priya speak?", "language", "Priya", ""),
        ("do I speak French?", "language", "", "French"),
        ("What am I allergic to?", "allergy", "", ""),
        ("what is Priya allergic to?", "allergy", "Priya", ""),
        ("Am I allergic to peanuts?", "allergy", "", "peanuts"),
        ("Is my favourite colour still blue?", "favourite_colour", "", "blue"),
        ("is my number still 555-0101?", "phone_number", "", "555-0101"),
        ("do I still work at Acme?", "employer", "", "Acme"),
        ("Does Sam still drive a Tesla?", "car", "Sam", "Tesla"),
        ("what's my diet?", "diet", "", ""),
        ("Which car do I have now?", "car", "", ""),
        ("What is my phone number now?", "phone_number", "", ""),
        ("what is my new phone number?", "phone_number", "", ""),
        ("What's my latest address?", "address", "", ""),
        ("what is currently my address?", "address", "", ""),
        ("Where do I work out?", "gym", "", ""),
        ("where do I bank?", "bank", "", ""),
        ("Where does my sister live?", "home/address", "my sister", ""),
        ("what is my wife's name?", "partner", "", ""),
        ("what's my sister's birthday?", "birthday", "my sister", ""),
        ("What is my best friend's phone number?", "phone_number", "my best friend", ""),
        ("what is the user's name?", "name", "", ""),
        ("what's the user's favourite colour?", "favourite_colour", "", ""),
        ("Priya's phone number", "phone_number", "Priya", ""),
        ("Priya's new address?", "address", "Priya", ""),
        ("my current address", "address", "", ""),
        ("our address?", "address", "", ""),
        ("What's my name?", "name", "", ""),
        ("do you know my name?", "name", "", ""),
        ("where was I born?", "hometown", "", ""),
        ("where did I grow up?", "hometown", "", ""),
        ("What instrument do I play?", "instrument", "", ""),
        ("do I play the piano?", "instrument", "", "piano"),
        ("what is my blood type?", "blood_type", "", ""),
        ("what's my shoe size?", "shoe_size", "", ""),
        ("what is my frequent flyer number?", "open:frequent flyer number", "", ""),
        ("what's our door code?", "open:door code", "", ""),
        ("What's my new gate code?", "open:gate code", "", ""),
        ("what are my hobbies?", "hobby", "", ""),
        ("what are my pronouns?", "pronouns", "", ""),
        ("Which is my favourite book?", "favourite_book", "", ""),
        ("where does priya live?", "home/address", "priya", ""),
        ("what is priya's phone number", "phone_number", "priya", ""),
        ("what is my phone number, please?", "phone_number", "", ""),
        ("so where do I work again?", "employer", "", ""),
        ("My current job?", "job", "", ""),
        ("which address do I live at?", "address", "", ""),
        ("where's Priya working now?", "employer", "Priya", ""),
        ("what's my mom's maiden name?", "open:maiden name", "my mom", ""),
        ("who is Priya married to?", "partner", "Priya", ""),
        ("What's the name of my dentist?", "dentist", "", ""),
        ("what is the name of my employer?", "employer", "", ""),
        ("what is the current status of Project Kestrel?", "status", "Project Kestrel", ""),
        ("is Project Kestrel's status still red?", "status", "Project Kestrel", "red"),
        ("what is my go-to coffee order?", "open:go to coffee order", "", ""),
        ("what's my usual coffee order?", "open:usual coffee order", "", ""),
        ("what is the code for my locker?", "open:locker code", "", ""),
        ("what's the code to my locker?", "open:locker code", "", ""),
        ("what is the pin of my debit card?", "open:debit card pin", "", ""),
        ("what's the password for our wifi?", "wifi_password", "", ""),
        ("what is my surname?", "name", "", ""),
        ("where do I live, again?", "home/address", "", ""),
    ],
)
def test_how_it_is(query: str, slots: str, subject: str, value: str) -> None:
    found = asked(query)
    assert (found.mode, "/".join(found.slots), found.subject, found.value) == (NOW, slots, subject, value)


@each_row(
    ("query", "slots", "before"),
    [
        ("where did I live back then?", "home/address", ""),
        ("What was my address at the time?", "address", ""),
        ("where did I live before I moved to Lisbon?", "home/address", "Lisbon"),
        ("where did Priya work before she moved to Berlin?", "employer", "Berlin"),
    ],
)
def test_how_it_was_at_a_time(query: str, slots: str, before: str) -> None:
    found = asked(query)
    assert (found.mode, "/".join(found.slots), found.before) == (THEN, slots, before)


@each_row(
    ("query", "slots", "subject"),
    [
        ("what was my previous number?", "phone_number", ""),
        ("what was my old address?", "address", ""),
        ("where did I live before?", "home/address", ""),
        ("where did I live before that?", "home/address", ""),
        ("what was my previous address?", "address", ""),
        ("what's my old number?", "phone_number", ""),
        ("What was my former employer?", "employer", ""),
        ("who was my last boss?", "boss", ""),
        ("what's my previous job?", "job", ""),
        ("what was my favourite colour before?", "favourite_colour", ""),
        ("what used to be my favourite colour?", "favourite_colour", ""),
        ("which car did I drive before?", "car", ""),
        ("what was my old job?", "job", ""),
        ("Where was my previous home?", "home", ""),
        ("what did I weigh before?", "weight", ""),
    ],
)
def test_what_it_was_before(query: str, slots: str, subject: str) -> None:
    found = asked(query)
    assert (found.mode, "/".join(found.slots), found.subject) == (PREVIOUS, slots, subject)


@each_row(
    ("query", "slots", "subject"),
    [
        ("how did my number change?", "phone_number", ""),
        ("how has my address changed over time?", "address", ""),
        ("which cities have I lived in?", "home", ""),
        ("history of my phone number", "phone_number", ""),
        ("where have I lived before?", "home/address", ""),
        ("How has my favourite colour changed?", "favourite_colour", ""),
        ("What phone numbers have I had?", "phone_number", ""),
        ("which jobs has Priya had?", "job", "Priya"),
        ("where has Priya worked?", "employer", "Priya"),
        ("Which companies have I worked for?", "employer", ""),
        ("what's the history of my phone number?", "phone_number", ""),
        ("how has the status of Project Kestrel changed?", "status", "Project Kestrel"),
    ],
)
def test_all_that_it_was(query: str, slots: str, subject: str) -> None:
    found = asked(query)
    assert (found.mode, "/".join(found.slots), found.subject) == (HISTORY, slots, subject)


@each_row(
    ("query", "slots", "subject", "value"),
    [
        ("when did I move to Lisbon?", "home", "", "Lisbon"),
        ("since when do I live in Lisbon?", "home", "", "Lisbon"),
        ("how long have I lived in Lisbon?", "home", "", "Lisbon"),
        ("when did I start working at Acme?", "employer", "", "Acme"),
        ("when did Sam become vegetarian?", "diet", "Sam", "vegetarian"),
        ("Since when have I been vegetarian?", "diet", "", "vegetarian"),
        ("since when does Priya work at Acme?", "employer", "Priya", "Acme"),
        ("how long have I been living in Lisbon?", "home", "", "Lisbon"),
        ("how long has Priya worked for Acme?", "employer", "Priya", "Acme"),
        ("when did I start working for Priya?", "employer", "", "Priya"),
        ("when did I start driving a Tesla?", "car", "", "Tesla"),
        ("when did I get married?", "marital_status", "", "married"),
        ("when did Priya get engaged?", "marital_status", "Priya", "engaged"),
        ("how long did I live in Berlin?", "home", "", "Berlin"),
        ("how long have I been married?", "marital_status", "", "married"),
        ("how long have I been a vegetarian?", "diet", "", "vegetarian"),
    ],
)
def test_when_it_began_or_changed(query: str, slots: str, subject: str, value: str) -> None:
    found = asked(query)
    assert (found.mode, "/".join(found.slots), found.subject, found.value) == (WHEN, slots, subject, value)


def test_the_time_that_a_query_names_is_no_part_of_its_noun() -> None:
    query = "what was my phone number in February?"
    start = query.index("February")
    found = state_asked(query, windowed=True, named=(start, start + 8))
    assert found is not None and (found.mode, found.slots) == (THEN, ("phone_number",))
    assert state_asked(query) is None


@each_row(
    ("query", "slot", "subject"),
    [
        ("wie ist meine Telefonnummer?", "phone_number", ""),
        ("wie lautet Priyas Telefonnummer?", "phone_number", "Priya"),
        ("wo wohne ich?", "home", ""),
        ("wo wohnt Priya jetzt?", "home", "Priya"),
        ("¿cuál es mi número de teléfono?", "phone_number", ""),
        ("¿dónde vivo?", "home", ""),
        ("¿dónde vive Ana ahora?", "home", "Ana"),
    ],
)
def test_german_and_spanish_ask_by_their_tables(query: str, slot: str, subject: str) -> None:
    found = asked(query)
    assert (found.slots, found.subject, found.mode) == ((slot,), subject, NOW)


@each_row(
    "query",
    [
        "what did I say about my car?",
        "why did I move to Lisbon?",
        "what happened on my birthday?",
        "what did Priya do in Berlin?",
        "who helped me with my address form?",
        "what is the weather?",
        "what did Priya do yesterday?",
        "what is my opinion on remote work?",
        "what did my sister say about her job?",
        "where did I put my keys?",
        "where is my car?",
        "where is my phone?",
        "When is my next meeting?",
        "What's the plan for the weekend?",
        "who is Priya?",
        "what is Priya doing?",
        "What did I eat for dinner?",
        "when did I buy the tickets?",
        "when did Priya visit Berlin?",
        "How did I change my password on the portal?",
        "how do I change my phone number?",
        "How can I change my address?",
        "how do I get to work?",
        "should I change my job?",
        "can I change my name?",
        "what if I move to Lisbon?",
        "why is my favourite colour blue?",
        "why did Priya change her number?",
        "who asked for my phone number?",
        "who has my address?",
        "did I tell you my address?",
        "did Priya call me?",
        "have I paid my rent?",
        "Is my rent paid?",
        "Is my car in the garage?",
        "is my landlord nice?",
        "is my boss angry?",
        "are my parents coming?",
        "I live in Berlin",
        "my phone number is 555-0101",
        "My favourite colour is blue.",
        "I moved to Lisbon",
        "remember my birthday is in May",
        "remind me to call my dentist",
        "remind me about my appointment",
        "tell me about my sister",
        "tell me a joke",
        "tell me about Berlin",
        "what do you know about my car?",
        "what do you think of my new job?",
        "what do I need for my trip?",
        "what do I have to do today?",
        "What do I do if my phone is lost?",
        "what does Priya think about my idea?",
        "what is wrong with my car?",
        "what is my problem with the landlord?",
        "what is on my schedule?",
        "what's in my bag?",
        "what's new?",
        "what's up?",
        "What is love?",
        "what is Python?",
        "what time is it?",
        "Which restaurant did Sam recommend?",
        "which hotel did we stay at in Rome?",
        "which book did Priya give me?",
        "how was my birthday?",
        "how is my sister?",
        "how is Priya's new job going?",
        "how did my interview go?",
        "how was the move to Lisbon?",
        "who came to my birthday party?",
        "who lives in Berlin?",
        "where is the office?",
        "where did we meet?",
        "where did Priya go last week?",
        "when did we talk about the budget?",
        "when did I mention my allergy?",
        "what did the doctor say about my medication?",
        "summarize my notes about Project Kestrel",
        "list the files in the repository",
        "list all countries",
        "show me pictures of my dog",
        "give me a recipe for my diet",
        "give me some advice about my job",
        "write an email to my boss",
        "call my sister",
        "change my address",
        "update my phone number",
        "delete my email",
        "book a table for my birthday",
        "send Priya's email to Sam",
        "translate my name",
        "do you like my car?",
        "do I look good?",
        "does Priya like me?",
        "am I late?",
        "am I right?",
        "is it raining?",
        "are you there?",
        "have I told you about my car?",
        "has Priya answered?",
        "what has Priya said?",
        "What have I done today?",
        "what did I do before lunch?",
        "what do I do next?",
        "what did we decide about the deadline?",
        "How many emails did I send?",
        "how many people live in Berlin?",
        "how long is the flight to Lisbon?",
        "how long does it take to get to my office?",
        "how long did the meeting take?",
        "how much did my car cost to repair?",
        "how often do I call my sister?",
        "how old is the universe?",
        "how old is the house?",
        "since when is that allowed?",
        "what's the difference between my car and Priya's?",
        "My dog ate my homework, what should I do?",
        "My boss told me that I should call the client. Why?",
        "The address of the hotel is in the email, and the phone number too, so what else is missing?",
        "what's the best way to learn a language?",
        "what language is this written in?",
        "which instrument is the hardest?",
        "What kind of music is good for my mood?",
        "what was my reaction to the news?",
        "what was my reason for leaving Acme?",
        "What was the name of the restaurant where I ate with Priya?",
        "who told me about the job at Acme?",
        "where does the train leave?",
        "where does it hurt?",
        "where does this live in the code?",
        "where do we go from here?",
        "what do we have for dinner?",
        "what are we doing?",
        "when did I start feeling sick?",
        "when did I start the project?",
        "when did I get home?",
        "when did I get up?",
        "when did I leave the house?",
        "when did I leave the party?",
        "when did Priya leave?",
        "when did I go to Berlin?",
        "when did I move the files to the archive?",
        "when did I move the couch to the garage?",
        "when did the meeting move to Friday?",
        "when did I turn off the lights?",
        "when did I change the tyres?",
        "when did I change my mind?",
        "when did Sam change the subject?",
        "What is today's date?",
        "What's yesterday's news?",
        "what is Sam's opinion about my car?",
        "What did Sam's sister study the law for?",
        "is there a doctor in Priya's family?",
        "I don't know my number",
        "I forgot to call my boss",
        "I need a new phone number",
        "I need my sister to call me",
        "before I moved to Lisbon I lived in Rome",
        "when I lived in Berlin my number was 555-0101",
        "as of June my job is teacher",
        "my old number was 555-0101",
        "thanks",
        "ok",
        "?",
        "what",
        "my",
        "what was my number?",
        "when does the library close?",
        "what did I eat on Thursday?",
        "what is my dog called, and when did I get it?",
        "where is my gym?",
        "what do I play?",
    ],
)
def test_what_asks_for_no_state(query: str) -> None:
    assert state_asked(query) is None
    assert state_asked(query, windowed=True) is None or query == "what was my number?"


def test_a_slot_of_the_user_is_read() -> None:
    slots = Slots([Slot(name="locker_code", nouns=("locker code", "locker"))])
    found = state_asked("what's my locker code now?", slots)
    assert found is not None and found.slots == ("locker_code",)


def test_a_long_query_asks_for_no_state() -> None:
    assert state_asked("what is my phone number" + " now" * 100) is None
    assert state_asked("It was a long day. " * 8 + "What is my phone number?") is None


WORDS = sorted(
    set(DEFAULT.of_noun)
    | set(
        "what which who where when how is are was were do does did have has had I my our Priya Priya's the of in at to "
        "for from with before after while since used be been a all list still now then last March 2023 ago long many "
        "much often times call me not user's name names, ' 's ? , - \u0130".split(" ")
    )
)


def valid(found: StateAsked | None) -> bool:
    return found is None or (
        bool(found.slots) and all(found.slots) and found.mode in MODES and 0 < found.confidence <= 1
    )


@given(st.text(max_size=400), st.booleans())
def test_any_text_is_read(text: str, windowed: bool) -> None:
    assert valid(state_asked(text, windowed=windowed))


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join), st.booleans())
def test_any_words_of_questions_are_read(text: str, windowed: bool) -> None:
    assert valid(state_asked(text, windowed=windowed))


@each_row(
    "text",
    [
        "what is my " * 364,
        "tell me " * 500,
        "a" * 4000,
        "'s " * 1333,
        "before " * 571,
        " " * 4000,
        "what is my " + "sister's " * 20,
        "how long have I " + "be " * 60,
        "so " * 66,
    ],
)
def test_hostile_text_takes_no_time(text: str) -> None:
    assert sum(seconds_of(lambda: state_asked(text)) for _ in range(20)) / 20 < 0.005
