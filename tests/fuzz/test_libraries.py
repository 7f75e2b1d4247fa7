"""Corrupted inputs of libraries and of the hub: no crash, traceback, endless work, 4 GB or raw control characters.

`make fuzz` draws them: a twentieth of INTERLACE_FUZZ_CASES of each kind, of which the first has INTERLACE_FUZZ_SEED.
"""

import os
import random

import pytest

pytest.importorskip("mwparserfromhell")
import fuzzing_libraries as cases
from interlace.core.guarded import GuardedFunction

COUNT = int(os.environ.get("INTERLACE_FUZZ_CASES", "0")) // 20
FIRST = int(os.environ.get("INTERLACE_FUZZ_SEED", "0"))
pytestmark = pytest.mark.skipif(not COUNT, reason="`make fuzz` runs it")


@pytest.mark.parametrize(
    ("draw", "work"),
    [
        (lambda rng: cases.arrow_case(rng).hex(), cases.read_arrow),
        (cases.markup_case, cases.read_markup),
        (cases.tokenizer_case, cases.use_tokenizer),
        (cases.answer_case, cases.ask_hub),
    ],
    ids=["arrow", "markup", "tokenizer", "hub"],
)
def test_no_corrupted_input_of_a_library_breaks_it(draw, work, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    faults = []
    with GuardedFunction(work) as guarded:
        for number in range(FIRST, FIRST + COUNT):
            given = draw(random.Random(number))
            fault = next(guarded.map([[given]]))
            if fault is None:
                fault = "the process crashed, or took too much time or memory"
            if fault:
                faults.append(f"INTERLACE_FUZZ_SEED={number}: {fault}\n  of {given[:300]!r}")
    assert not faults, f"{len(faults)} of {COUNT} cases\n" + "\n".join(faults)
