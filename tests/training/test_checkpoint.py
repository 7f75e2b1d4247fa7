"""Checkpoints are whole or not there, and say what is wrong with a damaged one."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from interlace.core.errors import CheckpointError, DataError
from interlace.training import checkpoint
from little_files import named_pipe


def learner(width=4):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, width), nn.Linear(width, 3))
    return model, torch.optim.AdamW(model.parameters(), lr=0.1)


def train(model, optimizer, steps):
    for step in range(steps):
        torch.manual_seed(step)
        model(torch.randn(5, 3)).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def write_state(path, state):
    """Write a state with a digest that says it is intact."""
    content = {key: value for key, value in state.items() if key != "digest"}
    content["digest"] = checkpoint._digest(content)
    (path / checkpoint.STATE).write_text(json.dumps(content))


def test_resumed_training_is_bit_for_bit_equal(tmp_path):
    straight, one = learner()
    train(straight, one, 3)
    path = checkpoint.save(tmp_path, 3, straight, one, {"drawn": [3]})
    train(straight, one, 2)
    resumed, other = learner()
    assert checkpoint.load(path, resumed, other)["drawn"] == [3]
    train(resumed, other, 2)
    assert all(
        torch.equal(a, b)
        for a, b in zip(straight.parameters(), resumed.parameters(), strict=True)
    )


def test_shared_tensors_are_written_once_and_stay_shared(tmp_path):
    model = nn.ModuleDict({"a": nn.Linear(3, 3, bias=False), "b": nn.Linear(3, 3, bias=False)})
    model["b"].weight = model["a"].weight
    path = checkpoint.save(tmp_path, 1, model, torch.optim.AdamW(model.parameters()), {})
    with torch.no_grad():
        model["a"].weight.zero_()
    checkpoint.load(path, model)
    assert model["b"].weight.abs().sum() > 0


@pytest.mark.parametrize("name", [checkpoint.WEIGHTS, checkpoint.OPTIMIZER, checkpoint.STATE])
@pytest.mark.parametrize("damage", ["truncate", "flip", "remove"])
def test_rejects_damaged_checkpoints(tmp_path, name, damage):
    model, optimizer = learner()
    train(model, optimizer, 1)
    path = checkpoint.save(tmp_path, 7, model, optimizer, {})
    content = (path / name).read_bytes()
    if damage == "remove":
        (path / name).unlink()
    elif damage == "truncate":
        (path / name).write_bytes(content[: len(content) // 2])
    else:
        (path / name).write_bytes(content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])
    if (name, damage) == (checkpoint.STATE, "flip"):
        (path / name).write_bytes(b"{" + content)
    with pytest.raises(CheckpointError, match=r"step-00000007.*(missing|damaged)"):
        checkpoint.load(path, *learner())


@pytest.mark.parametrize(("key", "value"), [("drawn", [4]), ("step", 6), ("run", "other")])
def test_rejects_a_changed_state(tmp_path, key, value):
    """A digit of `drawn` would resume with other batches."""
    path = checkpoint.save(tmp_path, 7, *learner(), {"drawn": [3], "run": "this"})
    state = json.loads((path / checkpoint.STATE).read_text())
    (path / checkpoint.STATE).write_text(json.dumps({**state, key: value}))
    with pytest.raises(CheckpointError, match=r"step-00000007.*damaged"):
        checkpoint.load(path, *learner())


def test_rejects_the_checkpoint_of_another_step_or_run(tmp_path):
    path = checkpoint.save(tmp_path, 3, *learner(), {"run": "this"})
    checkpoint.verify(path, "this")
    with pytest.raises(CheckpointError, match=r"step-00000003: belongs to another run"):
        checkpoint.verify(path, "other")
    renamed = path.rename(tmp_path / "step-00000009")
    with pytest.raises(CheckpointError, match=r"step-00000009: is the checkpoint of step 3"):
        checkpoint.verify(renamed, "this")


@pytest.mark.parametrize("name", ["/dev/zero", "../elsewhere", "pipe.safetensors"])
def test_reads_only_files_of_its_own_folder(tmp_path, name):
    """Hashes of a device or a pipe would never end."""
    path = checkpoint.save(tmp_path, 3, *learner(), {"run": "this"})
    state = json.loads((path / checkpoint.STATE).read_text())
    state["hashes"][name] = "0"
    write_state(path, state)
    named_pipe(path / "pipe.safetensors")
    with pytest.raises(CheckpointError, match="missing, or not a file of its folder"):
        checkpoint.verify(path, "this")


def test_rejects_checkpoints_of_another_model(tmp_path):
    path = checkpoint.save(tmp_path, 1, *learner(), {})
    with pytest.raises(CheckpointError, match="shape"):
        checkpoint.load(path, *learner(width=5))
    with pytest.raises(CheckpointError, match="another model"):
        checkpoint.load(path, nn.Sequential(nn.Linear(3, 4)))


@pytest.mark.parametrize(
    ("name", "tensor", "value", "message"),
    [
        ("model", "0.weight", torch.zeros(4, 2), "has shape (4, 2), expected (4, 3)"),
        ("model", "0.bias", torch.zeros(4).long(), "has torch.int64, expected torch.float32"),
        (
            "optimizer",
            "exp_avg:0.weight",
            torch.zeros(4, 2),
            "has shape (4, 2), expected (4, 3)",
        ),
        ("optimizer", "exp_avg_sq:0.bias", torch.zeros(4).bool(), "has torch.bool, expected"),
        (
            "optimizer",
            "exp_avg:0.weigth",
            torch.zeros(4, 3),
            "belongs to no weight of the model",
        ),
        ("optimizer", "exp_avg_sq:0.bias", None, "expected it beside exp_avg:0.bias"),
    ],
)
def test_a_tensor_that_does_not_fit_is_named_with_its_file(
    tmp_path, name, tensor, value, message
):
    model, optimizer = learner()
    train(model, optimizer, 1)
    path = checkpoint.save(tmp_path, 1, model, optimizer, {})
    file = path / f"{name}.safetensors"
    tensors = load_file(file)
    tensors[tensor] = value
    if value is None:
        del tensors[tensor]
    save_file(tensors, file)
    state = json.loads((path / checkpoint.STATE).read_text())
    state["hashes"][file.name] = checkpoint._hash(file)
    write_state(path, state)
    with pytest.raises(CheckpointError) as caught:
        checkpoint.load(path, *learner())
    assert str(caught.value).startswith(f"{file}: ")
    assert tensor in str(caught.value)
    assert message in str(caught.value)


def test_a_full_disk_leaves_the_old_checkpoint(tmp_path, monkeypatch):
    checkpoint.save(tmp_path, 1, *learner(), {})

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "save_file", full)
    with pytest.raises(DataError, match=r"step-00000002: .*No space left"):
        checkpoint.save(tmp_path, 2, *learner(), {})
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000001"]


def test_pruning_removes_what_was_not_due_but_the_newest_and_the_best(tmp_path):
    """So the mean of the last checkpoints is the same for interrupted runs and others."""
    for step, expected in (
        (1, [1]),
        (2, [1, 2]),
        (3, [1, 2, 3]),
        (4, [1, 2, 4]),
        (5, [1, 4, 5]),
        (7, [1, 4, 7]),
    ):
        checkpoint.save(tmp_path, step, *learner(), {})
        checkpoint.prune(tmp_path, keep=2, best=1, due=lambda step: step % 2 == 0)
        assert checkpoint.steps_in(tmp_path) == expected


def test_optimizer_state_moves_to_the_device_of_the_weights(tmp_path):
    model, optimizer = learner()
    train(model, optimizer, 1)
    path = checkpoint.save(tmp_path, 1, model, optimizer, {})
    # stands for a GPU, on which fused AdamW refuses a step on the CPU
    elsewhere = learner()[0].to("meta")
    resumed = torch.optim.AdamW(elsewhere.parameters())
    checkpoint.load(path, elsewhere, resumed)
    assert {
        value.device.type for state in resumed.state.values() for value in state.values()
    } == {"meta"}
