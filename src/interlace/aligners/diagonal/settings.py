"""The settings of `diagonal`."""

from pydantic import Field

from interlace.aligners.common.inputs import Threads
from interlace.alignment.spill import DEFAULT_MEMORY, Memory
from interlace.core.settings import Settings


class TrainingSettings(Settings):
    """What EM needs to know."""

    iterations: int = Field(
        5, ge=1, le=100, description="Passes over the text (fast_align: 4 that change the model)."
    )
    tension: float = Field(
        4.0,
        ge=0.1,
        le=14,
        description="Initial strength of the preference for the diagonal (Dyer et al. 2013, section 2; fast_align).",
    )
    tension_rate: float = Field(
        1.0,
        ge=0,
        le=100,
        description="Step size of the tension's gradient ascent, eight steps after each pass from the second on "
        "(section 3.2; fast_align: 20, which overshoots); 0: constant tension.",
    )
    null: float = Field(
        0.12,
        ge=0,
        lt=1,
        description="Probability that a word is unaligned, p0 (section 2; fast_align: 0.08).",
    )
    alpha: float = Field(
        0.1,
        gt=0,
        le=100,
        description="Dirichlet prior of each word translation, in links (section 3.1; fast_align: 0.01).",
    )
    memory: Memory = DEFAULT_MEMORY
    threads: Threads = 0
