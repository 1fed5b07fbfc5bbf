"""Output of `recall facts`: the slots of each subject, with the facts that hold and, below, those that held."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import groupby
from zoneinfo import ZoneInfo

from rich.console import Console
from rich.table import Table
from rich.text import Text

from recall_integrations.adapters.scopes import scope_text
from recall_integrations.config import RecallConfig
from recall_integrations.delivery.facts_shown import shown_facts
from recall_integrations.delivery.showing import Showing, Shown
from recall_integrations.facts.slots import Slots
from recall_integrations.privacy.door import Door
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.text.one_line import plain
from recall_integrations.types import Scope
from recall_integrations.types.facts import Fact

USER = "the user"
NOTHING = "nothing"  # of a slot of which there is only history
CHARS_SHOWN = 200  # of a value
IDS_SHOWN = 3  # of memories that say the same
REDACT_MS = 30_000.0


def seen_facts(store: MemoryStore, where: Scope, facts: Sequence[Fact], mode: str) -> list[Fact]:
    """Return facts as a privacy mode lets them be seen."""
    scope_id = store.scope_id(where)
    if scope_id is None:
        return []
    door = Door(mode, store.config.privacy.compiled)
    if door.open:
        return list(facts)
    memories = store.fetch_ids(scope_id, list({fact.memory_id for fact in facts}))
    return shown_facts(facts, memories, Shown(door, Deadline.after(REDACT_MS), Showing()))


def show_facts(console: Console, facts: Sequence[Fact], scope: Scope, at: datetime, config: RecallConfig) -> None:
    """Print a block for each subject, a row for each value; facts that do not hold at the time are indented below."""
    if not facts:
        console.print(Text(f"No facts are known in the scope {plain(scope_text(scope))} as of {at:%Y-%m-%d}."))
        return
    zone, slots = ZoneInfo(config.timezone), Slots.of(config.facts.slots)
    for i, (subject, of_subject) in enumerate(groupby(facts, lambda fact: fact.subject)):
        if i:
            console.print()
        console.print(Text(whom(subject), style="bold"))
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True, style="dim")
        table.add_column(overflow="fold", ratio=2)
        table.add_column(overflow="fold", ratio=3)
        for slot, of_slot in groupby(of_subject, lambda fact: fact.slot):
            _add_slot(table, plain(slots.called(slot)), list(of_slot), at, zone)
        console.print(table)


def whom(subject: str) -> str:
    """Return the owner of a slot for display: "the user", "the user's sister", a name."""
    return f"{USER}{plain(subject)}" if not subject or subject.startswith("'s ") else plain(subject)


def _add_slot(table: Table, called: str, facts: list[Fact], at: datetime, zone: ZoneInfo) -> None:
    held = [fact for fact in facts if fact.held_at(at)]
    if not held:
        table.add_row(f"  {called}", Text(NOTHING, style="dim"), "")
    for i, fact in enumerate(held):
        table.add_row("" if i else f"  {called}", _value(fact), Text(f"{_time(fact, zone)}  {_ids(fact)}"))
    for fact in reversed(facts):
        if not fact.held_at(at):
            value = Text("  ").append_text(_value(fact))
            table.add_row("", value, Text(f"{_time(fact, zone)}  {_ids(fact)}"), style="dim")


def _value(fact: Fact) -> Text:
    return Text(plain(fact.value, CHARS_SHOWN) or "(withheld)")


def _time(fact: Fact, zone: ZoneInfo) -> str:
    """Return the time since which a fact holds, or its span and the reason for its end."""
    begun = None if fact.valid_from is None else _day(fact.valid_from, zone)
    if fact.valid_to is None:
        return "always" if begun is None else f"since {begun}"
    stretch = "until" if begun is None else f"{begun} to"  # what "I used to" says began at no time that is known
    why = f", {fact.ended}" if fact.ended else ""
    by = f" by {plain(fact.superseded_by)}" if fact.superseded_by else ""
    return f"{stretch} {_day(fact.valid_to, zone)}{why}{by}"


def _day(moment: datetime, zone: ZoneInfo) -> str:
    try:
        return moment.astimezone(zone).date().isoformat()
    except OverflowError:
        return moment.date().isoformat()


def _ids(fact: Fact) -> str:
    return _listed(fact.said_by or (fact.memory_id,))


def _listed(ids: Iterable[str]) -> str:
    given = [plain(each) for each in ids]
    more = f" and {len(given) - IDS_SHOWN:,} more" if len(given) > IDS_SHOWN else ""
    return f"({', '.join(given[:IDS_SHOWN])}{more})"
