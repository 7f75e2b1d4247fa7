"""Differences over all that was drawn again in one table, and alignment against transfer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from interlace.report.study import correlation_tables, difference_tables
from interlace.report.tables import html_page, latex, markdown
from interlace.scores import ScoreTable
from interlace.scores.comparison import aggregate, compare
from interlace.scores.held_out import over_all_words
from interlace.training.predictions import outcomes_file
from study_rows import outcomes_in, row, two_systems, with_dictionary, write_outcomes


@pytest.fixture
def results():
    return two_systems()


@pytest.fixture
def compared(results, tmp_path):
    """Over runs, languages and examples; in German all of b's examples are right and half of a's."""
    for one in results:
        path = outcomes_file(tmp_path / one.run, "pos", 0)
        half = np.arange(40) % 2 if one.system == "a" else np.ones(40)
        write_outcomes(path, {language: (half, np.ones(40)) for language in ("en", "de", "es")})
    by_examples = compare(results, "a", "examples", outcomes=outcomes_in(tmp_path), draws=200)
    return [*compare(results, "a"), *compare(results, "a", "languages"), *by_examples]


def shown(table, language):
    line = next(line for line in table.lines if line.entries[1].text == language)
    return [entry and entry.text for entry in line.entries]


def test_a_row_a_language_holds_what_each_unit_says(compared):
    [table] = difference_tables(compared, "t")
    assert table.name == "differences.pos"
    assert [column.group for column in table.columns[2:]] == [
        group for group in ("other runs", "other examples", "other languages") for _ in range(3)
    ]
    german = shown(table, "de")
    assert german[:3] == ["accuracy", "de", "+9.9"]
    assert german[4] == "0.029 (4)"  # the most extreme of 70 splits, and its mirror image
    assert german[5] == "+50.0"
    assert german[7] == "0.005 (40)"  # none of 200 draws is as far
    assert german[8:] == [None, None, None]
    assert shown(table, "others")[5:8] == [None, None, None]
    assert shown(table, "others")[10] == "1 (2)"
    assert {line.label for line in table.lines} == {"B \u2212 A"}


def test_clear_differences_alone_are_bold(compared):
    [table] = difference_tables(compared, "t")
    bold = {line.entries[1].text: line.entries[2].bold for line in table.lines}
    assert bold == {"en": False, "others": True, "de": True, "es": False}


def test_single_runs_are_tested_by_mcnemar_too(results, tmp_path):
    single = [one for one in results if (one.pretraining_seed, one.language) == (0, "de")]
    for one in single:
        right = np.arange(6) >= 6 * (one.system == "a")
        write_outcomes(outcomes_file(tmp_path / one.run, "pos", 0), {"de": (right, np.ones(6))})
    [table] = difference_tables(
        compare(ScoreTable(single), "a", "examples", outcomes=outcomes_in(tmp_path), draws=99), "t"
    )
    assert table.columns[-1].name == "McNemar"
    assert shown(table, "de")[-1] == "0.031"  # six of six: 2 / 64
    assert "McNemar: exact p, unadjusted" in table.caption


def test_no_caption_explains_a_test_that_no_column_holds(compared):
    [table] = difference_tables(compared, "t")
    assert "McNemar" not in table.caption


def test_a_caption_says_what_scores_over_all_words_are(results):
    told = "are over all words, including those that training read in a dictionary"
    [whole] = difference_tables(compare(with_dictionary(results, {"b": 40.0}), "a"), "t")
    assert told in whole.caption
    assert {line.entries[0].text for line in whole.lines} == {"accuracy, all"}
    assert told not in difference_tables(compare(results, "a"), "t")[0].caption


def test_all_forms_can_be_written(compared):
    [table] = difference_tables(compared, "t")
    for form in (markdown, latex, html_page):
        assert "other examples" in form(table)


# ---- alignment and transfer ----


def probed(alignment, transfer):
    """Systems with P@1 of a probe and a score in German; all have 90 in English."""
    rows = []
    for number, (aligned, german) in enumerate(zip(alignment, transfer, strict=True)):
        name = f"s{number}"
        rows += [row(name, 0, "en", 90.0), row(name, 0, "de", german)]
        rows.append(row(name, 0, "de", aligned, task="retrieval", metric="p@1"))
    return ScoreTable(rows)


def test_alignment_is_set_against_what_transfer_does_not_lose():
    [table] = correlation_tables(probed([10, 20, 30, 40, 50], [50, 60, 65, 80, 70]), "t")
    assert [line.label for line in table.lines] == ["retrieval (p@1)"]
    assert [column.name for column in table.columns] == ["pos, zero-shot"]
    assert table.lines[0].entries[0].text == "0.90 (p = 0.083, n = 5)"  # one exchange of neighbours in 120 orders


def test_a_probe_of_which_less_is_better_turns_the_sign():
    rows = [
        replace(one, greater_is_better=one.task == "pos") for one in probed([50, 40, 30, 20, 10], [50, 60, 65, 70, 80])
    ]
    assert correlation_tables(ScoreTable(rows), "t")[0].lines[0].entries[0].text.startswith("1.00 (p = 0.017")


def transferred(aligned, supervised, zero_shot, seed=0):
    """A system a column: P@1 of all words, 10 points less of those held out; scores in a derived language."""
    rows = []
    for number, (probe, own, shot) in enumerate(zip(aligned, supervised, zero_shot, strict=True)):
        name, probed = f"s{number}", {"task": "embedding_alignment"}
        rows += [row(name, seed, "en", 90.0), row(name, seed, "en_x", shot)]
        rows.append(row(name, seed, "en_x", own, setting="supervised"))
        rows.append(row(name, seed, "en_x", probe - 10, metric="p@1", **probed))
        if number:  # the first has read no dictionary: its main score is over all
            rows.append(row(name, seed, "en_x", probe, metric="p@1, all", main=False, **probed))
        else:
            rows[-1] = replace(rows[-1], score=probe)
    return ScoreTable(rows)


def test_what_transfer_loses_is_supervised_minus_zero_shot_run_by_run():
    rows = transferred([50], [80], [60]) + transferred([50], [70], [65], seed=1)[:2]
    [(measure, found)] = [pair for pair in aggregate(rows).items() if pair[0].setting == "difference"]
    assert (measure.task, measure.language, measure.greater_is_better, measure.main) == ("pos", "en_x", False, False)
    assert [one.sample for one in found.values()] == [[20.0]]  # seed 1 has no supervised score


def test_alignment_over_all_words_is_set_against_what_transfer_loses():
    # losses 5, 20, 10, 30 and alignment 80, 40, 60, 20: a perfect order over all words; no row mixes those held out
    # of systems with a dictionary with all of those without
    [table] = correlation_tables(transferred([80, 40, 60, 20], [90, 80, 85, 75], [85, 60, 75, 45]), "t")
    assert [column.name for column in table.columns] == ["pos, \u2212 difference"]
    assert {line.label: line.entries[0].text[:4] for line in table.lines} == {
        "embedding_alignment (p@1, all)": "1.00",
        "Tang et al. 2022, appendix E": "0.73",  # of alignment with what is not lost, hence without the minus
    }
    assert [line.theirs for line in table.lines] == [False, True]


def test_words_are_scored_alike_with_and_without_a_dictionary():
    [first, second] = over_all_words(transferred([50, 55], [80, 80], [60, 60]))
    assert (first.score, second.score) == (50.0, 55.0)
    assert {first.metric, second.metric} == {"p@1, all"}


def test_too_few_points_or_no_probe_say_nothing():
    assert correlation_tables(probed([1, 2, 3], [1, 2, 3]), "t") == []
    assert correlation_tables(ScoreTable([row("a", 0, "en", 1.0), row("a", 0, "de", 1.0)]), "t") == []
