"""The memories and questions of `recall demo`: the working life of an invented engineer, told from their side.

Everything happens before `NOW`, a fixed Monday, so that the demonstration is the same on every day.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from recall_integrations.types import Memory, Relation, Scope

NOW = datetime(2026, 4, 20, 9, 0, tzinfo=timezone.utc)
SCOPE = Scope(user_id="demo")

ALIASES: dict[str, tuple[str, ...]] = {
    "Project Kestrel": ("Kestrel",),
    "Inbox3": ("Inbox 3",),
    "backend team": ("the backend team",),
}
"""Names that are declared before anything is remembered, with other ways to say them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoQuery:
    """A question of the demonstration."""

    text: str  # the question
    shows: str  # what it is an example of, in a few words
    plan: str  # the plan it is expected to get
    first: tuple[str, ...]  # ids of the memories of which one must come first; empty = no memory answers


QUERIES: tuple[DemoQuery, ...] = (
    DemoQuery(
        text="Who is Sarah's manager?",
        shows="a person and a relation",
        plan="entity_centric",
        first=("team-sarah-manager",),
    ),
    DemoQuery(
        text="what did I work on last Tuesday and Wednesday?",
        shows="a span of time",
        plan="temporal",
        first=("day-tuesday", "day-tuesday-2", "day-wednesday", "day-wednesday-2"),
    ),
    DemoQuery(
        text="What's my badge number?",
        shows="rare words",
        plan="precision",
        first=("fact-badge",),
    ),
    DemoQuery(
        text="what are my general preferences?",
        shows="a broad question about one type of memory",
        plan="exploratory",
        first=("pref-general",),
    ),
    DemoQuery(
        text="When was Inbox3 fixed on 17 March?",
        shows="a product and a day",
        plan="precise",
        first=tuple(f"inbox3-incident-{n}" for n in range(1, 6)),
    ),
    DemoQuery(
        text="Who is working on Kestral, but not Sam?",
        shows="a misspelt name, and somebody to leave out",
        plan="balanced",
        first=("kestrel-mei",),
    ),
)

SCORE_MIN = 0.2  # probability below which no note is shown
CHANGES: tuple[DemoQuery, ...] = (
    DemoQuery(
        text="When is the standup?",
        shows="what changed, asked for now",
        plan="precision",
        first=("standup-april",),
    ),
    DemoQuery(
        text="When was the standup before?",
        shows="what changed, asked for before",
        plan="precision",
        first=("standup-march",),
    ),
    DemoQuery(
        text="Who is the dentist?",
        shows="nothing is known of it",
        plan="exploratory",
        first=(),
    ),
)
"""Questions to the notes."""


def notes() -> tuple[Memory, ...]:
    """Return three notes of a store of their own; the last tells anew what the first told."""
    told = (
        ("standup-march", "The standup is at nine", "03-02"),
        ("database", "We chose PostgreSQL as the database", "03-16"),
        ("standup-april", "The standup moved to half past ten", "04-06"),
    )
    return tuple(Memory(text, id=key, event_at=_at(day)) for key, text, day in told)


def memories() -> tuple[Memory, ...]:
    """Return all memories of the demonstration, in order of arrival."""
    return tuple(Memory(**fields) for group in (_people, _kestrel, _inbox3, _days, _own) for fields in group())


def _at(day: str, clock: str = "09:00") -> datetime:
    """Return a moment of the demonstration's year, or of the year named: "04-14", "2025-11-03"."""
    year = "" if len(day) > 5 else "2026-"
    return datetime.fromisoformat(f"{year}{day}T{clock}:00+00:00")


def _row(key: str, kind: str, day: str, text: str, *names: str, **more: Any) -> dict[str, Any]:
    """Return the fields of one memory; `edges` are relations as triples, `clock` is the time of day."""
    moment = _at(day, more.pop("clock", "09:00"))
    edges = tuple(Relation(*edge) for edge in more.pop("edges", ()))
    fields = {"text": text, "id": key, "type": kind, "entities": names, "relations": edges, "created_at": moment}
    if kind in ("event", "observation"):
        fields["event_at"] = moment
    return {**fields, **more}


def _people() -> Iterator[dict[str, Any]]:
    yield _row(
        "team-sarah-manager", "fact", "01-12",
        "Sarah reports to Diego; he became her manager in the January reorganisation.",
        "Sarah", "Diego", edges=[("Sarah", "reports_to", "Diego"), ("Diego", "manager_of", "Sarah")], importance=0.7,
    )  # fmt: skip
    yield _row(
        "team-my-manager", "fact", "01-12", "Priya is my manager and leads Project Kestrel.",
        "Priya", "Project Kestrel", edges=[("Priya", "leads", "Project Kestrel")], importance=0.8,
    )  # fmt: skip
    yield _row(
        "team-sam", "fact", "01-13", "Sam reports to Priya and joined from the support desk.",
        "Sam", "Priya", edges=[("Priya", "manager_of", "Sam"), ("Sam", "reports_to", "Priya")],
    )  # fmt: skip
    yield _row(
        "team-backend", "fact", "01-14", "The backend team is Priya, Sam, Mei and Anika.",
        "backend team", "Priya", "Sam", "Mei", "Anika",
        edges=[(name, "member_of", "backend team") for name in ("Priya", "Sam", "Mei", "Anika")],
    )  # fmt: skip
    yield _row(
        "team-design", "fact", "01-14", "Sarah and Tom make up the design guild; Tom draws the icons.",
        "Sarah", "Tom", "design guild",
        edges=[("Sarah", "member_of", "design guild"), ("Tom", "member_of", "design guild")],
    )  # fmt: skip
    yield _row("sarah-office", "fact", "02-02", "Sarah works from the Lisbon office on Thursdays.", "Sarah", "Lisbon")
    yield _row(
        "sarah-review", "event", "03-05", "I have put the new colour tokens for the settings page up for review.",
        "Sarah", actor="Sarah", channel="slack",
    )  # fmt: skip
    yield _row(
        "sarah-lunch", "event", "04-09", "Lunch with Sarah; she is learning the cello and looks for a quartet.", "Sarah"
    )
    yield _row(
        "priya-style", "observation", "02-10",
        "Priya likes short written updates with the decision in the first line, and few meetings.", "Priya",
    )  # fmt: skip
    yield _row(
        "priya-mvp", "event", "04-19", "Priya said the MVP can ship without invoice search.",
        "Priya", actor="Priya", channel="slack",
    )  # fmt: skip
    yield _row(
        "mei-oncall", "fact", "02-17", "Mei carries the on-call pager in odd weeks, Anika in even ones.", "Mei", "Anika"
    )
    yield _row("diego-budget", "event", "03-30", "Diego approved the conference budget for two people.", "Diego")
    yield _row("tom-leave", "event", "04-03", "Tom is on parental leave until the end of June.", "Tom")
    yield _row(
        "anika-mentor", "observation", "02-24", "Anika explains database internals better than any book.", "Anika"
    )


def _kestrel() -> Iterator[dict[str, Any]]:
    yield _row(
        "kestrel-goal", "fact", "01-15", "Project Kestrel replaces the billing system before the summer price change.",
        "Project Kestrel", importance=0.7,
    )  # fmt: skip
    yield _row(
        "kestrel-depends", "fact", "01-20", "Project Kestrel depends on the ledger service, which Mei owns.",
        "Project Kestrel", "ledger service", "Mei",
        edges=[("Project Kestrel", "depends_on", "ledger service"), ("Mei", "owns", "ledger service")],
    )  # fmt: skip
    talk = (
        ("Sam", "Which database do we take for Kestrel? The old one locks up at month end."),
        ("Mei", "The ledger service is happy on SQLite, but it never sees two writers at once."),
        ("Priya", "I recommend PostgreSQL for Project Kestrel: we need row locks and a proper audit trail."),
        ("Anika", "Fine by me, as long as migrations run without downtime."),
        ("Sam", "Then I will measure the month-end run on PostgreSQL before Friday."),
        ("Priya", "Good. We decide on Friday, and I write the note."),
    )
    for place, (who, words) in enumerate(talk):
        yield _row(
            f"kestrel-db-{place + 1}", "chunk", "02-18", words, who, "Project Kestrel",
            actor=who, channel="slack", thread="kestrel-database", position=place, clock=f"10:{place * 3:02d}",
        )  # fmt: skip
    yield _row(
        "kestrel-db-summary", "summary", "02-20",
        "Summary of the database thread: Kestrel moves to PostgreSQL; Sam measured the month-end run at nine minutes.",
        "Project Kestrel", "Sam", thread="kestrel-database", position=6, refs=["thread:kestrel-database"],
    )  # fmt: skip
    yield _row(
        "kestrel-sam", "fact", "03-02", "Sam is working on the month-end run of Kestrel.", "Sam", "Project Kestrel",
        edges=[("Sam", "works_on", "Project Kestrel")],
    )  # fmt: skip
    yield _row(
        "kestrel-mei", "fact", "03-02", "Mei is working on the ledger side of Kestrel.", "Mei", "Project Kestrel",
        edges=[("Mei", "works_on", "Project Kestrel")],
    )  # fmt: skip
    yield _row(
        "kestrel-slip",
        "event",
        "03-26",
        "The Kestrel pilot slipped by two weeks because of tax rounding.",
        "Project Kestrel",
    )
    yield _row("kestrel-pilot", "event", "04-10", "Three customers started on the Kestrel pilot.", "Project Kestrel")
    yield _row(
        "kestrel-risk",
        "observation",
        "04-13",
        "Nobody has tested Kestrel with refunds across two currencies.",
        "Project Kestrel",
    )
    yield _row(
        "kestrel-budget", "fact", "01-29", "The vendor contract of the old billing system ends on 31 July.",
        refs=["doc:billing-contract"],
    )  # fmt: skip


def _inbox3() -> Iterator[dict[str, Any]]:
    yield _row("inbox3-what", "fact", "01-21", "Inbox3 sorts support mail into queues; Sam owns it.", "Inbox3", "Sam",
               edges=[("Sam", "owns", "Inbox3")])  # fmt: skip
    yield _row("inbox3-january", "event", "01-27", "Inbox3 went live for the Dublin office.", "Inbox3", "Dublin")
    yield _row("inbox3-february", "event", "02-11", "Inbox3 learned to recognise refund requests.", "Inbox3")
    yield _row(
        "inbox3-march",
        "event",
        "03-03",
        "Work on the Inbox3 rewrite began: new parser, same queues.",
        "Inbox3",
        importance=0.6,
    )
    talk = (
        ("Mei", "Inbox3 is dropping every mail with an attachment over ten megabytes."),
        ("Sam", "Found it: the Inbox3 rewrite counts the encoded size, the old parser the decoded one."),
        ("Anika", "I can replay the lost mails from the archive."),
        ("Sam", "Inbox3 is fixed and deployed; the limit is checked after decoding now."),
        ("Anika", "All 214 lost mails are back in their Inbox3 queues."),
    )
    for place, (who, words) in enumerate(talk):
        yield _row(
            f"inbox3-incident-{place + 1}", "event", "03-17", words, who, "Inbox3",
            actor=who, channel="slack", thread="inbox3-incident", position=place, clock=f"14:{place * 7:02d}",
        )  # fmt: skip
    yield _row(
        "inbox3-summary", "summary", "03-18",
        "Post-mortem of the Inbox3 incident: large attachments were dropped for three hours; no mail is lost.",
        "Inbox3", event_at=_at("03-18"), importance=0.7, refs=["thread:inbox3-incident"],
    )  # fmt: skip
    yield _row("inbox3-april", "event", "04-07", "Inbox3 now answers shipping questions by itself.", "Inbox3")
    yield _row(
        "inbox3-numbers",
        "observation",
        "04-16",
        "Inbox3 sorts 4,100 mails a day, twice as many as in winter.",
        "Inbox3",
    )


def _days() -> Iterator[dict[str, Any]]:
    yield _row("day-monday", "event", "04-13", "I planned the sprint and cleared the review queue.", clock="16:00")
    yield _row("day-tuesday", "event", "04-14", "I worked on the retry logic of the payment webhook.", clock="15:00")
    yield _row("day-tuesday-2", "event", "04-14", "I worked with Anika on flaky webhook tests.", "Anika", clock="11:00")
    yield _row(
        "day-wednesday", "event", "04-15", "I worked on the currency rounding report for finance.", clock="14:00"
    )
    yield _row(
        "day-wednesday-2",
        "event",
        "04-15",
        "I worked with Diego on questions for platform interviews.",
        "Diego",
        clock="10:00",
    )
    yield _row("day-thursday", "event", "04-16", "I worked on the onboarding guide for new engineers.", clock="13:00")
    yield _row(
        "day-friday", "event", "04-17", "I worked on release notes and left early for the dentist.", clock="12:00"
    )
    yield _row(
        "day-older", "event", "04-07", "I worked on log sampling; the bill for storage fell by a third.", clock="15:00"
    )
    yield _row("day-oldest", "event", "03-24", "I worked on a proof of concept for passkey sign-in.", clock="15:00")
    yield _row("ship-cache", "event", "04-02", "Priya and I shipped the session cache in the API gateway.", "Priya")
    yield _row("ship-frontend", "event", "04-08", "Priya and I shipped the frontend of the invoice page.", "Priya")
    yield _row("ship-frontend-2", "event", "03-12", "I shipped the frontend login form; Priya reviewed it.", "Priya")
    yield _row("front-bundle", "event", "03-19", "I cut the frontend bundle from 900 to 410 kilobytes.")
    yield _row("front-icons", "event", "03-20", "Tom and I replaced the icons of the frontend.", "Tom")
    yield _row("day-talk", "event", "03-27", "I gave a talk on idempotent consumers at the meetup.")
    yield _row("day-backup", "event", "02-27", "I restored a backup in a drill; it took 48 minutes.")


def _own() -> Iterator[dict[str, Any]]:
    facts = {
        "fact-badge": "My badge number is K-20417; the spare badge is in the top drawer.",
        "fact-desk": "My desk is number 31 on the fourth floor, by the window.",
        "fact-laptop": "My laptop is due for replacement in September.",
        "fact-vpn": "The general VPN profile is called corp-west; the other one is slower.",
        "fact-wifi": "The guest network in the office changes its password every Monday.",
        "fact-parking": "Parking is free after six in the evening.",
        "fact-allergy": "I am allergic to peanuts.",
        "fact-dentist": "My dentist is Dr Okafor in the arcade.",
        "fact-cat": "Our cat is called Biscuit and must not get milk.",
    }
    for key, text in facts.items():
        yield _row(key, "fact", "2025-11-03", text)
    preferences = {
        "pref-general": "In general I prefer written, asynchronous updates over meetings.",
        "pref-focus": "I prefer to keep mornings free for focused work.",
        "pref-editor": "I prefer a dark theme and a large font in the editor.",
        "pref-coffee": "I take my coffee black; after three I prefer tea.",
        "pref-travel": "I prefer trains to planes for anything under six hours.",
        "pref-review": "In general I like small pull requests, at most 300 lines.",
        "pref-food": "I prefer a vegetarian lunch on working days.",
        "pref-tests": "I would rather delete a flaky test than retry it.",
    }
    for key, text in preferences.items():
        yield _row(key, "preference", "2025-12-01", text, importance=0.8 if key == "pref-general" else 0.5)
    skills = {
        "skill-rollback": "To roll back a release: pin the old image, drain one node, watch errors for ten minutes.",
        "skill-restore": "To restore a backup: stop the writers, load the snapshot, replay the log, count rows.",
        "skill-profile": "To profile a slow endpoint: record a flame graph under load before touching any code.",
        "skill-incident": "In an incident: name a lead, open a channel, post every fifteen minutes, write it up.",
        "skill-handover": "For an on-call handover: list open and silenced alerts, and what to look at first.",
    }
    for key, text in skills.items():
        yield _row(key, "skill", "2025-12-15", text)
    yield _row(
        "week-summary", "summary", "04-17",
        "Week of 13 April: webhook retries, rounding report, interviews, release notes.",
        event_at=_at("04-17", "17:00"),
    )  # fmt: skip
    yield _row(
        "all-hands", "event", "04-01", "At the general meeting the company announced an office in Porto.", "Porto"
    )
