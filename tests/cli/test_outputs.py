"""What commands write: never over another output, an input, or a file of a run; through links; to pipes and devices."""

import errno
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from fuzzing import digests, invoke
from interlace.cli import COMMANDS
from interlace.cli.common.options import OutputPath
from interlace.core import files
from interlace.core.errors import DataError
from interlace.core.outputs import Output, check_outputs, output_file
from interlace.text.lines import read_lines
from interlace.training import run_folder
from little_files import named_pipe


@pytest.fixture
def text(tmp_path, monkeypatch):
    """A folder, which is the current one, with parallel text and its alignments."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "en").write_text("a cat\nthe dog\n")
    (tmp_path / "de").write_text("eine Katze\nder Hund\n")
    (tmp_path / "links").write_text("0-0 1-1\n0-0 1-1\n")
    return tmp_path


def fake_run(folder):
    """Files that mark a run, and one of its model."""
    (folder / "model").mkdir(parents=True)
    for name in (run_folder.RECIPE, run_folder.RUN, run_folder.SCORES, "model/config.json"):
        (folder / name).write_text("{}")
    return folder


def test_every_option_that_names_an_output_is_checked():
    checked = 0
    for name in COMMANDS.names():
        for hint in get_type_hints(COMMANDS.get(name), include_extras=True).values():
            (info,) = get_args(hint)[1:] or [None]
            options = {
                getattr(info, "default", None),
                *(getattr(info, "param_decls", None) or ()),
            }
            if options & {"--output", "--save-model"}:
                assert isinstance(info.parser, OutputPath), (name, options)
                checked += 1
    assert checked > 15


REJECTED = {
    "two outputs of one name": (
        "align en de -o out --confidence out",
        "--confidence and --output",
    ),
    "an output below another": (
        "align en de -o out/links --save-model out",
        "--save-model and --output",
    ),
    "a side file of another output": (
        "align en de -o out --confidence out.json",
        "--confidence and --output",
    ),
    "a side file of something else": ("align en de -o mine", "mine.json: exists"),
    "text of somebody in place of links": ("align en de -o links", "links: exists"),
    "text of somebody in place of a page": ("report run -o links", "links: exists"),
    "text of somebody in place of a recipe": ("init tiny/mlm -o links", "links: exists"),
    "text of somebody in place of confidences": (
        "align en de --confidence links",
        "links: exists",
    ),
    "text of somebody in place of a lexicon": ("lexicon en de links -o notes", "notes: exists"),
    "text of somebody in place of phrases": ("phrases en de links -o notes", "notes: exists"),
    "text of somebody in place of tags": ("project en en de links -o notes", "notes: exists"),
    "text of somebody in place of mixed text": (
        "code-switch en de links -o notes",
        "notes: exists",
    ),
    "the input": ("lexicon en de links -o de", "de: would replace the input"),
    "an input behind a link": (
        "phrases en de links -o link-to-de",
        "link-to-de: would replace the input",
    ),
    "a file of a run": ("align en de -o run/scores.json", "run (a run)"),
    "a file of a run behind a link": ("align en de -o link-to-scores", "run (a run)"),
    "the folder of a model of a run": (
        "toy --languages en,de --pairs 5 -o run/model",
        "run (a run)",
    ),
    "a tokenizer in place of the model": ("vocab en --size 300 -o run/model", "run (a run)"),
    "a folder": ("code-switch en de links -o run", "a folder where a file"),
    "a file in place of a folder": ("vocab en --size 300 -o de", "a file where a folder"),
    "a link to itself": ("project en en de links -o circle", "symbolic link to itself"),
    "a device in place of a folder": ("vocab en --size 300 -o /dev/null", "where a folder"),
}


@pytest.mark.parametrize("case", REJECTED)
def test_an_output_that_would_overwrite_something_is_rejected(text, case):
    line, part = REJECTED[case]
    fake_run(text / "run")
    (text / "mine.json").write_text('{"my": "notes"}')
    (text / "notes").write_text("mine\n")
    (text / "link-to-de").symlink_to("de")
    (text / "link-to-scores").symlink_to("run/scores.json")
    (text / "circle").symlink_to("circle")
    before = digests(text)
    done = invoke(line.split())
    assert (done.code, part in done.text) == (2, True), done.text + done.trace
    assert digests(text) == before


@pytest.mark.parametrize(
    "names",
    [
        ("config.json", "model.safetensors", "vocab.txt"),
        ("model.safetensors.index.json",),
        ("pytorch_model.bin",),
        ("tokenizer.json",),
        ("vocab.json", "merges.txt"),
        ("sentencepiece.bpe.model",),
    ],
)
def test_a_file_of_a_model_or_tokenizer_is_not_replaced(tmp_path, names):
    for name in names:
        (tmp_path / name).write_text("kept")
    for name in names:
        with pytest.raises(
            DataError,
            match=rf"{re.escape(name)}: a file of .* \(a model.*\), which is not replaced",
        ):
            check_outputs([Output("--output", tmp_path / name)], [])


def test_an_output_and_its_side_file_are_replaced_by_the_same_command(text):
    for _ in range(2):
        assert invoke("align en de -o out --confidence sure".split()).code == 0
    assert json.loads((text / "out.json").read_text())["pairs"] == 2


COMMANDS_OF_TEXT = [
    "lexicon en de links -o out",
    "phrases en de links -o out",
    "project en en de links -o out",
    "code-switch en de links -o out",
    "init tiny/mlm -o out",
]


@pytest.mark.parametrize("line", COMMANDS_OF_TEXT)
def test_an_output_is_replaced_until_somebody_changes_it(text, line):
    for _ in range(2):
        assert invoke(line.split()).code == 0
    with (text / "out").open("a") as out:
        out.write("by hand\n")
    changed = (text / "out").read_bytes()
    done = invoke(line.split())
    assert (done.code, "out: exists" in done.text) == (2, True)
    assert (text / "out").read_bytes() == changed


rename = os.replace


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_command_that_is_killed_beside_replacing_its_output_can_be_repeated(
    tmp_path, monkeypatch, is_replaced
):
    out = tmp_path / "out"

    def write(text):
        check_outputs([Output("--output", out)], [])
        with output_file(out) as partial:
            partial.write_text(text)

    def replace_and_end(source, target):
        if is_replaced or target != out:
            rename(source, target)
        if target == out:
            raise KeyboardInterrupt

    write("one\n")
    with monkeypatch.context() as killed:
        killed.setattr(os, "replace", replace_and_end)
        with pytest.raises(KeyboardInterrupt):
            write("second\n")
    assert out.read_text() == ("second\n" if is_replaced else "one\n")
    write("third line\n")
    assert out.read_text() == "third line\n"


@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_an_output_that_is_a_link_keeps_the_link(text, name):
    (text / "disk").mkdir()
    (text / name).symlink_to("disk/target")
    for _ in range(2):  # at first, nothing is there
        assert invoke(f"phrases en de links -o {name}".split()).code == 0
    assert (text / name).readlink() == Path("disk/target")
    assert invoke("phrases en de links -o plain".split()).code == 0
    assert list(read_lines(text / name)) == list(read_lines(text / "plain"))
    assert {path.name for path in (text / "disk").iterdir()} == {"target"}


def test_a_folder_that_is_a_link_keeps_the_link(text):
    (text / "disk").mkdir()
    (text / "vocab").symlink_to("disk/vocab")
    for _ in range(2):
        assert invoke("vocab en --size 300 -o vocab".split()).code == 0
    assert (text / "vocab").is_symlink()
    assert (text / "disk" / "vocab" / "tokenizer.json").is_file()


COMMAND = [sys.executable, "-m", "interlace", "lexicon", "en", "de", "links"]


@pytest.mark.parametrize("name", ["-", "stdout", "/dev/fd/1"])
def test_standard_output_by_its_other_names_is_written_at_its_position(text, name):
    # as /dev/stdout is, which a fault would replace
    (text / "stdout").symlink_to("/proc/self/fd/1")
    (text / "result").write_text("before\n")
    with (text / "result").open("a") as result:
        subprocess.run([*COMMAND, "-o", name], stdout=result, check=True)
    first, *entries = (text / "result").read_text().splitlines()
    assert (first, len(entries)) == ("before", 4)
    assert (text / "stdout").readlink() == Path("/proc/self/fd/1")


def test_a_pipe_is_written_to(text):
    named_pipe(text / "pipe")
    received = []
    reader = threading.Thread(
        target=lambda: received.append((text / "pipe").read_text()), daemon=True
    )
    reader.start()
    assert invoke("lexicon en de links -o pipe".split()).code == 0
    reader.join(20)
    assert "Katze" in received[0]
    assert (text / "pipe").is_fifo()


def test_standard_output_that_is_an_input_or_another_output_is_rejected(text):
    with (text / "both").open("w") as both:
        command = [*COMMAND[:3], "align", "en", "de", "--confidence", "both"]
        done = subprocess.run(
            command, stdout=both, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, "both: is also /dev/stdout" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ("-o /dev/stdout --confidence /dev/stdout", "--confidence and --output"),
        ("-o - --confidence -", "--confidence and --output"),
    ],
)
def test_two_outputs_to_one_stream_are_rejected(text, options, part):
    command = [*COMMAND[:3], "align", "en", "de", *options.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, part in done.stderr, done.stdout) == (2, True, "")


IMPOSSIBLE = {
    "a file below a file": ("-o", "en/out", "en is not a folder"),
    "a folder below a file": ("--save-model", "en/sub/out", "en is not a folder"),
    "where no folder can be made": (
        "--confidence",
        "/proc/nowhere/out",
        "no file can be created in /proc",
    ),
    "a closed file": ("--confidence", "/dev/fd/77", "open for writing"),
    "a file that is open for reading": ("-o", "/dev/fd/0", "open for writing"),
    "a long name": ("--confidence", f"{'x' * 256}.txt", "a name of 260 bytes"),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_an_impossible_output_is_found_before_inputs_are_read(text, case):
    option, name, part = IMPOSSIBLE[case]
    before = digests(text)
    command = [*COMMAND[:3], "align", "missing-text", option, name]
    with (text / "en").open() as standard_input:
        done = subprocess.run(
            command, stdin=standard_input, capture_output=True, text=True, check=False
        )
    assert (done.returncode, name in done.stderr, part in done.stderr) == (2, True, True), (
        done.stderr
    )
    assert digests(text) == before


@pytest.mark.parametrize("kind", ["file", "folder", "run"])
def test_an_output_in_a_folder_without_permission_is_rejected(tmp_path, monkeypatch, kind):
    def refuse(dir):  # noqa: A002 - tempfile's name
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(dir))

    monkeypatch.setattr(files, "TemporaryFile", refuse)  # permissions do not bind root
    with pytest.raises(
        DataError, match=rf"new/out: .*{re.escape(str(tmp_path))}: Permission denied"
    ):
        check_outputs([Output("--output", tmp_path / "new" / "out", kind)], [])


@pytest.mark.parametrize(
    ("command", "mark"),
    [
        ("vocab en --size 300 -o", "tokenizer.json"),
        ("toy --languages en,de --pairs 5 -o", "toy.json"),
        ("derive en --transformations invert -o", "derived.json"),
        ("align en de --save-model", "aligner.json"),
    ],
)
def test_a_folder_with_files_of_others_is_not_replaced(text, command, mark):
    line = f"{command} out".split()
    for _ in range(2):
        assert invoke(line).code == 0
    assert (text / "out" / mark).is_file()
    (text / "out" / "mine.en").write_text("kept")
    done = invoke(line)
    assert (done.code, "deleted" in done.text) == (2, True), done.text
    assert (text / "out" / "mine.en").read_text() == "kept"


def test_an_open_file_that_is_an_input_is_rejected(text):
    before = (text / "de").read_bytes()
    with (text / "de").open("ab") as file:
        for name in (f"/dev/fd/{file.fileno()}", f"/proc/{os.getpid()}/fd/{file.fileno()}"):
            with pytest.raises(DataError, match=r"/fd/\d+: would replace the input de"):
                check_outputs([Output("--output", Path(name))], [Path("en"), Path("de")])
    assert (text / "de").read_bytes() == before
