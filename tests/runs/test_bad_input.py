"""Every mistake ends with its message and exit code 2, and leaves nothing half-made."""

import subprocess

import pytest


@pytest.fixture
def interlace(python):
    def run(*arguments):
        command = [python, "-m", "interlace", *map(str, arguments)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert "Traceback" not in done.stderr
        return done.returncode, " ".join(done.stderr.split())

    return run


@pytest.fixture
def train(interlace, small, tmp_path):
    """`interlace pretrain` of the small recipe for some steps."""
    return lambda into="run", steps=1: interlace(
        "pretrain", small, "--output", tmp_path / into, "--set", f"train.steps={steps}"
    )


def write(name, data):
    return lambda folder: (folder / name).write_bytes(data)


def edit(old, new):
    def change(folder):
        text = (folder / "small.toml").read_text()
        assert old in text
        (folder / "small.toml").write_text(text.replace(old, new))

    return change


@pytest.mark.parametrize(
    ("spoil", "parts"),
    [
        (lambda folder: (folder / "train.xx").unlink(), ["train.xx"]),
        (write("pairs.en", b"one line only\n"), ["1", "120"]),
        (
            write("train.en", b"a line\n" * 41 + b"caf\xe9\n" + b"a line\n" * 9),
            ["train.en", "42", "UTF-8"],
        ),
        (edit("[objectives.tlm]", "[objectives.tml]"), ["'tml'", "did you mean 'tlm'"]),
        (edit('name = "small"', "name = small"), ["small.toml", "not a valid recipe"]),
        (
            edit("[objectives.tlm]\n", '[objectives.tlm]\ncorpora = ["text"]\n'),
            ["objectives.tlm.corpora: no parallel corpus 'text'", "there are: en-xx, pairs"],
        ),
        (
            edit("[objectives.tlm]\nmax_length = 32", "[objectives.tlm]\nmax_length = 64"),
            ["recipe 'small': objectives.tlm.max_length = 64"],
        ),
    ],
    ids="missing-file sides-differ no-utf8 objective no-toml not-parallel length".split(),
)
def test_rejects_bad_files_and_recipes(train, small, tmp_path, spoil, parts):
    spoil(small.parent)
    code, message = train()
    assert code == 2, message
    assert [part for part in parts if part not in message] == []
    assert not (tmp_path / "run" / "model").exists()
    assert not list((tmp_path / "cache").rglob("*.partial*"))


def test_rejects_truncated_files_of_the_cache(train, tmp_path):
    assert train("one")[0] == 0
    shard = next((tmp_path / "cache" / "corpus").rglob("*ids.npy"))
    shard.write_bytes(shard.read_bytes()[: shard.stat().st_size // 2])
    code, message = train("two")
    assert (code, shard.name in message) == (2, True), message


def test_rejects_truncated_checkpoints(train, tmp_path):
    assert train(steps=4)[0] == 0
    (tmp_path / "run" / "run.json").unlink()  # as if it had been killed before its end
    path = tmp_path / "run" / "checkpoints" / "step-00000004" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    code, message = train(steps=4)
    assert code == 2, message
    assert [
        part for part in ("step-00000004", "damaged", "remove") if part not in message
    ] == []


def test_corrected_recipe_may_use_the_folder_of_a_failed_start(train, small, tmp_path):
    edit("dev.{language}", "dve.{language}")(tmp_path)
    assert (train()[0], (tmp_path / "run").exists()) == (2, False)
    (tmp_path / "run").mkdir()
    assert (train()[0], (tmp_path / "run" / "recipe.json").exists()) == (2, True)
    edit("dve.{language}", "dev.{language}")(tmp_path)
    code, message = train()
    assert code == 0, message
    code, message = train(steps=2)
    assert (code, "train.steps was 1, is 2" in message) == (2, True)


CTRL_C = """
import os, signal
import interlace.training.callbacks as callbacks
from interlace.__main__ import main

append_line = callbacks.append_line

def interrupt(path, row):
    append_line(path, row)
    if row["step"] == 5:
        for _ in range({times}):
            os.kill(os.getpid(), signal.SIGINT)

callbacks.append_line = interrupt
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits it ignored
main()
"""


@pytest.mark.parametrize(
    ("times", "steps"), [(1, ["step-00000004", "step-00000006"]), (2, ["step-00000004"])]
)
def test_ctrl_c_saves_a_checkpoint_and_the_second_one_stops_at_once(
    python, small, tmp_path, times, steps
):
    """The recipe saves a checkpoint every 4 steps; the update after the signal is the last."""
    command = [
        python,
        "-c",
        CTRL_C.format(times=times),
        "pretrain",
        small,
        "-o",
        tmp_path / "run",
    ]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 130
    assert "rerun the same command to resume" in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in (tmp_path / "run/checkpoints").iterdir()) == steps
