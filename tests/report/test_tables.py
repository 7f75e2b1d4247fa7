"""Tables of scores: cells, differences, captions, published rows and output formats."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from interlace.experiments.recipe import Recipe
from interlace.report.comparison_table import ComparisonTable
from interlace.report.published_rows import cited_by
from interlace.report.tables import (
    html_fragment,
    markdown,
    terminal,
    write_tables,
)
from interlace.scores import ScoreTable
from study_rows import row, texts, two_systems


@pytest.fixture
def results():
    return two_systems()


def tables(scores, places=(), **options):
    """The main table and those of tasks, with the rows of papers at these places."""
    cited = cited_by(
        [Recipe.read({"name": "r", "published": [{"where": at} for at in places]})]
    )
    return ComparisonTable(ScoreTable(scores), "a", cited=cited, **options).tables()


def changed(results, **columns):
    return ScoreTable([replace(score, **columns) for score in results])


def cell(table, label, name):
    index = [column.name for column in table.columns].index(name)
    return next(line for line in table.lines if line.label == label).entries[index]


def printed(shown):
    console = Console(file=StringIO(), width=160)
    console.print(shown)
    return " ".join(console.file.getvalue().split())


RUNS = "B \N{MINUS SIGN} A, over runs"


def test_tables_have_means_intervals_and_differences(results):
    main, pos = tables(results, title="t")
    group = "pos (accuracy, %)"
    columns = [(column.group, column.name) for column in main.columns]
    assert columns == [("", "n"), (group, "en"), (group, "others")]
    assert [column.name for column in pos.columns] == ["n", "en", "others", "de", "es"]
    assert [line.label for line in pos.lines] == ["A", "B", RUNS]
    assert str(cell(pos, "A", "de")) == "50.0 ± 0.5"
    # German differs by 9.9: the most extreme of 70 splits, and its mirror image
    assert str(cell(pos, RUNS, "de")) == "+9.9 (+9.3 to +10.5, p = 0.029)"
    bold = {name: cell(pos, "B", name).bold for name in ("en", "others", "de", "es")}
    assert bold == {"en": False, "others": True, "de": True, "es": False}
    assert not cell(main, "A", "others").bold
    assert "others: mean of de, es." in pos.caption
    assert "p < 0.05 after Holm" in pos.caption
    single = [score for score in results if score.pretraining_seed == 0]
    assert [line.label for line in tables(single)[1].lines] == ["A", "B"], "nothing is tested"


def test_a_single_measurement_has_its_bootstrap_interval():
    [main, pos] = tables(
        [row("a", 0, "de", 50.0, low=40.2, high=59.8), row("a", 0, "tr", 30.0)]
    )
    assert str(cell(pos, "A", "de")) == "50.0 (40.2–59.8)"
    assert str(cell(pos, "A", "tr")) == "30.0"
    assert "Bold" not in main.caption


def test_mean_is_over_languages_that_all_systems_have():
    scores = [row("a", 0, language, 40.0) for language in ("hi", "tr", "en", "de")]
    scores += [row("b", 0, language, 1.0) for language in ("de", "tr")]
    pos = tables(scores)[1]
    assert [column.name for column in pos.columns] == ["n", "en", "others", "de", "hi", "tr"]
    assert "others: mean of de, tr." in pos.caption
    assert cell(pos, "B", "hi") is None
    main, _ = tables([row("a", 0, "de", 1.0, source=""), row("a", 0, "es", 3.0, source="")])
    assert cell(main, "A", "mean").text == "2.0"


def test_lower_may_be_better(results):
    pos = tables(changed(results, greater_is_better=False))[1]
    assert pos.columns[1].group == "pos ↓ (accuracy, %)"
    assert "↓: lower is better." in pos.caption


def test_a_checkpoint_counts_as_one_run(results):
    """Eight fine-tunings of a checkpoint against four pre-training runs are one run against four."""
    scores = [*results, *(row("m", None, "de", 90.0 + seed, seed=seed) for seed in range(8))]
    pos = tables(scores)[1]
    assert "Not pre-trained here: M;" in pos.caption
    assert not cell(pos, "M", "de").bold
    assert cell(pos, RUNS, "de").small.endswith("p = 0.057")  # 2 / 70, times two
    assert "Not pre-trained here" not in tables(results)[1].caption


def test_settings_of_a_task_have_tables(results):
    both = [*results, *changed(results, setting="translate-train")]
    main, *tasks = tables(both)
    assert [table.name for table in tasks] == ["pos.zero-shot", "pos.translate-train"]
    assert main.columns[-1].group == "pos, translate-train (accuracy, %)"


def test_collapsed_fine_tunings_are_marked_in_all_formats(results):
    """One of A's four runs collapsed, so its means in all languages include it."""
    scores = []
    for score in results:
        is_collapsed = score.system == "a" and score.pretraining_seed == 1
        scores.append(replace(score, tuning={"collapsed": is_collapsed}))
    pos = tables(scores)[1]
    assert "‡: includes a collapsed fine-tuning (1 of 8 here)" in pos.caption
    shown = cell(pos, "A", "de").text
    assert shown.endswith("‡")
    for text in (printed(terminal(pos)), markdown(pos), html_fragment(pos)):
        assert shown in text
    assert "‡" not in cell(pos, "B", "de").text


ALM = "Yang et al. 2020, table 3, ALM (cross-lingual test)"


def test_published_results_are_of_the_same_task_setting_and_metric(results):
    xnli = tables(changed(results, task="xnli"), [ALM])[1]
    [theirs] = [line for line in xnli.lines if line.theirs]
    assert theirs.label == f"{ALM} (xnli, zero-shot, accuracy, %)"
    assert texts(theirs.entries) == [None, "85.2", None, "78", "79.2", "75.6"]
    assert "not comparable with ours" in xnli.caption
    assert "The Chinese score" in xnli.caption
    for change in ({"metric": "f1"}, {"task": "pos"}, {"setting": "translate-test"}):
        for table in tables(changed(results, **{"task": "xnli"} | change), [ALM]):
            assert not any(line.theirs for line in table.lines)


def test_captions_name_what_scores_depend_on(results):
    columns = {"contamination": {"ngram": 12.34}, "tuning": {"rule": "mean-dev"}, "n": 100}
    scores = [replace(score, **columns) for score in results]
    scores[0] = replace(scores[0], score=float("nan"))
    scores[1] = replace(scores[1], examples="x", n=90)
    caption = tables(scores)[1].caption
    assert "Contamination: up to 12.3 %" in caption
    assert "Weights selected by: mean-dev." in caption
    assert "Left out, not finite: 1 scores." in caption
    assert "Test examples per language: 90 to 100." in caption


def test_files_are_written_and_shown_in_the_terminal(results, tmp_path):
    main, pos = tables(results)
    paths = write_tables(tmp_path / "tables", [main, pos])
    assert [path.name for path in paths] == ["main.md", "pos.md"]
    assert f"**{cell(main, 'B', 'others')}**" in paths[0].read_text()
    assert str(cell(main, "B", "others")) in printed(terminal(main))
