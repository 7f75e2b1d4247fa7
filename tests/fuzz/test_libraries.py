"""Corrupted inputs of libraries and of the hub: no crash, traceback, endless work, 4 GB or raw control characters.

`make fuzz` draws them: a twentieth of INTERLACE_FUZZ_CASES of each kind, of which the first has INTERLACE_FUZZ_SEED.
"""

import os
import random

import pytest

import fuzzing_libraries as cases
from interlace.core.guarded import guarded_results

COUNT = int(os.environ.get("INTERLACE_FUZZ_CASES", "0")) // 20
FIRST = int(os.environ.get("INTERLACE_FUZZ_SEED", "0"))
pytestmark = pytest.mark.skipif(not COUNT, reason="`make fuzz` runs it")


@pytest.mark.parametrize(
    ("draw", "work"),
    [
        (cases.tokenizer_case, cases.use_tokenizer),
        (cases.answer_case, cases.ask_hub),
    ],
    ids=["tokenizer", "hub"],
)
def test_no_corrupted_input_of_a_library_breaks_it(draw, work, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    inputs = [draw(random.Random(number)) for number in range(FIRST, FIRST + COUNT)]
    faults = guarded_results(work, inputs, cases.SECONDS)
    faults.append("the process crashed, or took too much time or memory")
    for number, (case, fault) in enumerate(zip(inputs, faults, strict=False), FIRST):
        assert not fault, f"INTERLACE_FUZZ_SEED={number}: {fault}\n  of {case[:300]!r}"
