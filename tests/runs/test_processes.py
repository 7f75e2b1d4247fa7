"""Two processes with one micro-batch each equal one process with two, dropout on, with all objectives of the room."""

import json
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file

from interlace.objectives import OBJECTIVES

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


STEPS = 2 * (len(OBJECTIVES.names()) + 1)
EVERYTHING = [
    "[align]",
    'name = "diagonal"',
    *(f"[objectives.{name}]\nmax_length = 32" for name in ("headed", *OBJECTIVES.names())),
]


def checkpoint(run):
    return load_file(run / "checkpoints" / f"step-{STEPS:08}" / "model.safetensors")


@pytest.mark.slow
@pytest.mark.distributed
def test_two_processes_equal_two_micro_batches(small, tmp_path):
    (tmp_path / "headed.py").write_text(GUEST)
    before, _, after = small.read_text().partition("[objectives.mlm]")
    _, _, after = after.partition("[train]")
    after = after.replace("steps = 12", f"steps = {STEPS}\nalternate = true")
    small.write_text(before + "\n".join([*EVERYTHING, "[train]"]) + after)
    arguments = ["-m", "interlace", "pretrain", str(small), "--code", str(tmp_path / "headed.py"), "--into"]
    subprocess.run([sys.executable, *arguments, str(tmp_path / "one")], check=True, capture_output=True)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    two = [*torchrun, *arguments, str(tmp_path / "two"), "--set", "train.micro_batches=1"]
    subprocess.run(two, check=True, capture_output=True)
    mixtures = [json.loads((tmp_path / run / "run.json").read_text())["mixture"] for run in ("one", "two")]
    assert mixtures[0] == mixtures[1]
    assert set(mixtures[0]["objectives"]) == {"headed", *OBJECTIVES.names()}
    one, other = checkpoint(tmp_path / "one"), checkpoint(tmp_path / "two")
    assert set(one) == set(other)
    assert any("headed" in name for name in one)
    for name, weight in one.items():
        torch.testing.assert_close(weight, other[name], rtol=1e-4, atol=1e-6, msg=name)
