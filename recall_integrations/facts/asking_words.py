"""The words of questions about states: verbs by slot, and what people around somebody are called."""

from __future__ import annotations


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _table(*rows: tuple[str, str]) -> dict[str, tuple[str, ...]]:
    """Of rows "slots", "verb phrases, with commas": the slots of each phrase."""
    made: dict[str, tuple[str, ...]] = {}
    for slots, phrases in rows:
        for phrase in phrases.split(","):
            made[phrase.strip()] = tuple(slots.split())
    return made


# Auxiliaries, with the tense that they make.
BE = {"is": "now", "are": "now", "am": "now", "was": "past", "were": "past"}
DO = {"do": "now", "does": "now", "did": "past"}
HAVE = {"have": "perfect", "has": "perfect", "had": "past"}
# Verb phrases in their base form, by the word that asks. A "be" stands before what follows "am", "is", "are".
WHERE = _table(
    ("home address", "live, reside, be based, be staying, be living, call home"),
    ("home", "live at, live in, be based in, be living in, live right, move, move to, relocate, relocate to, settle"),
    ("employer", "work, be employed, work at, have my job"),
    ("school", "study, go to school, go to college, go to university, go to uni, attend school, attend college"),
    ("hometown nationality", "come from, be from, originally come from"),
    ("hometown", "grow up, be born, be raised, be originally from"),
    ("bank", "bank, have my account, have my bank account"),
    ("gym", "work out, exercise, train, go to the gym, lift"),
)
WHAT = _table(
    ("job", "do for a living, do for work, do professionally, do as a job, work as, be working as, do at work"),
    ("car", "drive"),
    ("major", "study, major in"),
    ("allergy", "be allergic to"),
    ("weight", "weigh"),
    ("salary", "earn, get paid"),
    ("rent", "pay in rent, pay for rent, pay as rent"),
    ("dislikes", "hate, dislike"),
    ("likes", "like, love, enjoy"),
    ("nickname name", "go by, call myself, like to be called, prefer to be called, want to be called, be called"),
)
WHO = _table(
    ("boss", "report to, work under, answer to"),
    ("employer boss", "work for"),
    ("partner", "be married to, be engaged to, be dating, be seeing, date, be in a relationship with"),
    ("bank", "bank with"),
    ("landlord", "rent from"),
)
HOW = _table(
    ("age birthday", "old be"),
    ("height", "tall be"),
    ("weight", "heavy be, much weigh"),
    ("salary", "much earn, much make, much get paid"),
    ("rent", "much pay in rent, much pay for rent, much rent pay, much rent do pay"),
    ("phone_number email", "reach, contact, get in touch with, get hold of, call, get ahold of"),
)
# Of these a question without an object is weak: what somebody does may be anything.
WEAK = {"do": ("job",), "play": ("instrument", "sport"), "use": (), "make": ("salary",)}
# "which … do I live in": verbs that may follow a noun of a slot, with the slots they are said of; none = of any.
LIGHT: dict[str, frozenset[str]] = {
    **dict.fromkeys("have own use prefer like love".split(), frozenset()),
    "drive": _set("car"),
    "speak": _set("language"),
    "know": _set("language skill instrument"),
    "play": _set("instrument sport"),
    "practise": _set("sport hobby religion instrument"),
    "practice": _set("sport hobby religion instrument"),
    "do": _set("sport hobby job"),
    "take": _set("medication"),
    "follow": _set("diet religion team favourite_team"),
    "support": _set("favourite_team"),
    "root": _set("favourite_team"),
    "attend": _set("school"),
    "study": _set("school major"),
    "go": _set("name nickname school gym doctor dentist therapist"),
    "work": _set("employer team job working_hours"),
    "belong": _set("team gym religion"),
    "bank": _set("bank"),
    "earn": _set("salary"),
    "pay": _set("rent"),
    "live": _set("home address"),
    "reside": _set("home address"),
    "move": _set("home address"),
    "come": _set("hometown nationality"),
    "see": _set("doctor dentist therapist"),
    "be": _set("diet team version time_zone hometown nationality height age school bank gym"),
}
# What a noun with a verb asks for, where that is another slot than the noun's own.
LIKING = _set("like love prefer")
LEADS_TO = {
    **{(noun, f"be born{on}"): "birthday" for noun in ("year", "day", "date", "month") for on in ("", " in", " on")},
    ("country", "come from"): "hometown",
    ("country", "be from"): "hometown",
    ("city", "come from"): "hometown",
    ("city", "be from"): "hometown",
    ("town", "come from"): "hometown",
    ("town", "be from"): "hometown",
}
# Nouns that ask for a slot which does not have them among its own.
NOUNS = {
    "place": {"live": "home", "work": "employer"},
    "firm": {"work": "employer"},
    "employer": {"work": "employer"},
    "company": {"work": "employer"},
    "phone": dict.fromkeys(("have", "use", "own"), "phone_model"),
    "mobile": dict.fromkeys(("have", "use", "own"), "phone_model"),
}
# Yes or no, with a value behind: "do I still live in Berlin?"
VALUED = _table(
    ("home", "live in, reside in, live at, be living in, be based in, be living at, move to, relocate to"),
    ("employer", "work at, work for, be working at, be working for, be employed at, be employed by, join"),
    ("job", "work as, be working as"),
    ("car", "drive"),
    ("language", "speak"),
    ("instrument", "play the"),
    ("allergy", "be allergic to"),
    ("boss", "report to"),
    ("partner marital_status", "be married to, be engaged to, be dating"),
    ("hometown nationality", "come from, be from"),
    ("bank", "bank with, bank at"),
    ("major", "study, major in"),
    ("school", "study at, attend, go to school at"),
    ("nickname name", "be called, go by"),
)
# "Do I eat meat?"
EATEN = _set("meat fish pork beef chicken dairy eggs gluten seafood sugar")
# States that are told by one word: "am I still vegetarian?"
TOLD = {
    **dict.fromkeys("vegetarian vegan pescatarian keto kosher halal omnivore flexitarian paleo".split(), "diet"),
    **dict.fromkeys("married single engaged divorced widowed separated".split(), "marital_status"),
    **dict.fromkeys("muslim christian jewish buddhist hindu catholic atheist protestant".split(), "religion"),
}
# Verbs of beginning and changing, with what they begin: "when did I … X?"
BEGUN = _table(
    ("home", "move to, relocate to, move into, move back to, start living in, begin living in, settle in, leave for"),
    (
        "employer",
        "join, start at, start working at, start working for, begin working at, start to work at, start to work for, "
        "start work at, start my job at, get hired by, get hired at",
    ),
    ("job", "start working as, start as"),
    ("car", "start driving"),
)
# "How long have I been …", besides `VALUED`.
BEEN = _table(("employer", "be at"), ("partner employer", "be with"))
ENDED = _table(
    ("home", "leave, move out of, move away from, move from"),
    ("employer job", "quit, leave, stop working at, stop working for, resign from"),
)
CHANGE = _set("change changed switch switched replace replaced update updated get got evolve evolved develop developed")

# What the first verb of a phrase is a form of.
FORMS = {
    form: forms.split()[0]
    for forms in (
        "live lives lived living",
        "reside resides resided residing",
        "work works worked working",
        "study studies studied studying",
        "drive drives drove driven driving",
        "speak speaks spoke spoken speaking",
        "play plays played playing",
        "use uses used using",
        "take takes took taken taking",
        "own owns owned owning",
        "have has had having",
        "go goes went gone going",
        "move moves moved moving",
        "relocate relocates relocated relocating",
        "come comes came coming",
        "grow grows grew grown growing",
        "eat eats ate eaten eating",
        "earn earns earned earning",
        "weigh weighs weighed weighing",
        "report reports reported reporting",
        "attend attends attended attending",
        "follow follows followed following",
        "prefer prefers preferred preferring",
        "like likes liked",
        "love loves loved",
        "hate hates hated",
        "dislike dislikes disliked",
        "enjoy enjoys enjoyed",
        "bank banks banked banking",
        "pay pays paid paying",
        "do does did done doing",
        "make makes made making",
        "train trains trained training",
        "exercise exercises exercised exercising",
        "major majors majored majoring",
        "date dates dated",
        "rent rents rented renting",
        "join joined",
        "become became",
        "start started starting",
        "begin began begun",
        "quit quits",
        "leave left leaves leaving",
        "get gets got gotten",
        "wear wears wore worn wearing",
        "drink drinks drank drinking",
        "know knows knew known",
        "stay stays stayed",
        "settle settled",
        "call calls called",
        "be been being",
    )
    for form in forms.split()
}
PAST_FORMS = frozenset(
    "lived resided worked studied drove spoke played took owned had went moved relocated came grew ate earned weighed "
    "reported attended followed preferred liked loved hated disliked enjoyed banked paid did made trained exercised "
    "majored dated rented".split()
)

# People (and animals) who are told by what they are to somebody.
RELATIONS = _set(
    "sister brother mother mom mum mama father dad papa wife husband partner spouse girlfriend boyfriend "
    "fiance fiancee "
    "fiancé fiancée son daughter child kid baby cousin aunt uncle niece nephew grandmother grandma grandfather grandpa "
    "granny parents grandparents boss manager supervisor colleague coworker co-worker friend roommate flatmate "
    "housemate neighbour neighbor landlord landlady doctor dentist therapist teacher tutor coach trainer lawyer "
    "accountant client assistant stepmother stepfather stepsister stepbrother twin ex mother-in-law father-in-law "
    "sister-in-law brother-in-law son-in-law daughter-in-law godmother godfather mentor buddy gp physician nanny "
    "babysitter dog cat pet family"
)
RELATION_BEFORE = _set(
    "best old older younger elder little big eldest oldest youngest close new first second twin former ex step half"
)

# Slots that are looked up rather than left behind: "what was my wifi password?" asks for the one that holds.
LOOKED_UP = _set(
    "name nickname phone_number email address wifi_password birthday age hometown blood_type deadline version price "
    "height nationality medication location"
)
GOT = _set(  # "when did I get my …"
    "phone_number email job car phone_model computer pet wifi_password address team boss dentist doctor therapist "
    "nickname medication bank gym landlord"
)
LASTING = _set("school major hometown birthday nationality")  # of these "what did I …" does not ask for one before
# "When did I change my …", of open slots: those that are names and numbers. Tyres and sheets are changed too.
CHANGED = _set(
    "code codes password passwords passphrase pin number numbers combination name username handle login account plan "
    "provider plate address email subscription tariff carrier operator profile picture title signature "
    "supplier insurance"
)
# "Is my … x?", of what is told by words in lower case; a landlord may be nice, but "nice" is no landlord.
WORDED = _set("diet marital_status status nationality religion time_zone job")
DATED = _set("birthday deadline working_hours anniversary")  # "when is my …"
PLACED = _set("home address location hometown favourite_place")  # "where is my …"
UNOWNED = _set("wifi_password")  # "what is the …", with nobody's name
LEADS = _set("leads runs heads manages owns led ran headed managed owned")
LED = _set("team project account department campaign migration redesign rollout squad branch workstream product")
HAPPENS = _set("start begin happen leave depart open close")  # "when does the …"
PEOPLE = _set("boss partner doctor dentist therapist landlord friend child sibling owner")  # "who is my …"

NOW_WORDS = _set("current currently present new newest latest actual recent updated today's")
PREVIOUS_WORDS = _set("previous old former prior last earlier past ex")
FIRST_WORDS = _set("first original initial earliest")

# Of these an open slot is not made: they ask what was said, thought, planned or done.
NO_STATES = _set(
    "opinion opinions thought thoughts view views take question questions answer answers reason reasons "
    "problem problems "
    "issue issues experience experiences feeling feelings reaction response relationship story stories "
    "advice idea ideas "
    "step steps point mistake mistakes plan plans meeting meetings appointment appointments trip trips flight flights "
    "party event events interview exam wedding visit day days weekend week month year morning evening night time times "
    "message messages conversation conversations chat chats note notes suggestion suggestions recommendation "
    "recommendations impression attitude perspective stance approach strategy argument role involvement contribution "
    "contributions progress result results outcome outcomes effect impact influence purpose motivation intention "
    "intentions concern concerns fear fears challenge challenges struggle struggles achievement achievements memory "
    "memories dream dreams vision mission job's work explanation description summary comment comments feedback request "
    "task tasks todo agenda excuse secret news update updates difference connection significance importance "
    "meaning inspiration decision decisions choice surprise gift present birthday's weather things thing stuff "
    "way one ones other others lot kind sort type part something anything everything life words word advantage "
    "advantages benefit benefits options option chances chance odds luck fault mood mind subject turn "
    "activity activities audition moment moments main key biggest greatest long-term short-term next upcoming"
)
# A name of a slot has no such words in it.
NOT_IN_NAMES = _set(
    "what which who whom whose where when why how that this these those and or but if because about after "
    "before during "
    "while since until with without from into onto over under between against through regarding concerning toward "
    "towards by is are was were be been am do does did has have had will would can could should may might must not no "
    "i you he she it we they me him us them to in on at for as so than then there here very really also "
    "just all any some "
    "most more less many much every each"
)

# A query without one of these, without a noun of a slot and without an owner asks for no state.
_CUED = _set(
    "live reside work study drive speak play move relocate come grow eat earn weigh report attend bank exercise train "
    "major date rent join become quit leave stay settle call"
)
CUES = (
    frozenset([form for form, base in FORMS.items() if base in _CUED])
    | frozenset(TOLD)
    | _set(
        "my our user's based located allergic born old tall heavy married dating engaged seeing employed "
        "switch switched "
        "change changed moved raised history timeline called named reach contact touch hold owns owned leads led runs "
        "manages supervises employs managed am from team rent single eating history i,"
    )
)
LAST_CUES = _set("do like love enjoy hate dislike who i")


def forms_of(words: list[str]) -> str:
    """A verb phrase with its first word in its base form; empty of no words."""
    return " ".join([FORMS.get(words[0], words[0]), *words[1:]]) if words else ""
