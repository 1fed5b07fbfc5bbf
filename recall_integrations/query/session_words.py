"""The words of `sessions.py`: places, names for a conversation, and words that point to another one."""

from __future__ import annotations

import re

from recall_integrations.patterns import regex

_UNITS = "first second third fourth fifth sixth seventh eighth ninth".split()
_TEENS = (
    "tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
).split()
ORDINALS: dict[str, int] = {word: n for n, word in enumerate([*_UNITS, *_TEENS], start=1)}
for _ten, _name in ((20, "twenty"), (30, "thirty"), (40, "forty"), (50, "fifty")):
    ORDINALS[{20: "twentieth", 30: "thirtieth", 40: "fortieth", 50: "fiftieth"}[_ten]] = _ten
    ORDINALS.update((f"{_name}-{unit}", _ten + n) for n, unit in enumerate(_UNITS, start=1))

CARDINALS: dict[str, int] = {
    word: n
    for n, word in enumerate(
        (
            "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
            " eighteen nineteen twenty"
        ).split(),
        start=1,
    )
}


def alternatives(words: dict[str, int]) -> str:
    """Make a pattern for the words, longest first; a hyphen may be a blank."""
    ordered = sorted(words, key=lambda w: (-len(w), w))
    return "|".join(word.replace("-", "[- ]") for word in ordered)


ORDINAL = rf"(?:{alternatives(ORDINALS)}|\d{{1,4}}(?:st|nd|rd|th))"
CARDINAL = rf"(?:{alternatives(CARDINALS)}|\d{{1,4}})"
NUMBERED = rf"(?:number |no\.? ?|nr\.? ?|\# ?)?(?:{alternatives(CARDINALS)}|\d{{1,4}})"

# What is called a session. "Meeting" and "call" are left out: those are mostly talked *about*.
_ONE = r"session|conversation|chat|talk|discussion|dialog(?:ue)?|convo"
NOUN = rf"(?:(?:chat|conversation|talk|recorded) )?(?:{_ONE})(?![-/_\w])"
NOUNS = rf"(?:(?:chat|conversation|talk|recorded) )?(?:{_ONE})s?(?![-/_\w])"
PLURAL = rf"(?:(?:chat|conversation|talk|recorded) )?(?:{_ONE})s(?![-/_\w])"
NUMBERABLE = r"(?:chat session|session|conversation|chat|convo|dialogue)"  # "talk 3" is one of a conference
SIZE = r"(?:(?:ever|little|long|short|whole|entire|full|big) )?"

LAST = r"(?:last|latest|most recent|newest|final|previous|prior|preceding)"
BACKWARDS = rf"(?:(?:{ORDINAL}|next)[- ](?:to|from)[- ](?:the )?last|last but (?:one|two)|penultimate|second last)"
PLACE = rf"(?:very )?(?:{BACKWARDS}|{ORDINAL}|{LAST}|earliest|initial)"

# What is done in a conversation, by those who have it.
TALKED = (
    r"(?:talk(?:ed|ing|s)?|discuss(?:ed|ing|es)?|chat(?:ted|ting)?|sp[eo]ke?(?:n|ak|aking)?|speak(?:ing)?|convers(?:e|ed|ing)"
    r"|say(?:ing|s)?|said|mention(?:ed|ing|s)?|tell(?:ing|s)?|told|ask(?:ed|ing|s)?|cover(?:ed|ing)?|share[ds]?|agree[ds]?"
    r"|decide[ds]?|recommend(?:ed)?|suggest(?:ed)?|promise[ds]?|advise[ds]?|explain(?:ed)?|propose[ds]?|conclude[ds]?"
    r"|wr(?:ite|ote|itten)|text(?:ed)?|go(?:ne|ing)? (?:over|through)|went (?:over|through)|c[oa]me up(?: with)?"
    r"|br(?:ing|ought) up|le(?:ave|ft) off|catch up|caught up|learn(?:ed|t)?(?: about)?|plan(?:ned)?|work(?:ed)? on)"
)
# That the query is about a conversation, whoever had it.
TOPICAL = (
    r"(?:summar(?:y|ies|i[sz]e[ds]?|i[sz]ing)|recap(?:ped|s)?|overview|topics?|subjects?|key points"
    r"|highlights|takeaways?"
    r"|gist|tl;?dr|know|remember|recall|touch(?:ed)? on|transcript|outcomes?|happen(?:ed|s)?|go on|went on|going on)"
)

# Where these stand, a session is mostly not one of this conversation.
FOREIGN = regex(
    r"\b(?:therap(?:y|ist|ists)|counsel(?:l?ing|l?ors?)|psycholog(?:y|ist)|course|class|classes|lessons?|lectur(?:e|er|es)"
    r"|professor|teacher|training|trainer|workshops?|conference|congress|parliament|senate|committee|court|gym|yoga|pilates"
    r"|physio\w*|coach(?:ing)?|tutor(?:ing|ial)?|stud(?:y|io)|jam(?:ming)?|rehearsal|recording|photo|photoshoot|meditation"
    r"|exercise|workout|dance|support group|webinar|seminar|school|university|semester|practice|surf(?:ing)?"
    r"|swim(?:ming)?"
    r"|climbing|massage|treatment|chemo\w*|doctor|nurse|patient|gaming|d&d|campaign|dungeon|poker|trading|lab|hackathon"
    r"|login|log-in|logged|browser|cookies?|http|server|tmux|ssh|token|timeout|expir\w+|instructor|speaker|panel|keynote"
    r"|interview(?:er|s)?|deposition|hearing|board|band|choir|orchestra|trip|tour)\b",
    re.I,
)

# Words that may follow a session: the sentence goes on, and nothing narrows down which one is meant.
FOLLOWING = frozenset(
    """
    a an the this that's what what's which how did do does didn't was were is are am had has have wasn't weren't we
    we'd we've you you'd i i'd i've he she they it us me my your our his her their there and or but then so as
    because if while though although please again ever together today yesterday tonight now instead go goes went
    going start started starts begin began begins end ended ends open opened opens finish finished close closed
    conclude concluded cover covered covers mention mentioned mentions say said says talk talked discuss discussed
    happen happened can could would will should shall may might must let let's give show tell told remind summarise
    summarize recap compared versus vs not no only also all any anything everything something someone who'd too like
    look looked last lasted kick kicked wrap wrapped touch touched deal dealt contain include included took take
    about topic topics summary overview notes transcript highlights
    """.split()
)
# In front of "session 16": nothing else may qualify the number's session.
BEFORE_NUMBER = frozenset(
    """
    in during of from at to for the our my your their this that and or about on with like summarise summarize recap
    summary vs versus than compare both either also back is was did does how what's whole entire between open show give
    see read reread review revisit recall describe explain into within inside
    """.split()
)
