"""A parallel corpus out of text and what a run makes of it."""

import json
from types import SimpleNamespace

import pytest

from interlace.core.errors import DataError, SettingsError
from interlace.experiments.translation import BackTranslationSettings, Shard, Window, back_translate
from interlace.models.translator import LineTranslation

WHOLE = Shard(1, 1)
LINES = ["un doi trei", "", "patru", "cinci sase sapte", "opt", "noua zece"]


def translate(interpreter, text, into, **settings):
    return back_translate(interpreter, text, into, BackTranslationSettings(**settings))


class Backwards:
    """Stands in for an interpreter: says the words of a line from the last to the first."""

    def __init__(self, say=None, stop=None):
        self.translator = SimpleNamespace(source="ro", target="en")
        self.say = say or (lambda line: " ".join(reversed(line.upper().split())))
        self.stop, self.numbers = stop, []

    def windows(self, lines, size, first=0, keep=None):
        for line in lines:
            if first == self.stop:
                raise KeyboardInterrupt
            self.numbers.append(first)
            yield Window(first, [line], [LineTranslation(self.say(line), full=line == "opt")])
            first += 1


@pytest.fixture
def mono(tmp_path):
    (tmp_path / "mono.ro").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return WHOLE.lines_of(tmp_path / "mono.ro")


def sides(into):
    return [
        (into / f"train.{language}").read_text(encoding="utf-8").split("\n")[:-1]
        for language in ("ro", "en")
    ]


def test_writes_parallel_lines_with_a_tag_and_counts_dropped_ones(mono, tmp_path):
    found = translate(Backwards(), mono, tmp_path / "made")
    assert sides(tmp_path / "made") == [
        ["un doi trei", "patru", "cinci sase sapte", "noua zece"],
        ["TREI DOI UN", "PATRU", "SAPTE SASE CINCI", "ZECE NOUA"],
    ]
    assert found["pairs"] == 4
    translate(Backwards(), mono, tmp_path / "made", tag="<BT>")
    real, made = sides(tmp_path / "made")
    assert all(line.startswith("<BT> ") for line in made)
    assert not any("<BT>" in line for line in real)
    assert {rule: count for rule, count in found["dropped"].items() if count} == {
        "empty": 1,
        "unfinished": 1,
    }


def test_filters_drop_copies_and_unequal_lengths(mono, tmp_path):
    says = {"un doi trei": "un doi trei", "noua zece": "so very much longer than what was said"}
    filters = {"identical": {}, "ratio": {"max_ratio": 2, "slack": 0}}
    asked = Backwards(lambda line: says.get(line, "one two three"))
    found = translate(asked, mono, tmp_path / "made", filters=filters, unfinished=True)
    assert {rule: count for rule, count in found["dropped"].items() if count} == {
        "empty": 1, "identical": 1, "ratio": 3
    }  # fmt: skip
    assert sides(tmp_path / "made")[0] == ["cinci sase sapte"]


def test_an_interrupted_command_leaves_no_folder(mono, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        translate(Backwards(stop=3), mono, tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_rejects_folders_with_other_files(mono, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes").write_text("x", encoding="utf-8")
    with pytest.raises(
        DataError, match="mine: holds something that is no corpus of back-translations"
    ):
        translate(Backwards(), mono, tmp_path / "mine")
    with pytest.raises(DataError, match="no pair is left: 6 dropped by empty"):
        translate(Backwards(lambda _: ""), mono, tmp_path / "made")
    assert not (tmp_path / "made").exists()
    with pytest.raises(SettingsError, match="did you mean 'ratio'"):
        BackTranslationSettings.read({"filters": {"ration": {}}})
    with pytest.raises(SettingsError, match="tag 'two words': expected one word"):
        BackTranslationSettings.read({"tag": "two words"})
    assert json.loads(json.dumps(BackTranslationSettings().dump()))["tag"] == ""


@pytest.mark.parametrize("parts", [2, 3, 6])
def test_concatenated_shards_equal_the_whole(parts, mono, tmp_path):
    translate(Backwards(), mono, tmp_path / "whole", filters={}, unfinished=True)
    joined = [[], []]
    for number in range(1, parts + 1):
        text, into = Shard(number, parts).lines_of(mono.path), tmp_path / f"part{number}"
        if not any(LINES[text.first : text.last]):
            continue  # the empty line alone, of which no pair is made
        asked = Backwards()
        translate(asked, text, into, filters={}, unfinished=True)
        assert asked.numbers == list(range(text.first, text.last))
        joined = [before + found for before, found in zip(joined, sides(into), strict=True)]
    assert joined == sides(tmp_path / "whole")


def test_parses_shard_numbers(tmp_path):
    assert Shard.read("2/4") == Shard(2, 4)
    for said in ("0/4", "5/4", "1/0", "1", "a/b", "-1/2", "1/2/3", "", "1 / 2"):
        with pytest.raises(SettingsError, match=r"--shard '.*': expected I/N, .*such as 1/4"):
            Shard.read(said)
    (tmp_path / "a").write_text("x\ny")
    with pytest.raises(DataError, match=r"a: 2 lines are too few for 3 shards"):
        Shard(1, 3).lines_of(tmp_path / "a")
    (tmp_path / "a").write_text("")
    with pytest.raises(DataError, match=r"a: the file is empty"):
        Shard(1, 2).lines_of(tmp_path / "a")
    assert list(Shard(1, 1).lines_of(tmp_path / "a")) == []
