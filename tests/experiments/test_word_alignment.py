"""Word links as a step of recipes: found once, whatever the vocabulary, and again when what they hang on changes."""

import tomllib

import pytest

from interlace.aligners import ALIGNERS
from interlace.core.errors import DataError, SettingsError
from interlace.core.ragged import Ragged
from interlace.core.registry import register_plugin
from interlace.experiments.recipe import Recipe
from interlace.experiments.workspace import Workspace
from interlace.objectives import OBJECTIVES
from interlace.text.lines import read_lines, write_lines

LINES = {
    "en": ["the cat sat", "a dog", "", "the dog sat here", "a cat"],
    "de": ["die Katze saß", "ein Hund", "leer", "der Hund saß hier", "eine Katze"],
    "es": ["el gato", "un perro", "vacío", "el perro", "un gato"],
}
RECIPE = """
name = "linked"
[corpora.pairs]
pairs = ["en-de", "en-es"]
train = ["train.{source}", "train.{target}"]
[vocab]
size = 300
[objectives.weam]
"""
GUEST = '''
import numpy as np
from pathlib import Path
from pydantic import Field
from interlace.aligners import Alignments, Aligner, FittedAligner
from interlace.core.ragged import Ragged

class Straight(Aligner):
    """Links word i with word i + shift; writes down each call."""
    shift: int = Field(0)
    log: str = Field("")

    def fit(self, pairs, priors=None, progress=None):
        with Path(self.log).open("a") as file:
            file.write(f"{len(pairs)} {'-'.join(pairs.languages)}\\n")
        progress("counting", 1, 1)
        return Found(self)

class Found(FittedAligner):
    def __init__(self, aligner):
        self.aligner = aligner

    def align(self, pairs):
        rows = [
            [(i, i + self.aligner.shift) for i in range(len(one)) if i + self.aligner.shift < len(other)]
            for one, other in zip(pairs.source, pairs.target)
        ]
        links = Ragged.of(rows, width=2)
        return Alignments(links, np.full(len(links.flat), 0.8, np.float32))
'''
READS_LINKS = '''
from interlace.objectives.tlm import Tlm
class Linked(Tlm):
    """Stands for an objective that reads links."""
    needs = frozenset({"links"})
'''


@pytest.fixture
def folder(tmp_path, monkeypatch, own_cache):
    """A data root with two pair corpora, a cache of its own, and the guests."""
    monkeypatch.setattr("interlace.core.registry._PLUGINS", {})
    for language, lines in LINES.items():
        write_lines(tmp_path / "data" / f"train.{language}", lines)
    (tmp_path / "straight.py").write_text(GUEST)
    register_plugin(tmp_path / "straight.py", {"align": ALIGNERS})
    return tmp_path


def _recipe(folder, changes=None, align=True):
    data = {**tomllib.loads(RECIPE), "data_root": str(folder / "data"), **(changes or {})}
    if align:
        data["align"] = {
            "name": "straight",
            "log": str(folder / "log"),
            **data.get("align", {}),
        }
    return Recipe.read(data)


def _calls(folder):
    return list(read_lines(folder / "log")) if (folder / "log").exists() else []


def test_links_match_the_pairs_of_the_corpus_and_are_found_again_for_changed_text(folder):
    corpus = Workspace(_recipe(folder)).open().train["en-de"]
    assert len(corpus) == 4
    pairs = corpus.take([0, 1, 2, 3])
    assert pairs.links == Ragged.of(
        [[(i, i) for i in range(length)] for length in (3, 2, 4, 2)], width=2
    )
    assert pairs.confidence.flat == pytest.approx(0.8, abs=1 / 255)
    assert corpus.alignments.types[1][:3] == ["die", "Katze", "saß"]
    write_lines(folder / "data" / "train.de", [*LINES["de"][:-1], "Kätzchen"])
    corpus = Workspace(_recipe(folder)).open().train["en-de"]
    assert corpus.take([3]).links.to_lists() == [[[0, 0]]]
    assert len(_calls(folder)) == 3  # en-es stays


def test_aligns_corpora_of_objectives_that_need_links(folder):
    (folder / "linked.py").write_text(READS_LINKS)
    register_plugin(folder / "linked.py", {"objectives": OBJECTIVES})
    recipe = _recipe(folder, {"objectives": {"linked": {"corpora": ["en-es"]}, "tlm": {}}})
    train = Workspace(recipe).open().train
    assert train["en-es"].take([0]).links is not None
    assert train["en-de"].take([0]).links is None
    assert _calls(folder) == ["5 en-es"]


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"name": "strait"}, "did you mean 'straight'"),
        (
            {"phrases": {"max_phrase_lenght": 3}},
            "did you mean 'align.phrases.max_phrase_length'",
        ),
        ({"log": "{split}.links"}, r"unknown placeholder \{split\}"),
    ],
)
def test_rejects_invalid_sections(folder, section, message):
    with pytest.raises(SettingsError, match=message):
        _recipe(folder, {"align": section})


def test_external_links_are_matched_by_line_number(folder):
    """The third line is left out of the corpus, so links are not those of the corpus's rows."""
    links = ["0-0 1-1 2-2", "1-0", "", "0-3 3-0", "1-1"]
    for pair in ("en-de", "en-es"):
        write_lines(folder / "data" / f"{pair}.links", links if pair == "en-de" else [""] * 5)
    changes = {"align": {"name": "pharaoh", "links": "{pair}.links"}}
    corpus = Workspace(_recipe(folder, changes, align=False)).open().train["en-de"]
    expected = [[(0, 0), (1, 1), (2, 2)], [(1, 0)], [(0, 3), (3, 0)], [(1, 1)]]
    assert corpus.take(range(4)).links == Ragged.of(expected, width=2)
    write_lines(folder / "data" / "en-de.links", [*links[:-1], "0-0"])
    other = Workspace(_recipe(folder, changes, align=False)).open().train["en-de"]
    assert other.take([3]).links.to_lists() == [[[0, 0]]]


def test_corpora_without_phrases_or_links(folder, caplog):
    wants = {"objectives": {"alm": {"code_switching": {"max_phrase_length": 6}}}}
    with pytest.raises(
        SettingsError, match=r"max_phrase_length = 6, but phrases are extracted up to 4 words"
    ):
        Workspace(_recipe(folder, wants)).open()
    wants = {"objectives": {"alm": {}}, "align": {"phrases": {"min_count": 100_000}}}
    with pytest.raises(DataError, match=r"en-de: no phrase occurs 100000 times .*min_count"):
        Workspace(_recipe(folder, wants)).open()
    Workspace(_recipe(folder, {"objectives": {"weam": {}}, "align": {"shift": 500}})).open()
    assert "en-de: no alignment links in 4 pairs" in caplog.text
