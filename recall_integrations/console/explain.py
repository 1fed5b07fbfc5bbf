"""`recall explain`: what a query was read as, which plan that gives, and what came of it, at a glance.

In a notebook: `explain(rich.console.Console(), optimizer.recall("…"), config=optimizer.config)`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len
from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from recall_integrations.arms.registry import worth_asking
from recall_integrations.config import PlannerConfig, RecallConfig
from recall_integrations.console.rendering import (
    cache_words,
    moves,
    pairs,
    reference_words,
    role_words,
    show_degraded,
    shown_text,
    stage_words,
    whom,
    window_words,
)
from recall_integrations.counterfactual.recalls import Counterfactuals, LeftOut, Move
from recall_integrations.delivery.highlights import Mark, marks
from recall_integrations.delivery.searched import not_searched
from recall_integrations.facts.slots import Slots
from recall_integrations.languages import READ, tables
from recall_integrations.languages.tables import ENGLISH
from recall_integrations.planning.planner import WINDOW_CONFIDENCE_MIN, WITHOUT, decides, make_plan
from recall_integrations.query.features import IMPLICIT, WEIGHTS
from recall_integrations.text.shortening import plain
from recall_integrations.types import ArmPlan, Hit, ParsedQuery, RecallResult, RetrievalPlan
from recall_integrations.types.judged import RULES
from recall_integrations.types.query import (
    CORRECTED,
    ENTITY,
    IDENTIFIER,
    NEGATED,
    RARE,
    ROLES,
    SESSION,
    STOP,
    TIME,
    Correction,
)
from recall_integrations.types.result import Decision

QUERY_CHARS_SHOWN = 2_000
ITEMS_SHOWN = 12
LABEL_ROWS_MAX = 4  # labels that do not fit into these are left out; the sign above them still says what they are


class Look(NamedTuple):
    """The look of a role: the style of its words on a terminal, and the sign below them elsewhere."""

    style: str
    sign: str


# Words on a ground of their own can be read on dark and on light terminals.
LOOKS: dict[str, Look] = {
    ENTITY: Look("black on bright_cyan", "="),
    TIME: Look("black on bright_magenta", "~"),
    SESSION: Look("black on bright_blue", "+"),
    NEGATED: Look("black on bright_red", "x"),
    IDENTIFIER: Look("black on bright_green", "#"),
    CORRECTED: Look("black on bright_yellow", "?"),
    RARE: Look("bold underline", "*"),
    STOP: Look("dim", "."),
}


def show_query(console: Console, parsed: ParsedQuery) -> None:
    """Print the query with its words marked by role, and a legend of the roles that occur."""
    shown = "".join(plain(c) or " " for c in parsed.original[:QUERY_CHARS_SHOWN])
    found = [Mark(m.start, min(m.end, len(shown)), m.role) for m in marks(parsed) if m.start < len(shown)]
    coloured = console.color_system is not None and not console.no_color
    reordered = any(_right_to_left(c) for c in shown)  # a terminal may move its words: nothing can stand below them
    console.print()
    for start, end in _lines(shown, max(console.width - 2, 1)):
        line = Text(shown[start:end].rstrip())
        inside = [Mark(max(m.start, start), min(m.end, end), m.role) for m in found if m.start < end and m.end > start]
        if coloured:
            for m in inside:
                line.stylize(LOOKS[m.role].style, m.start - start, m.end - start)
        _print(console, line)
        if not coloured and not reordered:
            for below in _below(shown, start, inside):
                _print(console, Text(below, style="dim"))
    if len(parsed.original) > QUERY_CHARS_SHOWN:
        _print(console, Text(f"… and {len(parsed.original) - QUERY_CHARS_SHOWN:,} characters more", style="dim"))
    if reordered and not coloured:
        for role in ROLES:
            said = [shown[m.start : m.end] for m in found if m.role == role]
            if said and role != STOP:
                console.print(Text(f"  {role}: {some(said)}"))
    _show_legend(console, [role for role in LOOKS if any(m.role == role for m in found)], coloured)


def _show_legend(console: Console, roles: Sequence[str], coloured: bool) -> None:
    legend = Text("  ")
    for role in roles:
        if coloured:
            legend.append(f" {role} ", LOOKS[role].style).append("  ")
        else:
            legend.append(f"{LOOKS[role].sign * 2} {role}  ", "dim")
    if roles:
        legend.rstrip()
        console.print()
        console.print(legend)


def _right_to_left(character: str) -> bool:
    return unicodedata.bidirectional(character) in ("R", "AL", "AN")


def _lines(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Yield spans of `text` that each fit `width` cells: cut at spaces, and within words that are longer."""
    start = at = 0
    for match in re.finditer(r"\S+\s*|\s+", text):
        if at > start and cell_len(text[start : match.end()].rstrip()) > width:
            yield start, at
            start = at
        at = match.end()
        while at - start > 1 and cell_len(text[start:at].rstrip()) > width:
            cut = start + 1
            while cell_len(text[start : cut + 1]) <= width:
                cut += 1
            yield start, cut
            start = cut
    if at > start:
        yield start, at


def _below(text: str, start: int, inside: Sequence[Mark]) -> list[str]:
    """Return the rows below one line of the query: the signs, then the names of the roles."""
    signs, labels = "", []
    for m in inside:
        column, width = cell_len(text[start : m.start]), cell_len(text[m.start : m.end])
        signs += " " * (column - len(signs)) + LOOKS[m.role].sign * width
        if m.role != STOP and width:
            labels.append((column, m.role))
    return [row for row in (signs, *label_rows(labels)) if row.strip()]


def label_rows(labels: Iterable[tuple[int, str]]) -> list[str]:
    """Place each label at its column, in the first row that is free there."""
    rows: list[str] = []
    for column, label in labels:
        at = next((i for i, row in enumerate(rows) if not row or len(row) < column), len(rows))
        if at == LABEL_ROWS_MAX:
            continue
        rows.extend([""] * (at + 1 - len(rows)))
        rows[at] += " " * (column - len(rows[at])) + label
    return rows


def some(items: Iterable[str]) -> str:
    """Join the first few items into one line for display."""
    every = [plain(item, 60) for item in items]
    more = len(every) - ITEMS_SHOWN
    return ", ".join(every[:ITEMS_SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _print(console: Console, line: Text) -> None:
    """Print a line that was cut to fit; it starts two columns in."""
    console.print(Text("  ").append_text(line), no_wrap=True, overflow="ignore", crop=True)


WEIGHT_CELLS = 10


FEATURES = (
    ("entity_density", "entity density", "cyan"),
    ("temporal", "time", "magenta"),
    ("lexical_rarity", "lexical rarity", "blue"),
    ("type_cues", "type cues", "green"),
)
SWITCHES = (
    "type_filter",
    "window_filter",
    "time_filter",
    "in_order",
    "exact_match",
    "time_bias",
    "rewrite",
    "rerank",
    "diversity",
)

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
    if (error := not_searched(found)) is None:
        _show_hits(console, found.hits)
    else:
        console.print(Text(plain(str(error)), style="yellow"))
    show_degraded(console, found)


def show_reading(
    console: Console, found: RecallResult | ParsedQuery, plan: RetrievalPlan, config: RecallConfig
) -> None:
    """Print all that led to the hits: what the query was read as, rules, arms, and what facts decided."""
    result = found if isinstance(found, RecallResult) else None
    parsed = found.query if isinstance(found, RecallResult) else found
    _heading(console, "query")
    show_query(console, parsed)
    _show_readings(console, parsed, plan, config.planner)
    _heading(console, "features")
    _show_features(console, parsed, config)
    _heading(console, "rules, in the order they are tried")
    console.print(_rules(plan))
    console.print()
    _show_decision(console, parsed, plan, config.planner, RULES if result is None else result.version)
    _heading(console, "arms" if result is None else f"arms; all together {result.timings_ms.get('total', 0.0):.1f} ms")
    console.print(_arms(parsed, plan, result, _glyphs(console)))
    if result is None:
        return
    console.print(Text(stage_words(result.timings_ms), style="dim"))
    if result.cache.strategy != "disabled":
        console.print(Text(f"cache: {cache_words(result.cache)}", style="dim"))
    if result.facts is not None:
        _heading(console, "facts")
        console.print(_facts(result.facts, result.hits, config))


# -- what was found in it ----------------------------------------------------------------------------------------------


def _show_readings(console: Console, parsed: ParsedQuery, plan: RetrievalPlan, config: PlannerConfig) -> None:
    rows = [
        *_language(parsed),
        *_named(parsed),
        *_dated(parsed, plan, config),
        *_session(parsed, plan, config),
        *_read(parsed),
    ]
    if not rows:
        return
    console.print()
    grid = pairs()
    for label, words in rows:
        grid.add_row(label, Text(words))
    console.print(grid)


def _language(parsed: ParsedQuery) -> Iterator[tuple[str, str]]:
    """Yield the language of a query that is not English, and the parts that could not be read."""
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
        yield "role", role_words(parsed)
    if parsed.negations:
        yield "not", f"{some(parsed.negations)}: what is about it moves down, nothing is removed"
    if parsed.identifiers:
        yield "identifier", some(f"{i.text} ({i.kind})" for i in parsed.identifiers)
    for correction in parsed.corrections[:ITEMS_SHOWN]:
        yield "spelling", _corrected(correction)
    rare = {t.stem: t for t in parsed.tokens if t.roles[:1] == (RARE,) and t.rarity is not None}
    if rare:
        words = (f"{parsed.original[slice(*t.span)]} {t.rarity:.2f}" for t in rare.values())
        yield "rare", some(words)
    if parsed.predicate_hints:
        yield "relation", some(parsed.predicate_hints)
    yield "looked for", some(parsed.terms) or "no word: only meaning, names and times are left"
    for rewrite in parsed.rewrites:
        yield "rewrite", plain(rewrite, 200)


def _corrected(c: Correction) -> str:
    return plain(f"{c.word} → {c.spelling} (similarity {c.similarity:.2f}), as a second reading")


# -- features ----------------------------------------------------------------------------------------------------------


def _glyphs(console: Console) -> str:
    """Return a full and an empty cell of a bar."""
    return "█░" if console.encoding.casefold().startswith("utf") else "#-"


def _bar(value: float, cells: int, glyphs: str, style: str) -> Text:
    full = round(min(max(value, 0.0), 1.0) * cells)
    return Text.assemble((glyphs[0] * full, style), (glyphs[1] * (cells - full), "dim"))


def _show_features(console: Console, parsed: ParsedQuery, config: RecallConfig) -> None:
    """Print the four features, and the specificity as the sum of their shares, with the two thresholds below it."""
    glyphs, cells = _glyphs(console), min(max(console.width - 48, 10), 50)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(no_wrap=True)
    for _ in range(4):
        grid.add_column(justify="right", no_wrap=True)
    grid.add_row("", "", *(Text(t, style="dim") for t in ("value", "weight", "adds", "share")))
    stacked, so_far = Text(), 0.0
    for name, title, style in FEATURES:
        value, weight = getattr(parsed.features, name), WEIGHTS[name]
        adds = value * weight
        share = f"{adds / parsed.specificity:.0%}" if parsed.specificity > 0 else ""
        bar = _bar(value, cells, glyphs, style)
        grid.add_row(title, bar, f"{value:.2f}", f"×{weight:g}", f"{adds:.3f}", share)
        stacked.append(glyphs[0] * (round((so_far + adds) * cells) - round(so_far * cells)), style)
        so_far += adds
    stacked.append(glyphs[1] * (cells - len(stacked)), "dim")
    stacked.truncate(cells)
    grid.add_row(Text("specificity", style="bold"), stacked, "", "", Text(f"{parsed.specificity:.3f}", style="bold"))
    thresholds = (config.planner.exploratory_threshold, config.planner.precise_threshold)
    pointer = "▲" if glyphs[0] == "█" else "^"
    for row in label_rows((min(round(t * cells), cells - 1), f"{pointer}{t:g}") for t in thresholds):
        grid.add_row("", Text(row))
    console.print(grid)
    low, high = thresholds
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
        grid.add_row("answered by", Text(f"{plain(version)}, learned from feedback: recall learn STORE diff"))
    grid.add_row("runner-up", Text(_runner_up(plan)))
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
    """Return why the plan was chosen, and what changed its arms."""
    said = plan.reason.removeprefix(f"{plan.name}: ")
    because = next((c.because for c in plan.checks if c.rule == plan.name), "")
    if not because or not said.startswith(because):  # a plan that was made elsewhere
        because = said.partition("; ")[0]
    changes = [plain(part) for part in said.removeprefix(because).split("; ")]
    return plain(because), [change for change in changes if change]


def _runner_up(plan: RetrievalPlan) -> str:
    if plan.runner_up is None:
        return "none: no other rule could have decided"
    distance = plan.runner_up_margin
    return plan.runner_up if distance is None else f"{plan.runner_up}, {distance:.3f} away"


# -- arms and hits -----------------------------------------------------------------------------------------------------


def asked_arms(found: RecallResult | ParsedQuery, plan: RetrievalPlan) -> frozenset[str]:
    """Return the names of the plan's arms that were asked, or, where nothing was searched, would be."""
    if isinstance(found, ParsedQuery):
        return frozenset(arm.name for arm in plan.arms if worth_asking(arm, found, plan))
    tried = {name.removeprefix("arm.") for name in found.timings_ms if name.startswith("arm.")}
    tried |= {step.stage for step in found.degraded}  # it was late, or failed
    return frozenset(arm.name for arm in plan.arms if arm.name in tried)


def _arms(parsed: ParsedQuery, plan: RetrievalPlan, result: RecallResult | None, glyphs: str) -> Table:
    table = Table(box=None, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("arm", no_wrap=True)
    table.add_column("weight", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("at most", justify="right", no_wrap=True)
    table.add_column("ms" if result is not None else "", justify="right", no_wrap=True)
    table.add_column("found hits (own rank)" if result is not None else "", overflow="fold")
    asked = asked_arms(parsed if result is None else result, plan)
    heaviest = max((a.weight for a in plan.arms), default=0.0) or 1.0
    for arm in plan.arms:
        ms = None if result is None else result.timings_ms.get(f"arm.{arm.name}")
        bar = _bar(arm.weight / heaviest, WEIGHT_CELLS, glyphs, "cyan" if arm.name in asked else "dim")
        brought = _brought(arm.name, result) if arm.name in asked else _silent(arm, parsed, plan)
        took = "" if ms is None else f"{ms:.2f}"
        style = "" if arm.name in asked else "dim"
        table.add_row(arm.name, bar, f"×{arm.weight:g}", str(arm.limit), took, Text(brought), style=style)
    return table


def _silent(arm: ArmPlan, parsed: ParsedQuery, plan: RetrievalPlan) -> str:
    return "not asked" if worth_asking(arm, parsed, plan) else "not asked: nothing to look for"


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


def _show_hits(console: Console, hits: Sequence[Hit]) -> None:
    """Print one line for each hit, and a second where something moved it after ranking."""
    if not hits:
        console.print("Nothing found.")
        return
    table = Table(box=None, show_header=False, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0), expand=True)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(ratio=3, no_wrap=True, overflow="ellipsis")
    table.add_column(ratio=2, no_wrap=True, overflow="ellipsis", style="dim")
    for place, hit in enumerate(hits, start=1):
        memory = hit.memory
        text = shown_text(console, hit, console.width, signs=True)
        said = Text(f"{plain(memory.actor)}: ").append_text(text) if memory.actor else text
        table.add_row(f"{place}  {hit.score:.2f}", said, Text(plain(hit.reason)))
        if moved := moves(hit):
            table.add_row("", "", Text(f"moved: {moved}"))
    console.print(table)


# -- facts -------------------------------------------------------------------------------------------------------------


def _facts(decision: Decision, hits: Sequence[Hit], config: RecallConfig) -> Table:
    """Return a table of the slot that is asked for, the way, and the effect on the order."""
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
    """Return the time in which a hit held, as far as that is known."""
    began, ended = hit.valid_from, hit.valid_to
    if began is None:
        return ""
    return f", which held from {began:%Y-%m-%d}" + ("" if ended is None else f" to {ended:%Y-%m-%d}")


def _heading(console: Console, title: str) -> None:
    console.print()
    console.print(Rule(Text(title, style="bold"), align="left", style="dim"))


MOVES_SHOWN = 10


def show_without(console: Console, found: Counterfactuals) -> None:
    """Print a line for each part that was left out, and below it the memories that stand elsewhere then."""
    console.print()
    console.print(Rule(Text("what would be found without"), align="left", style="dim"))
    table = Table(box=None, show_edge=False, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("without", overflow="fold")
    table.add_column("as an option", no_wrap=True)
    table.add_column("what changes", overflow="fold")
    for one in sorted(found.without, key=lambda one: -one.effect):
        table.add_row(plain(one.label), _keys(one), Text(one.summary), style="" if one.effect else "dim")
        for move in [move for move in one.moves if move.moved][:MOVES_SHOWN]:
            table.add_row(
                "", Text(f"{_place(move, after=False)} → {_place(move, after=True)}"), Text(plain(move.id, 60))
            )
    console.print(table)


def _keys(one: LeftOut) -> Text:
    return Text(", ".join(part.key for part in one.parts) if len(one.parts) == 1 else "all of these")


def _place(move: Move, *, after: bool) -> str:
    """Return the place of a memory: plain among the hits, in brackets among the candidates beyond them."""
    place, hit = (move.after, move.hit_after) if after else (move.before, move.hit_before)
    return "not found" if place is None else f"{place}" if hit else f"({place})"
