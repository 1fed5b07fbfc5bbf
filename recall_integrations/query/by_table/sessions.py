"""Find which session of the conversation a query asks for: "our first session", and whether it asks for the talk.

A session is a thread; `indexes.windows` settles it against the scope, for the text only names a place in their order.
Only sessions of the remembered conversation count, not those that are talked about in it: "our third session", "the
last conversation we had", "session 3"; not "my therapy session", "the first session of the course", "our last chat with
Tom", "our first conversation about the dog". In doubt no session is read: a session that is overlooked is searched for
by its words as before, one that is imagined hides the answer.

The phrases of a language are in `sessions` of its table (docs/languages.md), those of English in `en.json`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import NamedTuple

from recall_integrations.languages import ENGLISH
from recall_integrations.languages.phrases import LETTER, alternatives, blanked, said
from recall_integrations.patterns import regex
from recall_integrations.query.by_table.wording import Match, Together, Wording, by_initial, listed, wording
from recall_integrations.text import stop_words
from recall_integrations.text.analyser import Spans
from recall_integrations.types.query import ABOUT, ALL, BEGINNING, END, NOTHING, WHOLE, SessionRef

BARE_WORDS_MAX = 2  # besides the session, in a query that is nothing but one
PLACES_MAX = 20  # sessions that one reference may name
CHARS_BEFORE = 60  # of a session that are looked at


class _Form(NamedTuple):
    """A list of phrases that name sessions."""

    name: str
    confidence: float
    sure: bool = False  # whether the sessions are of this conversation whatever else the query says
    said: str = "said"  # else: of which list the query has to say something
    places: tuple[int, ...] = ()  # where no word names them
    part: str = WHOLE
    closes: bool = False  # whether only the end of a clause may follow it, where the table says what may


_FORMS = (
    _Form("beginning", 0.85, sure=True, part=BEGINNING),
    _Form("end", 0.85, sure=True, part=END),
    _Form("open_beginning", 0.75, said="we_said", part=BEGINNING),
    _Form("open_end", 0.75, said="we_said", part=END),
    _Form("first_several", 0.9, sure=True),
    _Form("last_several", 0.9, sure=True),
    _Form("session_before_last", 0.9, places=(-2,)),
    _Form("time_before_last", 0.9, said="we_said", places=(-2,)),
    _Form("own", 0.95, sure=True),
    _Form("theirs", 0.9),
    _Form("numbered", 0.95, said=""),
    _Form("ago", 0.9, said=""),
    _Form("open_ago", 0.9),
    _Form("open", 0.9),
    _Form("then", 0.8, said="we_said"),
    _Form("open_first_several", 0.8, said="we_said"),
    _Form("open_last_several", 0.8, said="we_said"),
    _Form("first_thing", 0.8, sure=True, part=BEGINNING, closes=True),
    _Form("last_thing", 0.8, sure=True, part=END, closes=True),
    _Form("first_time", 0.8, said="we_said", places=(1,)),
    _Form("last_time", 0.8, said="we_said", places=(-1,), closes=True),
)
_FORM_NAMES = tuple(form.name for form in _FORMS)
_GATES = ("subject", "placing")  # a text that lacks either names no session, in a language that lists them
_PARTS = ((BEGINNING, "beginning_of", "begins"), (END, "end_of", "ends"))
_PLAIN = (
    "nouns said we_said foreign others not_ours when narrowed topic topics topic_ends frames excused passed stranded "
    "following before_number before_date beginning_of begins end_of ends joins ranges last before_last talk "
    "talked_about said_then done placed"
).split()
_CLAUSES = Together(("no_clause", "clause"), frozenset(), small=True)
_NAME = rf"{LETTER}(?:{LETTER}|['-])*"
_NUMBER_ENDS = r"(?!\d|/|[.:]\d|-\w)"  # not "session 3-4", "chat-7b"
_RUN = regex(rf"(?:{LETTER}|')+")
_CLAUSE_ENDS = regex(r"\s*(?:$|[?.!,;:)\"”'…–—](?!\w))|\s+[-–—]\s|'s ")
_WORD = regex(rf" ((?:{LETTER}|['&])+)")
_CLAUSE_BEGINS = regex(r"(?:^|[,;:.?!(\"“])$")


def _slots(words: Wording) -> dict[str, str]:
    ordinals, numbers = (
        [p for value in (words.section.get(name) or {}).values() for p in listed(value, words.where)]
        for name in ("ordinals", "numbers")
    )
    places = [*ordinals, *words.phrases("digits"), *words.phrases("last"), *words.phrases("before_last")]
    place, number = by_initial(places, words.slots), rf"(?:{alternatives(numbers, words.slots)}|(?:\# ?)?\d{{1,4}})"
    joins, joints = (alternatives(chain(*map(words.phrases, of))) for of in (["joins"], ["joins", "ranges"]))
    return {
        "noun": alternatives(words.phrases("nouns"), words.slots),
        "one_place": place,
        "place": f"(?P<place>{place})",
        "places": f"(?P<place>{place}(?: ?{joins} ?{place}){{1,3}})",
        "one_number": number,
        "number": f"(?P<number>{number}){_NUMBER_ENDS}",
        "numbers": f"(?P<number>{number}(?: ?{joints} ?{number}){{1,8}}){_NUMBER_ENDS}",
        "names": f"(?P<names>{_NAME} {joins} {_NAME})",
        "topic": rf"(?:(?!{alternatives(words.phrases('topic_ends'))}(?!{LETTER}))[^\s\x00.,?!]+ ?){{1,5}}",
    }


words_of = partial(
    wording,
    section="sessions",
    known=(*_GATES, *_PLAIN, *_FORM_NAMES),
    values=("ordinals", "digits", "numbers"),
    more=_slots,
    together=(_CLAUSES,),
)


class _Found(NamedTuple):
    """A phrase that names sessions."""

    form: _Form
    places: tuple[int, ...]
    part: str
    phrase: Match
    span: Match  # with the words for a part, without names, which stay words of the query
    start: int  # with both
    names: str  # whose the sessions are, as far as the phrase says so


class _Query(NamedTuple):
    """A query while it is read."""

    words: Wording
    text: str
    is_name: Callable[[str], bool]
    dated: Spans
    language: str | None

    def found(self, form: _Form) -> Iterator[_Found]:
        """Yield the phrases of a form that name sessions, in order."""
        for match in self.words.matches(form.name, self.text):
            groups = [(name.rstrip("0123456789"), match.span(name)) for name in match.re.groupindex if match[name]]
            counted = [(kind, at) for kind, at in groups if kind != "names"]
            places = tuple(dict.fromkeys(chain(*(self._places(kind, *at) for kind, at in counted))))
            if places and form.name.endswith(("ago", "several")):
                places = _several(form.name, places[0])
            if 0 in places or len(places) > PLACES_MAX or not (places or form.places or form.part != WHOLE):
                continue
            part, start = self._part(*match.span())
            span, names = (start, match.end()), (0, 0)
            if len(counted) < len(groups):
                names, first = next(at for kind, at in groups if kind == "names"), counted[0][1][0]
                span = (first, match.end()) if names[0] < first else (start, names[0] - 1)
            part = form.part if part == WHOLE else part
            yield _Found(form, places or form.places, part, match.span(), span, start, self.text[slice(*names)])

    def _places(self, kind: str, start: int, end: int) -> Iterator[int]:
        """Yield the places in a list: "first and last" → 1, -1; "2 to 4" → 2, 3, 4; 0 stands for what is none."""
        before, at = 0, start
        for match in self.words.pattern(kind, f"<one_{kind}>").finditer(self.text, start, end):
            place = self._place(kind, match[0])
            if self.words.is_one("ranges", self.text[at : match.start()].strip()):
                yield from range(before + 1, min(place, before + PLACES_MAX))
            yield place
            before, at = place, match.end()

    def _place(self, kind: str, given: str) -> int:
        words, table = self.words, "ordinals" if kind == "place" else "numbers"
        for key, place in (("before_last", -2), ("last", -1)) if kind == "place" else ():
            if words.is_one(key, given):
                return place
        digits = re.search(r"\d+", given)
        if digits is not None:
            return int(digits[0])
        known = words.section.get(table) or {}
        return int(next((v for v in known if words.pattern(f"{table}.{v}", known[v]).fullmatch(given)), 0))

    def _part(self, start: int, end: int) -> tuple[str, int]:
        """Return the part of a session that is asked for, and where its words begin: "the end of our last chat"."""
        before = self._before(start)
        for part, opening, ending in _PARTS:
            asked = self.words.ends(opening, before)
            if asked is not None:
                return part, max(0, start - CHARS_BEFORE) + asked[0]
            if self.words.match(ending, self.text, end + 1):
                return part, start
        return WHOLE, start

    def _before(self, start: int) -> str:
        return self.text[max(0, start - CHARS_BEFORE) : start].rstrip()

    def stands(self, found: _Found) -> bool:
        """Say whether no word before it takes the session for a moment, and none behind it for another one."""
        words, before = self.words, self._before(found.phrase[0])
        if words.ends("excused", self._before(found.start)) is not None or words.says("others", self.text):
            return False
        numbered = found.form.name == "numbered" and "before_number" in words.section
        if numbered and not _CLAUSE_BEGINS.search(before) and not words.has("before_number", before.split()[-1]):
            return False
        return self._goes_on(found)

    def _goes_on(self, found: _Found) -> bool:
        """Say whether the words behind a session leave it the one that it is."""
        words, text, end = self.words, self.text, found.phrase[1]
        for _ in range(2):
            passed = words.match("passed", text, end + 1)
            end = end if passed is None else passed.end()
        behind = len(text) - len(text[end:].lstrip())
        to_dates = (text[end:start].strip(" ,") for start, _ in self.dated if start >= end)
        if any(not joint or words.is_one("before_date", joint) for joint in to_dates):
            return True
        # "in unserer ersten Sitzung über Anna gesagt": if the verb comes last, the topic belongs to the verb.
        about = words.match("topic", text, behind) and not words.says("said", text[behind:])
        if about or words.match("narrowed", text, behind):
            return False
        stranded = words.match("stranded", text, behind)
        if "following" not in words.section or _CLAUSE_ENDS.match(text, stranded.end() if stranded else end):
            return True
        if found.form.name in ("numbered", "then") and words.match("topics", text, behind):
            return True
        word = _WORD.match(text, end)
        if word is None or found.form.closes:
            return False
        return words.has("following", word[1]) or self.is_name(word[1].casefold().removesuffix("'s"))

    def ours(self, found: _Found) -> bool:
        """Say whether a session that names no owner is one of this conversation."""
        words, listed_as = self.words, found.form.said
        around = blanked(self.text, [(found.start, found.phrase[1])])
        if found.form.name == "theirs":
            spoken = re.findall(_NAME, (found.names or self.text).casefold())
            people = {word.removesuffix("'s") for word in spoken} - stop_words(self.language)
            return sum(map(self.is_name, people)) > 1 and (found.names != "" or words.says("said", around))
        if words.says("foreign", blanked(around, words.found("topics", around))):
            framed = words.is_one("frames", self._before(found.start))  # "From session 3: …" says it all
            return framed is not None and not listed_as and self.text.startswith((":", ","), found.phrase[1])
        if not listed_as:
            return True
        if words.ends("not_ours", self._before(found.start)) is not None:
            return False
        if listed_as == "we_said" or words.says("said", around):
            return words.says(listed_as, around)
        left = re.findall(rf"{LETTER}+", around)
        return len(left) <= BARE_WORDS_MAX and sum(map(len, left)) <= 20 and not words.says("when", around)


def _several(form: str, count: int) -> tuple[int, ...]:
    """Return the places for a count: "two sessions ago", "our last three chats"; 0 for one that is too large."""
    several = (-count,) if form.endswith("ago") else range(1, count + 1) if "first" in form else range(-count, 0)
    return tuple(several) if count <= PLACES_MAX else (0,)


def read_session(
    text: str, *, names: Callable[[str], bool] = lambda _: False, dated: Spans = (), language: str | None = ENGLISH
) -> SessionRef | None:
    """Return the session that `text` asks for, by the first form that matches; `None` if the language has no tables.

    `names` says whether a case-folded word belongs to a name that the scope knows: "Caroline and Melanie's third
    conversation" is one of theirs. `dated` are spans of dates: an "in May" behind "our first session" does not keep it
    from counting.
    """
    words, read = words_of(language), said(text)
    if any(gate in words.section and not words.says(gate, read.text) for gate in _GATES):
        return None
    named = "subject" in words.section or words.says("nouns", read.text) or words.says("last_time", read.text)
    query = _Query(words, read.text, names, read.within(dated), language)
    possible = words.possible(_FORM_NAMES, read.text)
    for form in (form for form in _FORMS if form.name in possible):
        for found in query.found(form) if named or form.name in ("numbered", "open_ago") else ():
            if query.stands(found) and (form.sure or query.ours(found)):
                span, numbered = read.span(*found.span), form.name == "numbered"
                return SessionRef(
                    places=found.places, part=found.part, numbered=numbered, span=span, confidence=form.confidence
                )
    return None


def talk(
    text: str, language: str | None, *, when: Spans, named: Spans, beside: Spans, session: SessionRef | None
) -> str:
    """Return `all` for the talk and nothing in particular, `about` for words on a topic, else an empty text.

    `when` are spans of dates and sessions, `named` of entities, `beside` of what is beside the point. That people
    talked is nothing in particular, that they were talked about is. Behind what was said another clause may say when
    it was done, not when it was said.
    """
    words, read = words_of(language), said(text)
    heard, dates = blanked(read.text, read.within(beside), " "), read.within(when)
    people = read.within(named)
    if words.possible(("talked_about",), heard):
        people = [at for at in people if words.ends("talked_about", heard[: at[0]].rstrip()) is None]
    left = blanked(heard, [*dates, *people])
    rest = blanked(left, words.found("talk", left))
    stops = stop_words(None if language == ENGLISH else language)
    if all(word in stops for word in _RUN.findall(rest.lower())):
        talked = session is not None or (words.says("said", left) and not words.says("done", heard))
        if talked or _RUN.search(blanked(left, words.found("placed", left))) is None:
            return ALL
    for _, end in words.found("said_then", blanked(heard, dates)) if words.possible(("said_then",), heard) else ():
        then = min((start for start, _ in dates if start >= end), default=end)
        return NOTHING if any(name == "clause" for name, _ in words.each(_CLAUSES, heard[end:then])) else ABOUT
    return NOTHING
