"""A parallel corpus out of text and what a run makes of it."""

from types import SimpleNamespace

import pytest

from interlace.core.errors import DataError, SettingsError
from interlace.experiments.translation import (
    BackTranslationSettings,
    Window,
    back_translate,
)
from interlace.models.translator import LineTranslation

LINES = ["un doi trei", "", "patru", "cinci sase sapte", "opt", "noua zece"]


def translate(translator, text, into, **settings):
    return back_translate(translator, text, into, BackTranslationSettings(**settings))


class Backwards:
    """Stands in for a translator: says the words of a line from the last to the first."""

    def __init__(self, say=None):
        self.translator = SimpleNamespace(source="ro", target="en")
        self.say = say or (lambda line: " ".join(reversed(line.upper().split())))

    def windows(self, lines, stored=None):
        for line in lines:
            yield Window([line], [LineTranslation(self.say(line), full=line == "opt")])


@pytest.fixture
def mono(tmp_path):
    (tmp_path / "mono.ro").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return tmp_path / "mono.ro"


def sides(into):
    texts = [
        (into / f"train.{language}").read_text(encoding="utf-8") for language in ("ro", "en")
    ]
    return [text.split("\n")[:-1] for text in texts]


def test_writes_parallel_lines_with_a_tag_and_counts_dropped_ones(mono, tmp_path):
    summary = translate(Backwards(), mono, tmp_path / "corpus", tag="<BT>")
    assert sides(tmp_path / "corpus") == [
        ["un doi trei", "patru", "cinci sase sapte", "noua zece"],
        ["<BT> TREI DOI UN", "<BT> PATRU", "<BT> SAPTE SASE CINCI", "<BT> ZECE NOUA"],
    ]
    assert (summary["from"], summary["to"], summary["pairs"]) == ("ro", "en", 4)
    assert (summary["dropped"]["empty"], summary["dropped"]["unfinished"]) == (1, 1)


def test_filters_drop_copies_and_unequal_lengths(mono, tmp_path):
    says = {"un doi trei": "un doi trei", "noua zece": "so very much longer than what was said"}
    filters = {"identical": {}, "ratio": {"max_ratio": 2, "slack": 0}}
    translator = Backwards(lambda line: says.get(line, "one two three"))
    summary = translate(translator, mono, tmp_path / "corpus", filters=filters)
    assert summary["dropped"] == {"empty": 1, "unfinished": 1, "identical": 1, "ratio": 2}
    assert sides(tmp_path / "corpus")[0] == ["cinci sase sapte"]


def test_rejects_folders_with_other_files_and_text_without_pairs(mono, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes").write_text("x", encoding="utf-8")
    with pytest.raises(DataError, match="mine: holds something that is no corpus"):
        translate(Backwards(), mono, tmp_path / "mine")
    with pytest.raises(DataError, match=r"no pair is left; dropped: \{'empty': 6"):
        translate(Backwards(lambda _: ""), mono, tmp_path / "corpus")
    assert not (tmp_path / "corpus").exists()
    with pytest.raises(SettingsError, match=r"tag: .*'two words'"):
        BackTranslationSettings.read({"tag": "two words"})
