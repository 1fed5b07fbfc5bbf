"""The slots that ship: plain rows, read by `slots`. To teach the rules a slot, add a row."""

from __future__ import annotations

ANY = "any"  # whatever a noun phrase can be
KINDS = (
    ANY,
    "person",  # a name, or one with a title
    "place",  # a name of a place
    "organisation",  # a name, or "the local bakery"
    "address",
    "phone",
    "email",
    "number",  # with a digit in it: "34", "£900", "6 ft 1"
    "date",
    "code",  # one word, whatever its signs: a password, a version
    "work",  # "nurse", "data engineer"
    "language",
    "diet",
    "instrument",
    "sport",
    "marital",
    "medicine",  # with a dose, or by a name that only a medicine has
    "name",  # a name, or one or two words
    "subject",  # of study
    "team",
    "religion",
    "nationality",
    "blood",
    "titled",  # "Dr Tan"
    "vehicle",  # a make and a model
    "activity",  # what people do for its own sake: "pottery", "bird watching"
    "thing",  # a name ("Tesla Model 3"), or a noun phrase with an article ("a grey van")
)


def _row(*nouns: str, one: bool = True, kind: str = ANY, **groups: tuple[str, ...]) -> dict[str, object]:
    return {"nouns": nouns, "one": one, "kind": kind, **groups}


def _favourite(*nouns: str) -> dict[str, object]:
    return _row(
        *(
            f"{spelt} {noun}"
            for noun in nouns
            for spelt in ("favourite", "favorite", "fave", "fav", "preferred", "go-to", "top")
        )
    )


SHIPPED: dict[str, dict[str, object]] = {
    "name": _row("name", "full name", "first name", "last name", "surname", "middle name", kind="person"),
    "nickname": _row("nickname", kind="person", verbs=("go by",)),
    "pronouns": _row("pronouns"),
    "phone_number": _row(
        *("phone number", "phone", "mobile number", "cell number", "cell phone number", "cell", "mobile", "number"),
        *("telephone number", "contact number", "phone no", "tel", "mobile phone number"),
        *("digits", "mobile no", "cell no", "cellphone number", "telephone", "landline", "landline number"),
        kind="phone",
    ),
    "email": _row("email address", "email", "e-mail", "mail address", "e-mail address", "email id", kind="email"),
    "address": _row(
        *("address", "home address", "postal address", "street address", "mailing address"),
        kind="address",
        verbs=("live at", "reside at", "stay at", "be living at"),
        starts=("move to", "relocate to", "move into"),
        stops=("move out of", "move away from", "leave"),
    ),
    "home": _row(
        *("home", "where they live", "place of residence", "home town", "city", "town", "country", "home city"),
        *("current city", "home base", "city of residence", "residence"),
        kind="place",
        verbs=(
            *(
                "live in",
                "be based in",
                "reside in",
                "be living in",
                "be located in",
                "be settled in",
                "be based out of",
            ),
            *("have home in", "make home in", "be at home in", "be staying in", "be in", "call"),
        ),
        starts=(
            *("move to", "relocate to", "settle in", "move into", "settle down in", "resettle in", "emigrate to"),
            *("immigrate to", "end up in", "return to live in", "start living in"),
        ),
        stops=("move out of", "move away from", "leave", "stop living in"),
    ),
    "employer": _row(
        *("employer", "company", "workplace", "place of work", "firm"),
        kind="organisation",
        verbs=(
            "work at",
            "work for",
            "be employed at",
            "be employed by",
            "have a job at",
            "have a job with",
            "be at",
            "have a contract with",
        ),
        starts=(
            *("join", "move over to", "be taken on by", "sign on with", "go to work for"),
            *(
                "go to work at",
                "start job at",
                "start job with",
                "get a job at",
                "get a job with",
                "start working at",
                "start working for",
                "start work at",
            ),
            *("start at", "start a job at", "start a job with", "start a position at", "start a role at"),
            *("begin working at", "begin working for", "begin work at", "be hired by", "be hired at", "take a job at"),
            *("take a position at", "get hired at", "get hired by", "accept a job at", "accept a position at"),
            *("start a position with", "land a job at", "take a job with", "accept an offer from", "land a job with"),
        ),
        stops=(
            *(
                "leave my job at",
                "quit my job at",
                "stop working at",
                "stop working for",
                "resign from",
                "be fired from",
            ),
            *(
                "get fired from",
                "get laid off from",
                "be laid off from",
                "retire from",
                "lose my job at",
                "leave a job at",
            ),
            *("leave position at", "leave role at", "quit at", "leave", "quit job with", "leave job with"),
            *("leave job at", "quit job at", "lose job at", "hand in notice at", "give notice at"),
        ),
    ),
    "job": _row(
        *("job", "job title", "occupation", "profession", "role", "position", "title", "career"),
        kind="work",
        verbs=("work as", "be employed as", "be working as"),
        starts=(
            *("get a job as", "start as", "start working as", "start a job as", "start a position as", "become"),
            *(
                "get promoted to",
                "be promoted to",
                "be hired as",
                "start a role as",
                "take a job as",
                "begin working as",
            ),
            *("retrain as", "get hired as", "land a job as", "take over as", "qualify as", "accept a job as"),
            *(
                "take a position as",
                "accept a position as",
                "get a role as",
                "get a position as",
                "get made",
                "be made",
            ),
        ),
        stops=("stop working as", "quit my job as", "leave my job as"),
    ),
    "boss": _row(
        *("boss", "manager", "supervisor", "line manager", "team lead", "team leader"),
        kind="person",
        verbs=("report to", "work under", "answer to"),
        stops=("stop reporting to",),
    ),
    "team": _row("team", "department", "squad", verbs=("be on the", "work on the", "work in the"), kind="team"),
    "school": _row(
        *("school", "university", "college", "uni", "alma mater"),
        kind="organisation",
        verbs=("study at", "attend", "be studying at", "go to school at", "be enrolled at", "be a student at"),
        starts=("enrol at", "enroll at", "transfer to", "start studying at"),
        stops=("graduate from", "drop out of"),
    ),
    "major": _row(
        *("major", "field of study", "subject of study", "degree", "course of study"),
        kind="subject",
        verbs=("study", "major in", "do a degree in", "be majoring in"),
    ),
    "birthday": _row(
        "birthday",
        "date of birth",
        "birth date",
        "birthdate",
        "dob",
        "bday",
        "b-day",
        kind="date",
        verbs=("be born on", "be born in"),
    ),
    "age": _row("age", kind="number"),
    "height": _row("height", kind="number"),
    "weight": _row("weight", kind="number", verbs=("weigh",)),
    "shoe_size": _row("shoe size", "size of shoes"),
    "shirt_size": _row("shirt size", "t-shirt size", "tee shirt size", "clothing size", "dress size"),
    "hometown": _row(
        *("hometown", "birthplace", "place of birth"),
        kind="place",
        verbs=("be from", "come from", "hail from", "be originally from", "grow up in", "be born in", "be raised in"),
    ),
    "nationality": _row("nationality", "citizenship", kind="nationality"),
    "marital_status": _row("marital status", "relationship status", kind="marital"),
    "partner": _row(
        *("partner", "wife", "husband", "spouse", "girlfriend", "boyfriend", "fiance", "fiancee", "fiancé", "fiancée"),
        *("other half", "better half", "significant other", "hubby"),
        kind="person",
        verbs=(
            "be married to",
            "be engaged to",
            "be dating",
            "date",
            "be together with",
            "be with",
            "be in a relationship with",
            "go out with",
            "be seeing",
            "be going out with",
        ),
        starts=("marry", "get married to", "get engaged to", "start dating", "get together with", "move in with"),
        stops=(
            "break up with",
            "part ways with",
            "part from",
            "separate from",
            "split up with",
            "divorce",
            "get divorced from",
            "separate from",
        ),
    ),
    "roommate": _row("roommate", "flatmate", "housemate", "roomie", kind="person"),
    "diet": _row(
        "diet",
        kind="diet",
        verbs=(
            "follow",
            "keep to",
            "eat",
            "be on",
            "stick to",
            "keep",
            "live on",
            "be following",
            "observe",
            "do",
            "be back on",
        ),
        starts=(
            "become",
            "go",
            "turn",
            "go on",
            "switch to",
            "start eating",
            "convert to",
            "be back to being",
            "be back to",
        ),
        stops=("give up", "stop being", "drop", "quit", "stop eating", "stop following", "come off", "abandon"),
    ),
    "religion": _row("religion", "faith", kind="religion"),
    "blood_type": _row("blood type", "blood group", kind="blood"),
    "handedness": _row("dominant hand", "handedness"),
    "eye_colour": _row("eye colour", "eye color"),
    "hair_colour": _row("hair colour", "hair color"),
    "doctor": _row(
        *("doctor", "gp", "physician", "primary care doctor", "family doctor"),
        kind="person",
        verbs=("see", "go to", "be seeing", "be a patient of", "be registered with", "be treated by"),
        starts=("switch to", "change to", "start seeing", "register with"),
        stops=("stop seeing", "leave", "stop going to"),
    ),
    "dentist": _row("dentist", kind="person"),
    "therapist": _row("therapist", "counsellor", "counselor", kind="person"),
    "lawyer": _row("lawyer", "solicitor", "attorney", kind="person"),
    "accountant": _row("accountant", kind="person"),
    "vet": _row("vet", "veterinarian", kind="person"),
    "coach": _row("coach", "trainer", "personal trainer", kind="person"),
    "mentor": _row("mentor", "advisor", "adviser", "tutor", kind="person"),
    "emergency_contact": _row("emergency contact", kind="person"),
    "medication": _row(
        *("medication", "medicine", "prescription", "meds"),
        kind="medicine",
        verbs=("take", "be on"),
        starts=("start taking", "be put on", "be prescribed"),
        stops=("stop taking", "come off"),
    ),
    "condition": _row("medical condition", "health condition", "diagnosis", one=False),
    "car": _row(
        *("car", "vehicle", "ride", "wheels", "automobile"),
        kind="thing",
        verbs=("drive", "own", "have", "be driving"),
        starts=("start driving", "buy", "get", "lease", "switch to", "pick up"),
        stops=("sell", "get rid of", "stop driving", "trade in", "scrap", "give up"),
    ),
    "bike": _row("bike", "bicycle", "motorbike", "motorcycle", kind="thing"),
    "phone_model": _row("phone model", "smartphone", "handset", kind="thing"),
    "computer": _row("computer", "laptop", "pc", kind="thing"),
    "bank": _row(
        *("bank", "main bank"),
        kind="organisation",
        verbs=("bank with", "bank at"),
        starts=("start banking with",),
        stops=("stop banking with",),
    ),
    "gym": _row(
        *("gym", "fitness studio"),
        kind="organisation",
        verbs=(
            "train at",
            "work out at",
            "go to the gym at",
            "exercise at",
            "be a member of",
            "be a member at",
            "lift at",
        ),
        starts=("join", "sign up at", "start training at", "sign up with", "start working out at"),
        stops=("stop training at", "stop working out at", "leave", "quit", "cancel membership at"),
    ),
    "insurer": _row("insurer", "insurance", "insurance provider", "insurance company", kind="organisation"),
    "mobile_provider": _row("mobile provider", "phone provider", "carrier", "phone plan", "internet provider"),
    "landlord": _row("landlord", "landlady", kind="person", verbs=("rent from",)),
    "rent": _row("rent", "monthly rent", kind="number"),
    "salary": _row("salary", "pay", "income", "annual salary", "wage", kind="number", verbs=("earn",)),
    "time_zone": _row("time zone", "timezone"),
    "working_hours": _row(
        "working hours", "work hours", "office hours", "schedule", "shift", "work schedule", kind="number"
    ),
    "wifi_password": _row(
        "wifi password", "wi-fi password", "wifi pw", "wifi key", "wifi code", "wifi passcode", kind="code"
    ),
    "username": _row("username", "user name", "handle", "login", "screen name", kind="code"),
    "editor": _row(
        *("editor", "ide", "code editor", "text editor"),
        kind="name",
        verbs=("code in", "edit in", "write code in", "use", "edit with", "be using", "be back on"),
        starts=("switch to", "change to", "start using", "go back to", "move to"),
        stops=("stop using", "give up", "ditch", "quit using", "drop"),
    ),
    "operating_system": _row("operating system", "os", kind="name"),
    "browser": _row("browser", "web browser", "default browser", kind="name"),
    "programming_language": _row(
        *("programming language", "favourite programming language", "favorite programming language", "coding language"),
        kind="name",
        verbs=("program in", "code mainly in"),
    ),
    "favourite_colour": _favourite("colour", "color"),
    "favourite_food": _favourite("food", "dish", "meal"),
    "favourite_cuisine": _favourite("cuisine"),
    "favourite_drink": _favourite("drink", "beverage"),
    "favourite_book": _favourite("book", "novel"),
    "favourite_author": _favourite("author", "writer"),
    "favourite_film": _favourite("film", "movie"),
    "favourite_show": _favourite("show", "tv show", "series"),
    "favourite_music": _favourite("band", "music", "song", "artist", "singer", "music genre"),
    "favourite_game": _favourite("game", "video game", "board game"),
    "favourite_season": _favourite("season"),
    "favourite_place": _favourite("place", "restaurant", "café", "cafe", "coffee shop"),
    "favourite_team": _favourite("team", "football team", "sports team"),
    "favourite_sport": _favourite("sport"),
    "favourite_animal": _favourite("animal"),
    "favourite_subject": _favourite("subject"),
    "favourite_number": _favourite("number"),
    "status": _row("status", "state"),
    "deadline": _row(
        *("deadline", "due date", "delivery date", "cut-off date", "cutoff date"),
        kind="date",
        verbs=("be due on", "be due by", "be due in", "be due", "have to be done by", "have to be finished by"),
    ),
    "launch_date": _row("launch date", "release date", "start date", kind="date"),
    "location": _row(
        "location",
        "place",
        "venue",
        "room",
        "meeting room",
        kind="name",
        verbs=(
            "be in",
            "take place in",
            "be held in",
            "happen in",
            "meet in",
            "take place at",
            "be held at",
            "sit in",
        ),
        starts=("move to", "move into"),
        stops=("move out of",),
    ),
    "owner": _row("owner", "lead", "person in charge", "project lead", "project manager", kind="person"),
    "version": _row("version", "release", "current version", kind="number"),
    "price": _row("price", "cost", kind="number", verbs=("cost", "sell for", "be priced at")),
    "budget": _row(
        "budget", kind="number", verbs=("have a budget of", "be budgeted at", "have budget of", "get a budget of")
    ),
    "language": _row(
        *("language", "languages", "native language", "mother tongue", "first language"),
        one=False,
        kind="language",
        verbs=("speak", "be fluent in", "know how to speak", "be a native speaker of", "know"),
        starts=("learn", "become fluent in", "pick up"),
        stops=("stop speaking",),
    ),
    "learning": _row(
        *("language of study", "target language"),
        one=False,
        kind="language",
        verbs=("learn", "be learning", "take lessons in", "study"),
        starts=("start learning", "take up", "start studying", "begin learning"),
        stops=("stop learning", "give up learning", "quit learning", "give up"),
    ),
    "allergy": _row(
        "allergy",
        "allergies",
        one=False,
        verbs=("be allergic to", "have an allergy to", "react badly to", "be also allergic to", "have allergy to"),
        starts=("become allergic to", "develop an allergy to", "be diagnosed with an allergy to"),
        stops=("outgrow my allergy to", "outgrow allergy to", "get over allergy to"),
    ),
    "friend": _row("friend", "friends", "best friend", "bff", "bestie", "best mate", one=False, kind="person"),
    "child": _row("child", "children", "kid", "kids", "son", "daughter", "sons", "daughters", one=False, kind="person"),
    "parent": _row("parent", "mother", "mom", "mum", "father", "dad", one=False, kind="person"),
    "sibling": _row(
        "sibling", "siblings", "brother", "sister", "brothers", "sisters", "twin", one=False, kind="person"
    ),
    "colleague": _row("colleague", "coworker", "co-worker", "teammate", one=False, kind="person"),
    "pet": _row(
        *("pet", "pets", "dog", "cat", "dogs", "cats", "puppy", "kitten", "rabbit", "parrot", "hamster", "horse"),
        one=False,
        kind="person",
    ),
    "hobby": _row(
        "hobby",
        "hobbies",
        "pastime",
        "main hobby",
        one=False,
        kind="activity",
        verbs=("enjoy", "be into", "do", "go", "spend weekends", "practise", "practice", "be keen on", "like to go"),
        starts=("take up", "get into", "pick up", "start doing"),
        stops=("give up", "quit", "lose interest in", "stop doing"),
    ),
    "skill": _row("skill", "skills", one=False),
    "instrument": _row(
        *("instrument", "instruments"),
        one=False,
        kind="instrument",
        verbs=("play", "play the"),
        starts=("take up", "start playing", "start learning", "take up playing"),
        stops=("stop playing", "give up", "quit playing", "quit", "give up playing"),
    ),
    "sport": _row(
        *("sport", "sports"),
        one=False,
        kind="sport",
        verbs=("play", "do", "practise", "practice"),
        starts=("take up", "start playing", "start doing", "get into", "start"),
        stops=("stop playing", "give up", "quit playing", "quit", "stop doing", "give up playing"),
    ),
    "preference": _row("preference", one=False, verbs=("prefer",)),
    "likes": _row("likes", one=False, verbs=("like", "love", "enjoy", "be fond of", "be a fan of", "adore")),
    "dislikes": _row(
        "dislikes", one=False, verbs=("dislike", "hate", "can't stand", "cannot stand", "detest", "despise")
    ),
}
