"""A user's own slots, as settings hold them (`facts.slots`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recall_integrations.errors import ConfigError
from recall_integrations.patterns import regex

ANY = "any"  # whatever a noun phrase can be
KINDS = (  # of values
    ANY,
    "person",  # a name, or one with a title
    "place",  # a name of a place
    "organisation",  # a name, or "the local bakery"
    "address",
    "phone",
    "email",
    "number",  # with a digit in it: "34", "£900", "6 ft 1"
    "date",
    "code",  # one word, whatever its signs: a password, a version
    "work",  # "nurse", "data engineer"
    "language",
    "diet",
    "instrument",
    "sport",
    "marital",
    "medicine",  # with a dose, or by a name that only a medicine has
    "name",  # a name, or one or two words
    "subject",  # of study
    "team",
    "religion",
    "nationality",
    "blood",
    "titled",  # "Dr Tan"
    "vehicle",  # a make and a model
    "activity",  # what people do for its own sake: "pottery", "bird watching"
    "thing",  # a name ("Tesla Model 3"), or a noun phrase with an article ("a grey van")
)
PHRASES = ("nouns", "verbs", "starts", "stops")
FIELDS = ("nouns", "one", "kind", "verbs", "starts", "stops")
PHRASE_CHARS_MAX = 60
NAME = regex(r"[a-z][a-z0-9_]{0,59}")
PHRASE = regex(r"[^\W_](?:[\w'’&/. -]{0,58}[^\W_])?")
_SETTING = "facts.slots"
_SAYS = {
    "nouns": "what people call it, such as [desk, desk number]",
    "verbs": "what leads to a value that holds, in the infinitive, such as [sit at]",
    "starts": "what tells that it began, in the infinitive, such as [move to]",
    "stops": "what tells that it ended, in the infinitive, such as [move away from]",
}


def own_slots(given: object) -> dict[str, dict[str, Any]]:
    """Return slots by name, each with its checked settings; texts in lower case.

    Raises:
        ConfigError: the value is no such mapping.
    """
    if not isinstance(given, Mapping):
        raise ConfigError(f"{_SETTING} must be a mapping from names to slots, not {given!r}.")
    return {_name(name): _slot(f"{_SETTING}.{name}", slot) for name, slot in given.items()}


def _name(name: object) -> str:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ConfigError(
            f"The name {name!r} in {_SETTING} must be lower-case letters, digits and _, at most {PHRASE_CHARS_MAX}, "
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
    if not isinstance(given, list | tuple) or not all(map(_is_phrase, given)):
        raise ConfigError(f"{setting} must list {_SAYS[field]}; short texts of words, not {given!r}.")
    return tuple(" ".join(text.casefold().split()) for text in given)


def _is_phrase(text: object) -> bool:
    return isinstance(text, str) and PHRASE.fullmatch(" ".join(text.casefold().split())) is not None


def schema() -> dict[str, Any]:
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
