"""Results on a terminal: readable at 80 columns, plain text when piped.

Everything that comes from a store or a user is shown through `plain`, never as markup: a memory must not be able to
colour, move or fake what the terminal shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone, tzinfo
from itertools import groupby
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from rich import box
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from recall_integrations.adapters.scopes import scope_text
from recall_integrations.config import RecallConfig
from recall_integrations.delivery.showing import Showing, Shown, not_searched, shown_facts
from recall_integrations.facts.slots import Slots
from recall_integrations.indexes.times import from_micros
from recall_integrations.privacy.door import Door
from recall_integrations.query.features import IMPLICIT
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.store.doctor.findings import Findings
from recall_integrations.store.memory_store import MemoryStore
from recall_integrations.text.shortening import number_of, plain
from recall_integrations.types import (
    CacheOutcome,
    EntityRef,
    Hit,
    MemoryType,
    ParsedQuery,
    RecallResult,
    Scope,
    TemporalWindow,
)
from recall_integrations.types.facts import Fact
from recall_integrations.types.judged import RULES
from recall_integrations.types.observing import Feedback
from recall_integrations.types.result import CUT, NAME, NEAR, TIME, WORD, excerpt, pieces, within

if TYPE_CHECKING:
    from recall_integrations.learning.learner import Status, Step
    from recall_integrations.learning.versions import Event, State

STYLES = {WORD: "bold", NEAR: "underline", NAME: "bold cyan", TIME: "bold magenta"}
SIGN = "*"


def shown_text(console: Console, hit: Hit, limit: int, *, signs: bool = False) -> Text:
    """Return the text on one line; of a longer text the `limit` characters that say most."""
    text = hit.memory.text
    if not text:
        return Text("(text withheld)")
    coloured = console.color_system is not None and not console.no_color
    if not coloured and not signs:
        return Text(plain(text, limit))
    start, end = excerpt(text, hit.highlights, limit)
    shown = Text(CUT if start else "")
    for part, highlight in pieces(text[start:end], within(hit.highlights, start, end)):
        line = _spaced(part)
        if highlight is None:
            shown.append(line)
        elif coloured:
            shown.append(line, STYLES[highlight.kind])
        else:
            shown.append(f"{SIGN}{line}{SIGN}")
    return shown.append(CUT if end < len(text) else "")


def _spaced(part: str) -> str:
    """Put a part of a line on one line, with a space where it begins or ends with one."""
    line = plain(part)
    if not line:
        return " " if part else ""
    return f"{' ' * part[0].isspace()}{line}{' ' * part[-1].isspace()}"


TEXT_CHARS_SHOWN = 400
_STATE_STYLES = {"problem": "red", "notice": "yellow", "mended": "green"}
SMALL = 0.0005  # what a source added or took below this is not shown


# -- one recall ------------------------------------------------------------------------------------------------------


def show_result(console: Console, result: RecallResult, scope: Scope, *, ids: bool = True) -> None:
    """Print the plan and the hits."""
    _show_plan(console, result)
    console.print()
    show_found(console, result, scope, ids=ids)


def show_found(
    console: Console, result: RecallResult, scope: Scope | None = None, *, ids: bool = True, details: bool = False
) -> None:
    """Print the hits, what explains the answer, and what was left out or failed."""
    if (error := not_searched(result)) is None:
        show_hits(console, result.hits, result.query.now, scope, ids=ids, details=details)
    else:
        console.print(Text(plain(str(error)), style="yellow"))
    for note in result.notes:
        console.print(Text(plain(note.detail or note.reason), style="yellow"))
    for step in result.degraded:
        words = f"left out: {step.stage} ({step.reason})" + (f": {step.detail}" if step.detail else "")
        console.print(Text(plain(words), style="yellow"))


def _show_plan(console: Console, result: RecallResult) -> None:
    grid, plan = pairs((name, plain(value)) for name, value in understood(result.query)), result.plan
    because = plain(plan.reason.removeprefix(f"{plan.name}: "))
    grid.add_row("plan", Text.assemble((plan.name, "bold cyan"), "  because ", because))
    if result.version != RULES:
        grid.add_row("answered by", Text(plain(result.version)))
    grid.add_row("asked", Text(", ".join(_arm(a.name, a.weight, result) for a in plan.arms)))
    total, stages = result.timings_ms.get("total", 0.0), f"  ({stage_words(result.timings_ms)})"
    grid.add_row("took", Text.assemble(f"{total:.1f} ms", (stages, "dim")))
    if result.cache.strategy != "disabled":
        grid.add_row("cache", Text(cache_words(result.cache)))
    console.print(grid)


def understood(parsed: ParsedQuery) -> list[tuple[str, str]]:
    """Return label and words of what the parser found; without the user, who is in every query."""
    rows = []
    refs = [r for r in parsed.entity_refs if r.stage != IMPLICIT]
    if refs:
        named = (r.name if r.name.casefold() == r.mention.casefold() else f"{r.name} (“{r.mention}”)" for r in refs)
        rows.append(("names", ", ".join(dict.fromkeys(named))))
    if parsed.predicate_hints:
        rows.append(("relation", ", ".join(parsed.predicate_hints)))
    if parsed.temporal_window is not None:
        rows.append(("time", window_words(parsed.temporal_window)))
    if parsed.type_hints:
        rows.append(("type", ", ".join(t.value for t in parsed.type_hints)))
    if parsed.negations:
        rows.append(("not", ", ".join(parsed.negations)))
    return rows


def reference_words(ref: EntityRef) -> str:
    """Return the canonical name, the words that name it, what resolved it, and how sure that is."""
    if ref.stage == IMPLICIT:
        return plain(f"{ref.name}, who asks; implicit, named or not")
    return plain(f"{ref.name} ← “{ref.mention}”, {ref.stage}, confidence {ref.confidence:.2f}")


def window_words(window: TemporalWindow) -> str:
    """Write a window as `from … to before …`; the time of day only where it is not midnight."""

    def words(moment: datetime) -> str:
        midnight = (moment.hour, moment.minute, moment.second, moment.microsecond) == (0, 0, 0, 0)
        return moment.strftime("%Y-%m-%d") if midnight else moment.strftime("%Y-%m-%d %H:%M")

    def from_to(start: datetime | None, end: datetime | None) -> str:
        if start is None:
            return "any time" if end is None else f"before {words(end)}"
        return f"from {words(start)}" + ("" if end is None else f" to before {words(end)}")

    return ", or ".join(from_to(*each) for each in window.times)


def show_hits(
    console: Console,
    hits: Iterable[Hit],
    now: datetime | None,
    scope: Scope | None = None,
    *,
    ids: bool = True,
    details: bool = False,
) -> None:
    """Print score, text, reason and day of hits; with `ids` the id, with `details` what each source added.

    Days are in the zone of `now`.

    A hit of another scope than `scope` is shown with its own.
    """
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, expand=True)
    table.add_column("#", justify="right", style="dim", no_wrap=True)
    table.add_column("score", justify="right", style="bold", no_wrap=True)
    table.add_column("memory", ratio=1)
    table.add_column("type, day", style="dim", no_wrap=True)
    for place, hit in enumerate(hits, start=1):
        memory, moment = hit.memory, hit.memory.event_at
        if moment is None and memory.type != MemoryType.CHUNK:  # a document is not of the day it was stored
            moment = memory.created_at
        text = shown_text(console, hit, TEXT_CHARS_SHOWN, signs=details)
        lines = [Text.assemble((f"{plain(memory.actor)}: ", "cyan"), text) if memory.actor else text]
        lines.append(Text(plain(hit.reason), style="green"))
        if details:
            lines.append(Text(_contributions(hit), style="dim"))
        elsewhere = "" if scope is None or hit.scope in (None, scope) else f"  in {plain(scope_text(hit.scope))}"
        if ids or elsewhere:
            lines.append(Text(f"id {plain(memory.id or '')}{elsewhere}" if ids else elsewhere.strip(), style="dim"))
        day = _day(moment, now.tzinfo if now else None) if moment else ""
        table.add_row(str(place), f"{hit.score:.2f}", Text("\n").join(lines), f"{memory.type}\n{day}")
    if table.row_count:
        console.print(table)
    else:
        console.print(Text("Nothing found" + ("." if scope is None else f" in the scope {plain(scope_text(scope))}.")))


def _contributions(hit: Hit) -> str:
    parts = []
    for c in hit.contributions:
        place = f" #{c.rank}" if c.rank else ""
        own = "" if c.rank is None and c.score == c.added else f" {c.score:.3g} →"  # most movers have no score
        if abs(c.added) >= SMALL:
            parts.append(f"{c.source}{place}{own} {c.added:+.3f}")
        elif c.rank or c.source == "rerank":
            parts.append(f"{c.source}{place} {c.score:.3g}")
    return "; ".join(parts)


def cache_words(cache: CacheOutcome) -> str:
    """Return what the result cache did."""
    age = f", {cache.age_ms / 1e3:.1f} s old" if cache.hit else ""
    return f"{cache.strategy} ({cache.reason}){age}"


# -- store -----------------------------------------------------------------------------------------------------------


def show_stats(console: Console, stats: Mapping[str, Any]) -> None:
    """Print the contents of a store; `stats` is the value that `--json` prints."""
    types = ", ".join(f"{count:,} {kind}" for kind, count in sorted(stats["types"].items())) or "none"
    lag = ", ".join(f"{name} by {count:,}" for name, count in stats["index_lag"].items() if count)
    filling = sum(stats.get("collections_lack", {}).values())
    rows = {
        "store": f"{stats['path']} (schema {stats['schema_version']}, {decimal(stats['bytes'])})",
        "embedding": stats["embedding"],
        "memories": f"{stats['memories']:,}",
        "types": types,
        "events": f"{stats['first_event'][:10]} to {stats['last_event'][:10]}"
        if stats["first_event"]
        else "none dated",
        "entities": f"{stats['entities']:,}, {stats['mentions']:,} mentions, {stats['edges']:,} relations",
        "behind": lag or "no index",
        **({"filling": f"{filling:,} vectors of large scopes are scanned until they are indexed"} if filling else {}),
    }
    grid = pairs((name, plain(value)) for name, value in rows.items())
    for notice in stats["notices"]:
        grid.add_row("notice", Text(plain(notice), style="yellow"))
    console.print(grid)
    if stats["scopes"]:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        table.add_column("scope")
        table.add_column("memories", justify="right")
        for row in stats["scopes"]:
            table.add_row(Text(plain(row["scope"])), f"{row['memories']:,}")
        console.print()
        console.print(table)


def pairs(rows: Iterable[tuple[str, str]] = ()) -> Table:
    """Return a grid of labels and values."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column()
    for label, value in rows:
        grid.add_row(label, Text(value))
    return grid


def _arm(name: str, weight: float, result: RecallResult) -> str:
    if f"arm.{name}" not in result.timings_ms:
        return f"{name} (nothing to look for)"
    return name if weight == 1 else f"{name} ×{weight:g}"


def stage_words(timings_ms: Mapping[str, float]) -> str:
    """Return the time of each stage that took any."""
    stages = ((name, ms) for name, ms in timings_ms.items() if name != "total" and not name.startswith("arm."))
    return " · ".join(f"{name} {ms:.1f}" for name, ms in stages if ms >= 0.05)


# -- the state of a store --------------------------------------------------------------------------------------------


def show_findings(console: Console, found: Findings) -> None:
    """Print the checks of `recall doctor`, a row each; below a check that is not in order, examples and remedy."""
    grid = Table.grid(padding=(0, 2))
    for check in found.checks:
        more = [*(f"- {plain(example)}" for example in check.examples), plain(check.remedy)]
        said = "\n".join(part for part in (plain(check.says), *more) if part)
        grid.add_row(Text(check.state, _STATE_STYLES.get(check.state, "")), check.name, Text(said))
    console.print(grid)
    counts = {state: len(found.of(state)) for state in ("problem", "skipped", "notice", "mended")}
    said = ", ".join(f"{n} {state}" for state, n in counts.items() if n) or "nothing to report"
    console.print(f"\n{'Clean' if found.clean else 'Not clean'}. {len(found.checks)} checks: {said}.", markup=False)


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
    memories = store.reader.fetch_ids(scope_id, list({fact.memory_id for fact in facts}))
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


def _day(moment: datetime, zone: tzinfo | None) -> str:
    try:
        return moment.astimezone(zone or timezone.utc).date().isoformat()
    except OverflowError:
        return moment.date().isoformat()


def _ids(fact: Fact) -> str:
    given = [plain(each) for each in fact.said_by or (fact.memory_id,)]
    more = f" and {len(given) - IDS_SHOWN:,} more" if len(given) > IDS_SHOWN else ""
    return f"({', '.join(given[:IDS_SHOWN])}{more})"


# -- what was learned, and feedback ------------------------------------------------------------------------------------

EVENTS_SHOWN = 5
SIGNATURES_SHOWN = 5
STEPS = {
    "started": "on trial",
    "promoted": "promoted",
    "rolled_back": "rolled back",
    "nothing": "nothing better",
    "skipped": "not now",
}


def show_status(console: Console, every: Sequence[Status], config: RecallConfig) -> None:
    """Print a block for each scope, then how to go on."""
    zone = ZoneInfo(config.timezone)
    for i, status in enumerate(every):
        if i:
            console.print()
        console.print(Text(plain(scope_text(status.scope)), style="bold"))
        _show_one(console, status, config, zone)
    if not any(status.judged for status in every):
        console.print(Text("No recall was judged yet. Say which memories helped: recall feedback STORE --query …"))
    if config.mode != "learned":
        said = f"\nmode is {config.mode} in these settings: rules answer, whatever was learned. mode: learned lets it."
        console.print(Text(said, style="yellow"))


def _show_one(console: Console, status: Status, config: RecallConfig, zone: ZoneInfo) -> None:
    state = status.state
    grid = pairs(_standing(state, config, zone))
    need = config.learned.min_queries_per_signature
    judged = number_of(status.judged, "recall")
    usable = f"{status.replayed:,} can be learned from" + (f", {need:,} are needed" * (status.replayed < need))
    grid.add_row("judged", Text(f"{judged}: in {status.helpful:,} something helped, {usable}"))
    for label, (value, count) in sorted(status.ndcg.items(), key=lambda one: (one[0] != RULES, one[0])):
        grid.add_row(f"nDCG@5 {label}", Text(f"{value:.3f} on {count:,}"))
    if status.ndcg_by_plan:
        words = ", ".join(f"{plan} {value:.3f}" for plan, value in status.ndcg_by_plan.items())
        grid.add_row("nDCG@5 by plan", Text(words))
    if status.signatures:
        most = list(status.signatures.items())[:SIGNATURES_SHOWN]
        more = len(status.signatures) - len(most)
        words = "; ".join(f"{name}: {count:,}" for name, count in most) + (f"; {more} more" if more else "")
        grid.add_row("queries", Text(words))
    for i, event in enumerate(reversed(state.events[-EVENTS_SHOWN:])):
        grid.add_row("" if i else "last steps", Text(_event(event, zone)))
    console.print(grid)


def _standing(state: State, config: RecallConfig, zone: ZoneInfo) -> list[tuple[str, str]]:
    since = f" since {_minute(state.since, zone)}" if state.since else ""
    serving = "rules and shipped weights" if state.serving == RULES else state.serving
    rows = [("serves", serving if state.candidate else serving + since)]
    if state.candidate:
        share = config.learned.traffic_fraction_for_new_weights
        rows.append(("on trial", f"{state.candidate}{since}, answers {share:.0%} of the queries"))
    if state.held_back:
        rows.append(("held back", "taken back by hand: nothing is learned until a version is promoted"))
    return rows


def _event(event: Event, zone: ZoneInfo) -> str:
    what = " ".join(part for part in (event.version, STEPS.get(event.step, event.step)) if part)
    return f"{_minute(event.at, zone)}  {plain(what)}: {plain(event.because)}"


def show_steps(console: Console, steps: Sequence[Step]) -> None:
    """Print the steps of a run, a row for each scope."""
    if not steps:
        console.print(Text("No recall was judged yet: there is nothing to learn from."))
        return
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for title in ("scope", "what", "version", "judged", "because"):
        table.add_column(title, justify="right" if title == "judged" else "left", overflow="fold")
    for step in steps:
        table.add_row(
            Text(plain(scope_text(step.scope))),
            Text(STEPS.get(step.step, step.step)),
            step.version or "-",
            f"{step.judged:,}",
            Text(plain(step.because)),
        )
    console.print(table)


def show_state(console: Console, scope: Scope, state: State, undo: str, *, config: RecallConfig) -> None:
    """Print the state after a step by hand."""
    console.print(Text(f"In {plain(scope_text(scope))}, from the next recall on:"))
    console.print(pairs(_standing(state, config, ZoneInfo(config.timezone))))
    console.print(Text(f"To undo it: {undo}"), soft_wrap=True)  # a command that is copied is one line


def show_feedback(console: Console, feedback: Feedback) -> None:
    """Print the feedback that was kept, and the ids that were ignored."""
    for scope, of_ids in feedback.gains.items():
        for memory_id, gain in of_ids.items():
            said = "helped" if gain == 1 else "did not help" if gain == 0 else f"helped by {gain:.2f}"
            console.print(Text(f"{plain(memory_id)} {said} ({plain(scope_text(scope))})"))
    if feedback.ignored:
        ids = ", ".join(plain(one) for one in feedback.ignored)
        console.print(Text(f"Not there, and left out: {ids}", style="yellow"))
    if not feedback:
        console.print(Text("Nothing is kept: none of it is about a memory that is there."))


def _minute(micros: int, zone: ZoneInfo) -> str:
    moment: datetime = from_micros(micros).astimezone(zone)
    return f"{moment:%Y-%m-%d %H:%M}"
