"""`interlace translate`: lines in, lines out, whatever happens on the way."""

import json
import logging
import shutil
import subprocess
from functools import partial

import pytest

from command_line import command
from interlace.core import bars
from interlace.core.errors import CheckpointError, DataError, RunError, SettingsError
from interlace.models.build import Shape, from_shape
from interlace.models.translator import Translator
from interlace.text.lines import read_lines, write_lines
from little_translators import LINES, little_model, little_run, little_vocab

translate = partial(command, "translate")
DIRECTION = ("--from", "en", "--to", "de")


@pytest.fixture(scope="module")
def vocab():
    return little_vocab()


@pytest.fixture(scope="module")
def run_folder(vocab, tmp_path_factory):
    return little_run(tmp_path_factory.mktemp("run"), vocab)


def as_text(lines):
    return "".join(f"{line}\n" for line in lines)


@pytest.fixture(scope="module")
def expected(run_folder):
    """What the lines of `LINES` become."""
    return translate(run_folder, *DIRECTION, text=as_text(LINES)).stdout.split("\n")[:-1]


def test_translates_line_by_line(run_folder, vocab, expected):
    model = little_model("modernbert", vocab)
    assert expected == [one.text for one in Translator(model, vocab, "en", "de").lines(LINES)]
    assert len(set(expected)) == len(LINES)
    lines = ["", *LINES[:3], " ", *LINES[3:], ""]
    done = translate(run_folder, *DIRECTION, text=as_text(lines))
    assert done.stdout.split("\n")[:-1] == ["", *expected[:3], "", *expected[3:], ""]
    assert translate(run_folder, *DIRECTION).stdout == ""
    done = translate(run_folder / "model", *DIRECTION, text=as_text(LINES))
    assert done.stdout.split("\n")[:-1] == expected
    assert (
        translate(run_folder, *DIRECTION, "--beam", 1, text=as_text(LINES)).stdout
        != done.stdout
    )


def test_json_rows_have_scores(run_folder, expected):
    found = json_rows(run_folder, LINES)
    rows = [*enumerate(zip(LINES, expected, strict=True), 1)]
    assert [(one["line"], (one["source"], one["text"])) for one in found] == rows
    for one in found:
        assert one["score"] == pytest.approx(one["logprob"] / one["length"], abs=1e-3)


def test_long_line_is_translated_sentence_by_sentence(run_folder, caplog):
    first = "the old doctor reads three letters in the big house and a dog sees the young cat on the table."
    second = f"a cat sees two red books on the table and {first[:-1]}!"
    whole, short = json_rows(run_folder, [f"{first}  {second} {first}", "it"])
    parts = json_rows(run_folder, [f"{first}  {second}", first])
    assert (whole["pieces"], short["pieces"]) == (2, 1)
    assert whole["text"] == f"{parts[0]['text']} {parts[1]['text']}"
    for key in ("logprob", "length"):
        assert whole[key] == pytest.approx(sum(part[key] for part in parts), abs=1e-3)
    assert whole["score"] == pytest.approx(sum(part["score"] for part in parts) / 2, abs=1e-3)
    assert "1 of 2 lines exceed the maximum length" in caplog.text


def json_rows(run_folder, lines):
    done = translate(run_folder, *DIRECTION, "--json", text=as_text(lines))
    return [json.loads(row) for row in done.stdout.split("\n")[:-1]]


def test_logs_progress_unknown_characters_and_translations_at_the_maximum_length(
    run_folder, caplog, monkeypatch
):
    monkeypatch.setattr(bars, "LOG_EVERY", 0.0)
    with caplog.at_level(logging.INFO, logger="interlace"):
        translate(
            run_folder, *DIRECTION, text=as_text(["the cat", "the 猫 and the 犬", "a dog"])
        )
    assert "translating: 3" in caplog.text
    assert "1 of 3 lines contain characters that are not in the vocabulary" in caplog.text
    short = ("--set", "max_extra=0", "--set", "max_ratio=0.5")
    translate(run_folder, *DIRECTION, *short, text=as_text(LINES))
    assert "translations reached the maximum length" in caplog.text


@pytest.fixture
def source(tmp_path):
    write_lines(tmp_path / "a.en", LINES * 3)
    return tmp_path / "a.en"


def test_translates_file_to_file_but_not_to_itself(run_folder, source, expected):
    into = source.with_suffix(".de")
    done = translate(run_folder, *DIRECTION, "--input", source, "--output", into)
    assert list(read_lines(into)) == expected * 3
    assert done.stdout == f"{into}\n"
    assert names(source.parent) == ["a.de", "a.en"]
    before = source.read_bytes()
    with pytest.raises(DataError, match=r"a\.en: would replace the input"):
        translate(run_folder, *DIRECTION, "--input", source, "--output", source)
    assert source.read_bytes() == before


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("options", [(), ("--beam", 1)])
def test_an_interrupted_command_resumes(options, run_folder, source, monkeypatch):
    into = source.with_name("a.de")
    text = [*LINES, *(f"{line} {LINES[0]}" for line in LINES)]
    write_lines(source, text)
    windows = -(-len(text) // 4)
    command = (run_folder, *DIRECTION, "--input", source, "--output", into, "--window", 4)
    whole = translate(run_folder, *DIRECTION, *options, "--input", source).stdout
    translated_lines, begun = Translator.lines, []

    def interrupted(self, text):
        begun.append(text)
        if len(begun) == windows:
            raise KeyboardInterrupt
        return translated_lines(self, text)

    monkeypatch.setattr(Translator, "lines", interrupted)
    assert translate(*command).exit_code == 130
    assert names(source.parent) == [".a.de.windows", "a.en"]
    begun.clear()
    windows += 1  # so that all of them may be translated
    assert translate(*command, *options).exit_code == 0
    assert len(begun) == (windows - 1 if options else 1)  # other settings translate all again
    assert names(source.parent) == ["a.de", "a.en"]
    assert into.read_text(encoding="utf-8") == whole


def start(python, *arguments, **options):
    command = [python, "-m", "interlace", "translate", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def test_translates_each_line_before_the_next_arrives(python, run_folder, expected):
    """As a program at the other end of a pipe needs it."""
    answering = start(python, run_folder, *DIRECTION, "--window", 1, stdin=subprocess.PIPE)
    for line, translation in zip(LINES, expected, strict=True):
        answering.stdin.write(line.encode() + b"\n")
        answering.stdin.flush()
        assert answering.stdout.readline().decode() == translation + "\n"
    answering.communicate()
    assert answering.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "text", "said"),
    [
        ((), b"good\nbad \xe9\n", "standard input, line 2: not valid UTF-8 at byte 5 (0xe9)"),
        (
            ("--to", "fr"),
            b"",
            "'little' was not trained to translate en-fr: it learned en-de, de-en",
        ),
    ],
)
def test_user_errors_exit_with_code_2(python, run_folder, arguments, text, said):
    wrong = start(python, run_folder, *DIRECTION, *arguments, stdin=subprocess.PIPE)
    out, told = wrong.communicate(text)
    assert wrong.returncode == 2
    assert said in told.decode()
    assert out == b""
    assert b"Traceback" not in told


def test_rejects_what_is_no_finished_translation_model(run_folder, vocab, source, tmp_path):
    (little_run(tmp_path / "unfinished", vocab) / "run.json").unlink()
    shutil.rmtree(little_run(tmp_path / "emptied", vocab) / "model")
    shape = Shape(family="bert", layers=1, width=16, heads=2, max_length=64)
    from_shape(shape, vocab).save_pretrained(tmp_path / "mlm", vocab)
    for path, error, message in (
        (tmp_path / "unfinished", RunError, "not finished"),
        (
            tmp_path / "emptied",
            RunError,
            "emptied/model: missing, although the run is finished",
        ),
        (tmp_path / "mlm", SettingsError, "no decoder"),
        (run_folder.parent, DataError, "holds no tokenizer"),
        (source, CheckpointError, r"a\.en: is a file"),
    ):
        with pytest.raises(error, match=message):
            translate(path, *DIRECTION)
