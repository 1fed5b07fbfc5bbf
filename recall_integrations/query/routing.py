"""Choose the kind of memories that a query is after (router mode), and recognise queries that are small talk for BM25.

Both are pure functions of the text. Their words are in tables that a reader can extend: `INTENTS`, `TECHNICAL`,
`QUESTION_WORDS`, and the kinds of `identifiers.py`. The words are English; in another language the intents are those
that its tables know by the same names, and no query is conversational.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from recall_integrations.patterns import regex
from recall_integrations.query.by_table import cues
from recall_integrations.query.features import PRIOR_MEMORIES
from recall_integrations.query.glance import Glance, glance, word_set
from recall_integrations.query.identifiers import find_identifiers
from recall_integrations.query.spans import starts_inside
from recall_integrations.records import record
from recall_integrations.text import STOP_WORDS, Token, stem, tokenize
from recall_integrations.types import MemoryType
from recall_integrations.types.readings import ConversationalVerdict, Identifier, Router

# -- conversational queries ----------------------------------------------------------------------------------------

DOMAIN_SIGNAL_MAX = 0.15
STOPWORD_RATIO_MIN = 0.4

# Asking is not filling: "how" and "what" count as words that say something.
QUESTION_WORDS = frozenset("what which who whom whose when where why how".split())

# What fills a sentence: stop words, and the few verbs and adverbs that ask how it goes, whatever "it" is.
FILLER = frozenset(w for w in STOP_WORDS if w.partition("'")[0] not in QUESTION_WORDS) | frozenset(
    "must shall work works worked working wired going goes really actually okay ok please thing things stuff".split()
)

# Words of software and operations that say what a query is about. General ones that every conversation uses
# ("search", "limit", "issue", "run") are left out on purpose.
TECHNICAL = frozenset(
    stem(word)
    for word in """
    algorithm api app async auth authentication authorization aws azure backend backup benchmark binary boolean branch
    buffer bug build bytecode cache callback cli client cluster codebase commit compile compiler config configuration
    container cpu crash cron css csv daemon database dataset debug debugger deploy deployment devops dns docker
    dockerfile embedding encryption endpoint exception firewall firmware framework frontend function gateway git github
    gpu graphql hash hook hostname html http https index indexing infra infrastructure integer iterator javascript
    json jwt kafka kernel kubernetes lambda latency library linter linux localhost login logging logs lookup metadata
    metric microservice middleware migration module mutex mysql namespace nginx node npm null oauth orm outage packet
    parameter parser patch payload pipeline plugin pod polling postgres postgresql production prompt protocol proxy
    python query queue redis refactor regex regression repo repository rerank reranker retry rollback router runtime
    sandbox schema script sdk semaphore server serverless shard socket sql sqlite ssh ssl staging stacktrace stderr
    stdout string subnet syntax tcp terminal terraform thread throughput timeout tls token tokenizer traceback
    typescript udp ui unittest upload url utf variable vector vm vpn webhook websocket workflow xml yaml
    """.split()
)
_CODE_MARKS = regex(r"=>|->|==|!=|&&|\|\||</|/>|```|\(\)|[{};]\s*$|\$\{|\w=\w")


def conversational(
    text: str,
    *,
    rare: Callable[[str], bool],
    identifiers: Sequence[Identifier] | None = None,
    language: str | None = "en",
    tokens: Sequence[Token] | None = None,
) -> ConversationalVerdict:
    """Recognise small talk: domain signal < 0.15, stop-word ratio > 0.4, no code, no word that is rare in the corpus.

    Args:
        text: the query.
        rare: says whether a stem is rare in the corpus by its idf; see `rare_by`. Called for the stems of words
            that are no stop words ("wired" may fill a sentence and still be the one word that finds a memory).
        identifiers: identifiers of `text`, if they are known already.
        language: code of the query's language; the words that fill a sentence are known for English only.
        tokens: the tokens of `text.tokenize`, if they are at hand.
    """
    found = find_identifiers(text) if identifiers is None else identifiers
    if language != "en":
        return ConversationalVerdict(conversational=False, has_code=bool(found), because="not in English")
    tokens = tokenize(text) if tokens is None else tokens
    if not tokens:
        return ConversationalVerdict(
            conversational=False,
            domain_signal=0.0,
            stopword_ratio=0.0,
            has_code=bool(found),
            rare=(),
            because="no words",
        )
    inside = starts_inside(tokens, [i.span for i in found if i.knowledge])
    content: dict[str, str] = {}
    technical = filling = 0
    for word, start, _ in tokens:
        filling += word in FILLER
        root = "" if word in STOP_WORDS else content.get(word) or content.setdefault(word, stem(word))
        technical += root in TECHNICAL or start in inside
    domain, filler = technical / len(tokens), filling / len(tokens)
    code = bool(found) or _CODE_MARKS.search(text) is not None
    vague = domain < DOMAIN_SIGNAL_MAX and filler > STOPWORD_RATIO_MIN and not code
    left = tuple(s for s in dict.fromkeys(content.values()) if rare(s)) if vague else ()
    return ConversationalVerdict(
        conversational=vague and not left,
        domain_signal=domain,
        stopword_ratio=filler,
        has_code=code,
        rare=left,
        because=_in_words(domain, filler, code, vague, left),
    )


def _in_words(domain: float, filler: float, code: bool, vague: bool, left: Sequence[str]) -> str:
    parts = [
        f"domain signal {domain:.2f} {'<' if domain < DOMAIN_SIGNAL_MAX else '≥'} {DOMAIN_SIGNAL_MAX:g}",
        f"stop words {filler:.2f} {'>' if filler > STOPWORD_RATIO_MIN else '≤'} {STOPWORD_RATIO_MIN:g}",
        "code or an identifier" if code else "no code",
    ]
    if vague:
        parts.append(f"rare in the corpus: {', '.join(left)}" if left else "nothing rare in the corpus")
    return ", ".join(parts)


def rare_by(frequency: Callable[[str], int], memories: int, *, share_max: float = 0.05) -> Callable[[str], bool]:
    """Make the test for `conversational` from document frequencies: in at least one memory, and in few of them.

    A stem that no memory holds is not rare: BM25 has nothing to find by it.

    Args:
        frequency: number of memories of the scope that hold a stem.
        memories: number of memories in the scope; below `PRIOR_MEMORIES` it counts as that many.
        share_max: share of the memories up to which a stem is rare. 0.05 (idf 3) is the smallest value that did no harm
            on questions about long chats: with 0.02 recall@5 without BM25 was .37 against .40, with 0.01 .32
            against .50.
    """
    most = max(1.0, share_max * max(memories, PRIOR_MEMORIES))

    def rare(term: str) -> bool:
        return 1 <= frequency(term) <= most

    return rare


# -- router modes --------------------------------------------------------------------------------------------------

KNOWLEDGE, NEURAL, HYBRID = "knowledge", "neural", "hybrid"

MODE_TYPES: dict[str, tuple[MemoryType, ...]] = {
    KNOWLEDGE: (MemoryType.CHUNK,),
    NEURAL: tuple(t for t in MemoryType if t is not MemoryType.CHUNK),
    HYBRID: tuple(MemoryType),
}


@record(frozen=True, slots=True, kw_only=True)
class Intent:
    """A pattern over the folded query, and its effect on the router.

    Args:
        name: name to show in the reason.
        pattern: regular expression, matched anywhere in the query.
        mode: the mode that it speaks for; `None` if it says nothing of the kind of memory.
        graph_bias: whether memories linked to the entities of the query come first.
        time_bias: whether newer memories, or those of the time in question, come first.
        needs: words of which each match holds one, whole; the pattern is tried only on a query with one of them. Empty:
            it is tried on every query.
    """

    name: str
    pattern: re.Pattern[str]
    mode: str | None = None
    graph_bias: bool = False
    time_bias: bool = False
    needs: frozenset[str] = frozenset()


def _intent(
    name: str, pattern: str, needs: str, mode: str | None, *, graph: bool = False, time: bool = False
) -> Intent:
    whole = regex(rf"\b(?:{pattern})\b")
    return Intent(name=name, pattern=whole, mode=mode, graph_bias=graph, time_bias=time, needs=word_set(needs))


INTENTS: tuple[Intent, ...] = (
    _intent(
        "ownership",
        r"who (?:all )?(?:owns?|owned|maintains?|maintained|leads?|runs|manages?|handles?|approves?)|owner(?:ship|s)?"
        r"|owned by|maintain(?:er|ers|ed by)|responsible for|responsibility (?:for|of)|in charge of|accountable for"
        r"|assigned to|assignee|belongs? to|reports? to|managed by|led by|who is on call|point of contact"
        r"|(?:'s|my|our) (?:manager|boss|supervisor|team lead)|(?:manager|boss|supervisor|lead|members?) of"
        r"|who\b.{1,60}\b(?:team|squad|crew)|(?:team|squad|crew)\b.{1,60}\bwho",
        "own owns owned maintain maintains maintained maintainer maintainers lead leads led runs manage manages "
        "managed manager handle handles approve approves owner owners ownership responsible responsibility charge "
        "accountable assigned assignee belong belongs report reports call contact boss supervisor member members team "
        "squad crew",
        HYBRID,
        graph=True,
    ),
    _intent(
        "dependency",
        r"depend(?:s|ed|ing)? (?:up)?on|dependent on|dependenc(?:y|ies)|dependents?|block(?:ed|ing)? by|blockers?"
        r"|(?:what|which|who|that|is|are|it)(?: is|'s)? block(?:s|ing)|block(?:s|ing) (?:the|us|me|our)|prerequisites?"
        r"|rel(?:y|ies|ied|ying) on|upstream|downstream|affected by|impacted by|waiting (?:on|for)",
        "depend depends depended depending dependent dependents dependency dependencies block blocks blocked blocking "
        "blocker blockers prerequisite prerequisites rely relies relied relying upstream downstream affected impacted "
        "waiting",
        HYBRID,
        graph=True,
    ),
    _intent(
        "alignment",
        r"align(?:s|ed|ing)? (?:with|on)|alignment|in line with|on the same page|agree(?:s|d)? (?:with|on)"
        r"|disagree(?:s|d)?(?: with| on)?|conflicts? with|contradicts?|consensus|stakeholders?",
        "align aligns aligned aligning alignment line page agree agrees agreed disagree disagrees disagreed conflict "
        "conflicts contradict contradicts consensus stakeholder stakeholders",
        HYBRID,
        graph=True,
    ),
    _intent(
        "what happened",
        r"what(?: has|'s| is| was| had| did| all)? (?:happened|happening|happen|been happening|been going on|going on"
        r"|went wrong|changed|new with)|catch me up|bring me up to (?:date|speed)|status update|any (?:news|updates?)"
        r"|how did .{1,60} go",
        "happened happening happen going wrong changed new catch bring status news update updates go",
        NEURAL,
        time=True,
    ),
    _intent(
        "recency",
        r"latest|newest|most recent|recent(?:ly)?|lately|these days|so far|just now|right now|last time"
        r"|up to date|since (?:yesterday|last)|(?:today|yesterday|tonight)|(?:this|last|past) (?:week|month|quarter"
        r"|year|weekend|night|few (?:days|weeks|months))",
        "latest newest recent recently lately days far now time date since today yesterday tonight week month quarter "
        "year weekend night few",
        None,
        time=True,
    ),
    _intent(
        "documents",
        r"documentation|docs|handbook|runbook|playbook|wiki|readme|user guide|manual|specification|changelog"
        r"|according to the (?:\w+ )?(?:doc|document|policy|guide|spec|contract|report)",
        "documentation docs handbook runbook playbook wiki readme guide manual specification changelog according",
        HYBRID,
    ),
)


def router_mode(
    text: str,
    *,
    dated: bool = False,
    identifiers: Sequence[Identifier] | None = None,
    intents: Sequence[Intent] = INTENTS,
    language: str | None = "en",
    seen: Glance | None = None,
) -> Router:
    """Return the router mode of a query: the mode that all evidence agrees on; `hybrid` if it disagrees or is missing.

    Identifiers of documents and code speak for `knowledge`; e-mail addresses and quotations want an exact match and
    speak for nothing. "Who owns ABC-123" is hence `hybrid` with a graph bias and an exact match.

    Args:
        text: the query.
        dated: whether the parser found a temporal window; it gives the time bias and speaks for no mode.
        identifiers: identifiers of `text`, if they are known already.
        intents: the table; all that match count.
        language: code of the query's language; other languages than English have the intents that their tables name.
        seen: `glance(text)`, if it is at hand.
    """
    found = tuple(find_identifiers(text) if identifiers is None else identifiers)
    if language == "en":
        said, runs, _ = glance(text) if seen is None else seen
        meant = [i for i in intents if not (i.needs and i.needs.isdisjoint(runs)) and i.pattern.search(said)]
    else:
        named_there = cues.intents(text, language)
        meant = [intent for intent in intents if intent.name in named_there]
    voices = {intent.mode for intent in meant if intent.mode is not None}
    named = [i for i in found if i.knowledge]
    if named:
        voices.add(KNOWLEDGE)
    why = [f"{i.kind} {i.text}" for i in named] + [intent.name for intent in meant]
    mode = voices.pop() if len(voices) == 1 else HYBRID
    return Router(
        mode=mode,
        reason=f"{mode}: {', '.join(why)}" if why else f"{mode}: nothing speaks for one kind of memory",
        graph_bias=any(intent.graph_bias for intent in meant),
        time_bias=dated or any(intent.time_bias for intent in meant),
    )
