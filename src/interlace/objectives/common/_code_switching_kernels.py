"""The numba kernel of code-switching, compiled when first used: a random choice of spans that do not overlap."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


@njit(cache=True, nogil=True)
def draw_spans(
    spans: NDArray[np.int32],
    offsets: Numbers,
    max_words: Numbers,
    max_spans: int,
    uniforms: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Return (k,) which spans are taken: in random order, if they overlap no earlier one and fit the limits.

    spans: (k, 2) start and stop. offsets: (n + 1,) of the spans of each row. max_words: (n,) words taken in a row.
    max_spans: spans taken in a row. uniforms: (k,) in [0, 1).
    """
    chosen = np.zeros(len(spans), np.bool_)
    order = np.empty(max(len(spans), 1), np.int64)
    taken = np.zeros((spans[:, 1].max() if len(spans) else 0) + 1, np.bool_)
    for row in range(len(offsets) - 1):
        first = offsets[row]
        rest = offsets[row + 1] - first
        for number in range(rest):
            order[number] = first + number
        words = max_words[row]
        count = max_spans
        while rest > 0 and words > 0 and count > 0:
            pick = int(uniforms[first + rest - 1] * rest)
            place = order[pick]
            rest -= 1
            order[pick] = order[rest]
            start = spans[place, 0]
            stop = spans[place, 1]
            fits = stop - start <= words
            for word in range(start, stop):
                fits = fits and not taken[word]
            if fits:
                for word in range(start, stop):
                    taken[word] = True
                chosen[place] = True
                words -= stop - start
                count -= 1
        for place in range(first, offsets[row + 1]):
            if chosen[place]:
                for word in range(spans[place, 0], spans[place, 1]):
                    taken[word] = False
    return chosen
