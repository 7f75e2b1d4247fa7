"""Objectives with dictionaries: two processes equal one with two micro-batches, and both keep the same entries."""

import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file

from interlace.text.lines import read_lines, write_lines

OBJECTIVES = """
[objectives.align_mlm]
max_length = 32
alignment_loss = "contrastive"
pairs_per_step = 3
others = 8
dictionary = { files = "words.txt", share = 0.5 }
[objectives.dict_mlm]
max_length = 32
dictionary = "words.txt"
"""


def weights(run):
    return load_file(run / "checkpoints" / "step-00000012" / "model.safetensors")


@pytest.mark.slow
@pytest.mark.distributed
def test_two_processes_equal_two_micro_batches(small, tmp_path):
    before, _, after = small.read_text().partition("[objectives.mlm]")
    small.write_text(before + OBJECTIVES + after[after.index("[train]") :])
    sides = (
        sorted({word for line in read_lines(small.parent / f"train.{language}") for word in line.split()})
        for language in ("en", "xx")
    )
    write_lines(small.parent / "words.txt", map("\t".join, zip(*sides, strict=False)))
    arguments = ["-m", "interlace", "pretrain", str(small), "--into"]
    subprocess.run([sys.executable, *arguments, str(tmp_path / "one")], check=True, capture_output=True)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    two = [*torchrun, *arguments, str(tmp_path / "two"), "--set", "train.micro_batches=1"]
    subprocess.run(two, check=True, capture_output=True)
    one, other = weights(tmp_path / "one"), weights(tmp_path / "two")
    assert set(one) == set(other)
    for name, weight in one.items():
        torch.testing.assert_close(weight, other[name], rtol=1e-4, atol=1e-6, msg=name)
    kept = sorted((tmp_path / "one" / "dictionaries").iterdir())
    assert [path.name for path in kept] == ["align_mlm.en-xx.tsv", "dict_mlm.en-xx.tsv"]
    for path in kept:
        assert path.read_bytes() == (tmp_path / "two" / "dictionaries" / path.name).read_bytes()
