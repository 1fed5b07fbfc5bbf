"""The two formats of a file of settings, and the places of settings in them.

    recall:                            read_pipeline:
      planner: {…}                       optimizer:
      cache: {…}                           mode: cached
                                           rule: {…}, cache: {…}, learned: {…}

A file may use both, each setting in one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from recall_integrations.config.checking import Mistake, fields_of, unknown
from recall_integrations.config.reading import Where, Written
from recall_integrations.config.recall_config import RecallConfig

OWN, PIPELINE = "recall", "read_pipeline"
# Of `read_pipeline.optimizer` → ours.
RULE = {name: f"planner.{name}" for name in ("precise_threshold", "exploratory_threshold", "entity_confidence_min")}
CACHE = {
    name: f"cache.{name}"
    for name in ("enabled", "ttl_seconds", "max_entries", "normalize_casing", "normalize_punctuation")
}
LEARNED = {
    name: f"learned.{name}"
    for name in (
        "min_queries_per_signature",
        "update_cadence",
        "rollback_on_ndcg_regression",
        "traffic_fraction_for_new_weights",
    )
}
SECTIONS: Mapping[str, Mapping[str, str]] = {"rule": RULE, "cache": CACHE, "learned": LEARNED}
ENABLED = "enabled"  # of `learned`: says what the mode says


class Shaped:
    """Settings read from a file.

    Attributes:
        values: as `RecallConfig.from_mapping` takes them.
        mistakes: of the format, with their places in the file.
    """

    def __init__(self, written: Written) -> None:
        self.values: dict[str, Any] = {}
        self.mistakes: list[Mistake] = []
        self._from: dict[Where, Where] = {}
        whole = {} if written.values is None else written.values
        if not isinstance(whole, dict):
            self.mistakes.append(((), f"The file must hold a mapping, not {_kind(whole)}."))
            return
        outside = [key for key in whole if key in fields_of(RecallConfig)]
        for key in outside:
            self.mistakes.append(
                ((key,), f"{key} stands outside of {OWN}, where nothing reads it. Move it under {OWN}.")
            )
        if whole and not outside and OWN not in whole and PIPELINE not in whole:
            self.mistakes.append(((), f"The file has no {OWN}, under which settings stand."))
        self._own(whole.get(OWN))
        if PIPELINE in whole:
            self._pipeline(whole[PIPELINE])

    def where(self, ours: Where) -> Where:
        """Return the place of a setting in the file, or that of the nearest key above it."""
        for end in range(len(ours), -1, -1):
            if ours[:end] in self._from:
                return (*self._from[ours[:end]], *ours[end:])
        return ours

    def _own(self, values: object) -> None:
        self._from[()] = (OWN,)
        if values is None:
            return
        if not isinstance(values, dict):
            self.mistakes.append(((OWN,), f"{OWN} must be a mapping, not {_kind(values)}."))
            return
        self.values = {key: dict(value) if isinstance(value, dict) else value for key, value in values.items()}

    def _pipeline(self, values: object) -> None:
        for path, _, value in self._known(values, (PIPELINE,), ("optimizer",)):
            mode = value.get("mode", "rule") if isinstance(value, dict) else "rule"
            for inside, key, held in self._known(value, path, ("mode", *SECTIONS)):
                if key == "mode":
                    self._put("mode", held, inside)
                    continue
                known = (*SECTIONS[key], ENABLED) if key == "learned" else tuple(SECTIONS[key])
                for place, name, given in self._known(held, inside, known):
                    if key == "learned" and name == ENABLED:
                        self._enabled(given, mode, place)
                    else:
                        self._put(SECTIONS[key][name], given, place)

    def _known(self, values: object, where: Where, known: Any) -> Iterator[tuple[Where, str, Any]]:
        """Yield the known keys of a mapping with their places and values; note the others as mistakes."""
        path = ".".join(map(str, where))
        if values is None:
            return
        if not isinstance(values, dict):
            self.mistakes.append((where, f"{path} must be a mapping, not {_kind(values)}."))
            return
        for key, value in values.items():
            if key in known:
                yield (*where, key), key, value
            else:
                says = unknown(str(key), path, list(known))
                if where[1:] == ("optimizer",):
                    says += f" All other settings are under {OWN}."
                self.mistakes.append(((*where, key), says))

    def _put(self, path: str, value: object, where: Where) -> None:
        section, _, name = path.rpartition(".")
        into = self.values.setdefault(section, {}) if section else self.values
        if not isinstance(into, dict):
            return  # named as a mistake of its own
        if name in into:
            says = f"{'.'.join(map(str, where))} is {path}, which stands under {OWN} too. Leave one of them out."
            self.mistakes.append((where, says))
            return
        into[name] = value
        self._from[(section, name) if section else (name,)] = where

    def _enabled(self, value: object, mode: object, where: Where) -> None:
        """Check `learned.enabled`, which must agree with the mode."""
        path = ".".join(map(str, where))
        if not isinstance(value, bool):
            self.mistakes.append((where, f"{path} must be true or false, not {value!r}."))
        elif value and mode != "learned":
            self.mistakes.append(
                (where, f"{path} is true, and the mode is {mode!r}. Write mode: learned to turn it on.")
            )
        elif not value and mode == "learned":
            self.mistakes.append(
                (where, f"{path} is false, and the mode is learned. Leave {ENABLED} out, or set true.")
            )


def _kind(value: object) -> str:
    return {list: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}.get(
        type(value), type(value).__name__
    )
