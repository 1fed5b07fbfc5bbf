"""Words that speak of a slot without being its name: what people say in notes and asides, and in loose questions.

The names of slots and the verbs of full sentences are in `shipped`; exact rules read those only. What stands here is
read where nothing exact was found, and together with a value that looks like one of the slot.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from recall_integrations.facts.open_names import plural_of
from recall_integrations.facts.rules import words
from recall_integrations.facts.rules.loose_words import ME, TALK
from recall_integrations.facts.rules.verbs import forms
from recall_integrations.facts.slots import SLOTS, Slots

# Slots, and nouns that may mean them beside their own; the slot whose value is found is the one.
_NOUNS: tuple[tuple[str, str], ...] = (
    ("phone_number", "digits, mobile no, phone no, cell no, cell, cellphone, landline, whatsapp, telephone, tel, mob,"
     " contact no, contact details, phone nr, direct line, extension, hotline"),
    ("email", "inbox, mail, mailbox, gmail, e mail, email id, mail id, correspondence"),
    ("address", "place, house, flat, apartment, digs, post, letters, parcels, deliveries, packages, post code, door,"
     " mail, front door, packages, parcel, package, letter, delivery"),
    ("home", "home, hometown now, base, home base, whereabouts, residence, domicile, abode, living, hq, home"
    " turf, the move"),
    ("employer job", "work, job, day job, occupation, livelihood, line of work, trade, profession, career, gig, post,"
     " position, role"),
    ("employer", "payroll, paycheck, paychecks, paycheque, pay cheque, wages, workplace, place of work, firm, company,"
     " employment, new job at, job at, job with, employee, salary, bills, staff, my work place, outfit, office, badge"),
    ("job", "job title, title, living, earn my living, earn a living, make a living, make my living, trade,"
    " profession"),
    ("boss", "boss, manager, supervisor, line manager, team lead, higher-up, chief, superior, head honcho"),
    ("team", "team, department, dept, squad, crew, unit, division"),
    ("school", "uni, university, college, school, alma mater, campus, studies"),
    ("major", "major, degree, subject of study"),
    ("birthday", "bday, b-day, birthday, birth date, date of birth, dob, big day, cake day, born"),
    ("age", "age, years old, yrs old, yo, years young"),
    ("height", "height, tall"),
    ("weight", "weight, scales, scale"),
    ("shoe_size", "shoe size, shoes, size in shoes, shoe, feet, trainers, sneakers"),
    ("shirt_size", "shirt size, shirt, t-shirt, tee, shirts, t-shirts, clothes size, top size"),
    ("hometown", "hometown, birthplace, roots, native town, native city, where i was born, born, childhood town"),
    ("nationality", "nationality, citizenship, citizen, passport, national"),
    ("marital_status", "relationship status, marital status, relationship, civil status"),
    ("partner", "better half, other half, significant other, so, bf, gf, hubby, hubs, wifey, missus, couple, item,"
     " new boyfriend, new girlfriend, fiancé, fiancée, sweetheart, split up, broke up, parted ways, together,"
     " love of my life, lover, soulmate, dating"),
    ("roommate", "roomie, flat mate, house mate, room mate, sharing a flat, sharing a house, sharing a room"),
    ("diet", "diet, diet-wise, eating habits, way of eating, food-wise, meals, eater, menu, eating, plate"),
    ("religion", "faith, religion, belief, beliefs, creed"),
    ("blood_type", "blood type, blood group, blood"),
    ("handedness", "handed, dominant hand, handedness"),
    ("eye_colour", "eyes, eye colour, eye color"),
    ("hair_colour", "hair, hair colour, hair color"),
    ("doctor", "gp, doctor, doc, physician, family doctor, house doctor, care, surgery, practice, medic"),
    ("dentist", "dentist, teeth, tooth doctor, dental"),
    ("therapist", "therapist, shrink, counsellor, counselor, psychologist, psychotherapist, therapy"),
    ("lawyer", "lawyer, attorney, solicitor, counsel"),
    ("accountant", "accountant, tax adviser, tax advisor, tax guy, bookkeeper"),
    ("vet", "vet, veterinarian, animal doctor"),
    ("coach", "coach, trainer, pt, personal trainer, instructor"),
    ("mentor", "mentor, advisor, adviser, guide"),
    ("emergency_contact", "emergency contact, emergencies, ice contact, in an emergency, in case of emergency"),
    ("medication", "meds, medication, medicine, pills, pill, tablets, tablet, prescription, drug, dose, prescribed"),
    ("condition", "condition, diagnosis, illness, diagnosed, health issue"),
    ("car", "car, ride, wheels, vehicle, motor, auto, automobile, set of wheels, driveway, garage, drive"),
    ("bike", "bike, bicycle, two wheels, motorbike, motorcycle, cycle"),
    ("phone_model", "handset, phone, smartphone, mobile, phone model, cell phone"),
    ("computer", "laptop, computer, pc, machine, notebook, rig, desktop"),
    ("bank", "bank, bank account, current account, checking account, money, savings, main bank, banker,"
    " account, banking"),
    ("gym", "gym, workouts, workout, fitness studio, fitness club, weights, gym membership, gyms, iron, training,"
     " exercise, membership, fitness"),
    ("insurer", "insurance, insurer, insured, cover, policy, insures"),
    ("mobile_provider", "carrier, provider, network, phone contract, mobile contract, sim, sim card, phone plan, isp,"
     " internet provider, mobile network, mobile provider, operator, phone company"),
    ("landlord", "landlord, landlady"),
    ("rent", "rent, monthly rent, rental"),
    ("salary", "salary, pay, wage, income, earnings, take-home, annual salary, paycheck, base pay, a year"),
    ("time_zone", "time zone, timezone, tz, clock, clocks, zone, calendar, local time"),
    ("working_hours", "working hours, hours, work hours, shift, shifts, office hours, schedule"),
    ("wifi_password", "wifi password, wifi pw, wifi, wi-fi, wlan, wifi key, wifi code, wi-fi password, wi-fi"
    " pw, router,"
     " wifi pass, wi-fi code, wlan password, network key, wireless password"),
    ("username", "username, user name, handle, login, screen name, user id, account name, nick"),
    ("editor", "editor, ide, text editor, code editor"),
    ("operating_system", "os, operating system"),
    ("browser", "browser, web browser, browsing"),
    ("programming_language", "programming language, coding language, main programming language, language i code in"),
    ("name", "name, full name, legal name"),
    ("nickname", "nickname, nick, known as, goes by, pet name, moniker"),
    ("pronouns", "pronouns"),
    ("favourite_colour", "colour, color, hue, shade, colours, colors"),
    ("favourite_food", "food, dish, meal, foods, comfort food, thing to eat, bite"),
    ("favourite_cuisine", "cuisine, kitchen"),
    ("favourite_drink", "drink, beverage, tipple"),
    ("favourite_book", "book, novel, read"),
    ("favourite_author", "author, writer, novelist"),
    ("favourite_film", "film, movie, flick"),
    ("favourite_show", "show, tv show, series, tv series"),
    ("favourite_music", "band, song, artist, singer, musician, music, tune, group, music genre"),
    ("favourite_game", "game, board game, video game"),
    ("favourite_season", "season, time of year"),
    ("favourite_place", "restaurant, café, cafe, coffee shop, eatery, bar, pub, hangout, haunt"),
    ("favourite_team", "football team, football club, club, side, sports team"),
    ("favourite_sport", "sport to watch"),
    ("favourite_animal", "animal, creature"),
    ("favourite_subject", "school subject, class"),
    ("favourite_number", "lucky number"),
    ("status", "status, state, standing"),
    ("deadline", "deadline, due, due date, done, finished, ready, delivery date, cut-off, cutoff, wrapped up,"
    " completed,"
     " target date, submission date, hand-in"),
    ("launch_date", "launch, launch date, release date, go-live, goes live, start date, ships, rollout"),
    ("location", "room, venue, location, meeting room, place, spot, held, takes place, meets, happens, hosted"),
    ("owner", "owner, lead, in charge, responsible, project lead, project manager, pm, run by, led by, head, heads,"
     " heading, runs, leads, leader, helm, person in charge, accountable, owned by, belongs to, managed by"),
    ("version", "version, release, build, v"),
    ("price", "price, cost, costs, charge, fee, ticket price, price tag, sells"),
    ("budget", "budget, spend, money, funds, funding, spending limit, budgeted, kitty, purse"),
    ("language", "languages, language, tongue, tongues, fluent, mother tongue, native speaker, speaker"),
    ("learning", "classes, lessons, course, language course, learning, duolingo"),
    ("allergy", "allergy, allergies, allergic, allergen, intolerance, intolerant, allergens, reaction"),
    ("friend", "bff, best friend, bestie, best mate, best buddy, buddy, pal"),
    ("child", "little one, youngest, eldest, baby"),
    ("pet", "pet, dog, cat, puppy, kitten, pup, doggo, hound, kitty, furry friend, four-legged friend"),
    ("hobby", "hobby, pastime, my thing, free time, spare time, leisure, weekends, leisure activity"),
    ("instrument", "instrument"),
    ("sport", "sport, sports"),
    ("skill", "skill, skills, talent"),
    ("sibling", "siblings"),
)  # fmt: skip
# Only with one of `LIKED` beside them.
_LIKED_NOUNS = frozenset(slot for slot, _ in _NOUNS if slot.startswith("favourite_"))
LIKED = frozenset(
    "favourite favorite fav fave favourites favorites favs faves preferred go-to no.1 top best loved beloved love loves"
    " like likes most dearest prized ultimate best-loved dear prefer prefers adore adores fondest fond beats number"
    " one#1 choice partial taste".split()
)

# Slots, and verb phrases with the word that stands before the value; a bare verb has it right behind it.
_VERBS: tuple[tuple[str, str], ...] = (
    ("phone_number", "ring on, call on, call at, reach on, reach at, text on, text at, dial, contact on, contact at,"
     " ring, text, call, phone, message on, reach under, get on, whatsapp on, answer on, pick up on, catch on,"
     " phone on,"
     " ring at, have"),
    ("email", "mail to, mail at, email at, email to, write to, reach at, message at, contact at, mail, email, send to,"
     " drop a line at, use, ping at, have, cc, forward to, reply to"),
    ("address", "live at, be at, stay at, reside at, send to, deliver to, ship to, post to, go to, move to, mail to,"
     " write to, address to, find at, move into, drop at, have, come to, visit at, be found at"),
    ("home", "live in, base in, reside in, settle in, relocate to, move to, dwell in, land in, stay in,"
     " wash up in, root in, move over to, make home in, live over in, have a flat in, get a flat in, have a house in,"
     " rent in, buy a house in, buy a flat in, flat in, house in, apartment in, home in, end up in, hang hat"
     " in, place in,"
     " set up home in, set up shop in, put down roots in, nest in, home for"),
    ("employer", "work at, work for, work with, employ by, employ at, employ with, job at, job with, gig at,"
    " position at,"
     " role at, payroll of, payroll at, payroll with, hire by, hire at, sign with, sign on with, start at,"
     " start with, begin at, contract with, contract at, paycheck from, salary from, wage from, money from, staff at,"
     " employee of, employee at, work under, notice at, notice to, resign from, laid off from, laid off by,"
     " fire from, fire by, slave away at, toil at, toil for, hustle at, paid by, desk at, post at, cheque from,"
     " paycheque from, onboard at, draw a salary from, earn a living at,"
     " make a living at, job is at, job is with"),
    ("job", "work as, employ as, hire as, job as, start as, living as, promote to, position as, role as, move up to,"
     " train as, qualify as, practise as, practice as, money as, act as, serve as, retrain as, living from"),
    ("boss", "report to, answer to, manage by, supervise by, boss by, work under, take orders from, report"
    " into, led by"),
    ("school", "study at, enrol at, enroll at, attend, transfer to, student at, degree at, school at, graduate from"),
    ("major", "major in, degree in, specialise in, specialize in, student of, graduate in"),
    ("birthday", "born on, born, bear on, bear, celebrate on, turn older on, older every, older on, birthday on,"
     " candles on, come into the world on, arrive on"),
    ("age", "turn, be"),
    ("height", "stand, measure, be"),
    ("weight", "weigh, weigh in at, tip the scales at, down to, up to"),
    ("hometown", "grow up in, raise in, born in, hail from, come from, roots in, childhood in, grow up over in,"
     " originate from, bring up in, brought up in, born and raised in"),
    ("partner", "date, marry to, marry, engage to, see, go out with, couple with, together with, item with, be with,"
     " split up with, split from, break up with, married to, engaged to, in love with, share life with, hitched to"),
    ("roommate", "share a flat with, share a house with, flat with, share with, room with, share a room with,"
    " live with,"
     " bunk with"),
    ("diet", "go, turn, be, eat, on, follow, be on, become, quit, give up, stop, convert to, try, stick to, keep to,"
     " eat only, cook, live, stay"),
    ("doctor", "care of, patient of, treat by, register with, see, look after by, go to, patient with, patient at"),
    ("dentist", "teeth by, teeth with, care of"),
    ("coach", "train with, coach by, work out with, train under"),
    ("medication", "take, be on, prescribe, put on, swallow, dose of, pop"),
    ("car", "drive, own, wheel of, get around in, buy, sell, run, roll in, trade in, behind the wheel of, cruise in,"
     " lease, commute in"),
    ("bank", "bank with, bank at, account with, account at, money with, money at, savings with, savings at, bank by"),
    ("gym", "train at, work out at, lift at, exercise at, sweat at, member of, member at, membership at, gym"
    " at, iron at,"
     " workout at, sign up with, sign up at, join, go to, training at, gym to, weights at, hit, working out at,"
     " get fit at, keep fit at, subscription at"),
    ("insurer", "insure with, insure by, insurance with, cover by, insurance from, policy with, insure,"
    " insurance is with"),
    ("mobile_provider", "contract with, plan with, sim from, sim with, network with"),
    ("landlord", "rent from, rent to, lease from"),
    ("rent", "pay, rent at, rent of, pay in rent"),
    ("salary", "earn, make, be on, bring home, take home, pay, paid, get paid, rake in"),
    ("time_zone", "clock to, clock on, clock run on, zone of, set to, run on, zone to, run in, live on, live in"),
    ("working_hours", "work, work from, be in from, on from"),
    ("wifi_password", "wifi with, log in with, log in to with, get online with, type, wifi via, join with,"
    " connect with"),
    ("editor", "code in, edit in, write code in, editor to, swear by, program in, develop in, type in, write"
    " in, hack in"),
    ("programming_language", "program in, code in, write"),
    ("nickname", "go by, call, know as, known as, be called, answer to, better know as"),
    ("pronouns", "go by, use"),
    ("deadline", "due on, due by, due, do by, finish by, ready by, complete by, hand in by, wrap up by, deliver by,"
     " submit by, must be done by"),
    ("launch_date", "launch on, launch, live on, go live on, go live, ship on, ship, come out on, out on, release on,"
     " kick off on, roll out on, start on"),
    ("location", "meet in, meet at, hold in, hold at, take place in, take place at, happen in, happen at, host in,"
     " host at, gather in, gather at"),
    ("owner", "run by, lead by, head by, manage by, own by, belong to, charge is, responsible is, hands of, hand to,"
     " up to, ask, helm by"),
    ("version", "on version, run version, on v, run on, upgrade to, update to, bump to"),
    ("price", "cost, sell for, price at, go for, charge, set back, retail at"),
    ("budget", "spend, budget of, budget at, budget up to, get, have, receive, grant"),
    ("language", "speak, fluent in, know, converse in, chat in, at home in, tongue, get by in"),
    ("learning", "learn, class in, lesson in, take, study, course in, brush up on, pick up, start on"),
    ("allergy", "allergic to, react to, intolerant to, intolerance to, stay away from, swell up from, steer clear of"),
    ("hobby", "do, enjoy, into, spend on, fond of, practise, practice, take up, give up, pick up, busy with, hooked on,"
     " spend weekends, relax with, unwind with, try, keen on, go"),
    ("instrument", "play, practise, practice, strum, learn, take up, give up, drop for, pick up"),
    ("sport", "play, practise, practice, do, take up, give up, into"),
    ("favourite_team", "support, root for, cheer for, fan of"),
    ("owner", "manage by"),
)  # fmt: skip


VERBS = frozenset(phrase.split()[0] for _, listed in _VERBS for phrase in listed.split(","))  # in the infinitive
_MARKERS = frozenset(
    "-> => → these longer currently nowadays now kg number born trade favourite favorite fav fave go-to reach"
    " best-loved contact".split()
)
_COMMON = frozenset(
    "be am is are was were been 'm 's i in at have has had having do does did doing get got go going a an the"
    " my me to of for"
    " on with by so up out and or it one two that this last first from into way love loves like likes make"
    " makes made making"
    " keep keeps take takes taking took see sees seeing seen saw give gives find know knows time day days big"
    " little best"
    " look looks looking bring brings brought where what time thing things other family stay into down person together"
    " support supports play plays playing enjoy enjoying try trying use uses using come comes coming must show"
    " shows run"
    " runs running put puts set sets call calls called ask asks ask say says meet meets stand stands hit hits"
    " read reads"
    " share shares sharing eat eats eating pop become becomes became start started starting stop stopped quit"
    " buy bought"
    " getting own after around back care went found find finding standing holding staying life life's kids kid"
    " learn learned"
    " tried better forward learning world writing happened happens gave video busy watch project giving furry"
    " plan plans"
    " front health living lived live relax catch local ones chat full hang used connecting connect years key"
    " shared away young met"
    " board break broke online supporting supported join joined joining done fan happening only ready knowing"
    " spending spend"
    " spent taken keeping practice practise bringing hands hand meeting visited finished came gone checking"
    " asking course"
    " cheers since ages gets gotten played worked wrote written saw seen places class screen sign signing"
    " signed free send"
    " sent follow following pick picked trip try trained held hold hang hung drop dropped skills skill talent"
    " talents animal"
    " animals pets dogs cats puppies pups practicing art artists group groups band bands song songs movie"
    " movies film films"
    " book books game games music show shows series food foods meal meals dish dishes restaurant restaurants"
    " season seasons"
    " artist singer singers writer writers author authors class classes club side bite tune tunes read read:"
    " item so doing"
    " activity activities bring up down together days taking reach hours contact weekends rest turn turned turning hot"
    " enjoyed enjoys loved happen sits sit sitting sat lead leads leading led head heads money cover practice"
    " step steps"
    " most top choice friends friend they group new name names".split()
)


_EDGES = (*((("", end)) for end in ("", "'s", ":", ",", ".", "!", ")", "?", '"')), ("(", ""), ("*", ""))


def _heaviest(phrase: str) -> str:
    """The word of a phrase that says most."""
    parts = [word for word in phrase.split() if word not in _COMMON and word not in TALK] or phrase.split()
    return max(parts, key=len)


class Cues(NamedTuple):
    """The cues of a schema.

    Args:
        nouns: slots by noun, in singular and plural.
        verbs: by form of a verb and by what follows it: pairs of the words between and the slots.
        first: first words of the nouns, with the number of words of the longest that begins so.
        liked: slots that ask for a word of `LIKED` beside their noun.
        gate: words without one of which a sentence speaks of none.
        known: words that have a place in a sentence which is read.
    """

    nouns: dict[str, tuple[str, ...]]
    verbs: dict[str, tuple[tuple[tuple[str, ...], str], ...]]
    first: dict[str, int]
    liked: frozenset[str]
    gate: frozenset[str]
    known: frozenset[str]


def _nouns_of(slots: Slots) -> dict[str, list[str]]:
    nouns: dict[str, list[str]] = {}
    for noun, name in slots.of_noun.items():
        _put(nouns, noun, name)
    for names, listed in _NOUNS:
        for name in names.split():
            if name in slots:
                for noun in listed.split(","):
                    _put(nouns, noun.strip(), name)
    return nouns


def _verbs_of(slots: Slots) -> dict[str, dict[tuple[tuple[str, ...], str], None]]:
    verbs: dict[str, dict[tuple[tuple[str, ...], str], None]] = {}
    # Without those that tell that it ended: a note says that it holds.
    own = [(slot.name, (*slot.verbs, *slot.starts)) for slot in slots if slot not in SLOTS]
    for name, phrases in (*((name, tuple(listed.split(","))) for name, listed in _VERBS), *own):
        if name not in slots:
            continue
        for phrase in phrases:
            first, *rest = phrase.split()
            if first == "be" and rest and (name, phrases) in own:
                first, *rest = rest
            for form in _forms(first):
                verbs.setdefault(form, {})[tuple(rest), name] = None
    return verbs


@lru_cache(maxsize=16)
def cues_of(slots: Slots) -> Cues:
    """The cues of a schema: its own nouns, and of shipped slots the words above."""
    nouns, verbs = _nouns_of(slots), _verbs_of(slots)
    first_words: dict[str, int] = {}
    for noun in nouns:
        parts = noun.split()
        first_words[parts[0]] = max(first_words.get(parts[0], 0), len(parts))
    gate = {_heaviest(phrase) for phrase in nouns}
    gate |= {_heaviest(" ".join([form, *rest])) for form, found in verbs.items() for rest, _ in found}
    gate |= {
        word
        for phrase in (*words.DIETS, *words.EDITORS, *words.INSTRUMENTS, *words.SPORTS, *words.MARITAL)
        for word in phrase.split()[-1:]
    }
    gate |= {phrase.split()[-1] for phrase in words.ATTRIBUTE_HEADS}
    gate -= _COMMON
    gate |= _MARKERS
    weightless_of = {word for phrase in nouns for word in phrase.split()} | set(verbs) | gate
    weightless = weightless_of | TALK | LIKED | ME
    weightless |= {f"{word}'s" for word in weightless} | words.RELATIONS | {f"{word}'s" for word in words.RELATIONS}
    made = {form: tuple(sorted(found, key=lambda e: -len(e[0]))) for form, found in verbs.items()}
    return Cues(
        {noun: tuple(names) for noun, names in nouns.items()},
        made,
        first_words,
        _LIKED_NOUNS,
        frozenset(f"{a}{word}{z}" for word in gate for a, z in _EDGES),
        frozenset(weightless),
    )


def _put(nouns: dict[str, list[str]], noun: str, name: str) -> None:
    for form in (noun, plural_of(noun)):
        names = nouns.setdefault(form, [])
        if name not in names:
            names.append(name)


def _forms(verb: str) -> list[str]:
    if verb == "be":
        return ["am", "is", "are", "was", "were", "been", "be", "'m", "'s"]
    return list(forms(verb))
