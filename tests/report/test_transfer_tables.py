"""The paper's table of transfer and alignment, ours with theirs below."""

from __future__ import annotations

from dataclasses import replace

from interlace.experiments.recipe import Recipe
from interlace.report.study import transfer_tables
from interlace.scores import ScoreTable
from study_rows import row

MLM = Recipe.read({"name": "r", "published": [{"where": "Tang et al. 2022, table 3, MLM, Trans + Inv"},
                                              {"where": "Tang et al. 2022, table 8, MLM, Trans + Inv"}]})  # fmt: skip


def scored(system, seed, supervised, zero_shot, alignment):
    probe = {"task": "embedding_alignment", "metric": "p@1"}
    return [
        row(system, seed, "en", 90.0),
        row(system, seed, "en_x", zero_shot),
        row(system, seed, "en_x", supervised, setting="supervised"),
        *(
            row(system, seed, "en_x", value, **{**probe, "metric": metric, "main": metric == "p@1"})
            for metric, value in alignment.items()
        ),
    ]


def cells(line):
    return [entry and entry.text for entry in line.entries]


def test_a_row_a_system_with_supervised_zero_shot_difference_and_alignment():
    rows = [
        *scored("mlm", 0, 80.0, 50.0, {"p@1": 10.0, "coverage": 70.0}),
        *scored("mlm", 1, 84.0, 60.0, {"p@1": 20.0, "coverage": 70.0}),
        *scored("align", 0, 81.0, 75.0, {"p@1": 40.0, "p@1, all": 60.0, "p@1, seen": 99.0, "held out": 70.0}),
    ]
    [table] = transfer_tables(ScoreTable(rows), "t")
    assert [column.name for column in table.columns] == [
        *("supervised", "zero-shot", "difference", "alignment", "in the dictionary", "held out"),
    ]
    assert {line.label: cells(line) for line in table.lines} == {
        "MLM": ["82.0", "55.0", "27.0", "15.0", None, None],
        "ALIGN": ["81.0", "75.0", "6.0", "60.0", "99.0", "40.0"],
    }


def test_the_papers_rows_stand_below_with_all_their_measures():
    rows = scored("mlm", 0, 80.0, 50.0, {"p@1": 10.0})
    [table] = transfer_tables(ScoreTable(rows), "t", {"mlm": MLM})
    ours, theirs = table.lines
    assert not ours.theirs
    assert theirs.theirs
    assert theirs.label == "Tang et al. 2022, table 3 and 8, MLM, Trans + Inv"
    assert cells(theirs) == ["95.0", "56.5", "38.5", "0.3", None, None]


def test_the_caption_names_a_published_metric_that_differs_from_ours():
    """Theirs of POS is F1, ours accuracy; of XNLI both are accuracy."""
    pos = scored("mlm", 0, 80.0, 50.0, {"p@1": 10.0})
    both = ScoreTable([*pos, *(replace(one, task="xnli") for one in pos if one.task == "pos")])
    [table] = transfer_tables(both, "t", {"mlm": MLM})
    assert "Published metric of pos: F1 (ours: accuracy)." in table.caption
    assert "of xnli" not in table.caption
    assert "Published" not in transfer_tables(both, "t")[0].caption


def test_tables_of_other_changes_stay_apart():
    two = [{"where": f"Tang et al. 2022, table {number}, DICT-MLM, 25 %"} for number in (4, 5)]
    recipe = Recipe.read({"name": "r", "published": two})
    [table] = transfer_tables(ScoreTable(scored("mlm", 0, 80.0, 50.0, {"p@1": 10.0})), "t", {"mlm": recipe})
    assert {line.label: cells(line)[2] for line in table.lines[1:]} == {
        "Tang et al. 2022, table 4, DICT-MLM, 25 %": "19.0",
        "Tang et al. 2022, table 5, DICT-MLM, 25 %": "1.0",
    }


def test_the_caption_says_how_much_test_text_is_contaminated():
    rows = scored("mlm", 0, 80.0, 50.0, {"p@1": 10.0})
    assert "Contamination" not in transfer_tables(ScoreTable(rows), "t")[0].caption
    shares = (1.0, 12.34, 2.0, 0.0)
    rows = [replace(one, contamination={"ngram": share}) for one, share in zip(rows, shares, strict=True)]
    assert "pos up to 12.3 %" in transfer_tables(ScoreTable(rows), "t")[0].caption


def test_several_languages_have_rows_of_their_own():
    rows = scored("mlm", 0, 80.0, 50.0, {"p@1": 10.0})
    rows += [replace(one, language="en_y") for one in rows if one.language == "en_x"]
    [table] = transfer_tables(ScoreTable(rows), "t")
    assert [line.label for line in table.lines] == ["MLM, en_x", "MLM, en_y"]


def test_without_supervised_scores_there_is_no_table():
    assert transfer_tables(ScoreTable([row("mlm", 0, "en", 90.0), row("mlm", 0, "de", 50.0)]), "t") == []
