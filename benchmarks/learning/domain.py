"""A made-up domain that the defaults were not made for: the notes of a workshop that looks after machines.

Some 2,000 notes of a year and a half, and 600 questions about them. What is asked for here, and not in the chats that
the shipped weights come from:

- a fault code (`E-4711`), of which one entry of the handbook says what to do, among reports that merely hold it
  (a report may be asked for as well: who saw it, on which machine);
- a part code (`PX-220-B`), of which the newest count holds, and whose neighbours differ by one character;
- what somebody said whose name is a common word (Will, May, Rust, Bill, Grace), among notes that hold the word;
- things by their abbreviation where the notes spell them out, and the other way round;
- plain questions about what happened, as everywhere.

Handbook entries are marked important, as whoever writes them would. Half of the questions are learned from, the other
half is measured; both are of all kinds, and no question is in both. The text is drawn from small lists: it is no
natural language, and a gain here says what learning can do where a domain is that much its own, not what it will do
in yours.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from benchmarks.datasets.data import Collection, EvaluationData
from recall_integrations.evaluation.questions import Question
from recall_integrations.types import Memory, Scope

NAME = "workshop"
SCOPE = Scope(user_id=NAME)
BEGIN = datetime(2025, 1, 6, 7, tzinfo=timezone.utc)
DAYS = 540
NOW = BEGIN + timedelta(days=DAYS)
FIX, SEEN, STOCK, NAMED, SHORT, PLAIN = "fix", "seen", "stock", "named", "short", "plain"

PEOPLE = ("Will", "May", "Rust", "Bill", "Grace", "Mark", "Frank", "Hope", "Rob", "Art")
MACHINES = (
    "kiln", "mixer", "press", "lathe", "conveyor", "palletiser", "chiller", "boiler", "dryer", "extruder", "crane",
    "labeller",
)  # fmt: skip
FAULTS = (
    "pressure drop in the feed line", "no signal from the inlet sensor", "drum turns too slowly",
    "oil temperature above its limit", "door contact is open", "drive reports overload", "air supply is too low",
    "level sensor sticks", "encoder counts wrongly", "cooling circuit leaks", "brake does not release",
    "fuse of the heating has blown",
)  # fmt: skip
REMEDIES = (
    "close the valve, bleed the filter and start again", "clean the contact and set the gap to 2 mm",
    "swap the belt and tighten it after an hour", "drain the circuit and fill it up to the mark",
    "unplug the controller for a minute, then load the last settings", "grease both bearings and check the play",
    "turn the spindle by hand until it moves freely", "replace the seal and run it empty for ten minutes",
)  # fmt: skip
SAW = (
    "{code} again on {machine} at the change of shifts, {who} reset it", "{machine} stood for an hour with {code}",
    "{code} and then nothing for a week on {machine}, {who} keeps an eye on it",
    "during the tour: {machine} showed {code} twice", "{who} asks what {code} on {machine} is about",
    "list for the supplier: {code}, {other}, and the noise of {machine}",
    "{code} came right after {other} on {machine}; what to do about it is still open",
)  # fmt: skip
COUNTED = (
    "{part}: {count} left on rack {rack}", "moved {part} to rack {rack}, counted {count}",
    "{part} came in, {count} pieces, rack {rack} as always", "took the last but {count} of {part} from rack {rack}",
)  # fmt: skip
ORDERED = ("{part} is on the order for {machine}, price as last year", "{part} fits {machine} as well, says {who}")
SHORTS = (
    ("VFD", "variable frequency drive"), ("PSU", "power supply unit"), ("HMI", "operator panel"),
    ("PRV", "pressure relief valve"), ("LOTO", "lockout and tagout"), ("CMM", "measuring machine"),
    ("NDT", "ultrasonic crack test"), ("FAT", "acceptance run at the supplier"), ("ESD", "emergency stop circuit"),
    ("OEE", "share of good running time"), ("WPS", "welding instruction"), ("MTO", "list of material"),
)  # fmt: skip
DONE = (
    "{thing} of {machine} was checked, nothing to see", "new {thing} for {machine}, fitted on the late shift",
    "{thing} of {machine} waits for a date", "asked for a quote: {thing}, {machine}",
    "{machine}: {thing} was off by a little and is right now",
)  # fmt: skip
TOPICS = (
    "the noise at the {machine}", "the new covers for the {machine}", "the leak under the {machine}",
    "the training on the {machine}", "the audit of the {machine}", "the paint on the {machine}",
    "the light above the {machine}", "the shift plan for the {machine}",
)  # fmt: skip
SAYS = (
    "about {topic}: leave it until the weekend", "{topic} is fine by me, go ahead",
    "I would not spend money on {topic} this year", "{topic} took two hours longer than planned",
    "please nobody touch {topic} before I am back",
)  # fmt: skip
# Common words that are names here, in notes of others about the same thing.
WORDS = (
    "we will see about {topic}", "{topic} may take until Friday", "some rust there, otherwise {topic} is done",
    "the bill for {topic} is on the desk", "a day of grace for {topic}, no more", "left a mark, because of {topic}",
    "to be frank, {topic} is late", "there is hope that {topic} ends this month", "{topic} is an art of its own",
)  # fmt: skip
CHATTER = (
    "the canteen has {food} on {day}", "who took the big torch from locker {n}",
    "forklift {n} is back from its service",
    "visitors on {day}, please tidy up around the gate", "{food} for everybody, it is {who}'s birthday",
    "the clock in hall {n} is an hour late", "gloves in size {n} are out, more on {day}",
    "bus line {n} does not stop at the gate on {day}", "{who} found keys with a red tag next to gate {n}",
    "somebody parked in bay {n} again", "fire drill on {day}, meet at gate {n}", "{who} looks for a lift to hall {n}",
)  # fmt: skip
FOODS = ("pea soup", "dumplings", "fish pie", "cake", "lentils", "pancakes", "goulash", "salad", "rice pudding")
WEEK = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
ASKED = {
    FIX: ("what to do about {code}", "{code} how to fix", "{code}", "steps for {code}", "{code} on a {kind}, what now"),
    SEEN: ("who reset {code} on {machine}", "{code} {machine}", "when did {machine} show {code}"),
    STOCK: ("how many {part} are left", "{part} rack", "where is {part} now", "{part} stock", "count of {part}"),
    NAMED: ("what did {who} say about {topic}", "{who} on {topic}", "{topic}, according to {who}", "{who} {topic}"),
    SHORT: ("{thing} {machine}", "what about the {thing} of {machine}", "state of {thing} on {machine}"),
    PLAIN: ("{text}?", "note about: {text}"),
}


@dataclass(slots=True, kw_only=True)
class _Making:
    """Notes and questions while they are made."""

    random: random.Random
    notes: list[Memory] = field(default_factory=list)
    asked: dict[str, list[tuple[str, tuple[str, ...]]]] = field(default_factory=dict)

    def note(self, text: str, *, actor: str | None = None, day: float | None = None, importance: float = 0.5) -> str:
        at = BEGIN + timedelta(days=self.random.uniform(0, DAYS - 1) if day is None else day)
        one = f"w{len(self.notes):04}"
        text = text[0].upper() + text[1:]
        self.notes.append(Memory(f"{text}.", id=one, actor=actor, created_at=at, event_at=at, importance=importance))
        return one

    def ask(self, what: str, relevant: tuple[str, ...], **words: str) -> None:
        self.asked.setdefault(what, []).append((self.random.choice(ASKED[what]).format(**words), relevant))

    def pick(self, among: tuple[str, ...]) -> str:
        return self.random.choice(among)

    def machine(self) -> str:
        return f"{self.pick(MACHINES)} {self.random.randint(1, 9)}"


def workshop(notes: int = 2_000, questions: int = 600, seed: int = 18) -> EvaluationData:
    """The domain: the same arguments give the same notes and questions.

    Args:
        notes: about how many there are.
        questions: how many are asked, of all kinds, as even as they come.
        seed: of what is drawn.
    """
    making = _Making(random=random.Random(seed))
    share = notes / 2_000
    _codes(making, round(125 * share))
    _parts(making, round(85 * share))
    _names(making, round(110 * share))
    _shorts(making, round(75 * share))
    _chatter(making, max(notes - len(making.notes), 0))
    making.random.shuffle(making.notes)
    return EvaluationData(
        name=NAME,
        collections=(
            Collection(
                name=NAME, scope=SCOPE, memories=tuple(making.notes), questions=tuple(_drawn(making, questions))
            ),
        ),
    )


def _codes(making: _Making, count: int) -> None:
    """A handbook entry for each fault code, and reports that hold it."""
    draw = making.random
    codes = [f"E-{n}" for n in draw.sample(range(1000, 9999), count)]
    for code in codes:
        kind = making.pick(MACHINES)
        entry = making.note(
            f"{code} ({kind}): {making.pick(FAULTS)}. Remedy: {making.pick(REMEDIES)}",
            importance=draw.choice((0.8, 0.9, 1.0)),
        )
        for _ in range(2):
            making.ask(FIX, (entry,), code=code, kind=kind)
        reports: dict[str, list[str]] = {}
        for _ in range(draw.randint(4, 8)):
            machine, who = f"{kind} {draw.randint(1, 9)}", making.pick(PEOPLE)
            text = making.pick(SAW).format(code=code, machine=machine, who=who, other=draw.choice(codes))
            reports.setdefault(machine, []).append(making.note(text, actor=making.pick(PEOPLE)))
        machine = draw.choice(sorted(reports))
        making.ask(SEEN, tuple(reports[machine]), code=code, machine=machine)


def _parts(making: _Making, count: int) -> None:
    """Parts that were counted several times: the newest count holds."""
    draw = making.random
    for _ in range(count):
        part = f"{making.pick(('PX', 'QB', 'HT'))}-{draw.randint(100, 399)}-{making.pick(tuple('ABCD'))}"
        last = ""
        for day in sorted(draw.uniform(0, DAYS - 1) for _ in range(draw.randint(3, 5))):
            text = making.pick(COUNTED).format(part=part, count=draw.randint(2, 60), rack=draw.randint(1, 30))
            last = making.note(text, actor=making.pick(PEOPLE), day=day)
        making.note(making.pick(ORDERED).format(part=part, machine=making.machine(), who=making.pick(PEOPLE)))
        for _ in range(2):
            making.ask(STOCK, (last,), part=part)


def _names(making: _Making, count: int) -> None:
    """What somebody said, among what others said of the same, with the name as a word."""
    draw = making.random
    for _ in range(count):
        topic = making.pick(TOPICS).format(machine=making.machine())
        who, *others = draw.sample(PEOPLE, 3)
        said = making.note(making.pick(SAYS).format(topic=topic), actor=who)
        making.ask(NAMED, (said,), who=who, topic=topic)
        for other in others:
            making.note(making.pick((*SAYS, *WORDS)).format(topic=topic), actor=other)
        word = next((text for text in WORDS if who.lower() in text.split()), None)
        if word is not None:
            making.note(word.format(topic=topic), actor=making.pick(tuple(others)))


def _shorts(making: _Making, count: int) -> None:
    """Things that are written short and spelled out."""
    draw = making.random
    for short, long in SHORTS:
        making.note(f"{short} stands for {long}", importance=0.7)
    for _ in range(count):
        names = list(draw.choice(SHORTS))
        machine = making.machine()
        draw.shuffle(names)
        kept = making.note(making.pick(DONE).format(thing=names[0], machine=machine), actor=making.pick(PEOPLE))
        making.ask(SHORT, (kept,), thing=names[1] if draw.random() < 0.6 else names[0], machine=machine)


def _chatter(making: _Making, count: int) -> None:
    """What has nothing to do with machines; some of it is asked for."""
    draw = making.random
    same: dict[str, list[str]] = {}
    for _ in range(count):
        who = making.pick(PEOPLE)
        text = making.pick(CHATTER).format(
            food=making.pick(FOODS), day=making.pick(WEEK), n=draw.randint(1, 99), who=who
        )
        same.setdefault(text, []).append(making.note(text, actor=making.pick(PEOPLE)))
    for text, ids in same.items():
        if draw.random() < 0.5:
            making.ask(PLAIN, tuple(ids), text=text)


def _drawn(making: _Making, count: int) -> Iterator[Question]:
    """As many questions of each kind as there are shares for, in mixed order."""
    shares = {FIX: 0.27, SEEN: 0.15, STOCK: 0.22, NAMED: 0.16, SHORT: 0.1, PLAIN: 0.1}
    found = []
    for kind, share in shares.items():
        of_kind = list(dict.fromkeys(making.asked.get(kind, ())))
        making.random.shuffle(of_kind)
        found += [(kind, *one) for one in of_kind[: round(share * count)]]
    making.random.shuffle(found)
    for number, (kind, text, relevant) in enumerate(found):
        yield Question(id=f"q{number}", text=text, relevant=relevant, category=kind, asked_at=NOW, scope=SCOPE)
