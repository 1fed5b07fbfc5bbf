"""Settings in the environment: `RECALL_PLANNER__PRECISE_THRESHOLD=0.9` is `planner.precise_threshold: 0.9`.

Values are written as in a YAML file; the text of a setting that is text is taken as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from recall_integrations.config.catalogue import catalogue
from recall_integrations.config.checking import Mistake, did_you_mean
from recall_integrations.config.names import OTHERS, PREFIX
from recall_integrations.config.reading import parsed
from recall_integrations.errors import ConfigError

BETWEEN = "__"


def variable(path: str) -> str:
    """Return the name of a setting in the environment."""
    return PREFIX + path.upper().replace(".", BETWEEN)


def settings_in(environ: Mapping[str, str]) -> tuple[dict[str, Any], list[Mistake]]:
    """Return the settings in an environment by their paths, and the mistakes."""
    known = {variable(path): setting for path, setting in catalogue().items()}
    found: dict[str, Any] = {}
    mistakes: list[Mistake] = []
    for name in sorted(name for name in environ if name.startswith(PREFIX) and name not in OTHERS):
        setting = known.get(name)
        if setting is None:
            mistakes.append(((name,), _unknown(name, [*known, *OTHERS])))
            continue
        try:
            found[setting.path] = environ[name] if setting.kind is str else parsed(environ[name], name).values
        except ConfigError as e:
            mistakes.append(((name,), str(e)))
    return found, mistakes


def _unknown(name: str, known: list[str]) -> str:
    near = did_you_mean(name.removeprefix(PREFIX), [each.removeprefix(PREFIX) for each in known])
    hint = near.replace("mean ", f"mean {PREFIX}")
    return (
        f"Unknown name {name} in the environment.{hint} Names that begin with {PREFIX} are settings, such as "
        f"RECALL_PLANNER__ARM_LIMIT; `recall config schema` lists what there is. Unset it."
    )
