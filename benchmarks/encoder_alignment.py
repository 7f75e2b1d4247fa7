"""Compare alignment error rates with an encoder: `gibbs`, `similarity` and `self_trained` on the gold pairs alone.

    python benchmarks/encoder_alignment.py ENCODER [--sets NAME,NAME,..] [--seeds N]

ENCODER is a checkpoint folder or a name on the hub; `INTERLACE_DATA` names the folder of the gold sets. Every aligner
has its default settings and one thread, and is trained on the pairs of the set alone. Trained encoders are cached: a
stopped run resumes, and the seconds of a set whose encoder was trained before lack its training. Prints Markdown.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from _common import environment
from _gold_sets import GOLD, GoldSet

from interlace.aligners.gibbs import Gibbs
from interlace.aligners.self_trained import SelfTrained
from interlace.aligners.similarity import Similarity

if TYPE_CHECKING:
    from interlace.aligners import Aligner


def measure(gold: GoldSet, aligner: Aligner) -> tuple[float, float]:
    """Return the error rate in percent, and the processor seconds of loading, training and aligning."""
    pairs = replace(gold.gold_pairs, first=0)
    began = time.process_time()
    links = aligner.fit(pairs).align_training_pairs(pairs).links
    return 100 * gold.score(links).aer, time.process_time() - began


def aligners_of(start: str, seed: int) -> dict[str, Aligner]:
    return {
        "gibbs": Gibbs(seed=seed, threads=1),
        "similarity": Similarity(start=start, device="cpu"),
        "self_trained": SelfTrained(start=start, seed=seed, device="cpu"),
    }


def row_of(gold: GoldSet, start: str, seeds: int) -> list[str]:
    """Return the cells of a set: errors by aligner, the share of errors saved, and seconds."""
    results = defaultdict(list)
    for seed in range(seeds):
        for name, aligner in aligners_of(start, seed).items():
            results[name].append(measure(gold, aligner))
    cells = [f"{gold.name} ({len(gold.sure):,})"]
    means = {}
    for name, values in results.items():
        errors = [error for error, _ in values]
        means[name] = statistics.mean(errors)
        spread = f" ({min(errors):.1f} to {max(errors):.1f})" if len(set(errors)) > 1 else ""
        cells.append(f"{means[name]:.1f}{spread}")
    better = min(means["gibbs"], means["similarity"])
    cells.append(f"{100 * (1 - means['self_trained'] / better):.0f} %")
    for values in results.values():
        cells.append(f"{statistics.mean(seconds for _, seconds in values):.0f}")
    return cells


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("encoder")
    parser.add_argument("--sets", default=",".join(GOLD), help="default: %(default)s")
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    folder = Path(os.environ["INTERLACE_DATA"])
    print(environment())
    head = "set (pairs) | `gibbs` | `similarity` | `self_trained` | fewer errors than the better | seconds:"
    print(f"\n| {head} `gibbs` | `similarity` | `self_trained` |\n|{'---|' * 8}")
    for name in options.sets.split(","):
        gold = GOLD[name].read(name, folder)
        print(
            "| " + " | ".join(row_of(gold, options.encoder, options.seeds)) + " |", flush=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
