"""Processes with a micro-batch each equal one process with all, dropout on, with all objectives.

A process that is killed ends the others; the next command gives what an undisturbed one gives.
"""

import json
import os
import signal
import socket
import subprocess

import pytest
import torch

from interlace.objectives import OBJECTIVES
from interlace.text.lines import write_lines
from run_records import about, records, weights

GUEST = '''
"""A masked language model with a head of its own, so that steps of a mixture touch different parameters."""
from interlace.objectives import Term
from interlace.objectives.mlm import Mlm as Base


class Headed(Base):
    """Scores the states after one more layer."""

    def modules(self, backbone):
        from torch import nn

        return nn.ModuleDict({"dense": nn.Linear(backbone.width, backbone.width), "drop": nn.Dropout(0.3)})

    def loss(self, backbone, heads, batch):
        from torch.nn.functional import cross_entropy

        states = heads["drop"](heads["dense"](backbone.encode(batch.inputs)[batch.at]))
        total = cross_entropy(backbone.logits(states).float(), batch.labels, reduction="sum")
        return {"mlm": Term(total, weight=0.5)}
'''


TAGS = ("NOUN", "VERB", "DET", "ADJ")
# see test_translation_runs
NAMES = [name for name in OBJECTIVES.names() if OBJECTIVES.get(name).architecture != "seq2seq"]
STEPS = len(NAMES) + 4  # some objectives twice
MORE = {  # what is drawn anew in every step, and dictionaries of a file beside those counted from links
    "align_mlm": 'alignment_loss = "contrastive"\npairs_per_step = 3\nnegatives = 8\n',
    "dict_mlm": 'dictionary = { files = "words.txt", share = 0.5 }\n',
}
EVERYTHING = [
    "[align]",
    'name = "diagonal"',
    *(
        f"[objectives.{name}]\nmax_length = 32\n{MORE.get(name, '')}"
        for name in ("headed", *NAMES)
    ),
]


@pytest.mark.slow
@pytest.mark.distributed
def test_two_processes_equal_two_micro_batches(python, torchrun, small, tmp_path):
    (tmp_path / "headed.py").write_text(GUEST)
    before, _, after = small.read_text().partition("[objectives.mlm]")
    _, _, after = after.partition("[train]")
    after = after.replace("steps = 12", f"steps = {STEPS}\nalternate = true")
    small.write_text(before + "\n".join([*EVERYTHING, "[train]"]) + after)
    sides = (
        sorted(set((tmp_path / f"train.{language}").read_text().split()))
        for language in ("en", "xx")
    )
    write_lines(tmp_path / "words.txt", map("\t".join, zip(*sides, strict=False)))
    arguments = [
        "-m",
        "interlace",
        "pretrain",
        str(small),
        "--code",
        str(tmp_path / "headed.py"),
    ]
    arguments.append("--output")
    subprocess.run([python, *arguments, str(tmp_path / "one")], check=True, capture_output=True)
    two = torchrun(2, *arguments, str(tmp_path / "two"), unlike_sets=True)
    subprocess.run(two, check=True, capture_output=True)
    mixtures = [
        (about(tmp_path / run)["tokens"], about(tmp_path / run)["shares"])
        for run in ("one", "two")
    ]
    assert mixtures[0] == mixtures[1]
    assert {name.partition("/")[0] for name in mixtures[0][1]} == {"headed", *NAMES}
    one = weights(tmp_path / "one", STEPS)
    two = weights(tmp_path / "two", STEPS)
    assert any("headed" in name for name in one)
    assert set(one) == set(two)
    for name, weight in one.items():
        torch.testing.assert_close(weight, two[name], rtol=1e-4, atol=1e-6, msg=name)
    for path in (tmp_path / "one" / "dictionaries").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / "dictionaries" / path.name).read_bytes()


@pytest.mark.slow
@pytest.mark.distributed
def test_two_processes_score_like_one(python, torchrun, small, tmp_path):
    """They share batches and predictions; an update is the same, and only one writes."""
    subprocess.run(
        [python, "-m", "interlace", "pretrain", str(small), "--output", str(tmp_path / "run")],
        check=True, capture_output=True,
    )  # fmt: skip
    words = dict(zip((tmp_path / "train.en").read_text().split()[:40], TAGS * 10, strict=True))
    for name, count in (("train.en", 40), ("dev.en", 10), ("test.en", 31), ("test.xx", 7)):
        with (tmp_path / f"{name}.conllu").open("w") as file:
            for place in range(count):
                for number, word in enumerate(list(words)[place % 9 :][: 1 + place % 5], 1):
                    file.write(f"{number}\t{word}\t_\t{words[word]}" + "\t_" * 6 + "\n")
                file.write("\n")
    arguments = [
        "-m",
        "interlace",
        "evaluate",
        str(tmp_path / "run/model"),
        "--recipe",
        str(small),
    ]
    for change in (
        "evaluate.tasks.pos.files={split}.{language}.conllu",
        "evaluate.tasks.retrieval.files=pairs.{language}",
        'evaluate.targets=["xx"]',
        "evaluate.seeds=1",
    ):
        arguments += ["--set", change]
    arguments += [
        "--set",
        "evaluate.tasks.pos.tuning={micro_batches = 2, learning_rate = 1e-2, tokens_per_batch = 64}",
    ]
    together = torchrun(2, *arguments, "--output", str(tmp_path / "two"), "--tasks")
    subprocess.run([*together, "pos"], check=True, capture_output=True)
    rows = json.loads((tmp_path / "two" / "scores.json").read_text())
    assert [(row["language"], row["n"]) for row in rows] == [("en", 31), ("xx", 7)]
    subprocess.run([*together, "retrieval"], check=True, capture_output=True)
    for task in ("pos", "retrieval"):
        subprocess.run(
            [python, *arguments, "--output", str(tmp_path / "one"), "--tasks", task], check=True
        )
    one, two = (
        json.loads((tmp_path / folder / "scores.json").read_text()) for folder in ("one", "two")
    )
    probed, tuned = (
        [[row | {"seconds": 0} for row in rows if row["task"] == task] for rows in (one, two)]
        for task in ("retrieval", "pos")
    )
    assert probed[0] == probed[1]
    for row, other in zip(*tuned, strict=True):
        assert row["score"] == other["score"] > 40  # of five tags
        assert row["key"] == other["key"]
        assert row["tuning"]["dev"] == pytest.approx(other["tuning"]["dev"], rel=1e-6)


def losses(run):
    return [(row["step"], *row["losses"].values()) for row in records(run, "step")]


SPOILED = """
import os, sys, torch
from hashlib import sha256
from accelerate.utils import gather_object
from interlace.training import loop
from interlace.__main__ import main
forward, backward = loop.TrainingModel.forward, loop._backward
def spoiled(model, name, batch, counts):
    loss, parts = forward(model, name, batch, counts)
    return loss + (torch.inf if model.spoil else 0.0), parts
def counted(training, draw, batches, counts):
    model = training.accelerator.unwrap_model(training.model)
    if training.accelerator.num_processes > 1:
        digests = gather_object([sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).digest()])
        assert len(digests) == 2 and len(set(digests)) == 1, "weights differ between the processes"
    model.spoil = draw.step == 5 and int(os.environ.get("RANK", 0)) == int(os.environ.get("WORLD_SIZE", 1)) - 1
    return backward(training, draw, batches, counts)
loop.TrainingModel.spoil, loop.TrainingModel.forward, loop._backward = False, spoiled, counted
main()
"""


@pytest.mark.slow
@pytest.mark.distributed
@pytest.mark.parametrize("precision", ["no", "fp16"])
def test_all_processes_skip_updates_that_are_not_finite_in_one(
    python, torchrun, small, tmp_path, precision
):
    changed = ["--set", f"train.precision={precision}"]
    arguments = ["-c", SPOILED, "pretrain", str(small), *changed, "--output"]
    subprocess.run([python, *arguments, str(tmp_path / "one")], check=True, capture_output=True)
    subprocess.run(
        torchrun(2, *arguments, str(tmp_path / "two")), check=True, capture_output=True
    )
    skipped = [
        [row["step"] for row in records(tmp_path / run, "step") if "skipped" in row]
        for run in ("one", "two")
    ]
    assert skipped == [[5], [5]]
    for found, expected in zip(losses(tmp_path / "two"), losses(tmp_path / "one"), strict=True):
        assert found == pytest.approx(expected, rel=2e-3)


@pytest.mark.slow
@pytest.mark.distributed
def test_an_error_of_the_first_process_before_training_is_the_only_one(
    torchrun, small, tmp_path
):
    arguments = ["-m", "interlace", "pretrain", str(small), "--output", str(tmp_path / "run")]
    changed = ["--set", f"train.resume_from={tmp_path}/none"]
    together = torchrun(2, *arguments, *changed)
    ended = subprocess.run(together, check=False, capture_output=True, text=True)
    assert ended.returncode != 0
    assert "is not a checkpoint of a run" in " ".join(ended.stderr.split())
    assert "RuntimeError" not in ended.stderr  # of the process that waits for the first one


KILLED = """
import os, signal, sys
from interlace.__main__ import main
from interlace.training import bars
from interlace.training import checkpoint
from contextlib import contextmanager
rank, where = os.environ["RANK"], sys.argv.pop(1)
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
def watch(step):
    if (step.index, rank, where) == (6, "1", "between two checkpoints"):
        die()
    if (step.index, rank, where) == (7, "0", "while it writes a checkpoint"):  # the next one
        checkpoint._hash = die
bars.training_bar = contextmanager(lambda *_: (yield watch))
main()
"""


@pytest.mark.slow
@pytest.mark.distributed
def test_a_killed_process_ends_the_other_and_the_run_resumes_as_if_undisturbed(
    python, torchrun, small, tmp_path
):
    """The driver starts both without torchrun, which would end the second one itself."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    common = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    arguments = ["pretrain", str(small), "--output"]
    whole = torchrun(2, "-m", "interlace", *arguments, str(tmp_path / "whole"))
    subprocess.run(whole, check=True, capture_output=True)
    for dies, where in ((1, "between two checkpoints"), (0, "while it writes a checkpoint")):
        run = tmp_path / f"killed-{dies}"
        command = [python, "-c", KILLED, where, *arguments, str(run)]
        started = []
        for rank in "01":
            variables = {**common, "RANK": rank, "LOCAL_RANK": rank}
            options = {"env": variables, "stderr": subprocess.PIPE, "text": True}
            started.append(subprocess.Popen(command, **options))
        messages = [process.communicate(timeout=200)[1] for process in started]
        codes = [process.returncode for process in started]
        assert (codes[dies], codes[1 - dies]) == (-signal.SIGKILL, 2), messages
        assert f"process {1 - dies} of 2 has lost another one" in messages[1 - dies]
        assert "Traceback" not in messages[1 - dies]
        again = torchrun(2, "-m", "interlace", *arguments, str(run))
        resumed = subprocess.run(again, check=True, capture_output=True, text=True)
        assert "resuming from step 4" in resumed.stderr
        one, other = (each / "model/model.safetensors" for each in (run, tmp_path / "whole"))
        assert one.read_bytes() == other.read_bytes(), where
