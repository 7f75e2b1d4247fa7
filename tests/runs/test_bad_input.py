"""Every mistake ends with its message and exit code 2, and leaves nothing half-made."""

import subprocess

import pytest


@pytest.fixture
def interlace(python):
    def run(*arguments):
        command = [python, "-m", "interlace", *map(str, arguments)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        return done.returncode, " ".join(done.stderr.split())

    return run


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def no_dev_of_xx(folder):
    (folder / "train.xx").unlink()


def empty_file(folder):
    (folder / "train.en").write_text("")


def sides_differ(folder):
    (folder / "pairs.en").write_text("one line only\n")


def invalid_utf8(folder):
    lines = (folder / "train.en").read_bytes().split(b"\n")
    lines[41] = b"caf\xe9"
    (folder / "train.en").write_bytes(b"\n".join(lines))


FILES = {
    "a missing file": (no_dev_of_xx, ["train.xx"]),
    "an empty file": (empty_file, ["train.en", "empty"]),
    "sides of different length": (sides_differ, ["1", "120"]),
    "invalid UTF-8": (invalid_utf8, ["train.en", "42", "UTF-8"]),
}
KEYS = {
    "a misspelt key": ("steps = 12", "stesp = 12", ["train.stesp", "did you mean 'steps'"]),
    "a misspelt objective": ("[objectives.tlm]", "[objectives.tml]", ["'tml'", "did you mean 'tlm'"]),
    "a value out of range": ("steps = 12", "steps = 0", ["train.steps", "greater than or equal to 1", "0"]),
    "an unknown corpus": ("[objectives.tlm]\n", '[objectives.tlm]\ncorpora = ["pears"]\n', ["did you mean 'pairs'"]),
    "no TOML": ('name = "small"', "name = small", ["small.toml", "not a valid recipe"]),
    "an objective without its data": (
        "[objectives.tlm]\n",
        '[objectives.tlm]\ncorpora = ["text"]\n',
        ["objectives.tlm.corpora: 'text' is not parallel", "there are: en-xx, pairs"],
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_files(interlace, small, tmp_path, case):
    spoil, parts = FILES[case]
    spoil(tmp_path)
    code, message = interlace("pretrain", small, "--output", tmp_path / "run")
    assert code == 2, message
    assert "Traceback" not in message
    for part in parts:
        assert part in message
    assert not (tmp_path / "run" / "model").exists()
    assert not list((tmp_path / "cache").rglob("*.partial*"))


@pytest.mark.parametrize("case", KEYS)
def test_recipes(interlace, small, tmp_path, case):
    old, new, parts = KEYS[case]
    edit(small, old, new)
    code, message = interlace("pretrain", small, "--output", tmp_path / "run")
    assert code == 2, message
    assert "Traceback" not in message
    for part in parts:
        assert part in message


def test_a_recipe_that_is_not_there(interlace, tmp_path):
    code, message = interlace("pretrain", "tiny/mln", "--output", tmp_path / "run")
    assert code == 2
    assert "did you mean 'tiny/mlm'" in message
    assert not (tmp_path / "run").exists()


def test_an_unknown_language(interlace, tmp_path):
    code, message = interlace("toy", "--languages", "en,tk", "-o", tmp_path / "toy")
    assert code == 2
    assert "'tk'" in message
    assert "did you mean 'tr'" in message or "there are" in message
    assert not (tmp_path / "toy").exists()


def test_a_run_in_use(interlace, small, tmp_path):
    from interlace.training.run_folder import locked

    with locked(tmp_path / "run"):
        code, message = interlace("pretrain", small, "--output", tmp_path / "run")
    assert code == 2
    assert "in use by another process" in message


def test_a_truncated_shard_of_the_cache(interlace, small, tmp_path):
    assert interlace("pretrain", small, "--output", tmp_path / "one", "--set", "train.steps=1")[0] == 0
    shard = next((tmp_path / "cache").rglob("*.arrow"))
    shard.write_bytes(shard.read_bytes()[: shard.stat().st_size // 2])
    code, message = interlace("pretrain", small, "--output", tmp_path / "two", "--set", "train.steps=1")
    assert code == 2, message
    assert shard.name in message
    assert "Traceback" not in message


def test_a_truncated_checkpoint(interlace, small, tmp_path):
    run = tmp_path / "run"
    assert interlace("pretrain", small, "--output", run, "--set", "train.steps=4")[0] == 0
    (run / "run.json").unlink()  # as if it had been killed before its end
    weights = run / "checkpoints" / "step-00000004" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    code, message = interlace("pretrain", small, "--output", run, "--set", "train.steps=4")
    assert code == 2, message
    assert "step-00000004" in message
    assert "damaged" in message
    assert "remove" in message


def test_a_bad_change(interlace, small, tmp_path):
    code, message = interlace("pretrain", small, "--output", tmp_path / "run", "--set", "train.steps")
    assert code == 2
    assert "expected section.key=value" in message


def test_a_folder_with_someone_elses_model_is_left_alone(interlace, small, tmp_path):
    (tmp_path / "project" / "model").mkdir(parents=True)
    (tmp_path / "project" / "model" / "weights").write_text("precious")
    code, message = interlace("pretrain", small, "--output", tmp_path / "project")
    assert code == 2
    assert "holds 'model' but no recipe.json" in message
    assert (tmp_path / "project" / "model" / "weights").read_text() == "precious"


def test_a_mended_recipe_starts_where_a_failed_start_left_nothing(interlace, small, tmp_path):
    edit(small, "dev.{language}", "dve.{language}")
    assert interlace("pretrain", small, "--output", tmp_path / "run", "--set", "train.steps=1")[0] == 2
    edit(small, "dve.{language}", "dev.{language}")
    code, message = interlace("pretrain", small, "--output", tmp_path / "run", "--set", "train.steps=1")
    assert code == 0, message
    assert "without a checkpoint" in message
    code, message = interlace("pretrain", small, "--output", tmp_path / "run", "--set", "train.steps=2")
    assert code == 2
    assert "train.steps was 1, is 2" in message


def test_ctrl_c_says_how_to_go_on(python, small, tmp_path):
    driver = "import signal, sys, os, interlace.training.callbacks as o\nwrite = o.append_line\n"
    driver += "def cut(path, row):\n write(path, row)\n row['step'] == 5 and os.kill(os.getpid(), signal.SIGINT)\n"
    driver += "o.append_line = cut\nfrom interlace.__main__ import main\nmain()"
    command = [python, "-c", driver, "pretrain", str(small), "--output", str(tmp_path / "run")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 130
    assert "rerun the same command to resume" in done.stderr
    assert "Traceback" not in done.stderr
