"""Files with learned weights: JSON with a `format`, read whole or refused with a reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from recall_integrations.errors import InvalidArgument
from recall_integrations.ranking.calibration import model as calibration
from recall_integrations.ranking.calibration.model import Calibration


def read(path: str | Path, what: str) -> str:
    """Read the text of a file.

    Args:
        path: path of the file.
        what: expected content, for the message.

    Raises:
        InvalidArgument: it cannot be read.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as e:
        raise InvalidArgument(f"Cannot read {what} {str(path)!r}: {e}.") from e


def parsed(text: str, format: str, where: str) -> dict[str, Any]:
    """Parse weights of the format `format` into their fields.

    Raises:
        InvalidArgument: something else.
    """
    try:
        fields = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as e:
        raise InvalidArgument(f"{where} cannot be read as JSON: {e}. Make them again with `recall train`.") from e
    if not isinstance(fields, dict) or fields.get("format") != format:
        raise InvalidArgument(f"{where} must be a mapping with format {format!r}. Make them again with `recall train`.")
    return fields


def about(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the weights' description of themselves."""
    given = fields.get("about")
    return given if isinstance(given, dict) else {}


def kept_calibration(own: Calibration | None) -> dict[str, Any] | None:
    """Return a calibration as the field `calibration` keeps it, in the format of the shipped one."""
    kept: dict[str, Any] | None = None if own is None else json.loads(calibration.to_json({own.ranker: own}))
    return kept


def own_calibration(fields: Mapping[str, Any], ranker: str, version: str, where: str) -> Calibration | None:
    """Return the calibration in the weights of a ranker; `None` where there is none.

    Raises:
        InvalidArgument: it cannot be used, or belongs to other weights.
    """
    kept = fields.get("calibration")
    if kept is None:
        return None
    found = calibration.from_json(json.dumps(kept), f"{where}: 'calibration'").get(ranker)
    if found is None or found.ranker_version != version:
        raise InvalidArgument(f"{where}: 'calibration' belongs to other weights. Make them again with `recall train`.")
    return found
