"""Which precision a run trains in where it may choose."""

import pytest
import torch

from interlace.training.device import accelerator_for, fast_precision


@pytest.mark.skipif(torch.cuda.is_available(), reason="looks at the CPU")
@pytest.mark.parametrize(
    ("capability", "expected"), [("AVX512", "bf16"), ("AVX2", "no"), ("NO AVX", "no"), ("DEFAULT", "no")]
)
def test_bfloat16_only_where_the_processor_computes_in_it(monkeypatch, capability, expected):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert fast_precision() == expected
    assert accelerator_for("auto").mixed_precision == expected
    assert accelerator_for("bf16").mixed_precision == "bf16"


def test_a_gpu_without_bfloat16_trains_in_float32(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: including_emulation)
    assert fast_precision() == "no"
