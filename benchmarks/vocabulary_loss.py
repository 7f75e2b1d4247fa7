"""Compare memory and speed of the chunked cross-entropy over a vocabulary with plain logits and with other kernels.

Targets: at most a fifth of the memory of plain logits, and at most 1.05 times their time.

    python benchmarks/vocabulary_loss.py [--rows 4096] [--size 250000] [--width 256] [--rounds 3] [--plain-rows 2048]

Forward and backward pass with gradients of states, weight and bias. Each is measured in processes of its own, in
alternating turns. On a CPU in float32: the peak of resident memory above the inputs, and processor time. On a GPU in
bfloat16 after a first pass: the peak of allocated memory above the inputs, and time. `plain-rows` limits the rows of
the plain loss, whose memory is proportional to them.

Peers are measured where they can be imported: `torch` (`torch.nn.functional.linear_cross_entropy` in chunks, since
torch 2.13), and on a GPU `liger` (pip install liger-kernel) and `cce` (pip install cut-cross-entropy; without a bias).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec

import torch
from _common import Target, process_memory, report
from torch import Tensor
from torch.nn import functional

from interlace.objectives.common.losses import linear_cross_entropy

GPU = torch.cuda.is_available()


def systems() -> list[str]:
    """Return the names of the losses that can be measured here."""
    peers = {
        "torch": hasattr(torch.nn, "LinearCrossEntropyOptions"),
        "liger": GPU and find_spec("liger_kernel") is not None,
        "cce": GPU and find_spec("cut_cross_entropy") is not None,
    }
    return ["chunked", "plain", *(name for name, there in peers.items() if there)]


def loss_of(name: str, layer: torch.nn.Linear) -> Callable[[Tensor, Tensor], Tensor]:
    """Return a function of (N, H) states and (N,) labels that returns the summed cross-entropy."""
    if name == "chunked":
        return lambda states, labels: linear_cross_entropy(states, layer, labels)[0]
    if name == "torch":
        split = torch.nn.LinearCrossEntropyOptions()
        return lambda states, labels: functional.linear_cross_entropy(
            states, layer.weight, labels, linear_bias=layer.bias, reduction="sum", options=split
        )
    if name == "liger":
        from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss

        fused = LigerFusedLinearCrossEntropyLoss(reduction="sum")
        return lambda states, labels: fused(layer.weight, states, labels, layer.bias)
    if name == "cce":
        from cut_cross_entropy import linear_cross_entropy as cut

        return lambda states, labels: cut(states, layer.weight, labels, reduction="sum")
    return lambda states, labels: functional.cross_entropy(
        layer(states).float(), labels, reduction="sum"
    )


def measure(name: str, rows: int, size: int, width: int) -> dict[str, float]:
    """Return the total, MiB above the inputs, and seconds of one forward and backward pass."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    states, layer, labels = (
        torch.randn(rows, width),
        torch.nn.Linear(width, size),
        torch.randint(size, (rows,)),
    )
    if GPU:
        states, layer, labels = (
            states.to("cuda", torch.bfloat16),
            layer.to("cuda", torch.bfloat16),
            labels.cuda(),
        )
    loss = loss_of(name, layer)
    states.requires_grad_()
    if not GPU:
        before, start = process_memory("VmRSS"), time.process_time()
        total = loss(states, labels)
        total.backward()
        return {
            "total": total.item(),
            "memory": process_memory("VmHWM") - before,
            "seconds": time.process_time() - start,
        }
    loss(states, labels).backward()  # compiles
    layer.zero_grad()
    states.grad = None
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    held, start = torch.cuda.memory_allocated(), time.perf_counter()
    total = loss(states, labels)
    total.backward()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    return {
        "total": total.item(),
        "memory": (torch.cuda.max_memory_allocated() - held) / 2**20,
        "seconds": seconds,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--size", type=int, default=250_000)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--plain-rows", type=int, default=2048)
    parser.add_argument("--measure")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.rows, options.size, options.width)))
        return 0
    rows = dict.fromkeys(systems(), options.rows) | {
        "plain": min(options.rows, options.plain_rows)
    }
    found: dict[str, list[dict[str, float]]] = {name: [] for name in rows}
    for _ in range(options.rounds):
        for name, count in rows.items():
            shape = [
                "--rows",
                str(count),
                "--size",
                str(options.size),
                "--width",
                str(options.width),
            ]
            command = [sys.executable, __file__, "--measure", name, *shape]
            run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found[name].append(json.loads(run.stdout))
    memory, seconds, totals = (
        {
            name: statistics.median(run[key] for run in runs) * options.rows / rows[name]
            for name, runs in found.items()
        }
        for key in ("memory", "seconds", "total")
    )
    print(
        f"{options.rows} x {options.size}, width {options.width}; plain measured with {rows['plain']} rows"
    )
    for name in rows:
        print(
            f"{name:8} {memory[name]:8.0f} MiB {seconds[name]:9.4f} s, mean loss {totals[name] / options.rows:.4f}"
        )
    return report(
        [
            Target("memory, chunked / plain", memory["chunked"] / memory["plain"], 0.2),
            Target("time, chunked / plain", seconds["chunked"] / seconds["plain"], 1.05),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
