"""Whose words a query asks for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recall_integrations.query.by_table.person import AskedRole, asked_role
from recall_integrations.types.roles import Role
from tests.rows import each_row

USER = """
what did I say about the budget?
What did I tell you about my allergies?
what have I told you about my sister
Did I mention a dentist appointment?
did I ever tell you where I grew up?
Have I ever talked about Lisbon?
When did I say I met Michael at the festival?
Which option did I say I chose after trying both at the store?
How many children did I mention?
Do you remember what I said about the landlord?
do you know when I finished the trilogy?
Can you tell me what I said about the wedding?
could you please list the books I mentioned?
Remind me what I told you about Sam's birthday
I can't remember what I asked you last week
I wonder if I ever mentioned my blood type
What did I ask you to write for the newsletter?
What was it that I wanted you to book?
What's my favourite colour?
my favourite restaurant
Do you remember my cat's name?
Do you know my address?
Tell me about my last trip
when did I start running?
Where have I worked before 2019?
How long have I been with Douglas?
What deadline am I aiming for?
Have I ever attended any financial workshops before?
What do I owe Sam?
What did Joseph say about my draft?
What did the user say about cheese?
when did the user move to Berlin?
What is the user's favorite food?
What did I say after you recommended the clinic?
What did I say you should call me?
When did I start using the app you recommended?
What was I complaining about in March?
The recipe I told you about
didn't I mention a brother?
What name did I give you for the project?
my guy, did I say Tuesday?
Which books did I recommend to you?
What did I think of the book you suggested?
what did the user ask the assistant to do
""".strip().splitlines()

ASSISTANT = """
which hotel did you recommend?
Which book did you suggest to me?
what did you tell me about interest rates?
What did you say when I told you about the leak?
When I told you about my knee, what did you recommend?
What was your advice about the visa?
your suggestion for the anniversary dinner
the code you gave me
the recipe you sent me last week
Show me the cover letter you wrote for me
Where is the packing list you made?
the plan you came up with for the kitchen
the schedule you put together in May
you told me something about magnesium
Remind me what you said about taxes
Can you remind me what you recommended for my back pain?
Could you repeat the steps you've outlined?
Do you remember what you told me about compost?
Do you remember recommending a podcast?
Have you ever suggested a book on grief?
Didn't you mention a discount?
What did the assistant say about sleep?
what did the AI recommend for dinner
What has the bot explained about inflation?
which workout did the AI assistant suggest?
What did ChatGPT suggest for the title?
According to the assistant, how long should it rest?
The assistant's advice on knives
How did you explain recursion?
What approach did you recommend to balance my finances?
How did you help me plan the move?
What example did you give for closures?
I forgot what you said about the deposit
I know you told me the name of the trail
What was I told about the warranty?
Which restaurant were you suggesting for Friday?
What reasons did you list for leasing?
How did you say I should treat the stain?
How do I run the script you wrote for me?
the translation you'd suggested
What advice did I get from you on taxes?
which hotel was recommended to me?
in our last chat you gave me a list of books; which was the third?
I'd like to revisit our previous conversation about skin care, what was the product you mentioned?
What did the assistant tell the user about visas?
Can you find the hotel you recommended?
You mentioned a museum near the station, which one was it?
What was the name of the hotel that was suggested?
""".strip().splitlines()

NOBODY = """
What did Priya tell Sam about her job?
When did Sam run the office relay?
Who told Ross to count faster?
What does Rachel think of the apartment?
What did he say to you-know-who?
Who recommended the clinic to Priya?
What is information science? Give definitions where possible.
Automated information in the medical field.
Retrieval systems which provide for the transmission of information to the user from a distance
What future is there for automatic medical diagnosis?
How does the user interface handle errors?
Describe user queries and the user needs behind them
I am looking for information about the impact of automation on libraries
I'd like to know who leads Kestrel
I wonder who leads Kestrel
Can you tell me about Kestrel?
Could you list the open tickets?
Would you please show me the release notes?
please give me the address of the office
Do you remember the name of the dentist?
Do you know when the museum opens?
Are you able to find the invoice?
Could you recommend a book on grief?
What would you recommend for dinner?
How do you boil an egg?
What do you think of Lisbon?
tell me about the migration
Help me find the contract
Thank you! What is the deadline of the first sprint?
What accuracy does the AI screening tool achieve?
AI in hiring
Language model evaluation
assistant manager salary
What did the assistant manager order?
Phase I results of the trial
Who lives in the U.K.?
Kestrel outage
deploy failed
the bot framework
What did we decide about the logo?
What is your opinion on leasing?
What did you and I discuss about the roof?
Did you or I suggest the museum?
What should I say to Sam?
Who are you?
what can you do
give me your recommendation
""".strip().splitlines()

# Whose words: of somebody else, of both, or of nobody who is named.
SOMEBODY_ELSE = """
what did my manager tell me?
What did my assistant tell me?
What did my manager say?
What did my manager tell me about my raise?
what has my doctor said about my knee?
Did my sister mention a dentist?
What did my friend Sam recommend?
Why did my landlord complain?
What had my mother told me about the ring?
What did our neighbour say about the fence?
What did the doctor advise me to eat?
what did the assistant manager say about my shift?
What did she tell me about the trip?
What did he say about my proposal?
Have they announced my new schedule?
Has anyone explained my bill to me?
Did somebody warn me about the ice?
Remind me what my boss said about the review
I forgot what she told me
What was recommended by my doctor?
Which clinic was suggested by Priya?
Which book was recommended to Priya?
What has been proposed by the landlord?
""".strip().splitlines()
BOTH = """
what did we agree?
What did we agree on about my budget?
what have we decided about my flat?
What had we settled on for my birthday?
What did we say about my mortgage?
Did we discuss my visa?
What did we talk about in my last session?
what did I ask and what did you answer?
What did I tell you, and what did you say?
What did you suggest and what did I reply?
Did I mention a hotel, or did you recommend one?
What did I ask you about taxes, and what was your answer?
What did the user ask and what did the assistant answer?
What have you explained and what have I asked about?
What did you and I agree on?
What did my manager say, and what did you recommend?
""".strip().splitlines()
BY_THE_ASSISTANT = """
which hotel was suggested?
Which restaurant was recommended for Friday?
What was advised for my back?
Which titles were proposed?
what has been suggested so far?
Which exercises have been recommended for my knee?
Was a podcast ever recommended?
Were any books suggested?
what was originally recommended against the moths?
Which hotel was recommended by you?
Which wine was suggested by the assistant?
What was proposed by the AI?
Which museum was recommended to us?
What was suggested for my magnesium level?
what was your answer about the lease?
""".strip().splitlines()
BY_THE_USER = """
Did I say what my manager told me?
What did I tell you my sister said?
What did I say when my landlord complained?
When did my sister move to Oslo?
When did my manager hire me?
How many days passed since my friend suggested the trip?
What does my lease say about pets?
Did my last request go through?
What did I reply to my manager?
What did we pay for my car?
Which dentist was I seeing in May?
what was my first suggestion?
""".strip().splitlines()
NOT_PAST = """
What is recommended for a sprained ankle?
Which dose is usually advised?
Could a museum be suggested?
""".strip().splitlines()
NOBODY += [*SOMEBODY_ELSE, *BOTH, *NOT_PAST]
ASSISTANT += BY_THE_ASSISTANT
USER += BY_THE_USER

CASES = [(Role.USER, s) for s in USER] + [(Role.ASSISTANT, s) for s in ASSISTANT] + [(None, s) for s in NOBODY]


@each_row(("role", "text"), CASES)
def test_sentences(role: Role | None, text: str) -> None:
    found = asked_role(text)
    assert found.role is role
    assert (found.strength > 0) == (role is not None)
    assert asked_role(text.upper()).role is role


def test_without_an_assistant_nobody_in_particular_suggested_it() -> None:
    assert asked_role("which hotel was suggested?", assistant=False).role is None
    assert asked_role("what was suggested for my knee?", assistant=False).role is Role.USER
    assert asked_role("which hotel did you suggest?", assistant=False).role is Role.ASSISTANT


def test_saying_is_plainer_than_doing_and_doing_than_owning() -> None:
    said, did, owns = (
        asked_role(text).strength
        for text in ("What did I say about Lisbon?", "When did I visit Lisbon?", "What is my flight to Lisbon?")
    )
    assert said == 1.0 > did > owns > 0


def test_typographic_apostrophes() -> None:
    assert asked_role("the steps you’ve outlined").role is Role.ASSISTANT
    assert asked_role("the user’s favourite food").role is Role.USER


def test_of_a_longer_text_the_question_counts() -> None:
    told = "You told me about a technique."
    assert asked_role(told).strength == 0.9
    assert asked_role(f"{told} Where did I park?") == AskedRole(Role.USER, 0.7)
    assert asked_role(f"{told} Where is it?") == AskedRole(Role.ASSISTANT, 0.45)
    assert asked_role(f"It was bad. It went on. {told}") == AskedRole(Role.ASSISTANT, 0.45)


@given(st.text(max_size=200))
def test_takes_any_text(text: str) -> None:
    role, strength = asked_role(text)
    assert (role is None) == (strength == 0)
    assert 0 <= strength <= 1


@given(st.lists(st.sampled_from("i you your my me the assistant ai user did have told said say ? . do was 's".split())))
def test_takes_any_order_of_its_words(words: list[str]) -> None:
    role, strength = asked_role(" ".join(words))
    assert (role is None) == (strength == 0)
    assert 0 <= strength <= 1


@each_row("unit", ["you ", "I ", "did you ", "your first ", "the user's ", "did not ever just ", "? ", "ai "])
def test_long_texts_come_to_an_end(unit: str) -> None:
    """No bound on the time, machines differ: what is not linear would take minutes here."""
    assert 0 <= asked_role(unit * 20_000).strength <= 1
