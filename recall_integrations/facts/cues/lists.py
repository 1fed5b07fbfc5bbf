"""Words of questions that are read by cues."""

from __future__ import annotations

from recall_integrations.facts.rules import words as known
from recall_integrations.facts.rules.verbs import forms

EDGES = '.,;:!?…"“”()[]'


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# With one of these something else is asked for: advice, what was said or done, another thing.
NEVER = _set(
    "should would could might shall will recommend recommended suggest suggested advice about think thinks"
    " thought say said says"
    " happen happened happens why because buy fix repair cancel write draft translate plan pay-off compare"
    " better than pros"
    " cons improve reset renew delete remove forget cook make-for wear safe strong slow fast good bad nice near"
    " nearby far-from"
    " opinion feel feeling feels love? talk talked discuss discussed mention mentioned gave given give-me-for"
    " tell-about"
    " book-a schedule order-a weather news afraid appointment appointments interview party trip gift present did-you if"
    " call-my visit meet met meeting-with went-to watch leaked explain describe summarize example next tomorrow tonight"
    " want wants like-to try tried hope help helped cost-of way ways tips idea ideas difference like cancelled"
)
ASK = _set(
    "what whats what's which who whos who's whom whose where wheres where's when when's when'd whens how hows"
    " how's is are am was"
    " were be been being do does did have has had having got get gets give show list tell remind pull look"
    " bring fetch find read"
    " run walk take talk trace retrace recap recall remember know need want say again please pls plz pl thanks"
    " thank you u i me my"
    " mine our ours we us i'm i've i'd im ive a an the of for to in on at with by as under from up out through"
    " off it its it's that"
    " that's this those these there here any some one ones anything something people folks others everyone file"
    " record records"
    " so ok okay hey hi btw and or now currently nowadays days moment present today still lately anymore"
    " currently's current new"
    " newest latest actual exact right just quick quickly question more once down name called names go goes"
    " going use used using"
    " hold holds keep keeps stand stands belong put puts set works come comes every each all whole full"
    " be's can could-you would-you may must mind lemme gimme wanna myself himself herself much many big long high tall"
    " currently-on else exactly actually really then be-on share type types typed do-for live lives used-to not"
    " into it-that"
    " he she his her him they their them currently-at dear kind sort usually normally number also listed"
    " registered dont don't"
    " over time years seem says does-it responsible? hmm um say-under tell-me where-is spend mention'd could-be"
    " can-you no. no"
)
PREVIOUS_WORDS = _set(
    "previous previously old former formerly before earlier prior last ex beforehand older used past preceding"
)
HISTORY_WORDS = _set(
    "history every timeline evolution evolve evolved evolving chronology chronological chronologically trace"
    " retrace track"
    " gone through walk run developed develop development over years order oldest newest far log sequence"
    " succession changes"
    " changed change versions progress different journey ever past each all recap often move moved taste habits"
)
TELLS_HISTORY = _set(
    "history timeline evolution evolve evolved evolving chronology chronological trace retrace developed develop log"
    " sequence succession versions oldest journey"
)
WHEN_WORDS = _set(
    "when when'd when's whens since long date last change changed begin began begun start started become became"
    " get got switch"
    " switched first day year month set up take took turn turned ago how adopt adopted now"
)
NO_PAIRS = frozenset(
    (
        "me to",
        "i last",
        "last time",
        "need to",
        "have to",
        "want to",
        "going to",
        "i do",
        "how far",
        "what time",
        "time is",
        "need a",
        "need an",
        "a new",
        "much is",
        "how much time",
        "do with",
        "get to",
        "do if",
        "what on",
        "i get",
        "we get",
        "to do",
    )
)
FIRST = _set(
    "what whats what's which who whos who's whom whose where wheres where's when when's when'd whens how how's"
    " remind need got list"
    " show tell give pull look walk run trace retrace recap bring fetch find read to by name any every all the"
)
YES_NO = _set("do does did is are am was were has have had can could should would will may")
WHERE = _set("home address employer gym school bank location hometown")
DATES = _set("birthday deadline launch_date")
NO_NAMES = known.NOT_NAMES | ASK
PLAIN_VERBS = frozenset(
    form
    for verb in "be go turn do have take use get see make keep run call learn spend try give move come live"
    " start eat join stay"
    " begin pay drop cover find hit read show send mail write like put set play go date pop follow stop quit"
    " become do change"
    " leave travel pick share text message meet visit bring teach grow study ask work enjoy land kick".split()
    for form in (("am", "is", "are", "was", "were", "been", "be") if verb == "be" else forms(verb))
)
NO_NOUNS = _set(
    "done finished ready out live lives living v so born eating code coding so happens meets held runs leads"
    " heads drive care"
    " training exercise garage door date due working code post item cover move"
)
KIN = frozenset("sibling child parent friend pet partner colleague roommate".split())
NO_KIN = _set("partner doctor dentist dog cat pet boss manager coach trainer teacher landlord landlady therapist")
TIMES = _set(
    "january february march april may june july august september october november december monday tuesday"
    " wednesday thursday"
    " friday saturday sunday spring summer autumn fall winter week weeks month months year years day days ago"
    " last this early"
    " late mid beginning end middle start during around yesterday christmas easter quarter half first second"
    " third weekend back"
)
