"""Counts of what an update asks of a GPU, and that no part of an update waits for it."""

import importlib
import sys
from pathlib import Path

import pytest
import torch


@pytest.fixture(scope="module")
def update_counts():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
        yield importlib.import_module("update_counts")


@pytest.fixture(scope="module")
def sources(update_counts):
    vocab = update_counts.vocabulary(200)
    shape = update_counts.BASE.model_copy(update={"layers": 1, "width": 16, "heads": 2})
    names = [*update_counts.OBJECTIVES, "dict_mlm", "word_aligned", "clm"]
    made = update_counts.sources_of(names, vocab, shape, 512, 60)
    return vocab, shape, {source.objective: source for source in made}


WAITING = [
    lambda tensor: tensor.sum().item(),
    lambda tensor: float(tensor.sum()),
    lambda tensor: tensor.nonzero(),
    lambda tensor: tensor[tensor > 1],
    lambda tensor: tensor.masked_select(tensor > 1),
    lambda tensor: tensor.clone().index_put_((tensor > 1,), torch.zeros(())),
    lambda tensor: tensor.unique(),
    lambda tensor: tensor.tolist(),
    lambda tensor: tensor.cpu(),
    lambda tensor: 1 if (tensor > 1).any() else 0,
]


@pytest.mark.parametrize("wait", WAITING)
def test_waits_are_noticed(update_counts, wait):
    counts = update_counts.Operations()
    with update_counts.counted_readers(counts), counts:
        wait(torch.arange(4.0))
    assert counts.waits


def test_launches_are_operations_that_write(update_counts):
    counts = update_counts.Operations()
    with update_counts.counted_readers(counts), counts:
        matrix = torch.ones(2, 3)
        torch._foreach_add_([matrix, matrix[0]], 1.0)
        matrix.T.view(3, 2)[torch.tensor([0, 2])].mul_(2)
    assert counts.launches == {"ones": 1, "_foreach_add_": 1, "index": 1, "mul_": 1}
    assert not counts.waits


BF16 = ["mlm", "tlm", "weam", "alm", "align_mlm", "dict_mlm", "word_aligned", "clm"]


@pytest.mark.parametrize(
    ("objective", "precision"), [*((name, "bf16") for name in BF16), ("weam", "fp16")]
)
def test_no_part_of_an_update_waits(update_counts, sources, objective, precision):
    vocab, shape, made = sources
    for row in (None, update_counts.row_of(vocab, shape, 512)):
        training = update_counts.training_of(
            [made[objective]], vocab, shape, 24, precision, row=row
        )
        counts = update_counts.operations_of(training)
        assert not counts.waits
        assert counts.launches.total() > 100 * update_counts.READ_EVERY


def test_a_layer_takes_as_many_launches_as_the_results_say(update_counts, sources):
    vocab, shape, made = sources
    row = update_counts.row_of(vocab, shape, 512)
    launches = []
    for layers in (1, 2):
        deeper = shape.model_copy(update={"layers": layers})
        training = update_counts.training_of([made["mlm"]], vocab, deeper, 24, "bf16", row=row)
        counts = update_counts.operations_of(training)
        launches.append(counts.launches.total() / update_counts.READ_EVERY)
    assert launches[1] - launches[0] == 18 + 34  # forward and backward, docs/results/gpu.md


@pytest.mark.slow
def test_a_mixture_on_packed_rows_is_one_graph(update_counts, sources, monkeypatch):
    """All objectives share it, and no update compiles another one, whatever its sentences are."""
    vocab, shape, _ = sources
    monkeypatch.setattr(update_counts.blocks, "COMPILER", "aot_eager")
    names = update_counts.OBJECTIVES
    packed = update_counts.sources_of(names, vocab, shape, 512, 60, packed=True)
    row = update_counts.row_of(vocab, shape, 512)
    training = update_counts.training_of(
        packed, vocab, shape, 40, "bf16", compiled=True, row=row
    )
    assert update_counts.graphs_of(training) == 1


def test_prints_counts_in_miniature(update_counts, monkeypatch, capsys):
    monkeypatch.setattr(update_counts, "PAIRS", 400)
    monkeypatch.setattr(update_counts, "OBJECTIVES", ("mlm", "weam"))
    options = ["--layers", "1", "--tokens", "2048", "--updates", "4", "--graphs", "0"]
    monkeypatch.setattr(sys, "argv", ["update_counts.py", *options])
    update_counts.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:1] + line.split()[2:3] for line in lines[1:3]] == [
        ["mlm", "0"],
        ["weam", "0"],
    ]
    assert lines[1].endswith(" 100.0%")
