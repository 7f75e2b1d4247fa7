"""Refinement that gets away from a poor start: words are paired among a share of what there is, drawn anew each round.

Artetxe, Labaka & Agirre (2018, section 3.3): a dictionary in both directions, induced by CSLS from a drawn share of all
similarities; the share doubles whenever the pairs have not come nearer for some rounds, until nothing is left out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.neighbors import MarginScorer, nearest_among_sample, unit
from interlace.core.randomness import Purpose, generator

if TYPE_CHECKING:
    from interlace.embeddings._mapping import Floats, Sides

_NEARER = 1e-6  # what counts as better
_DOUBLED = 2.0


def self_learnt(sides: Sides, rotation: Floats) -> tuple[Floats, int]:
    """The rotation after the last round, and how many rounds there were. Rotations are (H, H)."""
    mapping, share, best, since, rounds = sides.mapping, sides.mapping.drawn, -math.inf, 0, 0
    most = mapping.drawn_on
    source, others = sides.source.vectors[:most], unit(sides.target.vectors[:most])
    rng = generator(Purpose.VECTORS, sides.seed, 0, 4)
    while True:
        moved = unit(source @ rotation)
        around = MarginScorer.of("distance", moved, others, mapping.neighbours)
        rows, found, forward = nearest_among_sample(moved, others, around, share, rng)
        back, backward_found, backward = nearest_among_sample(others, moved, around.reversed(), share, rng)
        rotation = sides.solved(np.concatenate([rows, backward_found]), np.concatenate([found, back]))
        rounds += 1
        nearness = (forward + backward) / 2
        best, since = (nearness, 0) if nearness > best + _NEARER else (best, since + 1)
        if since >= mapping.patience:
            if share >= 1:
                return rotation, rounds
            share, since = min(1.0, _DOUBLED * share), 0
