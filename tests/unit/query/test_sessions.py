from __future__ import annotations

from recall_integrations.query.by_table.sessions import read_session
from tests.rows import each_row

KNOWN = {"caroline", "melanie", "jon", "gina"}


def names(word: str) -> bool:
    return word in KNOWN


# query → places, part
ASKS = [
    ("What did we talk about in our first session?", (1,), "whole"),
    ("what did we talk about in our third session", (3,), "whole"),
    ("What did we talk about in our very first session?", (1,), "whole"),
    ("Summarise our 2nd chat.", (2,), "whole"),
    ("Please summarize the 2nd chat", (2,), "whole"),
    ("What was discussed in the third conversation?", (3,), "whole"),
    ("What did I tell you in the second conversation?", (2,), "whole"),
    ("What did we say about the dog in our third session?", (3,), "whole"),
    ("In our third session, what did I say about my therapist?", (3,), "whole"),
    ("What did I say about my therapy in our third session?", (3,), "whole"),
    ("In our twenty-first conversation, what came up?", (21,), "whole"),
    ("What did we discuss in our 21st session?", (21,), "whole"),
    ("What did we discuss in session 16?", (16,), "whole"),
    ("what happened in session #16?", (16,), "whole"),
    ("What was said in session number three?", (3,), "whole"),
    ("summary of session 4", (4,), "whole"),
    ("Session 16: what did Gina recommend?", (16,), "whole"),
    ("From session 3: which instruments does Melanie play?", (3,), "whole"),
    ("From session 8: what did Melanie make during the pottery workshop?", (8,), "whole"),
    ("what did we chat about in conversation 5", (5,), "whole"),
    ("Recap chat 7", (7,), "whole"),
    ("What did we decide in conversation no. 12?", (12,), "whole"),
    ("Compare sessions 2 and 3", (2, 3), "whole"),
    ("What did we cover in sessions 2 to 4?", (2, 3, 4), "whole"),
    ("What changed between what we said in session 2 and session 5?", (2, 5), "whole"),
    ("What did we discuss last time?", (-1,), "whole"),
    ("What did I tell you last time?", (-1,), "whole"),
    ("Last time, what did you recommend?", (-1,), "whole"),
    ("What did we talk about the last time we talked?", (-1,), "whole"),
    ("what did you suggest the last time we chatted?", (-1,), "whole"),
    ("What did Caroline and Melanie talk about the last time they spoke?", (-1,), "whole"),
    ("What came up the last time Caroline and Melanie talked?", (-1,), "whole"),
    ("What did we talk about the first time we chatted?", (1,), "whole"),
    ("What did you say the second time we spoke?", (2,), "whole"),
    ("What did we discuss in our last session?", (-1,), "whole"),
    ("What was our latest chat about?", (-1,), "whole"),
    ("Summarise our most recent conversation.", (-1,), "whole"),
    ("What did we say in the previous conversation?", (-1,), "whole"),
    ("What did you recommend in our previous session?", (-1,), "whole"),
    ("What did we talk about in the last conversation we had?", (-1,), "whole"),
    ("What advice did I get in my last session with you?", (-1,), "whole"),
    ("what did we talk about last session?", (-1,), "whole"),
    ("What did we talk about two sessions ago?", (-2,), "whole"),
    ("What did I mention three conversations ago?", (-3,), "whole"),
    ("what was the plan a couple of chats ago?", (-2,), "whole"),
    ("What did we discuss in the session before last?", (-2,), "whole"),
    ("Summarise the conversation before the last one.", (-2,), "whole"),
    ("what did you tell me the time before last?", (-2,), "whole"),
    ("What did we talk about in our second-to-last conversation?", (-2,), "whole"),
    ("What was the penultimate session about?", (-2,), "whole"),
    ("What did we say in our next to last chat?", (-2,), "whole"),
    ("What did we say in our third-to-last conversation?", (-3,), "whole"),
    ("What did we talk about in our last three conversations?", (-3, -2, -1), "whole"),
    ("What did I tell you in the first two sessions?", (1, 2), "whole"),
    ("What did we say in our first and last session?", (1, -1), "whole"),
    ("What did we talk about at the beginning of our conversation?", (), "beginning"),
    ("What did we discuss at the start of our conversations?", (), "beginning"),
    ("What did I say at the beginning of this chat?", (), "beginning"),
    ("What was decided at the end of our conversation?", (), "end"),
    ("what did I ask at the very start of the conversation?", (), "beginning"),
    ("How did our first conversation start?", (1,), "beginning"),
    ("How did our last session end?", (-1,), "end"),
    ("How did this conversation begin?", (), "beginning"),
    ("What did you say at the end of session 3?", (3,), "end"),
    ("What did we talk about at the start of our second chat?", (2,), "beginning"),
    ("What was the first thing we talked about?", (), "beginning"),
    ("What's the first message I sent?", (), "beginning"),
    ("What did you tell me when we first started chatting?", (1,), "whole"),
    ("What did Caroline and Melanie talk about in their third conversation?", (3,), "whole"),
    ("What was said in the third conversation between Caroline and Melanie?", (3,), "whole"),
    ("What came up in Caroline and Melanie's third conversation?", (3,), "whole"),
    ("In our third session Melanie said something about a race. What?", (3,), "whole"),
    ("What was our first conversation about?", (1,), "whole"),
    ("the third conversation", (3,), "whole"),
    ("our first chat session", (1,), "whole"),
    ("When was our last conversation?", (-1,), "whole"),
    ("WHAT DID WE TALK ABOUT IN OUR FIRST SESSION", (1,), "whole"),
    ("Can you recap session 3 for me?", (3,), "whole"),
    ("How did session 4 go?", (4,), "whole"),
    ("What do we know from the fourth session?", (4,), "whole"),
    ("What did we end our last conversation with?", (-1,), "whole"),
    ("What did we discuss in the session prior to the last one?", (-2,), "whole"),
    ("What did we say last session about the dog?", (-1,), "whole"),
    ("What  did we\ttalk about in our\n third  session?", (3,), "whole"),
    ("what did caroline and melanie discuss in their first chat", (1,), "whole"),
    ("what’s been said in our first chat?", (1,), "whole"),
    ("What did we say in our first, second and fourth session?", (1, 2, 4), "whole"),
    ("What did we agree on at the end of our last two chats?", (-2, -1), "end"),
    ("How did the session before last start?", (-2,), "beginning"),
    ("What did I tell you in sessions 2-4 and why?", (2, 3, 4), "whole"),
    ("What came up at the beginning of Caroline and Melanie's third conversation?", (3,), "beginning"),
]

SILENT = [
    "What did I learn in the first session of the course I took?",
    "When is my next therapy session?",
    "How was my last therapy session?",
    "What did the therapist say in the last session?",
    "How did our third date go?",
    "Who came to the jam session of my cousin?",
    "I had a long conversation with Tom",
    "What did Tom say in our last conversation with him?",
    "What was our first conversation with the landlord about?",
    "What do Priya and her father chat about on their walks?",
    "When did Jon and Gina first talk about the studio?",
    "Who led the third session of the workshop?",
    "What time is the second session of the conference?",
    "When does my gym session start?",
    "How many sessions have we had?",
    "How many chapters have I written over all sessions?",
    "Which topics came up across my conversations?",
    "What was the topic of the session that Priya liked best?",
    "Did I switch on session storage in the app?",
    "How long until the session 42 cookie expires?",
    "Why did session 3 of physio hurt?",
    "From session 3: what did the coach say?",
    "What did the coach say in training session 2?",
    "therapy session 3",
    "Which songs did we play in the second jam session?",
    "What did I eat after our last chat?",
    "What have I done since our last conversation?",
    "I ordered the paint right after our last chat.",
    "What did you tell me before our first session?",
    "What did we say the last time we talked about the dog?",
    "What was our first conversation about the dog?",
    "When was the last time I went to Paris?",
    "When was the last time we went hiking?",
    "When was the last time Melanie ran a race?",
    "What did I do last time I was in Berlin?",
    "When did I last talk to my mother?",
    "What did I discuss with Sam last week?",
    "What did we talk about yesterday?",
    "What did I say in March?",
    "What did tom and anna discuss in their first chat?",
    "What did we discuss in our first few sessions?",
    "What is session fixation?",
    "How do I reset the session in Redis?",
    "How did the last session of parliament end?",
    "Who spoke at the third session?",
    "What was the first talk about at PyCon?",
    "Who gave the third talk?",
    "What was the first discussion about the budget like?",
    "When is our next session?",
    "Can we book our second session at the studio?",
    "When did I book the first session?",
    "What did my doctor say in our first session?",
    "Which game did we play in our first session of D&D?",
    "What happened in the final session of the pottery class?",
    "In the conversation with her boss, what did she ask for?",
    "How did Priya leave the conversation with Sam?",
    "Who opened the conversation about moving house?",
    "Where do people sit while they have such conversations?",
    "How did the conversation with the landlord end?",
    "What did we do on our first trip?",
    "What was the first thing I bought for the flat?",
    "What is the last message of the log file?",
    "What did the first message from Tom say?",
    "my first session",
    "How was our first photo session?",
    "the second session at the gym",
    "Which chapters did our study session cover?",
    "chat-7b",
    "How do I open chat 7b in vLLM?",
    "talk 3",
    "thread 3 deadlocks",
    "Can you summarise the conversation?",
    "What did we talk about?",
    "What do you remember of our conversations?",
    "What did they say in the first conversation between Tom and Anna?",
    "the last time Tom and Anna talked",
    "What did I promise in the meeting two weeks ago?",
    "Who won the first debate?",
    "a first session",
    "What was the name of that software you mentioned last time?",
    "Regarding the noise we discussed last time, is it fixed?",
    "Could you send me the link to the planner you recommended last time?",
    "when we first met, what did she wear?",
    "Which lake might Priya and Sam mean in their conversations?",
    "What was the biggest takeaway of the last session at the retreat?",
    "How many sessions of yoga did I do before my last session?",
    "Since we last chat, what have I eaten?",
    "What did I tell you in his third session?",
    "What came up in Tom and Anna's first and last session?",
    "What did we read in chapter 2 and session 5?",
    "When is the second session?",
    "How did the time before last end?",
]


@each_row(("text", "places", "part"), ASKS)
def test_it_asks_for_a_session(text, places, part):
    found = read_session(text, names=names)
    assert found is not None
    assert (found.places, found.part) == (places, part)
    start, end = found.span
    assert 0 <= start < end <= len(text)
    assert text[start:end] == text[start:end].strip()
    assert 0.5 < found.confidence <= 1


@each_row("text", SILENT)
def test_it_asks_for_no_session(text):
    assert read_session(text, names=names) is None


def test_dates_behind_a_session_do_not_make_it_another_one():
    text = "What did we say in our first session in May?"
    date = text.index("May")
    assert read_session(text) is None
    found = read_session(text, dated=[(date, date + 3)])
    assert found is not None and found.places == (1,)


def test_spans_are_those_of_the_text_as_it_was_given():
    text = "What  did we say in   our  third\tsession, please?"
    found = read_session(text)
    assert found is not None and text[slice(*found.span)] == "our  third\tsession"


def test_names_of_those_who_talked_stay_words_of_the_query():
    for text in ("What came up in Caroline and Melanie's third chat?", "the third chat between Caroline and Melanie"):
        found = read_session(text, names=names)
        assert found is not None
        assert not {"Caroline", "Melanie"} & set(text[slice(*found.span)].split())


def test_a_number_may_be_a_name():
    number, place = read_session("what happened in session 3"), read_session("our third session")
    assert number is not None and number.numbered
    assert place is not None and not place.numbered


@each_row("evil", ["our first ", "the last time we ", "session 1, ", "a and b ", "what did i ", " about "])
def test_long_texts_come_to_an_end(evil):
    """No bound on the time, machines differ: what is not linear would take minutes here."""
    read_session(evil * 30_000 + "our first session")
