"""Settings of the facts that are read from memories."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from recall_integrations.config.checking import in_range, section
from recall_integrations.config.own_slots import own_slots


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
        llm_privacy: `redact` hides personal data and secrets in what it is sent, so that it finds no phone numbers;
            `allow` sends texts as they are. The privacy mode of recalls says nothing of this.
    """

    keep: bool = True
    read: bool = True
    slots: Annotated[dict[str, dict[str, Any]], BeforeValidator(own_slots)] = field(default_factory=dict)
    llm_calls_per_hour: Annotated[int, in_range(0, 1_000_000)] = 60
    llm_privacy: Literal["redact", "allow"] = "redact"

    def __hash__(self) -> int:
        slots = repr(sorted(self.slots.items()))
        return hash((self.keep, self.read, slots, self.llm_calls_per_hour, self.llm_privacy))
