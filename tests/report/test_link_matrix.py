"""Link matrices: a square for every link, gold outlined, words of any script, in reports and as files."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.errors import DataError, MissingDependencyError, SettingsError
from interlace.experiments.diagnostics import sample_alignments
from interlace.report import read_runs, write_report
from interlace.report._matrix import draw
from interlace.report._picture_file import whole
from interlace.report.link_matrix import LinkMatrix, link_matrix, must_be_drawable, write_figure

SVG = "{http://www.w3.org/2000/svg}"


def matrix(source="the red house", target="das rote Haus", links=((0, 0), (1, 1), (2, 2)), **more):
    return LinkMatrix(source=source.split(), target=target.split(), links=links, **more)


def squares(root, kind):
    """(x, y, width) of the squares of a class in the matrix, by rows."""
    found = [node for node in root.iter(f"{SVG}rect") if node.get("class") == kind and float(node.get("width")) > 11]
    return [(float(node.get("x")), float(node.get("y")), float(node.get("width"))) for node in found]


def parsed(drawn):
    return ET.fromstring(str(whole(draw(drawn))))  # noqa: S314 - our own


def test_a_square_stands_where_its_words_stand():
    root = parsed(matrix(links=[(0, 2), (2, 0)]))
    words = {node.text: node for node in root.iter(f"{SVG}text")}
    across = {
        word: float(re.search(r"translate\(([\d.]+)", words[word].get("transform"))[1]) for word in ("das", "Haus")
    }
    down = {word: float(words[word].get("y")) for word in ("the", "house")}
    (first, second) = squares(root, "link")
    for (x, y, width), target, source in ((first, "Haus", "the"), (second, "das", "house")):
        assert x < across[target] < x + width
        assert y < down[source] < y + width


def test_the_surer_the_darker():
    root = parsed(matrix(confidence=[0.1, 0.5, 1.0]))
    drawn = [float(node.get("fill-opacity")) for node in root.iter(f"{SVG}rect") if node.get("fill-opacity")]
    assert drawn == pytest.approx([0.28, 0.6, 1.0])


def test_gold_is_outlined_whether_found_or_not():
    root = parsed(matrix(links=[(0, 0)], sure=[(0, 0), (1, 1)], possible=[(0, 0), (1, 1), (2, 2)]))
    assert [len(squares(root, kind)) for kind in ("link", "sure", "possible")] == [1, 2, 1]
    assert "possible gold link" in "".join(root.itertext())
    assert "gold" not in "".join(parsed(matrix()).itertext())


@given(
    st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=12),
    st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=12),
)
def test_any_words_make_a_document_that_can_be_read_and_nothing_leaves_it(source, target):
    drawn = LinkMatrix(source=source, target=target, links=[(len(source) - 1, len(target) - 1)], corpus="hi-zh")
    root = parsed(drawn)
    (x, y, width) = squares(root, "link")[0]
    assert x + width <= float(root.get("width"))
    assert y + width <= float(root.get("height"))
    assert "Hindi" in "".join(root.itertext())


def test_what_is_no_link_between_these_words_is_refused():
    for wrong in ({"links": [(0, 3)]}, {"sure": [(-1, 0)]}, {"confidence": [1.0]}):
        with pytest.raises(ValueError, match=r"link|confidence"):
            matrix(**wrong)


def test_files_by_their_names(tmp_path):
    drawn = matrix(corpus="en-de", target="das rote हाउस房子")
    write_figure(drawn, tmp_path / "a.svg")
    write_figure(drawn, tmp_path / "a.png")
    assert "var(" not in (tmp_path / "a.svg").read_text()
    assert "rote" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    png = (tmp_path / "a.png").read_bytes()
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20]) == pytest.approx(2 * float(parsed(drawn).get("width")), abs=2)
    with pytest.raises(SettingsError, match=r"FILE\.svg or FILE\.png"):
        write_figure(drawn, tmp_path / "a.pdf")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "a.svg"]


def test_a_long_sentence_is_drawn_smaller(tmp_path):
    words = " ".join(["word"] * 400)
    write_figure(matrix(source="a", target=words, links=[]), tmp_path / "a.png")
    assert int.from_bytes((tmp_path / "a.png").read_bytes()[16:20]) < 8200


def test_png_asks_for_its_package(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "resvg_py", None)
    with pytest.raises(MissingDependencyError, match="pip install resvg_py"):
        must_be_drawable(tmp_path / "a.png")
    must_be_drawable(tmp_path / "a.svg")


def _with_links(run, corpora):
    rows = [{**matrix().model_dump(), "corpus": name, "confidence": [0.9, 0.8, 0.7]} for name in corpora]
    (run / "alignments.json").write_text(json.dumps(rows))
    return run


def test_reports_show_each_corpus_before_a_second_pair_of_one(two_runs, tmp_path):
    _with_links(two_runs[1], ["en-de"] * 7 + ["en-tr"])
    section = link_matrix(read_runs(two_runs))
    assert section.body.count("<svg") == 6
    assert section.body.index("Turkish") < section.body.rindex("German")
    page = write_report(two_runs, tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'id="link-matrix"' in page
    assert "Linked words" in page


def test_a_run_without_links_says_so_and_a_damaged_file_is_named(two_runs):
    assert link_matrix(read_runs(two_runs)).lead == "These runs read no word links."
    (two_runs[0] / "alignments.json").write_text('[{"source": ["a"], "target": ["b"], "links": [[0, 1]]}]')
    with pytest.raises(DataError, match=r"links\.json, entry 1: a link 0-1 between 1 and 1 words"):
        read_runs(two_runs)


def test_samples_are_pairs_of_middling_length(tmp_path):
    from interlace.alignment import WordPairs
    from interlace.core.ragged import Ragged
    from interlace.data.alignments import WordAlignments
    from interlace.data.corpus import ParallelCorpus

    lengths = [2, 6, 30, 8, 7]
    side = Ragged.of([list(range(length)) for length in lengths])
    types = [f"w{number}" for number in range(30)]
    links = Ragged.of([[(0, 1)]] * 5, width=2)
    words = WordPairs(side, side, types, types, ("en", "de"))
    aligned = WordAlignments.write(tmp_path / "links", [(words, links, np.full(5, 0.5, np.float32))])
    corpus = ParallelCorpus.__new__(ParallelCorpus)
    corpus.alignments = aligned
    bare = ParallelCorpus.__new__(ParallelCorpus)
    bare.alignments = None
    found = sample_alignments({"en-de": corpus, "en-fr": bare})
    assert [len(row["source"]) for row in found] == [6, 8]
    assert [row["links"] for row in found] == [[[0, 1]], [[0, 1]]]
    assert all(LinkMatrix.model_validate(row).corpus == "en-de" for row in found)
    assert found[0]["confidence"] == [pytest.approx(0.5, abs=0.01)]
