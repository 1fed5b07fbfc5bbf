"""Find the session of the conversation that a query asks for: "our first session", "the 2nd chat", "session 16".

A session is a thread; `indexes.windows` settles it against the scope, for the text only names a place in their order.
Only sessions of the remembered conversation count, not those that are talked about in it: "our third session", "the
last conversation we had", "session 3"; not "my therapy session", "the first session of the course", "our last chat with
Tom", "our first conversation about the dog". In doubt no session is read: a session that is overlooked is searched for
by its words as before, one that is imagined hides the answer.

Text in, `SessionRef` out; the words are in `session_words.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from recall_integrations.languages.phrases import Said
from recall_integrations.patterns import regex
from recall_integrations.query.by_table import sessions as by_table
from recall_integrations.query.session_words import (
    BEFORE_NUMBER,
    CARDINAL,
    CARDINALS,
    FOLLOWING,
    FOREIGN,
    LAST,
    NOUN,
    NOUNS,
    NUMBERABLE,
    NUMBERED,
    ORDINAL,
    ORDINALS,
    PLACE,
    PLACES_MAX,
    PLURAL,
    SIZE,
    TALKED,
    TOPICAL,
    alternatives,
    number_of,
    part_of,
    place_of,
    places_counted,
)
from recall_integrations.query.spans import Spans
from recall_integrations.records import record
from recall_integrations.text import STOP_WORDS
from recall_integrations.types.query import END, WHOLE, SessionRef

CHARS_MAX = 2_000  # of a query that are read; who names a session does so in a question, not in a page of text

_GATE = regex(
    r"session|conversation|chat|talk|discuss|dialog|convo|\btime\b|\bfirst (?:thing|topic|subject|message|question)"
    r"|\blast (?:thing|topic|subject|message|question)",
    re.I,
)
# Nearly every question of a chat has a word of the first gate: a second one spares it the rules.
_PLACE_GATE = regex(
    rf"\d|\b(?:{alternatives(CARDINALS)}|{alternatives(ORDINALS)}|{LAST}|last|recent|earliest|initial|next|penultimate"
    r"|ago|back|start|begin|beginning|outset|open|opening|end|ending|close|finish|conclude|conclusion|kick)\b",
    re.I,
)
# The topic of the talk: "what did I say about my therapist in our third session".
_TOPIC = regex(r"\b(?:about|regarding|concerning)(?: (?!in\b|during\b|from\b|at\b|our\b)[\w'-]+){1,5}", re.I)
_UNEVEN = regex(r"^\s|\s\s|[^\S ]")
_I = r"(?:we|you and (?:i|me)|me and you|i and you|i|you|they)"
_WE = r"(?:we(?:'ve| have)?|you and (?:i|me)|me and you|us)"
_NAMES = r"\w[\w'-]* (?:and|&) \w[\w'-]*"  # whether they are names is asked of the scope
_PART = r"(?P<part>(?:very )?(?:beginning|start|outset|opening|end|close|ending))(?: part)? of "


@record(frozen=True, slots=True)
class _Query:
    """A query while it is read. `names` says whether a word belongs to a name that the scope knows."""

    text: str
    names: Callable[[str], bool]
    dated: Spans

    @property
    def people(self) -> bool:
        """True if it names two people whom the scope knows, or more: "their" conversation is then that of these."""
        words = {w.casefold().removesuffix("'s") for w in re.findall(r"\w[\w']+", self.text)} - STOP_WORDS
        return sum(map(self.names, words)) >= 2

    @property
    def foreign(self) -> bool:
        """True if something other than its topic speaks of sessions of another kind: "the second session of physio"."""
        return FOREIGN.search(_TOPIC.sub(" ", self.text)) is not None

    def known(self, names: str) -> bool:
        words = [w.removesuffix("'s") for w in names.casefold().split() if w not in ("and", "&")]
        return all(w not in STOP_WORDS and self.names(w) for w in words)


_FoundSession = tuple[tuple[int, ...], str, bool, tuple[int, int], float]  # places, part, numbered, span, confidence


def read_session(
    text: str, *, names: Callable[[str], bool] = lambda _word: False, dated: Spans = (), language: str | None = "en"
) -> SessionRef | None:
    """Return the session that `text` asks for, or `None`; the first if there are several.

    `names` says whether a case-folded word belongs to a name that the scope knows: "Caroline and Melanie's third
    conversation" is one of theirs. `dated` are spans of dates: an "in May" behind "our first session" does not keep it
    from counting.
    """
    if language != "en":
        return by_table.read_session(text, language)
    if _GATE.search(text, 0, CHARS_MAX) is None or _PLACE_GATE.search(text, 0, CHARS_MAX) is None:
        return None
    said = spaced(text[:CHARS_MAX])
    query = _Query(said.text, names, said.within(dated))
    for rule in _RULES:
        for places, part, numbered, (start, end), confidence in rule(query):
            if all(places) and len(places) <= PLACES_MAX:
                span = said.span(start, end)
                return SessionRef(places=places, part=part, numbered=numbered, span=span, confidence=confidence)
    return None


def spaced(text: str) -> Said:
    """Return the text with single blanks and straight apostrophes."""
    text = text.replace("’", "'")
    kept: Sequence[int] = range(len(text))
    if _UNEVEN.search(text) is not None:
        kept = [i for i in kept if not text[i].isspace() or (i and not text[i - 1].isspace())]
        text = "".join(" " if text[i].isspace() else text[i] for i in kept)
    return Said(text, kept, [i + 1 for i in kept])


# -- the rules, in the order in which they are tried -------------------------------------------------------------------

_PLACED = regex(
    rf"(?:{_PART})?(?P<det>\b(?:(?P<ours>our|your and my|my and your|our (?:own|joint))|(?P<mine>my|your)|the"
    rf"|that|their"
    rf"|(?P<names>{_NAMES})'s?) )?"
    rf"(?P<place>\b{PLACE})(?: and (?:the |our )?(?P<also>{PLACE}))? {SIZE}(?P<noun>{NOUNS})",
    re.I,
)


def _placed(query: _Query) -> Iterator[_FoundSession]:
    """Find "our first session", "the third conversation", "the end of our last chat"."""
    for match in _PLACED.finditer(query.text):
        one, many = match["noun"].casefold(), match["also"] is not None
        if one.endswith("s") and not many:
            continue
        places = tuple(place_of(p) for p in (match["place"], match["also"]) if p is not None)
        # "What did we say last session about the dog": without an article it says when, and nothing belongs to it.
        when = not match["det"] and query.text[match.end() :].startswith(" about ")
        if _excused(query, match.start()) or not (when or _ends_well(query, match.end())):
            continue
        if _told_by_another(query.text):
            continue
        det = (match["det"] or "").strip().casefold()
        if match["names"] is not None and not query.known(match["names"]):
            continue
        if match["ours"] is None and match["names"] is None and not _ours(query, match, det, one):
            continue
        at = match.start() if match["names"] is None else match.end("det")
        part = part_of(match["part"]) if match["part"] else _edge(query, match.end())
        yield places, part, False, (at, match.end()), 0.95 if match["ours"] else 0.9


def _ours(query: _Query, match: re.Match[str], det: str, noun: str) -> bool:
    """Say whether "the third session", without "our", is one of this conversation."""
    rest = query.text[match.end() :]
    if _HAD_BY_US.match(rest):
        return True
    if match["mine"]:
        return False
    if det == "their":
        return query.people and _talks(query, match)
    between = re.match(rf" between (?P<who>{_NAMES})", rest)
    if between:
        return query.known(between["who"])
    if noun.rstrip("s").endswith(("talk", "discussion")):
        return False  # of a conference, of a paper
    if query.foreign or _word_before(query.text, match.start()) == "at":
        return False
    return _talks(query, match) or _bare(query, match)


_HAD_BY_US = regex(
    r" (?:that |which )?(?:(?:i (?:had|'ve had|have had) )?(?:with you|between us|together)"
    rf"|{_WE} (?:ever |just |have )*(?:had|held))\b",
    re.I,
)
_ANOTHER = regex(rf"\b(?:did|does|do|has|had|with) (?:the|my|our|his|her|their) (?:\w+ )?{FOREIGN.pattern}", re.I)


def _told_by_another(text: str) -> bool:
    """Say whether somebody speaks with whom one has sessions of another kind: "what did my doctor say"."""
    return _ANOTHER.search(text) is not None


def _talks(query: _Query, match: re.Match[str]) -> bool:
    before = re.split(r"[.?!]\W* ", query.text[: match.start()])[-1]
    around = f"{before} {re.split(r'[.?!]', query.text[match.end() :])[0]}"  # of the sentence that it stands in
    if not _SAYING.search(around):
        return False
    return match["place"] is None or bool(match["det"]) or bool(_PERSONAL.search(around))


_SAYING = regex(
    rf"\b(?:{TALKED}|{TOPICAL})\b|\babout\W*$|\b(?:start|begin|began|end|open|close|conclude)(?:ed|s)?\b", re.I
)
_PERSONAL = regex(
    rf"\b(?:{_I}|{_NAMES})\b[^.?!]{{0,40}}?\b{TALKED}\b|\b(?:was|were|been|got) (?:\w+ )?{TALKED}\b"
    rf"|\b(?:summar|recap)|\b(?:tell|told|ask|remind)(?:ed)? (?:me|you|us)\b",
    re.I,
)


def _bare(query: _Query, match: re.Match[str]) -> bool:
    """Say whether the query is nothing but a session: "the second session", "summary of the last chat"."""
    left = f"{query.text[: match.start()]} {query.text[match.end() :]}"
    return len(re.findall(r"\w+", left)) <= 2 and not re.search(r"\bwhen\b", left, re.I)


_NUMBERS = regex(
    rf"(?:{_PART})?(?P<det>\b(?:our|the) )?\b(?P<noun>{NUMBERABLE})(?P<many>s)?,? (?P<first>{NUMBERED})"
    rf"(?P<more>(?:(?:, ?| ?- ?| ?– ?| (?:and|to|through|or|&) |, and )(?:{NUMBERABLE}"
    rf" )?{CARDINAL}\b){{0,8}})(?![\w/]|[-.:]\w)",
    re.I,
)


def _numbers(query: _Query) -> Iterator[_FoundSession]:
    """Find "session 16", "conversation number three", "sessions 2 to 4"."""
    for match in _NUMBERS.finditer(query.text):
        word = match["first"].casefold()
        if not re.search(r"\d|number|no\b|nr\b|#", word) and match["noun"].casefold() not in (
            "session",
            "conversation",
        ):
            continue
        if not match["many"] and match["more"] and not re.search(NUMBERABLE, match["more"], re.I):
            end = match.end("first")  # "session 3 and 4 others"
            if re.match(r" ?[-–] ?\d", match["more"]):
                continue  # "session 3-4"
            more = ""
        else:
            end, more = match.end(), match["more"]
        places = places_counted(match["first"], more)
        before = _word_before(query.text, match.start())
        if before and before not in BEFORE_NUMBER and not _ends_clause(query.text, match.start()):
            continue
        if _excused(query, match.start()) or not _ends_well(query, end, numbered=True):
            continue
        # "From session 3: …" names the session fully; elsewhere other words may say that it is somebody else's.
        framed = match.start() <= len("during the ") and re.match(r"\s*[:,]", query.text[end:])
        if _told_by_another(query.text) or (not framed and query.foreign):
            continue
        part = part_of(match["part"]) if match["part"] else _edge(query, end)
        yield places, part, True, (match.start(), end), 0.95


_SEVERAL = regex(
    rf"\b(?P<det>(?:our|the) )(?P<which>first|last|latest|most recent|previous|final) (?P<count>{CARDINAL})"
    rf" (?P<noun>{PLURAL})",
    re.I,
)


def _several(query: _Query) -> Iterator[_FoundSession]:
    """Find "our last three conversations"."""
    for match in _standing(query, _SEVERAL):
        count, own = number_of(match["count"]), match["det"].strip().casefold() == "our"
        if not 1 <= count <= PLACES_MAX or (not own and (query.foreign or not _personal(query.text))):
            continue
        places = range(1, count + 1) if match["which"].casefold() == "first" else range(-count, 0)
        yield tuple(places), WHOLE, False, match.span(), 0.9 if own else 0.8


_AGO = regex(rf"\b(?P<count>{CARDINAL}|a|a couple of) (?P<noun>{NOUNS}) (?:ago|back)\b", re.I)


def _ago(query: _Query) -> Iterator[_FoundSession]:
    """Find "two sessions ago": the last one is one session ago."""
    for match in _AGO.finditer(query.text):
        word = match["count"].casefold()
        count = 1 if word == "a" else 2 if word.startswith("a ") else number_of(word)
        if not _excused(query, match.start()) and not query.foreign:
            yield (-count,), WHOLE, False, match.span(), 0.9


_BEFORE_LAST = regex(
    rf"\b(?:our|the|that|in) (?P<noun>{NOUN}) (?:right |just )?(?:before|prior to|preceding) (?:the |our"
    rf" )?(?:last|previous|latest)"
    rf"(?: (?:one|{NOUN}))?\b|\b(?:the )?time before last(?: time)?\b",
    re.I,
)


def _before_last(query: _Query) -> Iterator[_FoundSession]:
    """Find "the session before last"."""
    for match in _BEFORE_LAST.finditer(query.text):
        ours = match["noun"] is not None or _personal(query.text)
        if ours and _ends_well(query, match.end()) and not query.foreign:
            yield (-2,), WHOLE, False, match.span(), 0.9


_TALK_TIME = (
    rf"(?:(?:talk|chat|convers)\w*|spoke|met|had (?:a|our) (?:little |long )?{NOUN}"
    r"|discussed (?:things|stuff|anything))"
)
_TIME = regex(
    rf"\b(?P<place>(?:very )?(?:{ORDINAL}|{LAST})) time,? (?:that |when )?(?P<who>{_WE}|they|(?P<names>{_NAMES})),? "
    rf"(?:ever |actually |have |had )*(?P<verb>{_TALK_TIME})(?: to each other| with each other| together)?(?!\w)",
    re.I,
)


def _times(query: _Query) -> Iterator[_FoundSession]:
    """Find "the last time we talked", "the second time we chatted"."""
    for match in _standing(query, _TIME):
        rest = query.text[match.end() :]
        if re.match(r" (?:to|with)\b", rest, re.I) or (match["names"] is not None and not query.known(match["names"])):
            continue
        if match["who"].casefold() == "they" and not query.people:
            continue
        if match["verb"].casefold() == "met" and not _personal(query.text[: match.start()] + rest):
            continue
        start = re.search(r"(?:the |that )$", query.text[: match.start()], re.I)
        end = match.end("place") + len(" time") if match["names"] is not None else match.end()
        yield (place_of(match["place"]),), WHOLE, False, (match.start() if start is None else start.start(), end), 0.9


_LAST_TIME = regex(
    r"(?<!the )(?<!that )(?<!for )(?<!my )\blast time\b(?=\s*(?:$|[?.!;:)]|, ?(?:what|how|did|you|we|i)\b"
    r"|(?:what|did) (?:we|you|i)\b))",
    re.I,
)


def _last_time(query: _Query) -> Iterator[_FoundSession]:
    """Find "what did we discuss last time?"."""
    for match in _LAST_TIME.finditer(query.text):
        around = f"{query.text[: match.start()]} {query.text[match.end() :]}"
        if _excused(query, match.start()) or query.foreign:
            continue
        # Not "the book that you mentioned last time": that may be any time, and the query asks for the book.
        who = f"we|you|i|{'they|' if query.people else ''}the two of (?:us|them)"
        asked = rf"\b(?:did|had|have|were) (?:{who})\b(?: \w+)? {TALKED}\b|\bwhere (?:did|had) we\b"
        if re.search(asked, around, re.I):
            yield (-1,), WHOLE, False, match.span(), 0.8


_EDGE = regex(rf"\b(?:the )?{_PART}(?P<det>our|this|the|that) (?:whole |entire |very )?(?P<noun>{NOUNS})", re.I)
_STARTED = regex(
    rf"\bhow did (?P<det>our|this|the) (?:whole |entire )?(?P<noun>{NOUNS}) (?:first )?(?P<how>start|begin"
    rf"|open|kick off|end|finish|close|conclude)\b",
    re.I,
)
_FIRST_SAID = regex(
    rf"\b(?P<which>(?:very )?first|(?:very )?last) (?:thing|topic|subject|message|question)s?(?: that)?"
    rf" (?:{_I}) (?:ever )?"
    rf"(?:{TALKED}|sent|messaged)(?: about| of| on)?(?: (?:you|me|us|to you|to me|to each other))?(?= ?(?:$|[?.!]))",
    re.I,
)
_WHEN_FIRST = regex(
    rf"(?<!\bwhen )\bwhen {_WE} (?:very )?first (?:(?:started|began) (?:talking|chatting|to talk|to chat)"
    rf"|talked|spoke|chatted)\b",
    re.I,
)


def _edges(query: _Query) -> Iterator[_FoundSession]:
    """Find "at the beginning of our conversation", "how did this chat start", "the first thing we talked about"."""
    for match in _standing(query, _EDGE):
        det, noun = match["det"].casefold(), match["noun"].casefold()
        if det in ("the", "that") and (
            not noun.startswith(("conversation", "chat"))
            and not _personal(query.text[: match.start()] + query.text[match.end() :])
        ):
            continue
        if det != "the" or not query.foreign:
            yield (), part_of(match["part"]), False, match.span(), 0.85 if det == "our" else 0.75
    for match in _STARTED.finditer(query.text):
        plain = match["det"].casefold() != "the" or match["noun"].casefold().startswith(("conversation", "chat"))
        if plain and _ends_well(query, match.end()):
            yield (), part_of(match["how"]), False, match.span(), 0.8
    for match in _FIRST_SAID.finditer(query.text):
        yield (), part_of(match["which"].replace("first", "start").replace("last", "end")), False, match.span(), 0.8
    for match in _WHEN_FIRST.finditer(query.text):
        if _ends_well(query, match.end()) and re.search(r"\w", query.text[: match.start()] + query.text[match.end() :]):
            yield (1,), WHOLE, False, match.span(), 0.8


_RULES: tuple[Callable[[_Query], Iterator[_FoundSession]], ...] = (
    _before_last,
    _placed,
    _numbers,
    _several,
    _ago,
    _times,
    _edges,
    _last_time,
)


# -- what the rules share ----------------------------------------------------------------------------------------------


def _edge(query: _Query, end: int) -> str:
    """Return the part that the query asks for by its verb: "how did our first conversation start"; else `WHOLE`."""
    if not re.search(r"\bhow (?:did|does)\b", query.text[:end], re.I):
        return WHOLE
    match = re.match(
        r" (?:first )?(start|begin|open|kick off|end|finish|close|conclude|wrap up)\b", query.text[end:], re.I
    )
    return WHOLE if match is None else END if match[1].casefold() == "wrap up" else part_of(match[1])


def _standing(query: _Query, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield the matches that name a session: no word before them makes it a moment, none behind it another one."""
    for match in pattern.finditer(query.text):
        if not _excused(query, match.start()) and _ends_well(query, match.end()):
            yield match


def _personal(text: str) -> bool:
    return _PERSONAL.search(text) is not None


def _word_before(text: str, start: int) -> str:
    match = re.search(r"([\w'&]+)\W*$", text[max(0, start - 60) : start])
    return "" if match is None else match[1].casefold()


def _ends_clause(text: str, start: int) -> bool:
    """Say whether punctuation stands right before `start`."""
    return re.search(r"[,;:.?!(\"“]\s*$", text[:start]) is not None


def _excused(query: _Query, start: int) -> bool:
    """Say whether a word before it takes the session for a moment: "after our last chat", "until session 3"."""
    if _ends_clause(query.text, start):
        return False
    before = re.sub(r"\b(?:the|our)\s*$", "", query.text[max(0, start - 60) : start], flags=re.I)
    return _word_before(before, len(before)) in _MOMENTS


_MOMENTS = frozenset(
    "after before since until till past beyond following by between book schedule a an any another every no".split()
)
_RELATIVE = regex(
    rf" (?:that |which )?(?:{_WE}|they|i) (?:ever |just )*(?:had|held|have had|'ve had)(?: together| so far|"
    rf" with you)?",
    re.I,
)
_OURSELVES = regex(
    r" (?:with|between|of|in|from) (?:you|me|us|ours|each other|one another|the (?:assistant|bot|ai|agent)"
    r"|you and (?:me|i)"
    r"|(?:our|this|the|that) (?:chat|conversation|thread|history|log)s?|\d{1,4}(?= ?(?:$|[?.!,])))(?!\w)",
    re.I,
)
_DATE_NEXT = regex(r"[ ,]+(?:(?:in|on|at|from|of|during|for|back in|held on)\s+)?(?:the\s+)?$", re.I)


def _ends_well(query: _Query, end: int, *, numbered: bool = False) -> bool:
    """Say whether no word behind it points to another session, or to only some of those named."""
    text = query.text
    for _ in range(2):
        more = _RELATIVE.match(text, end) or _OURSELVES.match(text, end)
        if more is None:
            break
        end = more.end()
    between = re.compile(rf" between (?P<who>{_NAMES})").match(text, end)
    if between is not None and query.known(between["who"]):
        end = between.end()
    rest = text[end:]
    if not rest.strip() or re.match(r"\s*[?.!,;:)\"”'…–—](?!\w)|\s+[-–—]\s|'s ", rest):
        return True
    if any(_DATE_NEXT.fullmatch(text[end:start]) for start, _ in query.dated if start >= end):
        return True
    match = re.match(r"\s+([\w'&;]+)", rest)
    if match is None:
        return False
    word = match[1].casefold()
    if word in ("with", "for") and re.match(r"\s+(?:with|for(?: me| us)?)\s*(?:$|[?.!,;:])", rest):
        return True
    if word == "about":
        return bool(re.match(r"\s+about\s*(?:$|[?.!,;:])", rest)) or numbered
    return word in FOLLOWING or query.names(word.removesuffix("'s"))
