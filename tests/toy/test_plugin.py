"""Toy languages from `--code` files."""

import pytest
from typer.testing import CliRunner

from interlace.cli import application
from interlace.core import registry
from interlace.text.lines import read_lines
from interlace.toy.corpus import write_toy
from interlace.toy.languages import LANGUAGES
from interlace.toy.settings import ToyCorpus

BACKWARDS = '''
"""English with another word order: the last word first."""

from interlace.toy.languages import ToyLanguage, language
from interlace.toy.sentences import ToySentence


class Backwards(ToyLanguage):
    code = "xb"
    name = "Backwards"
    words = language("en").words

    def realize(self, scene, wh_role=""):
        if wh_role:
            return language("en").realize(scene, wh_role)
        words = language("en").realize(scene).words[::-1]
        starts = [sum(len(word.form) + 1 for word in words[:place]) for place in range(len(words))]
        moved = [word._replace(start=at, end=at + len(word.form)) for word, at in zip(words, starts)]
        return ToySentence(" ".join(word.form for word in words), tuple(moved))
'''


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_PLUGINS", {})
    path = tmp_path / "xb.py"
    path.write_text(BACKWARDS, encoding="utf-8")
    return path


def test_a_language_of_a_plugin_is_written_with_gold_alignments(plugin, tmp_path):
    registry.register_plugin(plugin, {LANGUAGES.name: LANGUAGES})
    tiny = {"sentences": 3, "pairs": 4, "labelled": 2, "nli": 3, "questions": 2}
    write_toy(ToyCorpus(languages=["en", "xb"], dev=3, test=3, **tiny), tmp_path / "out")
    english, other, links = (
        [line.split() for line in read_lines(tmp_path / f"out/parallel/train.en-xb.{suffix}")]
        for suffix in ("en.tok", "xb.tok", "links")
    )
    assert [line[::-1] for line in other] == english
    for line, row in zip(english, links, strict=True):
        last = len(line) - 1
        assert {f"{i}-{last - i}" for i in range(last)} <= {*row, f"{last}-0"}


def test_the_command_takes_plugins_and_sizes(plugin, tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr(
        "interlace.toy.corpus.write_toy", lambda toy, _into: written.append(toy)
    )
    options = f"--code {plugin} --languages en,xb --pairs 80 -o {tmp_path / 'out'}"
    result = CliRunner().invoke(application(), ["toy", *options.split()])
    assert result.exit_code == 0, result.output
    [toy] = written
    assert toy.languages == ["en", "xb"]
    assert (toy.sentences, toy.pairs, toy.labelled) == (120, 80, 20)
