"""What transfer to derived languages loses, drawn from runs that are scored in both ways."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interlace.report._parts import Facts, Score
from interlace.report._run import Run
from interlace.report._svg import text_width
from interlace.report._transfer_points import points_of
from interlace.report.transfer import _rows, _short, transfer


def run(label, changes, *, supervised, zero_shot, alignment=None, whole=None, folder="x"):
    name = f"{label}, transformations {'+'.join(changes)}"
    common = {"task": "pos", "metric": "accuracy", "source": "en"}
    scores = [
        Score(**common, language="en", score=95.0),
        *(Score(**common, language="en_x", score=score, seed=seed) for seed, score in enumerate(zero_shot)),
        *(Score(**common, language="en_x", score=score, setting="supervised") for score in supervised),
    ]
    if alignment is not None:
        extra = {} if whole is None else {"p@1, all": whole}
        probe = {"task": "embedding_alignment", "metric": "p@1", "source": "en"}
        scores.append(Score(**probe, language="en_x", score=alignment, scores=extra))
    recipe = {"derived": {"en_x": {"of": "en", "transformations": changes}}, "name": name}
    return Run(folder=Path(folder), recipe=recipe, facts=Facts(), label=name, scores=scores)


TRANS, INV = ["transliterate"], ["invert", "transliterate"]


@pytest.fixture
def runs():
    return [
        run("MLM", TRANS, supervised=[90], zero_shot=[80, 90], alignment=60.0),
        run("MLM", INV, supervised=[90], zero_shot=[40], alignment=5.0),
        run("ALIGN", TRANS, supervised=[90], zero_shot=[88], alignment=40.0, whole=70.0),
        run("ALIGN", INV, supervised=[91], zero_shot=[61], alignment=30.0, whole=65.0),
        run("ALIGN", INV, supervised=[91], zero_shot=[71], alignment=30.0, whole=65.0, folder="y"),
    ]


def test_points_are_means_over_runs_and_seeds(runs):
    points = {(point.objective, point.change): point for point in points_of(runs)}
    assert list(points) == [("MLM", "Trans"), ("MLM", "Trans + Inv"), ("ALIGN", "Trans"), ("ALIGN", "Trans + Inv")]
    assert points["MLM", "Trans"].lost == (5.0,)  # 90 minus the mean of 80 and 90
    assert points["ALIGN", "Trans + Inv"].lost == (30.0, 20.0)
    assert points["ALIGN", "Trans + Inv"].loss == 25.0
    assert points["ALIGN", "Trans"].alignment == 70.0  # over all words, not only those held out
    assert points["MLM", "Trans"].alignment == 60.0


def test_the_section_draws_the_papers_figures_2_and_3_and_two_of_ours(runs):
    section = transfer(runs)
    pictures = re.findall(r'<svg[^>]*aria-label="([^"]*)"', str(section.body))
    assert [words.split(": ")[:2] for words in pictures[:2]] == [  # figure 2
        ["Trans", "supervised minus zero-shot"],
        ["Trans + Inv", "supervised minus zero-shot"],
    ]
    assert pictures[2].startswith("Part-of-speech tagging: what transfer loses: MLM, Trans,")
    assert [words.split(": ")[:2] for words in pictures[3:5]] == [
        ["Trans", "zero-shot scores"],
        ["Trans + Inv", "zero-shot scores"],
    ]
    assert pictures[5].startswith("Loss against alignment")  # figure 3
    assert len(pictures) == 6
    assert "ALIGN, Trans + Inv, Part-of-speech tagging: supervised 91.0, zero-shot 66.0, lost 25.0" in pictures[1]
    assert "nan" not in str(section.body)
    # alignment 60, 5, 70, 65 and losses 5, 50, 2, 25: ranks 2 1 4 3 and 3 1 4 2
    assert "Part-of-speech tagging 0.80" in str(section.body)


def bars(section):
    """Height and upper end of every bar, in the order of the figures."""
    found = re.findall(r'<rect[^>]* y="([0-9.-]+)"[^>]* height="([0-9.]+)"', str(section.body))
    return [(float(height), float(y)) for y, height in found]


def test_bars_are_as_high_as_their_differences_and_scores(runs):
    """Differences stand on one scale over all changes, whose end is the largest; scores on one of 100."""
    heights = [height for height, _ in bars(transfer(runs))]
    assert heights[:4] == pytest.approx([134 * loss / 50 for loss in (5, 2, 50, 25)], abs=0.01)
    assert heights[4:] == pytest.approx([134 * score / 100 for score in (85, 88, 40, 66)], abs=0.01)


def test_what_transfer_gains_hangs_below_zero():
    """A loss of 10 and one of -10 on a scale from 190 (-10) to 56 (10), whose middle is nothing lost."""
    section = transfer(
        [run("MLM", TRANS, supervised=[90], zero_shot=[80]), run("XLM", TRANS, supervised=[80], zero_shot=[90])]
    )
    assert bars(section)[:2] == [pytest.approx((67, 56)), pytest.approx((67, 123))]
    assert "201" in re.findall(r'<text x="[0-9.]+" y="([0-9.]+)"[^>]*>\N{MINUS SIGN}10</text>', str(section.body))


@pytest.mark.parametrize(
    ("value", "wide", "told"), [(-0.2, 24.8, "\N{MINUS SIGN}0.2"), (-0.2, 15, "0"), (43.3, 26, "43")]
)
def test_a_small_difference_has_a_digit_more_where_there_is_room(value, wide, told):
    assert _short(value, wide) == told


def test_long_names_of_tasks_take_two_rows():
    assert list(_rows("xnli", 110)) == [(0, "Natural language"), (1, "inference")]
    assert list(_rows("xnli", 330)) == [(0, "Natural language inference")]


def test_runs_without_both_scores_leave_a_sentence(runs):
    alone = run("MLM", TRANS, supervised=[], zero_shot=[80])
    section = transfer([alone])
    assert section.lead.startswith("No run has supervised and zero-shot scores")
    assert "<svg" not in str(section.body)


def test_keys_that_are_too_many_for_a_line_take_another_and_nothing_is_cut(runs):
    many = [run(f"objective {number}", TRANS, supervised=[90], zero_shot=[80 - number]) for number in range(8)]
    few, section = str(transfer(runs).body), str(transfer(many).body)
    keys = re.findall(r'<text x="([0-9.]+)" y="([0-9.]+)" class="tick">objective (\d)</text>', section)
    assert {y for _, y, _ in keys} >= {"34", "52"}
    assert all(float(x) + text_width("objective 0", 11) <= 380 for x, _, _ in keys)
    assert "<g transform" in section
    assert "<g transform" not in few
