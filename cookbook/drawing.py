"""How the pictures of the notebooks look: plain, readable without colours, the same everywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt

OURS, THEIRS, QUIET, WARNING = "#1f6f8b", "#d08a3c", "#b8bec4", "#b23a48"

plt.rcParams.update(
    {
        "figure.figsize": (8.0, 3.4),
        "figure.dpi": 90,
        "savefig.facecolor": "white",
        "font.size": 9.5,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 10.5,
        "axes.titlelocation": "left",
        "axes.titleweight": "bold",
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": "#e6e8ea",
        "legend.frameon": False,
        "svg.hashsalt": "cookbook",
    }
)


def bars(axes: Any, groups: Sequence[str], series: Mapping[str, Sequence[float]], colours: Sequence[str]) -> None:
    """Horizontal bars side by side for each group, the first group on top, each with its number.

    Args:
        axes: where to draw.
        groups: names, from top to bottom.
        series: name → a value for each group, in [0, 1].
        colours: one for each series.
    """
    height = 0.8 / len(series)
    for number, (name, values) in enumerate(series.items()):
        places = [-place - number * height for place in range(len(groups))]
        axes.barh(places, values, height=height * 0.92, color=colours[number], label=name)
        for place, value in zip(places, values, strict=True):
            axes.text(value + 0.01, place, f"{value:.2f}", va="center", fontsize=8)
    middle = height * (len(series) - 1) / 2
    axes.set_yticks([-place - middle for place in range(len(groups))], groups)
    axes.grid(visible=False, axis="y")
