"""Scales, ticks, labels that do not collide, matrices, and figures as files."""

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.report import charts, text
from interlace.report.alignment_matrix import AlignmentMatrix, alignment_matrix
from interlace.report.charts import smoothed

SVG = "{http://www.w3.org/2000/svg}"


@given(st.lists(st.floats(0, 100), min_size=1, max_size=6))
def test_line_labels_do_not_overlap(wanted):
    placed = charts.apart(wanted, 12, 0, 200)
    assert (np.diff(sorted(placed)) >= 12 - 1e-9).all()
    assert (
        np.argsort(wanted, kind="stable").tolist() == np.argsort(placed, kind="stable").tolist()
    )


def test_ticks_and_smoothed_values_by_hand():
    assert charts.ticks(0, 100, 5) == [0, 20, 40, 60, 80, 100]
    assert charts.log_ticks(4, 80) == [5, 10, 20, 50]
    assert charts.log_ticks(4, 12_000) == [10, 100, 1000, 10_000]
    assert charts.Scale(1, 100, 0, 10, log=True)(10) == pytest.approx(5)
    points = smoothed([(float(step), float(step % 7)) for step in range(420)])
    assert [value for _, value in points] == pytest.approx([3] * 60)
    assert charts.round_ends([(31.0, 42.0), (35.0, 58.0)]) == (30.0, 60.0)


def test_numbers_times_and_names():
    values = [0, 0.02134, 5.314, 1204.4, 1.5e-7]
    shown = ["0", "0.0213", "5.31", "1\u202f204", "1.50e\u22127"]
    assert [text.significant(value) for value in values] == shown
    assert [text.duration(seconds) for seconds in (134, 11100, 0)] == [
        "2 min 14 s",
        "3 h 5 min",
        "—",
    ]
    assert text.short_labels(["multi30k-mlm", "multi30k-tlm"]) == ["mlm", "tlm"]


def matrix(
    source="the red house",
    target="das rote Haus",
    links=((0, 0), (1, 1), (2, 2)),
    confidence=(1, 1, 1),
):
    return AlignmentMatrix(source.split(), target.split(), links, confidence, ("en", "de"))


def parsed(found):
    return ET.fromstring(str(alignment_matrix(found).document()))  # noqa: S314 - our own


def squares(root, kind):
    """(x, y, width) of the squares of a class, without the key."""
    found = [
        node
        for node in root.iter(f"{SVG}rect")
        if node.get("class") == kind and float(node.get("width", 0)) > 11
    ]
    return [tuple(float(node.get(key, 0)) for key in ("x", "y", "width")) for node in found]


def test_squares_are_at_their_words_and_confidence_is_opacity():
    root = parsed(matrix(links=[(0, 2), (2, 0)], confidence=[1, 1]))
    words = {node.text: node for node in root.iter(f"{SVG}text")}
    first, second = squares(root, "link")
    for (x, y, width), target, source in ((first, "Haus", "the"), (second, "das", "house")):
        across = re.search(r"translate\(([\d.]+)", words[target].get("transform", ""))
        assert x < float(across[1]) < x + width
        assert y < float(words[source].get("y", 0)) < y + width
    document = ET.tostring(parsed(matrix(confidence=[0.1, 0.5, 1.0])), encoding="unicode")
    opacities = [float(value) for value in re.findall(r'fill-opacity="([\d.]+)"', document)]
    assert opacities == pytest.approx([0.28, 0.6, 1.0])


@given(*[st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=12)] * 2)
def test_any_words_make_a_valid_document(source, target):
    links = [(len(source) - 1, len(target) - 1)]
    root = parsed(AlignmentMatrix(source, target, links, [0.5], ("hi", "zh")))
    (x, y, width) = squares(root, "link")[0]
    assert x + width <= float(root.get("width", 0))
    assert y + width <= float(root.get("height", 0))
    assert "Hindi" in "".join(root.itertext())


def test_documents_have_the_colours_of_both_themes():
    drawing = alignment_matrix(matrix(target="das rote हाउस房子"))
    light, _, dark = drawing._repr_svg_().partition("@media (prefers-color-scheme: dark)")
    assert ".grid { stroke: #d9d5cb" in light
    assert ".grid { stroke: #3b3c3e" in dark
    assert "var(" not in light + dark
