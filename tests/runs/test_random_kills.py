"""Commands stopped at random moments: the same command again gives what an undisturbed one gives, bit for bit.

`make chaos` runs it: INTERLACE_KILLS is the number of trials, INTERLACE_SEED (0) that of the moments and signals.
"""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from hashlib import blake2b
from pathlib import Path

import pytest

from interlace.text.lines import write_lines
from little_translators import LINES, little_run, little_vocab

KILLS = int(os.environ.get("INTERLACE_KILLS", "0"))
SEED = int(os.environ.get("INTERLACE_SEED", "0"))
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not KILLS, reason="`make chaos` runs it")]

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
TORCHRUN += ["-m", "interlace"]
INTERLACE = [sys.executable, "-m", "interlace"]
TINY = """
toy.pairs=120 toy.sentences=120 toy.labelled=60 toy.nli=20 toy.questions=5 toy.dev=40 toy.test=20
vocab.size=900 model.shape.layers=1 model.shape.width=16 model.shape.heads=2
train.threads=1 train.tokens_per_update=512 train.tokens_per_micro_batch=256 train.steps=12
train.checkpoint_every=3 train.evaluate_every=6 train.precision='no' evaluate.seeds=1
""".split()
SETS = [part for change in TINY for part in ("--set", change)]
STUDY = """
{changes}
name = "two"
about = "Two runs."
baseline = "mlm"
seeds = [0]
[evaluate]
tasks = ["retrieval"]
seeds = 1
[systems.mlm]
recipe = "tiny/mlm"
[systems.tlm]
recipe = "tiny/mlm-tlm"
"""
COMMANDS = {  # what is to be made is {out}, other names are files of the fixture `inputs`
    "align": [*INTERLACE, "align", "{en}", "{de}", "--output", "{out}"],
    "derive": [*INTERLACE, "derive", "{en}", "--transformations", "invert,transliterate", "--output", "{out}"],
    "translate": [*INTERLACE, "translate", "{run}", "--from", "en", "--to", "de", "--input", "{lines}", "--window", "2",
                  "--output", "{out}"],
    "prepare": [*INTERLACE, "prepare", "tiny/alm", "--workers", "2", *SETS],
    "pretrain": [*INTERLACE, "pretrain", "tiny/mlm-tlm", "--output", "{out}", *SETS],
    "pretrain, two processes": [*TORCHRUN, "pretrain", "tiny/mlm-tlm", "--output", "{out}", *SETS],
    "evaluate": [*INTERLACE, "evaluate", "{trained}", "--tasks", "pos", "--output", "{out}"],
    "study": [*INTERLACE, "study", "{study}", "--output", "{out}"],
}  # fmt: skip
DATE = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*")  # in a model card
# keys of times; the digest of a checkpoint is also that of its times
TIMES = re.compile(r"seconds|waited|memory|speed|finished|started|^run$|^processes$|^digest$")
UNLIKE = {
    "log",
    "log.txt",
    "digests",
    "report.html",
}  # of times
PER_COMMAND = -(-KILLS // len(COMMANDS))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """What the commands read."""
    folder = tmp_path_factory.mktemp("inputs")
    os.environ["INTERLACE_CACHE"] = str(folder / "cache")
    rng = random.Random(0)
    words = [f"w{number}" for number in range(300)]
    english = [" ".join(rng.choices(words, k=rng.randint(3, 12))) for _ in range(3000)]
    write_lines(folder / "en", english)
    write_lines(folder / "de", [line.replace("w", "v") for line in english])
    write_lines(folder / "lines", [f"{one} {other}" for one in LINES for other in LINES])
    changes = "\n".join(f"set.{change}" for change in TINY if not change.startswith("evaluate"))
    (folder / "study.toml").write_text(STUDY.format(changes=changes))
    little_run(folder / "run", little_vocab())
    subprocess.run(
        [*INTERLACE, "pretrain", "tiny/mlm", "--output", str(folder / "trained"), *SETS],
        check=True,
        env=environment(folder),
    )
    named = {name: folder / name for name in ("en", "de", "lines", "run", "trained")}
    return {**named, "study": folder / "study.toml"}


def environment(folder):
    return {**os.environ, "INTERLACE_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}


def started(name, inputs, folder):
    """Start a command in a session of its own; everything that it writes is in the folder."""
    command = [
        part.format(out=folder / "out", **inputs) if "{" in part else part
        for part in COMMANDS[name]
    ]
    log = (folder / "log").open("ab")
    return subprocess.Popen(
        command,
        stdout=log,
        stderr=log,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        env=environment(folder),
    )


def without_times(data):
    if isinstance(data, dict):
        return {key: without_times(value) for key, value in data.items() if not TIMES.search(key)}
    return [without_times(value) for value in data] if isinstance(data, list) else data


def contents(folder):
    """Return the content of each file by its path, without times and addresses; of checkpoints the last."""
    found = {}
    last = {path.parent: path.name for path in sorted(folder.rglob("checkpoints/step-*"))}
    for path in sorted(
        each for each in folder.rglob("*") if each.is_file() and ".lock" not in each.suffixes
    ):
        earlier = any(last.get(each.parent, each.name) != each.name for each in path.parents)
        if UNLIKE & set(path.parts) or earlier:  # SIGTERM saves one more checkpoint
            continue
        data = path.read_bytes().replace(str(folder).encode(), b"FOLDER")
        if path.suffix in {".json", ".jsonl"}:
            lines = [data] if path.suffix == ".json" else data.splitlines()
            data = "\n".join(
                json.dumps(without_times(json.loads(line)), sort_keys=True) for line in lines
            ).encode()
        data = DATE.sub(b"DATE", data) if path.suffix == ".md" else data
        found[str(path.relative_to(folder))] = (
            data if len(data) < 100_000 else blake2b(data).digest()
        )
    return found


def differing(found, expected):
    """Return what differs, by file."""
    names = sorted(name for name in {*found, *expected} if found.get(name) != expected.get(name))
    return {name: [str(each.get(name))[:2000] for each in (found, expected)] for name in names}


def family(process):
    """Return the numbers of a process and of all that it started, also in other sessions as torchrun does."""
    found = [process.pid]
    for each in found:
        for path in Path(f"/proc/{each}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += map(int, path.read_text().split())
    return found


def alive(number):
    """Return whether a process still runs."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture(scope="module")
def undisturbed(inputs, tmp_path_factory):
    """A function from the name of a command to its seconds and what it writes."""

    @cache
    def run(name):
        found = []
        for _ in range(2):  # the first compiles and reads from disk
            folder = tmp_path_factory.mktemp("whole")
            begun = time.monotonic()
            assert started(name, inputs, folder).wait() == 0, (folder / "log").read_text()[-2000:]
            found.append(contents(folder))
        assert differing(*found) == {}
        return time.monotonic() - begun, found[0]

    return run


def trial(name, rng, inputs, undisturbed, folder, share=1.0):
    """Stop a command at a random moment and repeat it; return whether it ran then, and what is wrong.

    share: of the time of an undisturbed command, before which it is stopped.
    """
    seconds, expected = undisturbed(name)
    process = started(name, inputs, folder)
    moment = rng.uniform(0, share * seconds)
    time.sleep(moment)
    sent, ran = rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT]), process.poll() is None
    members = family(process)
    whole = (
        rng.random() < 0.5 or "two processes" in name
    )  # as a terminal and a scheduler do; or the first alone
    for number in members if whole else members[:1]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, sent)
    process.wait(timeout=60)
    deadline = time.monotonic() + 60
    while (left := [number for number in members if alive(number)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    again = started(name, inputs, folder).wait(timeout=300)
    log = (folder / "log").read_text()
    wrong = {
        "processes outlive the command": left,
        "exit code": again,
        "files": differing(contents(folder), expected),
    }
    if "two processes" not in name:  # torchrun prints one where it is stopped
        wrong["traceback"] = re.findall(r"Traceback(?s:.*)/interlace/(?!__main__)(?s:.*)", log)
    faults = {what: value for what, value in wrong.items() if value}
    receivers = "all" if whole else "the first"
    about = f"{name}, seed {SEED}: {sent.name} to {receivers} after {moment:.2f} of {seconds:.2f} s"
    return ran, [f"{about}: {faults}\n{log[-1000:]}"] if faults else []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_same_command_again_ends_as_if_undisturbed(name, inputs, undisturbed, tmp_path):
    faults, missed = [], 0
    for number in range(PER_COMMAND):
        for share in (1.0, 0.7, 0.5, 0.3):  # a machine that was busy before may be quiet now
            folder = tmp_path / str(number)
            folder.mkdir()
            rng = random.Random(f"{SEED} {name} {number} {share}")
            ran, found = trial(name, rng, inputs, undisturbed, folder, share)
            faults += found
            shutil.rmtree(folder)
            if ran:
                break
        missed += not ran
    assert faults == [], "\n".join(faults)
    assert missed == 0, f"{missed} of {PER_COMMAND} had ended when they were to be stopped"
