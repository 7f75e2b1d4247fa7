"""`interlace mine`: translations in two texts, found by the vectors of a model."""

from functools import partial

import numpy as np
import pytest

import interlace as il
from command_line import command
from interlace.core.errors import InterlaceError
from interlace.text.lines import write_lines
from little_checkpoints import save

run = partial(command, "mine")
ENGLISH = ["the old doctor reads", "she sees it", "a cat and a dog", "two red books"]
GERMAN = ["der alte Arzt liest", "Öl ist da", "a cat and a dog", "she sees it", "drei Briefe"]


@pytest.fixture
def model(tmp_path, monkeypatch, own_cache):
    monkeypatch.chdir(tmp_path)
    write_lines("a.en", ENGLISH)
    write_lines("b.de", GERMAN)
    return save("xlm-r", tmp_path / "model")


def test_identical_lines_have_the_highest_scores_and_others_are_cut(model):
    done = run("a.en", "b.de", "--model", str(model), "--k", "2")
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert {tuple(row[1:]) for row in rows[:2]} == {(line, line) for line in ENGLISH[1:3]}
    scores = [float(row[0]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] >= 1
    cosines = il.encode(model, ENGLISH) @ il.encode(model, GERMAN).T
    nearest = np.sort(cosines, axis=1)[:, -2:].mean(axis=1)[1]
    into_nearest = np.sort(cosines, axis=0)[-2:].mean(axis=0)[3]
    [score] = [float(row[0]) for row in rows if row[1] == "she sees it"]
    assert score == pytest.approx(cosines[1, 3] / ((nearest + into_nearest) / 2), abs=2e-4)


def test_all_pairs_go_to_a_file(model, tmp_path, caplog):
    caplog.set_level("INFO", "interlace")
    done = run("a.en", "b.de", "--model", str(model), "--threshold", "0", "-o", "mined.tsv")
    assert done.stdout == "mined.tsv\n"
    rows = (tmp_path / "mined.tsv").read_text().splitlines()
    assert 2 <= len(rows) <= 4
    assert f"{len(rows)} pairs of 4 and 5 different lines" in caplog.text
    assert run("a.en", "b.de", "--model", str(model), "--threshold", "9").stdout == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.en", "empty", "--model", "model"], "empty: has no text"),
        (["a.en", "absent", "--model", "model"], "absent"),
        (["a.en", "b.de", "--model", "nothing"], "nothing"),
        (
            ["a.en", "b.de", "--model", "model", "--languages", "en"],
            "expected source and target",
        ),
    ],
)
def test_bad_input_is_named(model, arguments, message):
    write_lines("empty", [""])
    with pytest.raises(InterlaceError, match=message):
        run(*arguments)
