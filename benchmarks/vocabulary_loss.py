"""Compare memory and speed of the chunked cross-entropy over a vocabulary with plain logits.

Targets: at most a fifth of the memory of plain logits, and at most 1.05 times the processor time.

    python benchmarks/vocabulary_loss.py [--rows 4096] [--size 250000] [--width 256] [--rounds 3] [--plain-rows 2048]

Forward and backward pass with gradients of states, weight and bias, in float32. Each is measured in processes of its
own, in alternating turns: the peak of resident memory above the inputs, and processor time per row. `plain-rows` limits
the rows of the plain loss, whose memory is proportional to them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time

import torch
from _common import Target, process_memory, report
from torch.nn import functional

from interlace.objectives.common.losses import linear_cross_entropy


def measure(name: str, rows: int, size: int, width: int) -> dict[str, float]:
    """Return MiB above the inputs and processor seconds of one forward and backward pass."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    states, layer = torch.randn(rows, width, requires_grad=True), torch.nn.Linear(width, size)
    labels = torch.randint(size, (rows,))
    before, start = process_memory("VmRSS"), time.process_time()
    if name == "plain":
        total = functional.cross_entropy(layer(states), labels, reduction="sum")
    else:
        total, _ = linear_cross_entropy(states, layer, labels)
    total.backward()
    return {"memory": process_memory("VmHWM") - before, "seconds": time.process_time() - start}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
    rows = {"chunked": options.rows, "plain": min(options.rows, options.plain_rows)}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in rows}
    for _ in range(options.rounds):
        for name, count in rows.items():
            shape = ["--rows", str(count), "--size", str(options.size), "--width", str(options.width)]
            command = [sys.executable, __file__, "--measure", name, *shape]
            run = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found[name].append(json.loads(run.stdout))
    scale = options.rows / rows["plain"]
    memory, seconds = (
        {name: statistics.median(run[key] for run in runs) for name, runs in found.items()}
        for key in ("memory", "seconds")
    )
    print(f"{options.rows} x {options.size}, width {options.width}; plain measured with {rows['plain']} rows")
    for name, factor in (("chunked", 1.0), ("plain", scale)):
        print(f"{name:8} {factor * memory[name]:8.0f} MiB {factor * seconds[name]:8.2f} processor seconds")
    return report(
        [
            Target("memory, chunked / plain", memory["chunked"] / (scale * memory["plain"]), 0.2),
            Target("processor time, chunked / plain", seconds["chunked"] / (scale * seconds["plain"]), 1.05),
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
