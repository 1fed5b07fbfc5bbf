"""`recall explain`: what a query was read as, which plan that gives, and what came of it, at a glance.

In a notebook: `explain(rich.console.Console(), optimizer.recall("…"), config=optimizer.config)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from recall_integrations.arms.retrievers import worth_asking
from recall_integrations.config import PlannerConfig, RecallConfig
from recall_integrations.console.rendering import (
    cache_words,
    pairs,
    reference_words,
    show_found,
    stage_words,
    whom,
    window_words,
)
from recall_integrations.delivery.highlights import marks
from recall_integrations.facts.slots import Slots
from recall_integrations.languages import ENGLISH, READ, tables
from recall_integrations.planning.planner import WINDOW_CONFIDENCE_MIN, WITHOUT, decides, make_plan
from recall_integrations.query.features import IMPLICIT, WEIGHTS
from recall_integrations.text.shortening import plain
from recall_integrations.types import Hit, ParsedQuery, RecallResult, RetrievalPlan
from recall_integrations.types.judged import RULES
from recall_integrations.types.query import (
    CORRECTED,
    ENTITY,
    IDENTIFIER,
    NEGATED,
    RARE,
    SESSION,
    STOP,
    TIME,
)
from recall_integrations.types.result import Decision

QUERY_CHARS_SHOWN = 2_000
ITEMS_SHOWN = 12
# Of the words that play a role. Words on a ground of their own can be read on dark and on light terminals.
STYLES = {
    ENTITY: "black on bright_cyan",
    TIME: "black on bright_magenta",
    SESSION: "black on bright_blue",
    NEGATED: "black on bright_red",
    IDENTIFIER: "black on bright_green",
    CORRECTED: "black on bright_yellow",
    RARE: "bold underline",
    STOP: "dim",
}


def show_query(console: Console, parsed: ParsedQuery) -> None:
    """Print the query; where there are colours, its words in those of their roles, and a legend of these."""
    shown = Text("".join(plain(c) or " " for c in parsed.original[:QUERY_CHARS_SHOWN]))
    found = [mark for mark in marks(parsed) if mark.start < len(shown)]
    for mark in found:
        shown.stylize(STYLES[mark.role], mark.start, mark.end)
    console.print()
    console.print(Padding(shown, (0, 0, 0, 2), expand=False))
    if len(parsed.original) > QUERY_CHARS_SHOWN:
        console.print(Text(f"  … and {len(parsed.original) - QUERY_CHARS_SHOWN:,} characters more", style="dim"))
    roles = [role for role in STYLES if any(mark.role == role for mark in found)]
    if roles and console.color_system is not None and not console.no_color:
        console.print()
        console.print(Text("  ").append_text(Text("  ").join(Text(f" {role} ", STYLES[role]) for role in roles)))


def some(items: Iterable[str]) -> str:
    """Join the first few items into one line for display."""
    every = [plain(item, 60) for item in items]
    more = len(every) - ITEMS_SHOWN
    return ", ".join(every[:ITEMS_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


FEATURES = {  # as fields of `QueryFeatures` → for people
    "entity_density": "entity density",
    "temporal": "time",
    "lexical_rarity": "lexical rarity",
    "type_cues": "type cues",
}
SWITCHES = "type_filter window_filter time_filter in_order exact_match time_bias rewrite rerank diversity".split()

ASKED = {  # of the modes of `facts.question`
    "now": "how it is now",
    "then": "how it was then",
    "previous": "what it was before",
    "history": "how it changed",
    "when": "when it changed",
}


def explain(
    console: Console,
    found: RecallResult | ParsedQuery,
    plan: RetrievalPlan | None = None,
    config: RecallConfig | None = None,
) -> None:
    """Show how a query is understood and answered.

    Args:
        console: where; 80 columns or more look best.
        found: a whole recall, or only the parsed query: then nothing is said of times and hits.
        plan: what is done about it; default the plan of the recall, or the one that `config` gives.
        config: of the optimizer that made `found`; default `RecallConfig()`.
    """
    config = config or RecallConfig()
    if isinstance(found, ParsedQuery):
        show_reading(console, found, plan or make_plan(found, config), config)
        console.print(Text("Planned only; nothing was searched.", style="dim"))
        return
    show_reading(console, found, plan or found.plan, config)
    _heading(console, f"best {len(found.hits)}" if len(found.hits) > 1 else "hits")
    show_found(console, found, details=True)


def show_reading(
    console: Console, found: RecallResult | ParsedQuery, plan: RetrievalPlan, config: RecallConfig
) -> None:
    """Print all that led to the hits: what the query was read as, rules, arms, and what facts decided."""
    result = found if isinstance(found, RecallResult) else None
    parsed = found.query if isinstance(found, RecallResult) else found
    _heading(console, "query")
    show_query(console, parsed)
    readings = (_dated(parsed, plan, config.planner), _session(parsed, plan, config.planner), _read(parsed))
    console.print()
    console.print(pairs(chain(_language(parsed), _named(parsed), *readings)))
    _heading(console, "features")
    _show_features(console, parsed, config)
    _heading(console, "rules, in the order they are tried")
    console.print(_rules(plan))
    console.print()
    _show_decision(console, parsed, plan, config.planner, RULES if result is None else result.version)
    _heading(console, "arms")
    console.print(_arms(parsed, plan, result))
    if result is None:
        return
    total = result.timings_ms.get("total", 0.0)
    console.print(Text(f"all together {total:.1f} ms: {stage_words(result.timings_ms)}", style="dim"))
    if result.cache.strategy != "disabled":
        console.print(Text(f"cache: {cache_words(result.cache)}", style="dim"))
    if result.facts is not None:
        _heading(console, "facts")
        console.print(_facts(result.facts, result.hits, config))


# -- what was found in it ----------------------------------------------------------------------------------------------


def _language(parsed: ParsedQuery) -> Iterator[tuple[str, str]]:
    if parsed.language == ENGLISH:
        return
    known = parsed.language in READ
    yield (
        "language",
        tables(parsed.language).name if known and parsed.language else plain(parsed.language or "not known"),
    )
    if parsed.unread:
        yield "not read", f"{', '.join(parsed.unread)}: there are no tables for {'that' if known else 'this language'}"


def _named(parsed: ParsedQuery) -> Iterator[tuple[str, str]]:
    named = [r for r in parsed.entity_refs if r.stage != IMPLICIT]
    for ref in named[:ITEMS_SHOWN]:
        yield "entity", reference_words(ref)
    if len(named) > ITEMS_SHOWN:
        yield "", f"and {len(named) - ITEMS_SHOWN:,} more"
    for ref in parsed.entity_refs:
        if ref.stage == IMPLICIT:
            yield "user", reference_words(ref)


def _dated(parsed: ParsedQuery, plan: RetrievalPlan, config: PlannerConfig) -> Iterator[tuple[str, str]]:
    window = parsed.temporal_window
    if window is None:
        return
    start, end = window.span
    said = f"“{plain(parsed.original[start:end], 60)}”: " if end > start else "without a date in the words: "
    yield "time", f"{said}{window_words(window)}, confidence {window.confidence:.2f}"
    least = f"{WINDOW_CONFIDENCE_MIN:g}"
    if plan.time_filter and (parsed.session is None or not parsed.session.found):
        yield "", f"filters: what lies inside comes first (confidence ≥ {least}), for what was said then is asked"
    elif _in_vain(parsed, plan, config) and (parsed.session is None or not parsed.session.found):
        yield "", f"nothing lies inside: {WITHOUT}"
    elif plan.window_filter:
        yield "", f"filters: the graph leaves out what lies outside (confidence ≥ {least})"
    elif window.confidence >= WINDOW_CONFIDENCE_MIN:
        yield "", f"lifts what lies inside; sure enough to filter (≥ {least}), if what was said then were asked"
    else:
        yield "", f"only softens: lifts what lies inside, and never filters (confidence < {least})"
    if parsed.now is not None:
        yield "", f"read at {plain(f'{parsed.now:%Y-%m-%d %H:%M %Z}')}"


def _in_vain(parsed: ParsedQuery, plan: RetrievalPlan, config: PlannerConfig) -> bool:
    """Say whether a time or a session was to decide, and nothing lies in it."""
    return "time_filter" in config.rules and decides(parsed) and not plan.time_filter


def _session(parsed: ParsedQuery, plan: RetrievalPlan, config: PlannerConfig) -> Iterator[tuple[str, str]]:
    session = parsed.session
    if session is None:
        return
    start, end = session.span
    found = session.found or f"filters nothing: {session.because or 'the scope is not known'}"
    yield "session", f"“{plain(parsed.original[start:end], 60)}”: {found}, confidence {session.confidence:.2f}"
    if plan.time_filter and session.found:
        order = ", in the order of the conversation" if plan.in_order else ""
        yield "", f"filters: what was said in it comes first{order}"
    elif session.found and _in_vain(parsed, plan, config):
        yield "", f"nothing of it may be returned: {WITHOUT}"


def _read(parsed: ParsedQuery) -> Iterator[tuple[str, str]]:
    if parsed.asked_role is not None:
        yield "role", f"asks what the {parsed.asked_role} said, strength {parsed.asked_role_strength:.2f}"
    for start, end in parsed.asides[:ITEMS_SHOWN]:
        yield "aside", f"“{plain(parsed.original[start:end], 60)}”: beside the point, counts for less"
    if parsed.negations:
        yield "not", f"{some(parsed.negations)}: what is about it moves down, nothing is removed"
    if parsed.identifiers:
        yield "identifier", some(f"{i.text} ({i.kind})" for i in parsed.identifiers)
    for c in parsed.corrections[:ITEMS_SHOWN]:
        yield "spelling", plain(f"{c.word} → {c.spelling} (similarity {c.similarity:.2f}), as a second reading")
    rare = {t.stem: t for t in parsed.tokens if t.roles[:1] == (RARE,) and t.rarity is not None}
    if rare:
        yield "rare", some(f"{parsed.original[slice(*t.span)]} {t.rarity:.2f}" for t in rare.values())
    if parsed.predicate_hints:
        yield "relation", some(parsed.predicate_hints)
    yield "looked for", some(parsed.terms) or "no word: only meaning, names and times are left"
    for rewrite in parsed.rewrites:
        yield "rewrite", plain(rewrite, 200)


# -- features ----------------------------------------------------------------------------------------------------------


def _show_features(console: Console, parsed: ParsedQuery, config: RecallConfig) -> None:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    for _ in range(4):
        grid.add_column(justify="right", no_wrap=True)
    grid.add_row("", *(Text(t, style="dim") for t in ("value", "weight", "adds", "share")))
    for name, title in FEATURES.items():
        value, weight = getattr(parsed.features, name), WEIGHTS[name]
        share = f"{value * weight / parsed.specificity:.0%}" if parsed.specificity > 0 else ""
        grid.add_row(title, f"{value:.2f}", f"×{weight:g}", f"{value * weight:.3f}", share)
    grid.add_row(Text("specificity", style="bold"), "", "", Text(f"{parsed.specificity:.3f}", style="bold"))
    console.print(grid)
    low, high = config.planner.exploratory_threshold, config.planner.precise_threshold
    console.print(Text(f"below {low:g} exploratory, from {high:g} on precise", style="dim"))


# -- rules and plan ----------------------------------------------------------------------------------------------------


def _rules(plan: RetrievalPlan) -> Table:
    table = Table(box=None, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("rule", no_wrap=True)
    table.add_column("test", no_wrap=True)
    table.add_column("because", overflow="fold")
    table.add_column("margin", justify="right", no_wrap=True)
    decided = False
    for number, check in enumerate(plan.checks, start=1):
        first = check.fired and not decided
        decided = decided or check.fired
        verdict = ("pass: chosen" if first else "pass, later") if check.fired else "fail"
        style = "bold reverse" if first else ("" if check.fired else "dim")
        margin = "" if check.margin is None else f"{check.margin:+.3f}"
        table.add_row(f"{number} {check.rule}", verdict, Text(plain(check.because)), margin, style=style)
    return table


def _show_decision(
    console: Console, parsed: ParsedQuery, plan: RetrievalPlan, config: PlannerConfig, version: str
) -> None:
    because, changes = _reasons(plan)
    grid = pairs()
    grid.add_row("plan", Text.assemble((plan.name, "bold"), f"  because {because}" if because else ""))
    if version != RULES:
        grid.add_row("answered by", Text(f"{plain(version)}, learned from feedback: recall learn STORE status"))
    away = "" if plan.runner_up_margin is None else f", {plan.runner_up_margin:.3f} away"
    runner_up = "none: no other rule could have decided" if plan.runner_up is None else f"{plan.runner_up}{away}"
    grid.add_row("runner-up", Text(runner_up))
    for i, change in enumerate(changes):
        grid.add_row("" if i else "changed by", Text(change))
    biases = [n for n, on in (("graph bias", parsed.router.graph_bias), ("time bias", parsed.router.time_bias)) if on]
    grid.add_row("router", Text(", ".join([plain(parsed.router.reason or parsed.router.mode, 200), *biases])))
    verdict = parsed.conversational
    says = ("yes" if "conversational" in config.rules else "yes, but its rule is off") if verdict else "no"
    grid.add_row("small talk", Text(plain(f"{says} ({verdict.because})" if verdict.because else says)))
    for label, types in (("type cues", parsed.type_cues), ("lifts types", plan.prefers)):
        if types:
            grid.add_row(label, Text(", ".join(t.value for t in types)))
    if plan.type_filter:
        grid.add_row("type filter", Text(f"{', '.join(t.value for t in plan.type_hints)} first, if there are such"))
    on = [name.replace("_", " ") for name in SWITCHES if getattr(plan, name)]
    off = [name.replace("_", " ") for name in SWITCHES if not getattr(plan, name)]
    grid.add_row("on", Text(", ".join(on) or "nothing"))
    grid.add_row("off", Text(", ".join(off) or "nothing", style="dim"))
    console.print(grid)


def _reasons(plan: RetrievalPlan) -> tuple[str, list[str]]:
    said = plan.reason.removeprefix(f"{plan.name}: ")
    because = next((c.because for c in plan.checks if c.rule == plan.name), "")
    if not because or not said.startswith(because):  # a plan that was made elsewhere
        because = said.partition("; ")[0]
    changes = [plain(part) for part in said.removeprefix(because).split("; ")]
    return plain(because), [change for change in changes if change]


# -- arms --------------------------------------------------------------------------------------------------------------


def asked_arms(found: RecallResult | ParsedQuery, plan: RetrievalPlan) -> frozenset[str]:
    """Return the names of the plan's arms that were asked, or, where nothing was searched, would be."""
    if isinstance(found, ParsedQuery):
        return frozenset(arm.name for arm in plan.arms if worth_asking(arm, found, plan))
    tried = {name.removeprefix("arm.") for name in found.timings_ms if name.startswith("arm.")}
    tried |= {step.stage for step in found.degraded}  # it was late, or failed
    return frozenset(arm.name for arm in plan.arms if arm.name in tried)


def _arms(parsed: ParsedQuery, plan: RetrievalPlan, result: RecallResult | None) -> Table:
    table = Table(box=None, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("arm", no_wrap=True)
    for name in ("weight", "at most", "ms" if result is not None else ""):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("found hits (own rank)" if result is not None else "", overflow="fold")
    asked = asked_arms(parsed if result is None else result, plan)
    for arm in plan.arms:
        ms = None if result is None else result.timings_ms.get(f"arm.{arm.name}")
        silent = "not asked" if worth_asking(arm, parsed, plan) else "not asked: nothing to look for"
        brought = _brought(arm.name, result) if arm.name in asked else silent
        took = "" if ms is None else f"{ms:.2f}"
        style = "" if arm.name in asked else "dim"
        table.add_row(arm.name, f"×{arm.weight:g}", str(arm.limit), took, Text(brought), style=style)
    return table


def _brought(arm: str, result: RecallResult | None) -> str:
    """Return the hits that an arm found, with its own ranks; or how it failed."""
    if result is None:
        return ""
    failed = [d.reason for d in result.degraded if d.stage == arm]
    ranks = [
        f"{place} (#{c.rank})"
        for place, hit in enumerate(result.hits, start=1)
        for c in hit.contributions
        if c.source == arm and c.rank
    ]
    return plain("; ".join([*failed, some(ranks)]) if ranks or failed else "none of them")


# -- facts -------------------------------------------------------------------------------------------------------------


def _facts(decision: Decision, hits: Sequence[Hit], config: RecallConfig) -> Table:
    grid = pairs()
    called = plain(Slots.of(config.facts.slots).called(decision.slot)) if decision.slot else "none that has a name"
    of = f"  of {whom(decision.subject)}, confidence {decision.confidence:.2f}"
    grid.add_row("slot", Text.assemble((called, "bold"), of))
    grid.add_row("asked", Text(f"{ASKED.get(decision.mode, plain(decision.mode))}, looked at {decision.at:%Y-%m-%d}"))
    for label, ids in (("put first", decision.first), ("beneath", decision.beneath)):
        if ids:
            grid.add_row(label, Text(some(map(plain, ids))))
    for hit in hits:
        if hit.superseded_by is not None and hit.memory.id in decision.beneath:
            memory_id = plain(hit.memory.id or "")
            grid.add_row("superseded", Text(f"{memory_id} by {plain(hit.superseded_by)}{_stretch(hit)}"))
    return grid


def _stretch(hit: Hit) -> str:
    began, ended = hit.valid_from, hit.valid_to
    if began is None:
        return ""
    return f", which held from {began:%Y-%m-%d}" + ("" if ended is None else f" to {ended:%Y-%m-%d}")


def _heading(console: Console, title: str) -> None:
    console.print()
    console.print(Rule(Text(title, style="bold"), align="left", style="dim"))
