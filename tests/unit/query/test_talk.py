from __future__ import annotations

from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path

from recall_integrations import MemoryStore, QueryOptimizer
from recall_integrations.config import RecallConfig
from recall_integrations.query.findings import ScopeKnowledge
from recall_integrations.query.parser import QueryParser
from tests.rows import each_row

NOW = datetime(2023, 10, 23, 10, tzinfo=timezone.utc)
PARSER = QueryParser(RecallConfig())


def talk(text: str) -> str:
    return PARSER.parse(text, NOW, ScopeKnowledge())[0].talk


@each_row(
    "text",
    [
        "What did we talk about on May 8th?",
        "Could you please tell me what we chatted about on 8 May 2023?",
        "What topics were discussed on May 8?",
        "What had we been discussing in May?",
        "Remind me what we talked about yesterday",
        "Give me the highlights of May 8",
        "Summarise our conversation from May 8th",
        "What happened in June?",
        "what did I tell you yesterday",
        "which subjects did we touch on on May 8",
        "everything we said on May 8th",
        "8 May 2023",
        "What did we talk about in our third session?",
        "WHAT DID WE DISCUSS IN SESSION 3",
    ],
)
def test_the_talk_itself(text):
    assert talk(text) == "all"


@each_row(
    "text",
    [
        "What did we say about the dog last week?",
        "What did Caroline say about adoption in May 2023?",
        "In May, what did Caroline tell Melanie about her job?",
        "What was said about the trip on June 9?",
        "When did we talk about the dog in June?",
        "What did you recommend in March?",
    ],
)
def test_what_was_said_of_something(text):
    assert talk(text) == "about"


@each_row(
    "text",
    [
        "What did Melanie do in May 2023?",
        "Where did Melanie go in June 2023?",
        "What happened to her son in June?",
        "What did I do yesterday?",
        "Which sport did Sam mention trying in July 2023?",
        "Which concert did Priya mention that she was at on 30 June 2023?",
        "Summarise what Caroline did in May",
        "Which shop was mentioned in January as the venue?",
        "Who did I meet in May?",
        "What did we talk about?",
        "What did we do about the dog?",
    ],
)
def test_something_else(text):
    assert talk(text) == ""


def test_who_said_it_may_be_a_name_that_the_scope_knows(tmp_path: Path) -> None:
    with MemoryStore.open(tmp_path) as store, closing(QueryOptimizer(store)) as optimizer:
        store.add_entity("Priya Raman", aliases=["Priya"])
        assert optimizer.parse("what did Priya say about the rent yesterday?", now=NOW).talk == "about"
