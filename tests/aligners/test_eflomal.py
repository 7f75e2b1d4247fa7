"""Programs of others: what they are given, what becomes of their links, and what goes wrong. Most by stand-ins."""

import json
import logging
import shutil
import sys

import numpy as np
import pytest

from interlace.aligners.common.program import MissingProgramError
from interlace.aligners.eflomal import Eflomal
from interlace.aligners.fast_align import FastAlign
from interlace.alignment.lexicon import Lexicon
from interlace.core.errors import DataError, MissingDependencyError, SettingsError
from little_pairs import word_pairs

EFLOMAL = f"""#!{sys.executable}
import json, sys
from pathlib import Path
given = dict(zip(sys.argv[2::2], sys.argv[3::2]))
files = {{option: Path(given[option]).read_text().split("\\n") for option in ("-s", "-t", "-p") if option in given}}
folder = Path(__file__).parent
(folder / "seen.json").write_text(json.dumps([sys.argv[1:], files]))
Path(given["-f"]).write_text((folder / "forward").read_text())
Path(given["-r"]).write_text((folder / "backward").read_text())
"""
FAST_ALIGN = f"""#!{sys.executable}
import sys
from pathlib import Path
folder = Path(__file__).parent
print(sys.argv[1:], file=(folder / "seen").open("a"))
(folder / "text").write_text(Path(sys.argv[2]).read_text())
print((folder / ("backward" if "-r" in sys.argv else "forward")).read_text(), end="")
"""
FAILING = f"#!{sys.executable}\nimport sys\nsys.exit('first\\nout of memory')\n"


PAIRS = word_pairs(
    ["The \x01 house", "", "the ||| THE", "one sided", "house"], ["das Haus", "leer", "das das", "", "Haus"]
)


@pytest.fixture
def program(tmp_path):
    """Makes a stand-in for a program, with the links it gives each way."""

    def make(script, forward="", backward=""):
        path = tmp_path / "program"
        path.write_text(script)
        path.chmod(0o755)
        (tmp_path / "forward").write_text(forward)
        (tmp_path / "backward").write_text(backward)
        return str(path)

    return make


def test_eflomal_is_shown_numbers_of_pairs_with_two_sides(program, tmp_path):
    fake = program(EFLOMAL, "0-0 2-1\n0-0\n0-0\n", "2-1\n0-0 2-1\n\n")
    settings = {"model": 2, "length": 0.5, "samplers": 1, "null_prior": 0.1, "symmetrization": "union"}
    found = Eflomal(program=fake, **settings).fit(PAIRS).align(PAIRS)
    options, files = json.loads((tmp_path / "seen.json").read_text())
    assert files == {"-s": ["0 1 2", "0 3 0", "2", ""], "-t": ["0 1", "0 0", "1", ""]}
    given = dict(zip(options[1::2], options[2::2], strict=True))
    numbers = {option: float(given[option]) for option in ("-m", "-l", "--n-samplers", "--null-prior")}
    assert numbers == {"-m": 2, "-l": 0.5, "--n-samplers": 1, "--null-prior": 0.1}
    assert found.links.to_lists() == [[[0, 0], [2, 1]], [], [[0, 0], [2, 1]], [], [[0, 0]]]
    assert found.confidence.tolist() == [1.0] * 5


def test_a_lexicon_is_given_as_priors(program, tmp_path):
    """Entries that differ in case are one; words that the corpus lacks are left out."""
    entries = np.array([[0, 0], [1, 0], [1, 2], [2, 1]], np.int32)
    priors = Lexicon(["house", "House", "zebra"], ["Haus", "das", "dass"], entries, np.array([3.0, 1.0, 9.0, 9.0]))
    fake = program(EFLOMAL, "\n\n\n", "\n\n\n")
    Eflomal(program=fake, prior_weight=0.5).fit(PAIRS, priors)
    assert json.loads((tmp_path / "seen.json").read_text())[1]["-p"] == ["LEX\t2\t1\t2", ""]


def test_fast_align_runs_once_a_direction(program, tmp_path):
    fake = program(FAST_ALIGN, "0-0 2-1\n0-0\n0-0\n", "2-1\n0-0 2-1\n\n")
    steps = []
    fitted = FastAlign(program=fake, optimize=False, symmetrization="union").fit(
        PAIRS, progress=lambda *step: steps.append(step)
    )
    assert (tmp_path / "text").read_text() == "0 1 2 ||| 0 1\n0 3 0 ||| 0 0\n2 ||| 1\n"
    calls = (tmp_path / "seen").read_text().splitlines()
    assert [call.split(", ", 2)[2] for call in calls] == ["'-d', '-v', '-I', '5']", "'-d', '-v', '-I', '5', '-r']"]
    assert steps[-1] == ("running fast_align", 2, 2)
    assert fitted.align(PAIRS).links.to_lists() == [[[0, 0], [2, 1]], [], [[0, 0], [2, 1]], [], [[0, 0]]]


@pytest.mark.parametrize("aligner", [Eflomal, FastAlign])
def test_missing_programs_are_named_with_a_remedy(aligner, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingDependencyError, match=r"which is not on the PATH; .* or set `program`"):
        aligner().fit(PAIRS)
    with pytest.raises(MissingProgramError, match="does not exist or is not executable"):
        aligner(program=str(tmp_path / "nothing")).fit(PAIRS)


@pytest.mark.parametrize(
    ("script", "links", "error", "message"),
    [
        (FAILING, "", DataError, r"program exited with 1: first / out of memory"),
        ("#!/nowhere/at/all\n", "", SettingsError, "cannot be run: No such file"),
        (FAST_ALIGN, "", DataError, "the file is empty"),
        (FAST_ALIGN, "0-0\n", DataError, r"cannot be read: .* alignments of 1 pairs, but the text has 3"),
        (
            FAST_ALIGN,
            "0-0\nnonsense\n0-0\n",
            DataError,
            r"cannot be read: .* line 2, column 1: 'nonsense' is not a link",
        ),
    ],
)
def test_failures_of_a_program_are_reported(program, script, links, error, message):
    with pytest.raises(error, match=message):
        FastAlign(program=program(script, links, links)).fit(PAIRS)


def test_logs_one_sided_pairs_and_ignored_priors(program, caplog):
    fake = program(FAST_ALIGN, "\n\n\n", "\n\n\n")
    with caplog.at_level(logging.WARNING):
        FastAlign(program=fake).fit(PAIRS, Lexicon([], [], np.zeros((0, 2), np.int32), np.zeros(0)))
    assert "2 of 5 pairs lack words on a side" in caplog.text
    assert "ignoring the priors" in caplog.text


def test_only_the_fitted_pairs_are_linked(program):
    fitted = FastAlign(program=program(FAST_ALIGN, "0-0 2-1\n0-0\n0-0\n", "0-0\n0-0\n0-0\n")).fit(PAIRS)
    whole = fitted.align(PAIRS).links.to_lists()
    assert [row for chunk in PAIRS.chunks(2) for row in fitted.align(chunk).links.to_lists()] == whole
    with pytest.raises(DataError, match="of 5 pairs, which has no pair 6"):
        fitted.align(word_pairs(["a"] * 6, ["b"] * 6))
    with pytest.raises(DataError, match="whose pair 1 has 3 and 2 words; this one has 1 and 4"):
        fitted.align(word_pairs(["a"], ["b b b b"]))
    with pytest.raises(DataError, match="whose pair 2 has 0 and 1 words; this one has 1 and 1"):
        fitted.align(word_pairs(["The the house", "a"], ["das Haus", "leer"]))


@pytest.mark.skipif(shutil.which("eflomal-align") is None, reason="eflomal is not installed")
def test_priors_of_the_program_decide_where_the_text_does_not():
    """Without them it links along the diagonal; the lexicon says that words stand crossed."""
    pairs = word_pairs(["a b"] * 5, ["x y"] * 5)
    crossed = Lexicon(["a", "b"], ["x", "y"], np.array([[0, 1], [1, 0]], np.int32), np.array([1e5, 1e5]))
    plain, informed = (Eflomal(symmetrization="union").fit(pairs, lexicon) for lexicon in (None, crossed))
    assert {tuple(link) for link in plain.align(pairs).links.flat.tolist()} == {(0, 0), (1, 1)}
    assert {tuple(link) for link in informed.align(pairs).links.flat.tolist()} <= {(0, 1), (1, 0)}
    assert len(informed.align(pairs).links.flat) > 0
