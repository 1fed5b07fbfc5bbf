"""Settings of what is kept, and where: facts, privacy, feedback, PostgreSQL, the vectors of large scopes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, Literal, cast
from urllib.parse import urlsplit

from pydantic import BeforeValidator

from recall_integrations.config.checking import Share, Switch, Text, defaults, in_range, section
from recall_integrations.config.hosts import checked_server
from recall_integrations.errors import ConfigError
from recall_integrations.patterns import regex

ANY_KIND = "any"  # whatever a noun phrase can be
# Of values. person: a name, or one with a title; place: a name of one; organisation: a name, or "the local bakery";
# number: with a digit in it ("34", "£900", "6 ft 1"); code: one word, whatever its signs (a password, a version);
# work: "nurse", "data engineer"; medicine: with a dose, or by a name that only a medicine has; name: a name, or one or
# two words; subject: of study; titled: "Dr Tan"; vehicle: a make and a model; activity: what people do for its own sake
# ("pottery"); thing: a name ("Tesla Model 3"), or a noun phrase with an article ("a grey van").
KINDS = (
    ANY_KIND,
    *"person place organisation address phone email number date code work language diet instrument sport".split(),
    *"marital medicine name subject team religion nationality blood titled vehicle activity thing".split(),
)
PHRASES = ("nouns", "verbs", "starts", "stops")
FIELDS = ("nouns", "one", "kind", "verbs", "starts", "stops")
PHRASE_CHARS_MAX = 60
NAME = regex(r"[a-z][a-z0-9_]{0,59}")
PHRASE = regex(r"[^\W_](?:[\w'’&/. -]{0,58}[^\W_])?")
_SLOTS = "facts.slots"
_SAYS = {
    "nouns": "what people call it, such as [desk, desk number]",
    "verbs": "what leads to a value that holds, in the infinitive, such as [sit at]",
    "starts": "what tells that it began, in the infinitive, such as [move to]",
    "stops": "what tells that it ended, in the infinitive, such as [move away from]",
}


def own_slots(given: object) -> dict[str, dict[str, Any]]:
    """Return slots by name, each with its checked settings; texts in lower case."""
    if not isinstance(given, Mapping):
        raise ConfigError(f"{_SLOTS} must be a mapping from names to slots, not {given!r}.")
    return {_name(name): _slot(f"{_SLOTS}.{name}", slot) for name, slot in given.items()}


def _name(name: object) -> str:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ConfigError(
            f"The name {name!r} in {_SLOTS} must be lower-case letters, digits and _, at most {PHRASE_CHARS_MAX}, "
            "such as desk."
        )
    return name


def _slot(setting: str, given: object) -> dict[str, Any]:
    others = ", ".join(f"`{field}`" for field in FIELDS[1:])
    if not isinstance(given, Mapping):
        raise ConfigError(f"{setting} must be a mapping with `nouns` and, if you like, {others}, not {given!r}.")
    unknown = sorted(map(str, set(given) - set(FIELDS)))
    if unknown:
        raise ConfigError(f"{setting} has no {', '.join(unknown)}: it may have `nouns`, {others}.")
    slot: dict[str, Any] = {
        field: _phrases(f"{setting}.{field}", field, given.get(field)) for field in PHRASES if field in given
    }
    if not slot.get("nouns"):
        raise ConfigError(f"{setting}.nouns must list {_SAYS['nouns']}.")
    if "one" in given:
        if not isinstance(given["one"], bool):
            raise ConfigError(f"{setting}.one must be true or false, not {given['one']!r}.")
        slot["one"] = given["one"]
    if "kind" in given:
        if given["kind"] not in KINDS:
            raise ConfigError(f"{setting}.kind must be one of {', '.join(KINDS)}, not {given['kind']!r}.")
        slot["kind"] = given["kind"]
    return {field: slot[field] for field in FIELDS if field in slot}


def _phrases(setting: str, field: str, given: object) -> tuple[str, ...]:
    listed = isinstance(given, list | tuple) and all(isinstance(text, str) for text in given)
    phrases = tuple(" ".join(text.casefold().split()) for text in cast("list[str]", given)) if listed else ()
    if not listed or not all(map(PHRASE.fullmatch, phrases)):
        raise ConfigError(f"{setting} must list {_SAYS[field]}; short texts of words, not {given!r}.")
    return phrases


def slots_schema() -> dict[str, Any]:
    """Return the part of the JSON schema for this setting."""
    texts = {"type": "array", "items": {"type": "string", "maxLength": PHRASE_CHARS_MAX}}
    said = {field: {**texts, "description": _SAYS[field]} for field in PHRASES}
    one = {"type": "boolean", "description": "Whether one value holds at a time; else values add up."}
    kind = {"enum": list(KINDS), "description": "What its values look like."}
    return {
        "propertyNames": {"pattern": f"^{NAME.pattern}$"},
        "additionalProperties": {
            "type": "object",
            "additionalProperties": False,
            "required": ["nouns"],
            "properties": {**said, "one": one, "kind": kind},
        },
    }


@section("facts")
class FactsConfig:
    """What memories say of slots, such as a phone number, and which of it holds when (docs/facts.md).

    Args:
        keep: read facts, and the times that texts tell, when memories are written; they are kept beside them.
        read: let them put the value that holds first, where a query asks how things are, were, or how they changed.
        slots: of your own, by name: `{desk: {nouns: [desk, desk number], verbs: [sit at], starts: [move to]}}`.
            `one: false` lets values add up; else a newer one takes the place of an older one. `kind` says what values
            look like, `stops` what tells that one ended. A name that the package has takes the place of its slot; what
            is left out but `nouns` stays as it was there. Stores read their memories anew when they are opened with
            other slots.
        llm_calls_per_hour: calls at most in an hour to a language model that reads facts, if there is one, for a store;
            what is left waits.
    """

    keep: bool = True
    read: bool = True
    slots: Annotated[dict[str, dict[str, Any]], BeforeValidator(own_slots)] = field(default_factory=dict)
    llm_calls_per_hour: Annotated[int, in_range(0, 1_000_000)] = 60

    def __hash__(self) -> int:
        slots = repr(sorted(self.slots.items()))
        return hash((self.keep, self.read, slots, self.llm_calls_per_hour))


_OWN_NAME = regex(r"[a-z][a-z0-9_]{0,31}")


def _own_patterns(given: object) -> dict[str, str]:
    """Return names and regular expressions, checked."""
    setting = "privacy.patterns"
    if not isinstance(given, Mapping):
        raise ConfigError(f"{setting} must be a mapping from names to regular expressions, not {given!r}.")
    for name, pattern in given.items():
        if not isinstance(name, str) or not _OWN_NAME.fullmatch(name):
            raise ConfigError(
                f"The name {name!r} in {setting} must be a lower-case letter and up to 31 more letters, digits or _: "
                "it becomes a placeholder such as [badge-1]."
            )
        if not isinstance(pattern, str):
            raise ConfigError(f"{setting}.{name} must be a regular expression, not {pattern!r}.")
        try:
            compiled = re.compile(pattern)
        except re.error as e:
            raise ConfigError(f"{setting}.{name} is no regular expression: {e}.") from e
        if compiled.search("") is not None:
            raise ConfigError(f"{setting}.{name} finds the empty text, which is everywhere. Write what must be there.")
    return dict(given)


@section("privacy")
class PrivacyConfig:
    """What is hidden under `privacy="redact"` besides what the package knows.

    Args:
        patterns: regular expressions of your own, by name: what `badge` finds becomes `[badge-1]`. They run over every
            text that leaves a recall. One that backtracks without end holds up the process: `re` cannot be stopped.
    """

    patterns: Annotated[dict[str, str], BeforeValidator(_own_patterns)] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(frozenset(self.patterns.items()))

    @property
    def compiled(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        """Names with compiled patterns."""
        return tuple((name, re.compile(pattern)) for name, pattern in self.patterns.items())


CADENCES = {"daily": 1, "weekly": 7, "monthly": 30}  # days


@section("learned")
class LearnedConfig:
    """Feedback, and what is learned from it (docs/learning.md). Only `mode: learned` answers by what was learned.

    Args:
        keep_days: after so many days feedback is removed.
        min_queries_per_signature: judged recalls from which anything is learned of a scope, and from which a signature
            gets a plan of its own.
        update_cadence: `daily`, `weekly` or `monthly`: how often something is learned, and how long it is tried.
        traffic_fraction_for_new_weights: share of the recalls that a new version answers while it is tried.
        rollback_on_ndcg_regression: whether a version that serves is rolled back where rules are better by now.
    """

    keep_days: Annotated[int, in_range(1, 3_650)] = 90
    min_queries_per_signature: Annotated[int, in_range(1, 1_000_000)] = 30
    update_cadence: Literal["daily", "weekly", "monthly"] = "weekly"
    traffic_fraction_for_new_weights: Share = 0.1
    rollback_on_ndcg_regression: Switch = True

    @property
    def cadence_days(self) -> int:
        """Days of `update_cadence`."""
        return CADENCES[self.update_cadence]


@section("postgres")
class PostgresConfig:
    """Connections of a store in PostgreSQL (docs/postgres.md). A directory has none of it.

    Args:
        pool_size: connections to the server that a process keeps open; as many more are made while they are needed. A
            few stand outside of this pool (docs/postgres.md#connections).
    """

    pool_size: Annotated[int, in_range(1, 1_000)] = 8


PGVECTOR = "pgvector"  # as an address: the store's own PostgreSQL
CLOUD = "trychroma.com"  # where Chroma Cloud is
CLOUD_MOST = 300  # records of a write and results of an answer there, unless it agreed to more
BATCH_MAX, RESULTS_MAX = 500, 20_000  # of a server of one's own


@section("vectors")
class VectorsConfig:
    """Where near vectors are looked for, and where those of large scopes are (docs/chroma-server.md, docs/postgres.md).

    Args:
        index: `auto`: a scope is scanned in memory, a large one (`retrieval.exact_max`, `retrieval.cache_mb`) has a
            collection; `scan`: every scope is scanned; `chroma`: every scope has a collection in Chroma, in the
            store's directory or on the server of `address`, which Chroma's own client can read.
        address: of a Chroma server, `https://chroma.example:8000`; or `pgvector`: the store's own PostgreSQL, with the
            extension of that name; empty = there is none: a store in a directory keeps these vectors in its files, one
            in PostgreSQL scans them.
        token_variable: the environment variable that holds the token of the server, sent as `X-Chroma-Token` and, but
            to Chroma Cloud, as a bearer's; empty = it wants none. The token itself is no setting, so that it stands in
            no file, message or `repr`.
        tenant, database: on the server; both have to be there.
        timeout_ms: longest wait for the server. A recall waits less, so that half of its time for vectors is left to
            answer without the server.
    """

    index: Literal["auto", "scan", "chroma"] = "auto"
    address: Text = ""
    token_variable: Text = ""
    tenant: Text = "default_tenant"
    database: Text = "default_database"
    timeout_ms: Annotated[float, in_range(1, 600_000)] = 5_000.0

    @property
    def all_in_chroma(self) -> bool:
        """True if every scope has a collection, whose vectors carry the ids of their memories."""
        return self.index == "chroma"

    @property
    def batch(self) -> int:
        """Most vectors of one write to the server of this address."""
        return CLOUD_MOST if self.in_cloud else BATCH_MAX

    @property
    def results(self) -> int:
        """Most neighbours or numbers of one answer of the server of this address."""
        return CLOUD_MOST if self.in_cloud else RESULTS_MAX

    @property
    def in_cloud(self) -> bool:
        """True if the address is one of Chroma Cloud."""
        host = urlsplit(self.address).hostname or ""
        return host == CLOUD or host.endswith(f".{CLOUD}")

    def __post_init__(self) -> None:
        if (self.address and self.index == "scan") or (self.address == PGVECTOR and self.index != "auto"):
            raise ConfigError(
                f"vectors.index {self.index!r} has no use for vectors.address {self.address!r}. Leave one of them out."
            )
        for name, default in defaults(self, OF_CHROMA).items() if self.address == PGVECTOR else ():
            if getattr(self, name) != default:
                raise ConfigError(
                    f"vectors.{name} has no effect with vectors.address {PGVECTOR!r}, which is asked as the store is. "
                    "Leave it out."
                )
        if self.address not in ("", PGVECTOR):
            checked_server(self.address, "vectors.address", _ADVICE, ConfigError)
        for name in ("tenant", "database"):
            if not getattr(self, name).strip() or "/" in getattr(self, name):
                raise ConfigError(f"vectors.{name} must be a name without '/', not {getattr(self, name)!r}.")


OF_CHROMA = ("token_variable", "tenant", "database")  # what only a Chroma server has
_ADVICE = (
    "`pgvector` is the store's own PostgreSQL. Put a token into an environment variable, and name that in "
    "vectors.token_variable."
)
