from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.quality import means, pictures
from benchmarks.quality.metrics import Average, by_category
from benchmarks.quality.paired import METRICS
from benchmarks.quality.pictures import Row, chart
from benchmarks.quality.report import COMPARED, Answer, QualityReport
from recall_integrations.errors import InvalidArgument
from recall_integrations.evaluation.metrics import Interval
from recall_integrations.evaluation.questions import Question

SVG = "{http://www.w3.org/2000/svg}"


def interval(mean: float, reach: float = 0.01) -> Interval:
    return Interval(mean=mean, low=mean - reach, high=mean + reach)


def bars(svg: str) -> list[ET.Element]:
    return ET.fromstring(svg).findall(f"{SVG}rect")


def test_a_bar_is_as_long_as_its_value() -> None:
    svg = chart(
        "t", ["a"], [Row(label="x", values=(interval(0.2),)), Row(label="y", values=(interval(0.4),), strong=True)]
    )
    short, long = bars(svg)
    assert float(long.attrib["width"]) == pytest.approx(2 * float(short.attrib["width"]), abs=0.2)
    assert (short.attrib["fill"], long.attrib["fill"]) == (pictures.PLAIN, pictures.STRONG)
    assert ">0.200<" in svg and ">0.400<" in svg


def test_differences_are_coloured_by_what_the_interval_says() -> None:
    rows = [Row(label=str(m), values=(interval(m, 0.02),)) for m in (0.1, -0.1, 0.01)]
    better, worse, unclear = bars(chart("t", ["a"], rows, signed=True))
    colours = (better.attrib["fill"], worse.attrib["fill"], unclear.attrib["fill"])
    assert colours == (pictures.STRONG, pictures.AGAINST, pictures.PLAIN)
    assert float(worse.attrib["x"]) < float(better.attrib["x"])


def test_names_are_escaped_and_missing_values_left_out() -> None:
    svg = chart("<&>", ['"q"', "b"], [Row(label="a<b & c", values=(None, interval(0.5)))])
    texts = [e.text for e in ET.fromstring(svg).iter(f"{SVG}text")]
    assert {"<&>", '"q"', "a<b & c"} <= set(texts)
    assert len(bars(svg)) == 1


@given(
    st.lists(
        st.tuples(*[st.floats(-1, 1, allow_nan=False)] * 3)
        .map(sorted)
        .map(lambda v: Interval(low=v[0], mean=v[1], high=v[2])),
        max_size=5,
    ),
    st.booleans(),
)
def test_nothing_is_drawn_outside(values: list[Interval], signed: bool) -> None:
    root = ET.fromstring(chart("t", ["a"], [Row(label="x", values=(v,)) for v in values], signed=signed))
    for bar in root.findall(f"{SVG}rect"):
        start, width = float(bar.attrib["x"]), float(bar.attrib["width"])
        assert width >= 0 and start >= pictures.LABELS - 0.1 and start + width <= pictures.WIDTH
    lines = [float(line.attrib["x1"]) for line in root.findall(f"{SVG}line")]
    assert len(lines) == len(set(lines)) >= 2


def test_text_has_the_same_contrast_on_white_and_on_black() -> None:
    def contrast(colour: str, ground: float) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        high, low = max(light, ground), min(light, ground)
        return (high + 0.05) / (low + 0.05)

    assert min(contrast(pictures.INK, 1), contrast(pictures.INK, 0)) >= 4.5
    for colour in (pictures.STRONG, pictures.PLAIN, pictures.AGAINST):
        assert min(contrast(colour, 1), contrast(colour, 0)) >= 3


def report(name: str, family: str = "") -> QualityReport:
    questions = tuple(Question(id=f"q{i}", text="x", relevant=("m",), category="ab"[i]) for i in range(2))
    scores = {s: {q.id: dict.fromkeys(METRICS, v) for q in questions} for s, v in (("recall", 0.5), ("peer", 0.25))}
    scores["no luck"] = scores["peer"]
    category = {q.id: q.category for q in questions}
    averages: dict[str, dict[str, Average]] = {s: by_category(rows, category) for s, rows in scores.items()}
    return QualityReport(
        dataset=name,
        k=10,
        questions=questions,
        answers={s: {q.id: Answer(ids=("m",), plan="precise" * (s == "recall")) for q in questions} for s in scores},
        scores=scores,
        averages=averages,
        differences=means.differences([scores], "recall", COMPARED),
        kinds={"no luck": "stage"},
        family=family,
    )


def test_each_table_gets_its_picture(tmp_path: Path) -> None:
    reports = [report("hot/pot", "multi-hop"), report("musique", "multi-hop")]
    written = pictures.drawn(reports, means.of_families(reports), tmp_path)
    parts = ("systems", "categories", "plans", "differences", "stages")
    expected = [f"{name}-{part}.svg" for name in ("hot-pot", "musique") for part in parts]
    mean = ["multi-hop-mean.svg", "multi-hop-mean-differences.svg", "multi-hop-mean-stages.svg"]
    assert [file.name for file in written] == [*expected, *mean]
    for file in written:
        ET.parse(file)
    systems = (tmp_path / "musique-systems.svg").read_text()
    assert "no luck" not in systems and re.search(r">0\.500<", systems)
    assert "no luck" in (tmp_path / "musique-stages.svg").read_text()
    with pytest.raises(InvalidArgument, match="Cannot write the picture"):
        pictures.drawn(reports, (), tmp_path / "absent")
