"""Randomness is a key, not a state.

Every random choice draws from a generator named by four numbers, so any step of any run can be repeated by itself:
resuming needs no generator state, and the split into micro-batches or processes changes nothing.
"""

from enum import IntEnum

import numpy as np

Generator = np.random.Generator


class Purpose(IntEnum):
    """The first field of a key. Values are part of every run's meaning: append, never renumber."""

    INIT = 1  # fresh weights
    PLAN = 2  # order of a corpus in an epoch: slot is the corpus's number
    MIX = 3  # which objective and corpus a step takes
    BATCH = 4  # what an objective draws while it makes a batch
    DROPOUT = 5  # torch's generator before each micro-batch
    EVALUATE = 6  # masks of the fixed evaluation batches
    TOY = 7  # the toy corpus's scenes
    SAMPLE = 8  # subsets of data: held-out lines, probes, text for the vocabulary
    HEADS = 9  # fresh weights of an objective's or a task's own modules
    ALIGN = 10  # samplers of word links: step is the view, slot the direction
    # which entries: slot 0 of a whole run, step names the languages; slot 1 of a step
    DICTIONARY = 11
    # code-switched text: step is a block's first pair, slot the copy and its direction
    SWITCH = 12
    VECTORS = 13  # static vectors: step is the run of MUSE; slots: networks, words, rotations, fastText, drawn pairs
    # tests and intervals: step is the unit that is resampled, slot the comparison
    STATISTICS = 14
    TRANSFORMATION = 15  # derived languages: step is the transformation, by its name


def generator(purpose: Purpose, seed: int, step: int = 0, slot: int = 0) -> Generator:
    """Return the generator of one random decision; always four fields, because numpy pads short keys with zeros."""
    return np.random.default_rng([int(purpose), seed, step, slot])


def torch_seed(purpose: Purpose, seed: int, step: int = 0, slot: int = 0) -> int:
    """Return a 63-bit seed for torch's generator from the same kind of key."""
    return int(generator(purpose, seed, step, slot).integers(2**63 - 1))
