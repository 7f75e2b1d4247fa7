"""Which precision a run trains in where it may choose, and how many operations are counted."""

import pytest
import torch

from command_line import run_code
from interlace.training.device import accelerator_for, resolved


@pytest.mark.skipif(torch.cuda.is_available(), reason="looks at the CPU")
@pytest.mark.parametrize(
    ("capability", "expected"),
    [("AVX512", "bf16"), ("AVX2", "no"), ("NO AVX", "no"), ("DEFAULT", "no")],
)
def test_bfloat16_only_where_the_processor_computes_in_it(monkeypatch, capability, expected):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert resolved("auto") == expected
    assert accelerator_for("auto").mixed_precision == expected
    assert accelerator_for("bf16").mixed_precision == "bf16"


def test_a_gpu_without_bfloat16_trains_in_float32(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation: including_emulation
    )
    assert resolved("auto") == "no"


def test_memory_does_not_grow_with_the_number_of_shapes():
    """On a CPU, compiled products of 600 shapes took 400 MB, with either cache of PyTorch and oneDNN unbounded."""
    work = (
        "import resource, torch\n"
        "from interlace.training.device import accelerator_for\n"
        "accelerator = accelerator_for('bf16', threads=1)\n"
        "layer = torch.nn.Linear(64, 64)\n"
        "for rows in range(1, 600):\n"
        "    with accelerator.autocast():\n"
        "        layer(torch.ones(rows, 64))\n"
        "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)\n"
    )
    peaks = [int(peak) for peak in run_code(work).stdout.split()]
    assert peaks[-1] - peaks[0] < 200, peaks
