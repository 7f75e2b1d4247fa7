"""Commands stopped at random moments: the same command again gives what an undisturbed one gives, bit for bit.

`make chaos` runs it: INTERLACE_KILLS is the number of trials, INTERLACE_SEED (0) that of the moments and signals.
"""

import http.server
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from functools import cache, partial
from hashlib import blake2b

import pytest

from interlace.text.lines import write_lines
from little_translators import LINES, little_run, little_vocab

KILLS = int(os.environ.get("INTERLACE_KILLS", "0"))
SEED = int(os.environ.get("INTERLACE_SEED", "0"))
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not KILLS, reason="`make chaos` runs it")]

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "interlace"]
INTERLACE = [sys.executable, "-m", "interlace"]
TINY = [
    *("toy.pairs=120", "toy.sentences=120", "toy.labelled=60", "toy.nli=20"),
    *("toy.questions=5", "toy.dev=40", "toy.test=20", "vocab.size=900", "model.shape.layers=1"),
    *("model.shape.width=16", "model.shape.heads=2", "train.threads=1", "train.tokens_per_update=512"),
    *("train.tokens_per_micro_batch=256", "train.steps=12", "train.checkpoint_every=3", "train.evaluate_every=6"),
    *("train.precision='no'", "evaluate.seeds=1"),
]
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
    "study": [*INTERLACE, "study", "{study}", "--jobs", "2", "--output", "{out}"],
    "download": [*INTERLACE, "download", "multi30k:cs", "--mirror", "{mirror}", "--output", "{out}"],
}  # fmt: skip
VOLATILE = {  # they have times or paths
    *("run.json", "metrics.jsonl", "run_state.json", "log.txt", "key.json", "study.json", "cell.json", "README.md"),
    *("results.json", "results.parquet", "report.html"),
}


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
    public = folder / "public/raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw"
    public.mkdir(parents=True)
    for name in ("train", "val", "test_2016_flickr"):
        write_lines(public / f"{name}.cs.gz", [" ".join(rng.choices(words, k=12)) for _ in range(100_000)])
    changes = "\n".join(f"set.{change}" for change in TINY if not change.startswith("evaluate"))
    (folder / "study.toml").write_text(STUDY.format(changes=changes))
    little_run(folder / "run", little_vocab())
    subprocess.run(
        [*INTERLACE, "pretrain", "tiny/mlm", "--output", str(folder / "trained"), *SETS],
        check=True,
        env=environment(folder),
    )
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(folder / "public"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {
            **{name: folder / name for name in ("en", "de", "lines", "run", "trained")},
            "study": folder / "study.toml",
            "mirror": f"http://127.0.0.1:{server.server_port}",
        }
        server.shutdown()


def environment(folder):
    return {**os.environ, "INTERLACE_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}


def started(name, inputs, folder):
    """Start a command in a session of its own; everything that it writes is in the folder."""
    command = [part.format(out=folder / "out", **inputs) if "{" in part else part for part in COMMANDS[name]]
    log = (folder / "log").open("ab")
    return subprocess.Popen(
        command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True, env=environment(folder)
    )


def without_times(data):
    if isinstance(data, dict):
        return {key: without_times(value) for key, value in data.items() if "seconds" not in key and key != "run"}
    return [without_times(value) for value in data] if isinstance(data, list) else data


def contents(folder):
    """Return a hash of each file by its path, without times and addresses."""
    found = {}
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        short = str(path.relative_to(folder))
        if path.name in VOLATILE | {"log"} or path.name.endswith(".lock") or {"digests", "checkpoints"} & {*path.parts}:
            continue  # SIGTERM saves one more checkpoint
        data = path.read_bytes().replace(str(folder).encode(), b"FOLDER")
        if path.suffix == ".json":
            data = json.dumps(without_times(json.loads(data)), sort_keys=True).encode()
        found[short] = blake2b(data).hexdigest()
    return found


def alive(session):
    """Return whether a process of a session still runs."""
    return subprocess.run(["pgrep", "-s", str(session)], check=False, stdout=subprocess.DEVNULL).returncode == 0


@pytest.fixture(scope="module")
def undisturbed(inputs, tmp_path_factory):
    """A function from the name of a command to its seconds and what it writes."""

    @cache
    def run(name):
        folder = tmp_path_factory.mktemp("whole")
        begun = time.monotonic()
        assert started(name, inputs, folder).wait() == 0, (folder / "log").read_text()[-2000:]
        return time.monotonic() - begun, contents(folder)

    return run


@pytest.mark.parametrize("trial", range(PER_COMMAND))
@pytest.mark.parametrize("name", COMMANDS)
def test_the_same_command_again_ends_as_if_undisturbed(name, trial, inputs, undisturbed, tmp_path):
    seconds, expected = undisturbed(name)
    rng = random.Random(f"{SEED} {name} {trial}")
    process = started(name, inputs, tmp_path)
    time.sleep(rng.uniform(0.3, 1.0) * seconds)
    sent = rng.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
    where = f"{name}, trial {trial}, seed {SEED}: {sent.name}"
    process.send_signal(sent)
    process.wait(timeout=60)
    deadline = time.monotonic() + 60
    while alive(process.pid):
        assert time.monotonic() < deadline, f"{where}: processes outlive the command"
        time.sleep(0.1)
    again = started(name, inputs, tmp_path)
    assert again.wait(timeout=300) == 0, (where, (tmp_path / "log").read_text()[-2000:])
    found = contents(tmp_path)
    assert {path for path in {*found, *expected} if found.get(path) != expected.get(path)} == set(), where
    if "two processes" not in name:  # torchrun prints one where it is stopped
        assert "Traceback" not in (tmp_path / "log").read_text(), where
