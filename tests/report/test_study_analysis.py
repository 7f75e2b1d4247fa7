"""Tables of differences, of alignment and transfer, and of transfer to derived languages."""

from dataclasses import replace

import numpy as np
import pytest

from interlace.experiments.recipe import Recipe
from interlace.report.correlation import correlation_tables
from interlace.report.differences import difference_tables
from interlace.report.published_rows import cited_by
from interlace.report.tables import html_page, latex, markdown
from interlace.report.transfer import transfer_tables
from interlace.scores import ScoreTable
from interlace.scores.aggregation import aggregate
from interlace.scores.comparison import compare
from interlace.scores.held_out import over_all_words
from interlace.training.predictions import outcomes_file
from study_rows import outcomes_in, row, texts, two_systems, write_outcomes


@pytest.fixture
def results():
    return two_systems()


@pytest.fixture
def differences(results, tmp_path):
    """Over runs and examples; in German all of b's examples are right and half of a's."""
    for one in results:
        half = np.arange(40) % 2 if one.system == "a" else np.ones(40)
        kept = {language: (half, np.ones(40)) for language in ("en", "de", "es")}
        write_outcomes(outcomes_file(tmp_path / one.run, "pos", 0), kept)
    by_examples = compare(results, "a", "examples", outcomes=outcomes_in(tmp_path), draws=200)
    [table] = difference_tables([*compare(results, "a"), *by_examples], "t")
    return table


def shown(table, language):
    return texts(next(line for line in table.lines if line.entries[1].text == language).entries)


def test_rows_have_the_differences_over_each_unit(differences):
    assert differences.name == "differences.pos"
    assert [column.group for column in differences.columns[2:]] == [
        group for group in ("other runs", "other examples") for _ in range(3)
    ]
    german = shown(differences, "de")
    assert german[:3] == ["accuracy", "de", "+9.9"]
    assert german[4] == "0.029 (4)"  # the most extreme of 70 splits, and its mirror image
    assert german[5] == "+50.0"
    assert german[7] == "0.005 (40)"  # none of 200 draws is as far
    assert shown(differences, "others")[5] == "+50.0"
    assert {line.label for line in differences.lines} == {"B \u2212 A"}
    bold = {line.entries[1].text: line.entries[2].bold for line in differences.lines}
    assert bold == {"en": False, "others": True, "de": True, "es": False}
    for form in (markdown, latex, html_page):
        assert "other examples" in form(differences)


def probed(alignment, transfer):
    """Systems with P@1 of a probe and a score in German; all have 90 in English."""
    rows = []
    for number, (aligned, german) in enumerate(zip(alignment, transfer, strict=True)):
        name = f"s{number}"
        rows += [row(name, 0, "en", 90.0), row(name, 0, "de", german)]
        rows.append(row(name, 0, "de", aligned, task="retrieval", metric="p@1"))
    return ScoreTable(rows)


def transferred(aligned, supervised, zero_shot, seed=0):
    """Systems with P@1 over all words, 10 points less over held-out ones, and scores in a derived language."""
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


def test_gap_is_supervised_minus_zero_shot_of_each_run():
    rows = transferred([50], [80], [60]) + transferred([50], [70], [65], seed=1)[:2]
    [(measure, found)] = [
        pair for pair in aggregate(rows).items() if pair[0].setting == "difference"
    ]
    assert (measure.task, measure.language, measure.greater_is_better, measure.main) == (
        "pos",
        "en_x",
        False,
        False,
    )
    assert [one.sample for one in found.values()] == [[20.0]]  # seed 1 has no supervised score


def test_alignment_over_all_words_is_correlated_with_the_gap():
    # gaps 5, 20, 10, 30 and alignment 80, 40, 60, 20: a perfect order over all words
    tags = transferred([80, 40, 60, 20], [90, 80, 85, 75], [85, 60, 75, 45])
    names = [replace(one, task="ner", metric="f1") for one in tags if one.task == "pos"]
    [table] = correlation_tables(ScoreTable([*tags, *names]), "t")
    assert [column.name for column in table.columns] == [
        "pos, \u2212 difference",
        "ner, \u2212 difference",
    ]
    ours, theirs = table.lines
    assert (ours.label, theirs.label) == (
        "embedding_alignment (p@1, all)",
        "Tang et al. 2022, appendix E",
    )
    assert [text[:4] for text in texts(ours.entries)] == ["1.00", "1.00"]
    assert texts(theirs.entries) == [None, "0.78"]  # theirs of tags is with F1, not with accuracy
    assert [ours.theirs, theirs.theirs] == [False, True]
    [first, second] = over_all_words(transferred([50, 55], [80, 80], [60, 60]))
    assert (first.score, second.score) == (50.0, 55.0)
    assert {first.metric, second.metric} == {"p@1, all"}


def test_conditions_are_not_correlated_with_each_other():
    """A condition that is easier for probe and task alike; four systems in reverse order within each."""
    hard, easy = probed([1, 2, 3, 4], [24, 23, 22, 21]), probed([51, 52, 53, 54], [74, 73, 72, 71])
    both = [
        replace(one, axes={"k": place})
        for place, rows in (("hard", hard), ("easy", easy))
        for one in rows
    ]
    [table] = correlation_tables(ScoreTable(both), "t")
    assert table.lines[0].entries[0].text == "-1.00 (p = 0.083, n = 4 x 2)"  # 2 of 24 orders


def test_alignment_is_correlated_with_the_negated_gap_of_enough_systems():
    [table] = correlation_tables(probed([1, 2, 3], [1, 2, 3]), "t")
    assert table.lines[0].entries[0].text == "1.00 (p = 0.33\N{DEGREE SIGN}, n = 3 x 1)"
    assert correlation_tables(probed([1, 2], [1, 2]), "t") == []
    assert (
        correlation_tables(ScoreTable([row("a", 0, "en", 1.0), row("a", 0, "de", 1.0)]), "t") == []
    )
    [table] = correlation_tables(probed([10, 20, 30, 40, 50], [50, 60, 65, 80, 70]), "t")
    assert [line.label for line in table.lines] == ["retrieval (p@1)"]
    assert [column.name for column in table.columns] == ["pos, zero-shot"]
    assert (
        table.lines[0].entries[0].text == "0.90 (p = 0.083, n = 5 x 1)"
    )  # one exchange of neighbours in 120 orders
    lower = probed([50, 40, 30, 20, 10], [50, 60, 65, 70, 80])
    rows = [replace(one, greater_is_better=one.task == "pos") for one in lower]
    assert (
        correlation_tables(ScoreTable(rows), "t")[0]
        .lines[0]
        .entries[0]
        .text.startswith("1.00 (p = 0.017")
    )


def published(*places):
    return cited_by(
        [
            Recipe.read(
                {"name": "r", "published": [{"where": f"Tang et al. 2022, {at}"} for at in places]}
            )
        ]
    )


def scored(system, seed, supervised, zero_shot, alignment):
    about = {"task": "embedding_alignment"}
    values = [
        row(system, seed, "en_x", v, metric=m, main=m == "p@1", **about)
        for m, v in alignment.items()
    ]
    own = row(system, seed, "en_x", supervised, setting="supervised")
    return [row(system, seed, "en", 90.0), row(system, seed, "en_x", zero_shot), own, *values]


@pytest.fixture
def mlm():
    return scored("mlm", 0, 80.0, 50.0, {"p@1": 10.0})


def test_transfer_rows_have_scores_gap_and_alignment():
    rows = [
        *scored("mlm", 0, 80.0, 50.0, {"p@1": 10.0, "coverage": 70.0}),
        *scored("mlm", 1, 84.0, 60.0, {"p@1": 20.0, "coverage": 70.0}),
        *scored(
            "align",
            0,
            81.0,
            75.0,
            {"p@1": 40.0, "p@1, all": 60.0, "p@1, seen": 99.0, "held out": 70.0},
        ),
    ]
    [table] = transfer_tables(ScoreTable(rows), "t")
    assert [column.name for column in table.columns] == [
        *("supervised", "zero-shot", "difference", "alignment", "in the dictionary", "held out")
    ]
    assert {line.label: texts(line.entries) for line in table.lines} == {
        "MLM": ["82.0", "55.0", "27.0", "15.0", None, None],
        "ALIGN": ["81.0", "75.0", "6.0", "60.0", "99.0", "40.0"],
    }


def test_published_f1_of_each_transformation_is_below_our_f1_and_not_below_our_accuracy(mlm):
    f1 = [
        replace(one, metric="f1", main=False, score=one.score - 2)
        for one in mlm
        if one.task == "pos"
    ]
    with_f1 = ScoreTable([*mlm, *f1])
    recipes = published("table 3, MLM, Trans + Inv", "table 8, MLM, Trans + Inv")
    [table] = transfer_tables(with_f1, "t", recipes)
    assert [column.group for column in table.columns[:6]] == ["pos (accuracy)"] * 3 + [
        "pos (f1)"
    ] * 3
    assert [line.theirs for line in table.lines] == [False, True]
    assert table.lines[1].label == "Tang et al. 2022, table 3 and 8, MLM, Trans + Inv"
    ours, theirs = (texts(line.entries) for line in table.lines)
    assert ours == ["80.0", "50.0", "30.0", "78.0", "48.0", "30.0", "10.0", None, None]
    assert theirs == [None, None, None, "95.0", "56.5", "38.5", "0.3", None, None]
    [table] = transfer_tables(ScoreTable(mlm), "t", published("table 3, MLM, Trans + Inv"))
    assert not any(line.theirs for line in table.lines)
    recipes = published("table 4, DICT-MLM, 25 %", "table 5, DICT-MLM, 25 %")
    [table] = transfer_tables(with_f1, "t", recipes)
    assert {line.label: texts(line.entries)[5] for line in table.lines[1:]} == {
        "Tang et al. 2022, table 4, DICT-MLM, 25 %": "19.0",
        "Tang et al. 2022, table 5, DICT-MLM, 25 %": "1.0",
    }


def test_languages_have_rows_of_their_own(mlm):
    rows = [*mlm, *(replace(one, language="en_y") for one in mlm if one.language == "en_x")]
    [table] = transfer_tables(ScoreTable(rows), "t")
    assert [line.label for line in table.lines] == ["MLM, en_x", "MLM, en_y"]
    assert (
        transfer_tables(ScoreTable([row("mlm", 0, "en", 90.0), row("mlm", 0, "de", 50.0)]), "t")
        == []
    )
