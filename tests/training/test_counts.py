"""What batches count is compared before it is added up: by step, by micro-batch and by process."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from interlace.core.errors import RunError
from interlace.objectives import Batch
from interlace.training.loop import StepCounts

SOURCE = SimpleNamespace(name="mine/en", objective="mine")


def batch(counts, languages=("en",)):
    none = np.zeros(0, np.int64)
    ids = np.zeros((2, 5), np.int64)
    return Batch({"input_ids": ids}, (none, none), none, counts, 10, languages=dict.fromkeys(languages, 5))


class Processes:
    """Two processes, of which the other one sends what it is told to."""

    num_processes = 2
    device = torch.device("cpu")

    def __init__(self, sends):
        self.sends = sends

    def reduce(self, values, _how):
        return values + torch.tensor(self.sends, dtype=values.dtype)


def alone():
    return StepCounts(SimpleNamespace(num_processes=1, device=torch.device("cpu")))


def two(monkeypatch, sends, names):
    monkeypatch.setattr("accelerate.utils.gather_object", lambda mine: [*mine, names])
    return StepCounts(Processes(sends))


def test_micro_batches_are_summed():
    found = alone().of(SOURCE, [batch({"mlm": 3, "share": 1}), batch({"mlm": 4, "share": 0})])
    assert found == {"tokens": 20, "rows": 4, "mlm": 7, "share": 1, "tokens in en": 10}


@pytest.mark.parametrize(
    ("later", "named"),
    [
        (batch({"mlm": 1}), "'mlm', 'share', 'en', another one 'mlm', 'en'"),
        (batch({"share": 1, "mlm": 1}), "another one 'share', 'mlm', 'en'"),
        (batch({"mlm": 1, "share": 1}, languages=("en", "de")), "another one 'mlm', 'share', 'en', 'de'"),
        (batch({}, languages=()), "another one nothing"),
    ],
)
def test_a_batch_that_counts_other_things_than_the_first_is_named(later, named):
    first = batch({"mlm": 3, "share": 1})
    message = f"mine/en: its first batch counts .*{named}; mine.batch must give the same"
    counting = alone()
    counting.of(SOURCE, [first])
    with pytest.raises(RunError, match=message):
        counting.of(SOURCE, [later])
    with pytest.raises(RunError, match=message):
        alone().of(SOURCE, [first, later])


def test_each_source_has_names_of_its_own():
    counting = alone()
    counting.of(SOURCE, [batch({"mlm": 3})])
    counting.of(SimpleNamespace(name="mine/de", objective="mine"), [batch({"mlm": 3}, languages=("de",))])
    assert counting.of(SOURCE, [batch({"mlm": 2})])["mlm"] == 2


def test_what_processes_send_is_added_up_by_place(monkeypatch):
    counting = two(monkeypatch, [7, 1, 2, 7, 0], ("tokens", "rows", "mlm", "tokens in en"))
    assert counting.of(SOURCE, [batch({"mlm": 3})]) == {"tokens": 17, "rows": 3, "mlm": 5, "tokens in en": 12}


def test_processes_whose_first_batches_differ_stop_before_they_add(monkeypatch):
    counting = two(monkeypatch, [0] * 5, ("tokens", "rows", "mlm", "other", "tokens in en"))
    with pytest.raises(RunError, match="counts 'mlm', 'en', another one 'mlm', 'other', 'en'; mine"):
        counting.of(SOURCE, [batch({"mlm": 3})])


def test_a_process_learns_that_another_one_counts_otherwise(monkeypatch):
    names = ("tokens", "rows", "mlm", "tokens in en")
    counting = two(monkeypatch, [0, 0, 0, 0, 0], names)
    counting.of(SOURCE, [batch({"mlm": 3})])
    counting._accelerator.sends[-1] = 1
    monkeypatch.setattr("accelerate.utils.gather_object", lambda mine: [*mine, ("tokens", "rows", "mood")])
    with pytest.raises(RunError, match="counts 'mlm', 'en', another one 'mood'; mine"):
        counting.of(SOURCE, [batch({"mlm": 3})])
