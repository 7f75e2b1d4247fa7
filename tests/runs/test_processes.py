"""Two processes with one micro-batch each equal one process with two, dropout on, with all objectives."""

import json
import os
import socket
import subprocess

import pytest
import torch

from interlace.objectives import OBJECTIVES
from interlace.text.lines import write_lines
from run_records import about, weights

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
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]  # of interpreters of their own
NAMES = [
    name for name in OBJECTIVES.names() if OBJECTIVES.get(name).architecture != "seq2seq"
]  # see test_translation_runs
STEPS = len(NAMES) + 4  # some objectives twice
MORE = {  # what is drawn anew in every step, and dictionaries of a file beside those counted from links
    "align_mlm": 'alignment_loss = "contrastive"\npairs_per_step = 3\nnegatives = 8\n',
    "dict_mlm": 'dictionary = { files = "words.txt", share = 0.5 }\n',
}
EVERYTHING = [
    "[align]",
    'name = "diagonal"',
    *(f"[objectives.{name}]\nmax_length = 32\n{MORE.get(name, '')}" for name in ("headed", *NAMES)),
]


@pytest.mark.slow
@pytest.mark.distributed
def test_two_processes_equal_two_micro_batches(python, small, tmp_path):
    (tmp_path / "headed.py").write_text(GUEST)
    before, _, after = small.read_text().partition("[objectives.mlm]")
    _, _, after = after.partition("[train]")
    after = after.replace("steps = 12", f"steps = {STEPS}\nalternate = true")
    small.write_text(before + "\n".join([*EVERYTHING, "[train]"]) + after)
    sides = (sorted(set((tmp_path / f"train.{language}").read_text().split())) for language in ("en", "xx"))
    write_lines(tmp_path / "words.txt", map("\t".join, zip(*sides, strict=False)))
    arguments = ["-m", "interlace", "pretrain", str(small), "--code", str(tmp_path / "headed.py"), "--output"]
    subprocess.run([python, *arguments, str(tmp_path / "one")], check=True, capture_output=True)
    two = [python, *TORCHRUN, *arguments, str(tmp_path / "two")]
    subprocess.run(two, check=True, capture_output=True)
    mixtures = [about(tmp_path / run)["mixture"] for run in ("one", "two")]
    assert mixtures[0] == mixtures[1]
    assert set(mixtures[0]["objectives"]) == {"headed", *NAMES}
    one, other = (weights(tmp_path / run, STEPS) for run in ("one", "two"))
    assert set(one) == set(other)
    assert any("headed" in name for name in one)
    for name, weight in one.items():
        torch.testing.assert_close(weight, other[name], rtol=1e-4, atol=1e-6, msg=name)
    kept = sorted((tmp_path / "one" / "dictionaries").iterdir())
    assert [path.name for path in kept] == ["align_mlm.en-xx.tsv", "dict_mlm.en-xx.tsv"]
    for path in kept:
        assert path.read_bytes() == (tmp_path / "two" / "dictionaries" / path.name).read_bytes()


@pytest.mark.slow
@pytest.mark.distributed
def test_two_processes_score_like_one(python, small, tmp_path):
    """They share the prediction and agree on what is best; only one of them writes."""
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
    arguments = ["-m", "interlace", "evaluate", str(tmp_path / "run" / "model"), "--tasks", "pos", "--seeds", "1"]
    arguments += ["--recipe", str(small), "--set", "evaluate.tasks.pos.files={split}.{language}.conllu"]
    arguments += ["--set", 'evaluate.targets=["xx"]', "--output", str(tmp_path / "two")]
    subprocess.run([python, *TORCHRUN, "--no-python", python, *arguments], check=True, capture_output=True)
    rows = json.loads((tmp_path / "two" / "scores.json").read_text())
    assert [(row["language"], row["n"], row["scores"]["unread"]) for row in rows] == [("en", 31, 0), ("xx", 7, 0)]


@pytest.mark.slow
@pytest.mark.distributed
def test_a_lost_process_ends_the_other_with_a_message(python, small, tmp_path):
    """The driver starts both without torchrun, which would end the second one itself."""
    driver = """
import os, pathlib, sys
def watch(step):
    if step.index == 6 and os.environ["RANK"] == "1":
        os._exit(1)
from interlace.__main__ import main
from interlace.cli.common import progress
from contextlib import contextmanager
progress.training_bar = contextmanager(lambda *_: (yield watch))
sys.argv[1:] = ["pretrain", sys.argv[1], "--output", sys.argv[2]]
main()
"""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [python, "-c", driver, str(small), str(tmp_path / "run")]
    common = {**os.environ, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    started = [
        subprocess.Popen(command, env={**common, "RANK": rank, "LOCAL_RANK": rank}, stderr=subprocess.PIPE, text=True)
        for rank in "01"
    ]
    messages = [process.communicate(timeout=200)[1] for process in started]
    assert [process.returncode for process in started] == [2, 1], messages
    assert "process 0 of 2 has lost another one" in messages[0]
    assert "Traceback" not in messages[0]
    again = ["-m", "interlace", "pretrain", str(small), "--output", str(tmp_path / "run")]
    resumed = subprocess.run([python, *TORCHRUN, *again], check=True, capture_output=True, text=True)
    assert "resuming from step 4" in resumed.stderr
