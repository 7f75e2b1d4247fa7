"""Results as a study writes them, and a command in the place of `interlace` that takes no time."""

import sys
import textwrap

import pytest

from interlace.experiments.studies import running
from toy_settings import TOY

SMALL = "".join(f"set.{key} = {value}\n" for key, value in TOY.items())
STUDY = f"""
name = "grid"
baseline = "a"
seeds = [0, 1]
set.train.threads = 1
set.evaluate.tasks.retrieval.targets = ["en", "de", "es"]
set.evaluate.tasks.retrieval.files = "text/dev.{{language}}.txt"  # is there for the source too
set.evaluate.tasks.pos.targets = ["de", "es"]
evaluate.tasks = ["retrieval"]
evaluate.seeds = 1
[systems.a]
recipe = "tiny/mlm"
{SMALL}
[systems.b]
recipe = "tiny/mlm-tlm"
label = "B"
{SMALL}
"""

STAND_IN = '''
"""pretrain and evaluate, as far as a study sees them. WHAT in the recipe's `about` says what goes wrong."""
import json, os, pathlib, sys, time

command, first, *rest = sys.argv[3:]
into = pathlib.Path(rest[rest.index("--output") + 1])
recipe = json.loads(pathlib.Path(first if command == "pretrain" else rest[rest.index("--recipe") + 1]).read_text())
with (into / "calls.jsonl").open("a") as file:
    file.write(json.dumps({"arguments": sys.argv[3:], "parent": os.getppid()}) + "\\n")
if command == "pretrain":
    what = recipe["about"]
    if what == "refuse":
        print("some lines first")
        print("error: text.en: no such file", file=sys.stderr)
        sys.exit(2)
    if what == "die":
        os.kill(os.getpid(), 9)
    if what == "nap":
        time.sleep(0.3)
    if what == "sleep":
        (into / "asleep").touch()
        sys.stdin.read()  # closed by the study when it stops
        (into / "interrupted").touch()
        sys.exit(130)
    (into / "recipe.json").write_text(json.dumps(recipe))
    (into / "run.json").write_text(json.dumps(
        {"finished": "now", "tokens": 1000, "steps": recipe["train"]["steps"], "parameters": 7,
         "device": "cpu", "precision": "no", "seconds": {"data": 1.0, "training": 2.0, "steps": 1.5}}))
else:
    rows = []
    for task in rest[rest.index("--tasks") + 1].split(","):
        for seed in range(int(rest[rest.index("--seeds") + 1])):
            for language, score in (("en", 90.0), ("de", 50.0 + recipe["seed"]), ("es", 40.0)):
                settings = recipe["evaluate"]["tasks"][task].get("settings", ["zero-shot"])
                rows += [{"task": task, "metric": "p@1", "unit": "%", "greater_is_better": True,
                             "setting": setting, "language": language, "source": "en", "seed": seed,
                             "score": score + seed, "n": 10, "seconds": 0.5,
                             "scores": {"p@1": score + seed, "other": 1.0}} for setting in settings]
    place = lambda row: [row[key] for key in ("task", "seed", "setting", "language")]
    known, path = [place(row) for row in rows], into / "scores.json"
    kept = [row for row in (json.loads(path.read_text()) if path.exists() else []) if place(row) not in known]
    path.write_text(json.dumps(kept + rows))
    print("evaluated")
'''


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """`python -m interlace` of a study's children is the script above."""
    script = tmp_path / "stand_in.py"
    script.write_text(textwrap.dedent(STAND_IN))
    program = tmp_path / "python"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "{script}" "$@"\n')
    program.chmod(0o755)
    monkeypatch.setattr(running.sys, "executable", str(program))


@pytest.fixture
def grid(tmp_path):
    """A study's file: two systems with two seeds."""
    path = tmp_path / "grid.toml"
    path.write_text(STUDY)
    return path
