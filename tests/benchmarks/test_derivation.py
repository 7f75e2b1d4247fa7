"""Benchmark of derived languages: the loop gives the same text."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from interlace.derived import chain
from interlace.text import Text

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PIECES = (
    "I The dog do n't 's don't U.S. e.g. p.m. Mr. Ph.D. 3.5 10,000 @.@ 5 .5 1.b co-op - -- a/b www.x.com/?q=a.b . . ! "
    "? ... ?! \u2026 , ; ( ) [ ] $ % \" ' `` '' \u201c \u201d \u2019 \u4e2d \u533b\u751f \u3002 \uff01 \u300c \u300d "
    "\uff0c \u0964 \u061f"
).split(" ")


@pytest.fixture(scope="module")
def derivation():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("derivation")


@pytest.mark.parametrize("to", ["script", "ids"])
def test_loop_and_transformation_agree(derivation, to):
    rng = np.random.default_rng(0)
    lines = [
        "".join(rng.choice(["", "", " ", " ", "  "]) + rng.choice(PIECES) for _ in range(n % 14)) for n in range(2000)
    ]
    text = Text.of(lines, "en", "unicode")
    counts = text.words.lengths.tolist()
    text.tags["pos"] = [rng.choice(["X", "PROPN"], count).tolist() for count in counts]
    text.tags["names"] = [derivation.name_tags(tags) for tags in text.tags["pos"]]
    change = chain(["invert", {"name": "transliterate", "to": to}])
    derivation.check_identical(change.apply(text), derivation.loop(text, derivation.dictionary_of(text, change)))
