"""Why a hit is there, in words: "entities overlap: Priya; says: database, kestrel; close in meaning (0.71)"."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache

from recall_integrations.delivery import privacy
from recall_integrations.query.features import IMPLICIT
from recall_integrations.records import Contribution, EntityRef, Memory, ParsedQuery
from recall_integrations.retrievers.second_hop import Via
from recall_integrations.text import STOP_WORDS, stem, stems, tokenize

CLOSE, RECENT, IMPORTANT = 0.35, 0.5, 0.7
WORDS_SHOWN = 5


def reason(
    parsed: ParsedQuery,
    memory: Memory,
    contributions: Sequence[Contribution],
    *,
    demoted: bool = False,
    mode: str = "allow",
    said: Collection[str] | None = None,
    way: str = "",
    when: str = "",
) -> str:
    """One line, strongest evidence first; never empty.

    Args:
        parsed, contributions: what the hit was found by.
        memory: as it is shown: under `redact` and `block` a reason must not say what the text may not.
        demoted: whether a negation moved it down.
        mode: the privacy mode.
        said: the query's stems that the memory says, if that is known; default: its text is read.
        way: how another memory led to it (`led`); empty = none did.
        when: that it lies in the time or the session that decided; empty = it does not, or none did.
    """
    text = _reason(parsed, memory, contributions, demoted, said, way, when, names=mode != "block")
    return text if mode == "allow" else privacy.redact(text)[0]


def _reason(
    parsed: ParsedQuery,
    memory: Memory,
    contributions: Sequence[Contribution],
    demoted: bool,
    said: Collection[str] | None,
    way: str,
    when: str,
    *,
    names: bool,
) -> str:
    by_source = {c.source: c for c in contributions}
    parts: list[str] = [when] if when else []
    overlap = named_in(parsed, memory)
    if overlap:
        parts.append(f"entities overlap: {', '.join(overlap)}")
    elif "graph" in by_source and by_source["graph"].added > 0 and by_source["graph"].score > 0:
        parts.append(_linked(parsed, names))
    if way:
        parts.append(way)
    if "title" in by_source:
        parts.append("begins with what is asked about")
    words = shared_words(parsed, memory, said)
    if words:
        parts.append(f"says: {', '.join(words[:WORDS_SHOWN])}")
    semantic = by_source.get("semantic")
    if semantic is not None and semantic.score >= CLOSE:
        parts.append(f"close in meaning ({semantic.score:.2f})")
    window = parsed.temporal_window
    if not when and window is not None and "temporal" in by_source and by_source["temporal"].score > 0:
        parts.append("in the time asked for")
    if by_source.get("type_filter") is not None and by_source["type_filter"].score > 0:
        parts.append(f"is {'an' if str(memory.type)[0] in 'aeiou' else 'a'} {memory.type}")
    if not parts:
        parts.append(f"weak match, nearest in meaning ({semantic.score:.2f})" if semantic is not None else "weak match")
    parts.extend(_besides(memory, by_source))
    if demoted:
        parts.append(f"moved down: about {', '.join(parsed.negations)}" if names else "moved down")
    return "; ".join(parts)


def _besides(memory: Memory, by_source: Mapping[str, Contribution]) -> Iterator[str]:
    """What has nothing to do with what is asked, and what the reranker said."""
    if by_source.get("recency") is not None and by_source["recency"].score >= RECENT:
        yield "recent"
    if memory.importance >= IMPORTANT:
        yield "important"
    if "rerank" in by_source:
        judged = by_source["rerank"]
        yield f"reranked ({judged.score:.2f}{f', {judged.note}' if judged.note else ''})"


def _linked(parsed: ParsedQuery, names: bool) -> str:
    """What the graph arm started from: the entities of the query, or where it names none, recent ones."""
    linked = [r.name for r in parsed.entity_refs if r.stage != IMPLICIT]
    if linked:
        return f"linked to {', '.join(linked)}" if names else "linked to the entities asked for"
    if any(r.stage == IMPLICIT and r.mention for r in parsed.entity_refs):
        return "linked to who asks"
    return "linked to what came up lately"


def led(via: Via | None, mode: str = "allow") -> str:
    """How a document was reached from another: "named in m1: Kestrel", "shares Kestrel with m1"; empty for `None`.

    Under `redact` and `block` the name may not say what the text may not.
    """
    if via is None:
        return ""
    if mode == "block":
        return f"named in {via.memory}" if via.about else f"shares a name with {via.memory}"
    name = via.name if mode == "allow" else privacy.redact(via.name)[0]
    return f"named in {via.memory}: {name}" if via.about else f"shares {name} with {via.memory}"


def named_in(parsed: ParsedQuery, memory: Memory) -> list[str]:
    """Names of the query's entities that the memory itself carries or says."""
    carried = {e.casefold() for e in memory.entities}
    if memory.actor:
        carried.add(memory.actor.casefold())
    for relation in memory.relations:
        carried.update((relation.subject.casefold(), relation.object.casefold()))
    text = memory.text.casefold()
    found = []
    for ref in parsed.entity_refs:
        if ref.stage == IMPLICIT:
            continue
        forms = {ref.name.casefold(), ref.mention.casefold()}
        if forms & carried or any(form and form in text for form in forms):
            found.append(ref.name)
    return list(dict.fromkeys(found))


def shared_words(parsed: ParsedQuery, memory: Memory, said: Collection[str] | None = None) -> list[str]:
    """Words of the query that the memory says (in any inflection), in the query's order, names left out."""
    said = set(stems(memory.text)) if said is None else said
    return [word for word, its_stem in _asked(parsed.original, parsed.entity_refs, parsed.terms) if its_stem in said]


@lru_cache(maxsize=64)  # the hits of one recall ask for the same
def _asked(text: str, refs: tuple[EntityRef, ...], terms: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Words of the query and their stems, without names and words that are not looked for."""
    named = [r.span for r in refs]
    words = {
        token.word: stem(token.word)
        for token in tokenize(text)
        if token.word not in STOP_WORDS and not any(start <= token.start < end for start, end in named)
    }
    return tuple((word, its_stem) for word, its_stem in words.items() if its_stem in terms)
