"""The word tables of `negation.py`. Lower case, apostrophes written as '. Extend them here; no code needs to change."""

from __future__ import annotations

from typing import Literal, NamedTuple

from recall_integrations.query.glance import word_set

Place = Literal["anywhere", "start", "relative"]


class Cue(NamedTuple):
    """A phrase after which the excluded term stands.

    Args:
        words: the phrase, one token each.
        place: where the phrase counts: `anywhere`; only at the `start` of a clause (an order: "ignore meetings"); or
            only after a `relative` "that" or "which" ("recipes that don't use eggs", but not "who doesn't use eggs").
        only_after_all: whether it takes something away from a whole, so that after "nothing", "nobody" or another
            negation it says the opposite ("nobody except Sam" is Sam).
    """

    words: tuple[str, ...]
    place: Place = "anywhere"
    only_after_all: bool = False


def _cues(phrases: str, place: Place = "anywhere", *, only_after_all: bool = False) -> tuple[Cue, ...]:
    return tuple(Cue(tuple(p.split()), place, only_after_all) for p in phrases.split("|"))


def _phrases(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(phrase.split()) for phrase in text.split("|"))


# Phrases that exclude by themselves.
CUES: tuple[Cue, ...] = (
    *_cues("without any mention of|without mentioning|without using|without|with no|unrelated to|minus"),
    *_cues("excluding|leaving out|ignoring|omitting|skipping|nothing about|nothing related to|nothing to do with"),
    *_cues("except for|except|excepting|other than|apart from|aside from|besides|outside of", only_after_all=True),
    *_cues(
        "anything but|everything but|anyone but|everyone but|anybody but|everybody but|all but", only_after_all=True
    ),
    *_cues("exclude|ignore|omit|skip|leave out|leave aside|filter out", "start"),
)

# What may follow a negated verb ("wasn't …", "is not …", "doesn't …") or a bare "not", and then excludes wherever it
# stands: it speaks of what a thing is about, not of what somebody does.
ABOUTNESS: tuple[Cue, ...] = (
    *_cues("related to|relating to|relate to|connected to|connected with|about|regarding|concerning|concern"),
    *_cues("to do with|have to do with|have anything to do with|anything to do with|deal with|dealing with"),
    *_cues("have anything about|want anything about|associated with|tagged with|tagged as|tagged|labelled|labeled"),
    *_cues("involve|involves|involving|mentioning|including|counting|containing|contain"),
    *_cues(
        "mention|use|have|need|require|include|cover|come from|start with|begin with|belong to|take place in",
        "relative",
    ),
    *_cues(
        "using|having|needing|requiring|covering|made with|made in|made of|made by|written in|written by", "relative"
    ),
    *_cues("done with|done in|done by|based on|based in|located in|hosted by|hosted on|held in|held at", "relative"),
    *_cues("mention|include|show|return|list|give me|show me|tell me about|count|consider|bring up", "start"),
)

# A bare "not" (after no auxiliary) or a relative "that isn't" may be followed by these before its term.
PREPOSITIONS = word_set("about at by for from in inside of on regarding with within near via")

DETERMINERS = word_set(
    "a an the any my our your his her their its this that these those all each every some of anything something "
    "everything things stuff ones matters topics"
)

# After bare "not": the sentence is about something else than leaving things out.
NOT_FOLLOWED_BY = word_set(
    """
    only just merely simply even yet really sure quite exactly so too very that to always necessarily again ever
    much many enough long far all every everyone everybody everything until till because when if while once since as
    after before unless though although whether a single one bad good better best happy great fair ok okay fine
    possible impossible clear certain true false available ready working done finished know knowing remember
    remembering have having be being been am able allowed supposed going gonna want wanting i you he she it we they
    me him them us who whom what where how why which there here now then today yesterday tomorrow particularly
    especially surprisingly least less more most worth likely anymore guilty alone afraid well
    """
)

# The same, for phrases that begin with a preposition.
NOT_IDIOMS = _phrases(
    "at all|at first|at home|in the mood|in the least|in the slightest|in time|in a hurry|in general|in vain|on time|"
    "on purpose|for long|for sure|for now|for nothing|by chance|by accident|of course|with me|with us|about to"
)

# Before bare "not": "why not", "or not", "I hope not".
NOT_PRECEDED_BY = word_set(
    "why or nor if whether how hope guess think believe suppose afraid rather better best certainly definitely "
    "absolutely probably maybe perhaps surely had of though although decided chose choose prefer try tried"
)

# "no …" that excludes nothing.
NO_FOLLOWED_BY = word_set(
    """
    idea ideas clue one longer matter way ways problem problems doubt more less fewer such need reason reasons
    worries worry thanks thank sense use point time chance choice wonder kidding good better bad further other not
    sooner later question questions comment difference luck sweat offense harm hurry rush evidence trace
    sign shortage end big deal wait nonsense brainer
    """
)

# Names of what negates a clause; "n't" without its apostrophe is how people type.
NEGATED_AUXILIARIES = word_set(
    """
    isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't can't cannot couldn't won't wouldn't
    shouldn't mustn't mightn't needn't ain't shan't
    isnt arent wasnt werent dont doesnt didnt havent hasnt hadnt cant couldnt wont wouldnt shouldnt aint
    """
)
COPULAS = word_set(
    "is are was were be been am isn't aren't wasn't weren't isnt arent wasnt werent ain't aint that's it's they're"
)
AUXILIARIES = word_set(
    """
    is are was were be been am do does did have has had can could will would shall should may might must
    i'm you're he's she's it's we're they're that's who's what's i've we've they've i'd i'll ought
    """
)
# Contractions that carry their own subject: "it's not the Paris trip".
COPULAS_WITH_SUBJECT = frozenset(("it's", "that's", "they're"))
RELATIVES = frozenset(("that", "which", "that's", "things", "ones", "stuff", "anything", "something", "everything"))
SUBJECTS = frozenset(("it", "this", "these", "those", "they", "it's", "they're"))
IMPERATIVES = frozenset(("don't", "dont"))
CONJUNCTIONS = frozenset(("or", "and", "nor", "&", "plus"))
NEGATIVES = NEGATED_AUXILIARIES | word_set(
    "no not none nothing nobody noone nowhere never neither nor hardly without no-one"
)
# Before an order: "please ignore meetings", "but skip the standups".
ORDER_OPENERS = frozenset(("please", "and", "but", "also", "just", "then", "so", "or", "now", "lets", "let's"))

# Where a noun phrase ends.
PHRASE_END = (
    word_set(
        """
    i you he she it we they me him us them who whom whose which what when where why how that there here then than
    i'm i've i'd i'll you're we're they're he's she's it's that's what's who's there's let's
    is are was were be been being am do does did done have has had can could will would shall should may might must
    and or nor but so if because since until till while though although unless whether as
    a an the my your our his her their its this these those any some each every both either neither no not
    about above across after against along among around at before behind below between beyond by despite during for from
    in inside into near of off on onto out outside over past per through to toward towards under up upon via with within
    without except excluding besides
    today yesterday tomorrow tonight now ago last next recently lately currently yet still already ever never
    again anymore please also instead else only just really very too
    """
    )
    | NEGATED_AUXILIARIES
)

# Finite verbs end one, too; listed as far as they often follow a term directly.
VERBS = word_set(
    """
    went go goes came come said say says told tell tells made make makes bought liked like likes loved want wants
    wanted know knows knew thought happened attended visited mentioned talked spoke discussed wrote used got gave took
    show list find give get open search
    """
)

# Dropped from the end of a term: "no frontend stuff please".
TRAILING = word_set("stuff thing things one ones either please related specifically itself themselves etc")

# State words: "tests that are not passing" asks about tests that fail, it excludes no topic.
STATES = word_set(
    """
    working ready done available finished open closed over due late ok okay good bad happy sure true fair right wrong
    clear possible able allowed urgent important relevant broken correct complete safe free busy mine yours there here
    enough worth great nice well new old big small easy hard dead alive home alone interested responsible
    """
)

# "non-" words that are words of their own.
NON_WORDS = word_set(
    """
    alcoholic binary compliant compliance conformist disclosure dominant duality empty essential existent fatal fiction
    functional invasive linear negative negotiable partisan plussed profit profits prejudicial resident sense
    sequitur stick stop trivial toxic uniform verbal violent volatile zero blocking null native
    """
)
