"""`interlace derive`: files, messages and errors."""

import json
from functools import partial

import pytest

from command_line import command
from interlace.core.errors import DataError, SettingsError
from interlace.text.lines import write_lines

run = partial(command, "derive")

TREE = """# text = Old dogs bark.
1\tOld\told\tADJ\t_\t_\t2\tamod\t_\t_
2\tdogs\tdog\tNOUN\t_\t_\t3\tnsubj\t_\t_
3\tbark\tbark\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No
4\t.\t.\tPUNCT\t_\t_\t3\tpunct\t_\t_

"""


@pytest.fixture
def files(tmp_path):
    """One small file of each format."""
    (tmp_path / "in").mkdir()
    contents = {
        "a.en.txt": "Dogs bark. Cats do not!\n\nyes\n",
        "a.conllu": TREE,
        "names.tsv": "Anna\tB-PER\nLee\tI-PER\nreads\tO\n\n",
        "nli.tsv": "gold_label\tsentence1\tsentence2\nneutral\tdogs bark\tcats do not .\n",
    }
    for name, content in contents.items():
        (tmp_path / "in" / name).write_text(content, encoding="utf-8")
    return tmp_path / "in"


def test_the_record_of_transformations(files, tmp_path):
    path = files / "a.en.txt"
    settings = ["--set", "transliterate.keep_digits=true", "--seed", 3]
    run(path, "--transformations", "invert,transliterate", "-o", tmp_path / "out", *settings)
    about = json.loads((tmp_path / "out" / "derived.json").read_text())
    assert [change["name"] for change in about["transformations"]] == [
        "invert",
        "transliterate",
    ]
    assert about["transformations"][1]["keep_digits"] is True
    assert (about["of"], about["language"], about["seed"]) == ("en", "en_x", 3)
    (file,) = about["files"]
    assert (file["lines"], file["words"], file["notes"]) == (3, 8, {})


def test_other_files_in_the_folder_are_not_deleted(files, tmp_path):
    """Only what these very files came to before is replaced."""
    into = tmp_path / "out"

    def derive(*names):
        return run(*(files / name for name in names), "--transformations", "invert", "-o", into)

    derive("a.en.txt", "nli.tsv")
    assert derive("a.en.txt", "nli.tsv").exit_code == 0
    with pytest.raises(
        DataError, match=r"out/nli\.tsv.*: is not of the folder of a derived language"
    ):
        derive("a.en.txt")
    with pytest.raises(DataError, match="would replace the input"):
        run(into / "a.en.txt", "--transformations", "invert", "-o", into)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--transformations", "inverse"],
            r"there is no transformation 'inverse'; did you mean 'invert'",
        ),
        (
            ["--transformations", ""],
            r"--transformations '': expected names; there are: galactic, ",
        ),
        (
            ["--transformations", "invert", "--set", "permute.seed=1"],
            r"--set permute: expected a setting of a transformation",
        ),
        (
            ["--transformations", "invert", "--set", "invert.sentence_split=words"],
            r"--set invert: sentence_split",
        ),
        (["--transformations", "invert", "--set", "split"], r"expected NAME\.KEY=VALUE"),
        (["--transformations", "syntax"], r"set syntax\.like"),
        (
            ["--transformations", "invert", "--name", "en"],
            r"--name en: is the name of the original",
        ),
    ],
)
def test_errors_name_the_option(files, tmp_path, arguments, message):
    with pytest.raises((SettingsError, DataError), match=message):
        run(files / "a.en.txt", *arguments, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_files_are_checked_before_writing(files, tmp_path):
    with pytest.raises(DataError, match=r"two files would be written as a\.en\.txt"):
        run(*[files / "a.en.txt"] * 2, "--transformations", "invert", "-o", tmp_path / "out")
    write_lines(files / "other.tsv", ["x\ty"])
    with pytest.raises(DataError, match="set --reader"):
        run(files / "other.tsv", "--transformations", "invert", "-o", tmp_path / "out")
