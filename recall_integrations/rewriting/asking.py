"""Ask an LLM for other words where that is worth its time: never twice for the same, never for long.

First come the texts: the prompt, its answer, and the queries that need none.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import statistics
import threading
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from pydantic import Field, FiniteFloat

from recall_integrations.adapters.llm import identity_of
from recall_integrations.config import RewritingConfig
from recall_integrations.patterns import regex
from recall_integrations.privacy.door import Door
from recall_integrations.query.features import find_identifiers
from recall_integrations.records import record
from recall_integrations.resilience.breaker import SharedFile
from recall_integrations.resilience.deadline import Deadline
from recall_integrations.resilience.guard import (
    BUSY,
    CANCELLED,
    EMPTY,
    ERROR,
    NO_TIME,
    OPEN,
    SUCCESS,
    TIMEOUT,
    Answer,
    Call,
    Guard,
)
from recall_integrations.text import length_in_words, tokenize
from recall_integrations.types import ParsedQuery, RetrievalPlan, RewriteOutcome, Scope

QUERY_CHARS_MAX = 2_000
PLACE = "{query}"

PROMPTS: Mapping[str, str] = {
    name: Path(__file__).with_name(f"{name}.txt").read_text(encoding="utf-8").strip()
    for name in ("alternatives", "hypothetical")
}


def prompt_for(query: str, template: str = PROMPTS["alternatives"]) -> str:
    """Return the template with the query in place of `{query}`, as a JSON string, cut at 2,000 characters."""
    return template.replace(PLACE, json.dumps(query[:QUERY_CHARS_MAX], ensure_ascii=False))


REWRITES_MAX = 3
REWRITE_CHARS_MAX = 300
OUTPUT_CHARS_MAX = 20_000

_TAGS = regex(r"</?(?:phrasing|rewrite|alternative|query|memory|option|item|li|ul|ol)s?>", re.IGNORECASE)
_THINKING = regex(r"<(think|thinking|reasoning)>[^<]*(?:<(?!/\1>)[^<]*)*(?:</\1>|$)", re.IGNORECASE)
_NUMBER = r"[(\[]?\d{1,2}[.):\]]+(?:\*\*)?(?=[\s\"'`*“])|\d{1,2}[、．]|\d\ufe0f?\u20e3"
_BULLET = r"[-*+•‣◦·–—](?=\s)|[・●▪▸➤→✅]"
_PREFIX = regex(
    rf"(?:(?:{_NUMBER}|{_BULLET}|[>#]+\s|[(\[]?(?:[a-c]|i{{1,3}})[.)\]]+\s)\s*|"
    r"(?:rewrite|rewritten query|request|memory|memories|alternative|phrasing|query|option|version|variation|question|"
    r"(?:final )?answer|assistant|q)s?\s*#?(?:\d{1,2}|[a-c]|one|two|three)?\s*[:)]+\s*)",
    re.IGNORECASE,
)
_ANOTHER = regex(r"^\W*request\s*:", re.IGNORECASE | re.MULTILINE)  # a small model goes on with requests of its own
_ANSWER = "<|channel|>final<|message|>"  # behind it stands the answer, before it the model's reasoning
_TURN_ENDS = regex(r"<\|(?:im_end|eot_id|eom_id|end|endoftext|end_of_text|return)\|>|</s>|<end_of_turn>|<eos>")
_JSON = regex(r'[\[{]\s*["{]')
_STRING = regex(r'"(?P<key>[^"\\\n]{1,60})"\s*:\s*(?P<of_key>"(?:[^"\\]|\\.)*")?|(?P<alone>"(?:[^"\\]|\\.)*")')
_ESCAPES = regex(r'"(?:[^"\\]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_BESIDE = regex(r"(?:original|reason|explan|think|thought|note|lang|type|name|role|id\b|status)", re.IGNORECASE)
_ITEM = regex(rf"\s*(?:\*\*)?(?:(?P<number>{_NUMBER})|{_BULLET})\s*")
_NEXT = regex(r"[;,]?\s(?=[(\[]?[2-9][.)\]]+\s)")  # the next item of a list on one line
_QUOTED = regex(r'\W*"[^"]+"(?:[\s,;/]*(?:(?:or|and)\s)?\s*"[^"]+")+\W*', re.IGNORECASE)
_EXPLAINED = regex(
    r'\s*(?:\*\*|["“])(?P<inside>[^"“”*]*)(?:\*\*|["”])\s*(?P<sign>[-–—:(]|(?<=:\*\*)|(?<=:\*\*\s))\s*(?P<rest>.*)'
)
_CHATTER = regex("|".join(Path(__file__).with_name("chatter.txt").read_text(encoding="utf-8").splitlines()), re.I)
_WRAPPERS = "\"'`*_“”„‘’«» \t"


def parse_rewrites(output: object, original: str, most: int = REWRITES_MAX, *, prompt: str = "") -> tuple[str, ...]:
    """Return the phrasings in a model's answer: at most `most`, different from the query and from each other.

    `prompt`: the prompt without the query; a line that repeats a part of it is no phrasing.

    Takes lines or JSON, also JSON that is cut off; where some lines are items of a list, those alone. Bullets, numbers,
    quotes, bold marks, labels and explanations that all phrasings have are taken off; introductions, refusals, code
    fences, reasoning and lines over 300 characters are left out. Anything else gives `()`. Never raises.
    """
    if not isinstance(output, str):
        return ()
    text = without_thinking(output[:OUTPUT_CHARS_MAX]).replace("’", "'").rpartition(_ANSWER)[2]
    text = _TAGS.sub("\n", _TURN_ENDS.split(text, 1)[0])
    text = next((text[: m.start()] for m in _ANOTHER.finditer(text) if text[: m.start()].strip()), text)
    seen, asked = {_normal(original)}, _normal(prompt)
    found: list[str] = []
    for phrasing in _unexplained(_from_json(text)) or _unexplained(_items(text.splitlines())):
        normal = _normal(phrasing)
        if normal and normal not in seen and normal not in asked:
            seen.add(normal)
            found.append(phrasing)
    return tuple(found[:most])


def without_thinking(text: str) -> str:
    """Return a model's answer without its reasoning blocks, also without one that has no end."""
    return _THINKING.sub("\n", text)


def _from_json(text: str) -> list[str]:
    """Return the strings of the lists in the first list or object; else those of the key that comes again, or of all.

    Of keys that come again the first counts whose strings are sentences; keys for what stands beside phrasings do not.
    """
    begin = _JSON.search(text)
    if begin is None:
        return []
    end = max(text.rfind(sign, begin.end()) for sign in "]}")
    found = [*_STRING.finditer(text, begin.start(), end if end >= 0 else len(text))]
    of_keys: dict[str, list[str]] = {"": [m["alone"] for m in found if m["alone"]]}
    for m in found:
        if m["of_key"] and not _BESIDE.match(m["key"]):
            of_keys.setdefault(m["key"], []).append(m["of_key"])
    again = [own for own in of_keys.values() if len(own) > 1]
    told = next((own for own in again if any(" " in value for value in own)), again[0] if again else [])
    wanted = of_keys[""] or told or [value for own in of_keys.values() for value in own]
    return [json.loads(value, strict=False) for value in wanted if _ESCAPES.fullmatch(value)]


def _items(lines: Sequence[str]) -> list[str]:
    """Return the items of a list, of its outer level and without prose around it; all lines where there is none."""
    lines = [part for line in lines for part in (_NEXT.split(line) if _ITEM.match(line) else _quoted(line))]
    kinds = [(m["number"] is not None, line) for line in lines if (m := _ITEM.match(line))]
    if not kinds:
        return list(lines)
    return [_told(_ITEM.sub("", line, count=1)) for kind, line in kinds if kind == kinds[0][0]]


def _quoted(line: str) -> list[str]:
    """Return the quotations of a line that consists of some, else the line."""
    return line.split('"')[1::2] if _QUOTED.fullmatch(line) else [line]


def _unexplained(lines: list[str]) -> list[str]:
    """Return the phrasings in some lines, without what each has behind a dash or in parentheses."""
    texts = [text for text in map(_cleaned, lines) if not _is_noise(text)]
    for sign in (" — ", " – ", " - ", " ("):
        parts = [text.partition(sign) for text in texts]
        if len({tail for _, _, tail in parts}) > 1 and all(text.endswith(")") or sign != " (" for text in texts):
            texts = [text for text, _, _ in parts] if all(tail for _, _, tail in parts) else texts
    return texts


def _told(item: str) -> str:
    """Return what stands in bold or quotes before an explanation, and behind a label in bold."""
    found = _EXPLAINED.match(item)
    if found is None:
        return item
    label = found["inside"].endswith(":") or found["sign"] == ":"
    return found["rest"] if label else found["inside"]


def _cleaned(line: str) -> str:
    text = "".join(c if unicodedata.category(c) not in ("Cc", "Cs", "Co") else " " for c in line)
    text = " ".join(text.split())
    for _ in range(3):  # "- **1. Rewrite:** …" carries several
        text = text.strip(_WRAPPERS)
        match = _PREFIX.match(text)
        if match is None or match.end() == len(text):
            break
        text = text[match.end() :]
    return text.strip(_WRAPPERS)


def _is_noise(text: str) -> bool:
    letters = sum(c.isalpha() for c in text)
    return (
        letters < 2
        or len(text) > REWRITE_CHARS_MAX
        or text.endswith((":", "："))
        or text[0] in "{}[]<|~"
        or _CHATTER.match(text) is not None
    )


def _normal(text: str) -> str:
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


SHORT_CHARS_MAX = 24
SHORT_TOKENS_MAX = 3

_COMMAND = regex(r"(?:please\s+)?(?:show|find|list|get|open)\b(?!')", re.IGNORECASE)
_LITERAL = regex(
    r'(?:\s*(?:"[^"]+"|“[^”]+”|„[^“”]+[“”]|«[^»]+»|`[^`]+`|‘[^’]+’|(?<!\w)\'[^\']+\'(?!\w))[,;]?)+[\s.?!]*'
)
_SLUG = regex(r"[^\W_]+(?:-[^\W_]+){2,}|(?=\w*\d)(?=\w*[^\W\d_])\w+")  # slug-of-words; m1, 4f2a


def skip_reason(query: str) -> str | None:
    """Return the reason code why a query needs no rewrite, or `None`.

    Tried in this order, so that the most telling reason is given:

    - `skip.literal_query`: all of it is quoted; the words are meant exactly;
    - `skip.identifier`: all of it is ids, slugs, paths or URLs;
    - `skip.command`: it begins with show, find, list, get or open;
    - `skip.short_query`: at most 24 characters and 3 words. An empty query is one.
    """
    text = query.strip()
    tokens = text.split()
    if text and _LITERAL.fullmatch(text):
        return "skip.literal_query"
    if tokens and all(_is_identifier(token) for token in tokens):
        return "skip.identifier"
    if _COMMAND.match(text):
        return "skip.command"
    if len(text) <= SHORT_CHARS_MAX and _words(text) <= SHORT_TOKENS_MAX:
        return "skip.short_query"
    return None


def _words(text: str) -> int:
    """Count the words of a text, also in a script without spaces between them."""
    return max(len(text.split()), length_in_words([token.word for token in tokenize(text)]))


def _is_identifier(token: str) -> bool:
    token = token.strip("?!,;\"'()[]<>").rstrip(".")
    return _SLUG.fullmatch(token) is not None or any(one.text == token for one in find_identifiers(token))


_INSTRUCTION = regex(
    r"\b(?:ignor\w*|disregard\w*|forget|override|bypass|vergiss|ignoriere?|oublie[rz]?|olvida)\b.{0,40}"
    r"\b(?:previous|prior|above|earlier|all|instructions?|rules?|prompt|anweisung\w*|instrucciones|consignes)\b"
    r"|\b(?:system|developer) prompt\b|\byou (?:are|must) now\b|\bas an ai\b|\bjailbreak\b|\bnew instructions?\b"
    r"|</?(?:system|assistant|user|instructions?|tool)\b|\[/?INST\]|<\|",
    re.IGNORECASE,
)


def instructs(text: str) -> bool:
    """Say whether a phrasing is an instruction to a model, which nobody asks of memories."""
    return _INSTRUCTION.search(text) is not None


_ENDS = " \t.?!…。？！"


@record(frozen=True, slots=True)
class Entry:
    """Phrasings, and when they were found, in seconds of the clock."""

    at: FiniteFloat
    texts: tuple[str, ...]


Entries = dict[str, Entry]  # oldest first


def key_of(query: str, *fingerprint: object) -> str:
    """Return a digest of the query and of all that its phrasings depend on besides.

    Queries that differ in case, in white space or in the marks at their end are one.
    """
    text = " ".join(unicodedata.normalize("NFKC", query).casefold().split()).strip(_ENDS)
    said = json.dumps([text, *map(str, fingerprint)], ensure_ascii=False)
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class RewriteCache:
    """A cache of phrasings that threads and, through its file, processes share. It holds digests of queries."""

    def __init__(
        self,
        path: Path | None = None,
        *,
        ttl_s: float = 180.0,
        entries_max: int = 50,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._ttl_s, self._max, self._clock = ttl_s, entries_max, clock
        self._file: SharedFile[Entries] = SharedFile(path, Entries, nothing=dict)

    def get(self, key: str) -> tuple[str, ...] | None:
        """Return the phrasings, if they are still good."""
        entry = self._file.read().get(key)
        return entry.texts if entry is not None and self._good(entry) else None

    def put(self, key: str, texts: tuple[str, ...]) -> None:
        """Keep phrasings, if they are good for any time."""
        if not self._ttl_s:
            return

        def added(entries: Entries) -> Entries:
            others = {k: e for k, e in entries.items() if k != key and self._good(e)}
            more = {**others, key: Entry(self._clock(), texts)}
            return dict(list(more.items())[-self._max :])

        self._file.update(added)

    def _good(self, entry: Entry) -> bool:
        return 0 <= self._clock() - entry.at < self._ttl_s  # a clock put back: not known how old


WINDOW = 50  # calls that are looked at
CALLS_MIN = 20  # fewer say nothing: one empty answer in ten is no pattern
PROBES_MIN = 3  # good ones in a row switch it on again
PROBE_SECONDS = 60.0  # between two probes
FAILED = "failed"
Outcome = Annotated[str, Field(pattern=f"^({SUCCESS}|{EMPTY}|{FAILED})$")]


FALLBACK_MAX = 0.2  # share of the recent calls that may give nothing to search for, whatever the reason
EMPTY_MAX = 0.05  # share of them that may come back empty
MEDIAN_MAX_MS = 1_200.0  # their median time


@record(frozen=True, slots=True, kw_only=True)
class Calls:
    """The record: recent calls as (outcome, milliseconds), and why and since when the step is off."""

    calls: tuple[tuple[Outcome, FiniteFloat], ...] = ()  # oldest first. While it is off, the probes.
    off: str = ""  # why it is off; empty = it is on
    probed: FiniteFloat = 0.0  # when it was switched off, or the last probe; seconds of the clock


class Contract:
    """The record of calls, compared with the limits. Threads and, through its file, processes share it."""

    def __init__(self, path: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._file: SharedFile[Calls] = SharedFile(path, Calls, nothing=Calls)

    def refuses(self) -> str:
        """Return why no call may be made now; empty = one may. While the step is off, one a minute may, as a probe."""
        known = self._file.read()
        return known.off if known.off and 0 <= self._clock() - known.probed < PROBE_SECONDS else ""

    def begun(self) -> None:
        """Note that a call was begun: while the step is off, the probe of this minute."""
        if self._file.read().off:
            self._file.update(lambda kept: replace(kept, probed=self._clock()))

    def record(self, outcome: str, ms: float, *, late: bool = False) -> None:
        """Note that a call has ended; a late one was noted as failed when nobody waited any more."""

        def counted(kept: Calls) -> Calls:
            before = list(kept.calls)
            failed = [place for place, (said, _) in enumerate(before) if said == FAILED]
            if late and failed:
                del before[failed[-1]]
            calls = (*before, (outcome, ms))[-WINDOW:]
            if kept.off:
                return self._probed(replace(kept, calls=calls))
            broken = self._broken(calls)
            return Calls(off=broken, probed=self._clock()) if broken else replace(kept, calls=calls)

        self._file.update(counted)

    def _probed(self, kept: Calls) -> Calls:
        last = kept.calls[-PROBES_MIN:]
        good = [outcome == SUCCESS and ms <= MEDIAN_MAX_MS for outcome, ms in last]
        if not good[-1]:
            return replace(kept, calls=())
        return Calls() if len(good) == PROBES_MIN and all(good) else kept

    def _broken(self, calls: tuple[tuple[str, float], ...]) -> str:
        """Return the part of the contract that is broken, in words; empty = none is."""
        if len(calls) < CALLS_MIN:
            return ""
        n = len(calls)
        fallback = sum(outcome != SUCCESS for outcome, _ in calls) / n
        empty = sum(outcome == EMPTY for outcome, _ in calls) / n
        median = statistics.median(ms for _, ms in calls)
        if fallback > FALLBACK_MAX:
            return f"{fallback:.0%} of the last {n} rewrites gave nothing; at most {FALLBACK_MAX:.0%} may."
        if empty > EMPTY_MAX:
            return f"{empty:.0%} of the last {n} rewrites were empty; at most {EMPTY_MAX:.0%} may be."
        if median > MEDIAN_MAX_MS:
            return f"The last {n} rewrites took {median:.0f} ms (median); at most {MEDIAN_MAX_MS:.0f} are allowed."
        return ""


STAGE = "rewrite"
PHRASINGS_MAX = 3  # so many at most are searched for


class Phrasings(tuple[str, ...]):
    """Texts, and what the call that gave them took by the model's own account."""

    usage: Mapping[str, float] = MappingProxyType({})


# What the guard says → what the outcome says, in the words of the rewrite contract.
REASONS: Mapping[str, str] = {
    SUCCESS: "success",
    EMPTY: "failure.empty",
    TIMEOUT: "failure.timeout",
    ERROR: "failure.error",
    CANCELLED: "failure.cancelled",
    OPEN: "circuit_open",
    NO_TIME: "skip.budget",
    BUSY: "skip.busy",
}
OFF_TOPIC = "failure.off_topic"
UNSURE_BELOW = 0.8  # score of the first hit, from which a careful rewriter is not asked
CACHE_HIT = "cache_hit"
DISABLED, SPECIFIC, PLAN, PRIVACY, SLO, SURE = (
    f"skip.{why}" for why in ("disabled", "specific", "plan", "privacy", "slo", "sure")
)


@record(frozen=True, slots=True)
class Asking:
    """A question to the model, under way or answered."""

    key: str  # of the question
    sent: str  # the query as it was sent to the model
    call: Call[Phrasings] | None = None  # the call under way
    mine: bool = True  # whether this recall began the call, and learns from it
    answer: Answer[Phrasings] | None = None  # the answer, if it is known already
    cached: bool = False  # whether the answer comes from the cache


class Rewriting:
    """The rewriting step. Threads may share one."""

    def __init__(
        self,
        llm: Callable[[str], str] | None,
        guard: Guard,
        settings: RewritingConfig,
        cache: RewriteCache | None = None,
        slo: Contract | None = None,
    ) -> None:
        self._llm = llm if settings.mode != "off" else None
        self._guard, self._cache, self._slo = guard, cache or RewriteCache(), slo or Contract()
        self.settings = settings
        self.template = settings.prompt or PROMPTS[settings.strategy]
        self._identity = identity_of(self._llm)
        self._lock = threading.RLock()  # a call may end before `begin` is back
        self._under_way: dict[str, Call[Phrasings]] = {}

    @property
    def provider(self) -> str:
        """Name of the model; empty = there is none."""
        return "" if self._llm is None else getattr(self._llm, "__name__", type(self._llm).__name__)

    @property
    def wait_ms(self) -> float:
        """Milliseconds that a recall waits for the model beyond its own time, if the caller names none."""
        return self.settings.timeout_ms if self.on else 0.0

    @property
    def on(self) -> bool:
        """True if there is a model to ask."""
        return self._llm is not None

    def skipped(self, reason: str) -> RewriteOutcome:
        """Return the outcome where the model is not asked, with the time saved."""
        if self._llm is None:
            return RewriteOutcome()
        return RewriteOutcome(
            strategy="skipped", reason=reason, provider=self.provider, saved_ms=self._guard.pace.median_ms()
        )

    def needless(self, parsed: ParsedQuery, plan: RetrievalPlan, precise: float, door: Door) -> str | None:
        """Return the reason code why the model need not be asked, whatever is found; `None` = it may be asked."""
        if self._llm is None:
            return DISABLED
        if door.blocked:
            return PRIVACY
        if not plan.rewrite:
            return SPECIFIC if parsed.specificity >= precise else PLAN
        return skip_reason(parsed.original)

    def begin(self, parsed: ParsedQuery, scope: Scope, door: Door, deadline: Deadline) -> Asking:
        """Ask, return the cached answer, or join a call under way. Returns at once."""
        sent = door.query(parsed.original).text
        template = self.template
        key = key_of(sent, template, self._identity, scope, door.mode)
        kept = self._cache.get(key)
        if kept is not None:
            return Asking(key, sent, answer=Answer(reason=SUCCESS, value=Phrasings(kept)), cached=True)
        with self._lock:
            call = self._under_way.get(key)
            if call is not None and not call.limit.over:  # one that is late may hang for ever
                return Asking(key, sent, call, mine=False)
            if why := self._slo.refuses():
                return Asking(key, sent, answer=Answer(reason=SLO, detail=why))
            begun = self._guard.begin(deadline, self._phrasings, key, sent, template)
            if isinstance(begun, Answer):
                return Asking(key, sent, answer=begun)
            self._under_way[key] = begun
        self._slo.begun()
        begun.future.add_done_callback(lambda _: self._over(key, begun))
        return Asking(key, sent, begun)

    def end(self, asking: Asking, deadline: Deadline, useless: Callable[[Phrasings], bool]) -> Answer[Phrasings]:
        """Wait for the answer, and learn from it."""
        if asking.answer is not None:
            value = asking.answer.value
            return _useless(value) if value is not None and useless(value) else asking.answer
        assert asking.call is not None
        if not asking.mine:
            return self._guard.joined(asking.call, deadline, useless)
        answer = self._guard.ended(asking.call, useless)
        self._learn(answer, fair=asking.call.fair)
        if answer.reason == TIMEOUT:
            asking.call.future.add_done_callback(functools.partial(self._arrived, asking.call))
        return answer

    def leave(self, asking: Asking) -> None:
        """Give up a question whose answer nobody needs any more."""
        if asking.call is not None and asking.mine and not asking.call.future.done():
            asking.call.limit.cancel()
            self._guard.ended(asking.call)

    def _learn(self, answer: Answer[Phrasings], *, fair: bool) -> None:
        """Count the call. A late one that had little time says nothing about the model."""
        if not answer.begun or answer.reason in (CANCELLED, OPEN):
            return
        if answer.reason == TIMEOUT and not fair:
            return
        outcome = SUCCESS if answer.reason == SUCCESS else FAILED
        if answer.reason == EMPTY and not answer.value:  # what is off topic is not empty
            outcome = EMPTY
        self._slo.record(outcome, answer.took_ms)

    def _over(self, key: str, call: Call[Phrasings]) -> None:
        with self._lock:
            if self._under_way.get(key) is call:
                del self._under_way[key]

    def _arrived(self, call: Call[Phrasings], future: Future[Phrasings]) -> None:
        """Count an answer that came when nobody waited for it any more: the model works all the same."""
        if not future.cancelled() and future.exception() is None and future.result():
            self._slo.record(SUCCESS, self._guard.arrived(call), late=True)

    def _phrasings(self, key: str, query: str, template: str) -> Phrasings:
        """Ask the model for phrasings. An answer too late for this recall serves the next."""
        assert self._llm is not None
        said = self._llm(prompt_for(query, template))
        found = Phrasings(parse_rewrites(said, query, PHRASINGS_MAX, prompt=template))
        found.usage = getattr(said, "usage", found.usage)
        if found:
            self._cache.put(key, found)
        return found


def _useless(value: Phrasings) -> Answer[Phrasings]:
    return Answer(reason=EMPTY, value=value, detail="What was found lately cannot be used.")
