"""An extension of griffe (mkdocs.yml): `records.record` makes a dataclass, so the reference shows the fields' types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import griffe


@dataclass(eq=False, slots=True)
class _Dataclass(griffe.ExprName):
    @property
    def canonical_path(self) -> str:
        return "dataclasses.dataclass"


class Records(griffe.Extension):
    """Looks at each class when it is read, before griffe itself looks for dataclasses."""

    def on_class_instance(self, *, cls: griffe.Class, **_: Any) -> None:
        """See `griffe.Extension`."""
        for decorator in cls.decorators:
            called = decorator.value
            if isinstance(called, griffe.ExprCall) and str(called.function) == "record":
                called.function = _Dataclass("dataclass")
