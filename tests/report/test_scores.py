"""The zero-shot table against figures worked out by hand."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.report import SECTIONS, write_report, zero_shot_table
from interlace.report._cells import runs_to_tell
from interlace.report._run import read_runs
from interlace.report._svg import text_width

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.report import TaskTable


def score(language: str, value: float, seed: int = 0, **more: Any) -> dict[str, Any]:
    entry = {"task": "pos", "metric": "accuracy", "unit": "%", "source": "en", "n": 100}
    return {**entry, "language": language, "score": value, "seed": seed, **more}


def bare_run(folder: Path, name: str, scores: list[dict[str, Any]], seed: int = 1, **recipe: Any) -> Path:
    folder.mkdir()
    (folder / "recipe.json").write_text(json.dumps({"name": name, "seed": seed, **recipe}))
    (folder / "scores.json").write_text(json.dumps(scores))
    return folder


def only(tables: list[TaskTable]) -> TaskTable:
    (table,) = tables
    return table


def test_mean_range_and_difference(tmp_path: Path) -> None:
    first = bare_run(
        tmp_path / "a", "a", [score("de", 50, 0), score("de", 54, 1), score("en", 90, 0), score("en", 91, 1)]
    )
    second = bare_run(
        tmp_path / "b", "b", [score("de", 60, 0), score("de", 61, 1), score("en", 89, 0), score("en", 91, 1)]
    )
    table = only(zero_shot_table([first, second]))
    assert table.recipes == ["a", "b"]
    assert [line.language for line in table.lines] == ["en", "de"], "the source language stands first"
    source, german = table.lines
    assert source.source
    cell = german.cells["a"]
    assert cell is not None
    assert (cell.mean, cell.low, cell.high, cell.seeds, cell.items) == (52, 50, 54, 2, 100)
    assert german.best == ("b",)
    change, unclear = german.differences["b"], source.differences["b"]
    assert change is not None
    assert (change.value, change.clear) == (8.5, False), "two against two come to a third at best"
    assert unclear is not None
    assert not unclear.clear


def test_mean_of_the_others_is_taken_within_a_seed(tmp_path: Path) -> None:
    scores = [score("de", 40, 0), score("tr", 60, 0), score("de", 60, 1), score("tr", 40, 1), score("en", 99, 0)]
    table = only(zero_shot_table([bare_run(tmp_path / "a", "a", scores)]))
    assert table.mean is not None
    cell = table.mean.cells["a"]
    assert cell is not None
    assert (cell.mean, cell.low, cell.high, cell.seeds) == (50, 50, 50, 2)


def test_mean_covers_only_languages_that_all_recipes_scored(tmp_path: Path) -> None:
    first = bare_run(tmp_path / "a", "a", [score("de", 10), score("tr", 20), score("hi", 90)])
    second = bare_run(tmp_path / "b", "b", [score("de", 30), score("tr", 40)])
    table = only(zero_shot_table([first, second]))
    assert table.averaged == ["de", "tr"]
    assert table.mean is not None
    means = [cell.mean for cell in table.mean.cells.values() if cell]
    assert means == [15, 35]
    assert table.lines[-1].cells["b"] is None
    assert table.lines[-1].best == ()


def test_runs_that_differ_only_in_the_seed_share_a_column(tmp_path: Path) -> None:
    runs = [bare_run(tmp_path / f"r{seed}", "same", [score("de", 10 * seed)], seed, width=64) for seed in (1, 2)]
    table = only(zero_shot_table(runs))
    assert table.recipes == ["same"]
    cell = table.lines[0].cells["same"]
    assert cell is not None
    assert (cell.mean, cell.seeds) == (15, 2)


def test_one_name_for_two_recipes_is_told_apart_by_folder(tmp_path: Path) -> None:
    runs = [bare_run(tmp_path / f"w{width}", "same", [score("de", 1)], width=width) for width in (64, 128)]
    assert only(zero_shot_table(runs)).recipes == ["same (w64)", "same (w128)"]


def test_runs_share_a_column_where_they_were_scored_alike_whatever_their_recipes_asked_then(tmp_path: Path) -> None:
    def table(*conditions: str) -> list[str]:
        runs = [
            bare_run(
                tmp_path / f"{'-'.join(conditions)}{seed}",
                "same",
                [score("de", seed, settings_key=condition)],
                seed,
                evaluate={"seeds": seed},
            )
            for seed, condition in enumerate(conditions)
        ]
        return only(zero_shot_table(runs)).recipes

    assert table("x", "x") == ["same"]
    assert table("x", "y") == ["same (x-y0)", "same (x-y1)"]
    assert table("", "") == ["same (-0)", "same (-1)"]  # scores of old, which only have the recipe
    assert table("z", "w", "z") == ["same (z-w-z0)", "same (z-w-z1)"]  # the first and the third are one column


def test_scores_of_other_files_and_runs_in_folders_of_one_name_are_kept_apart(tmp_path: Path) -> None:
    def table(name: str, *rows: dict[str, Any], **recipe: Any) -> list[str]:
        runs = []
        for number, row in enumerate(rows):
            (tmp_path / f"{name}{number}").mkdir()
            runs.append(bare_run(tmp_path / f"{name}{number}" / "mlm", "mlm", [row], number, **recipe))
        return only(zero_shot_table(runs)).recipes

    alike = {"settings_key": "x"}
    assert table("a", score("de", 1, files_key="f", **alike), score("de", 2, files_key="g", **alike)) == [
        "mlm (a0/mlm)",
        "mlm (a1/mlm)",
    ]
    assert table("b", score("de", 1, files_key="f", **alike), score("de", 2, files_key="", **alike)) == ["mlm"]


def test_checkpoints_without_a_recipe_are_each_their_own(tmp_path: Path) -> None:
    runs = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        runs.append(bare_run(tmp_path / name / "mbert", "", [score("de", 1)]))
        (runs[-1] / "recipe.json").unlink()
    assert only(zero_shot_table(runs)).recipes == ["mbert (a/mbert)", "mbert (b/mbert)"]


def test_lower_is_better_where_the_task_says_so(tmp_path: Path) -> None:
    runs = [
        bare_run(tmp_path / name, name, [score("de", value, greater_is_better=False)])
        for name, value in (("a", 3.0), ("b", 2.0))
    ]
    assert only(zero_shot_table(runs)).lines[0].best == ("b",)


def test_scores_that_are_no_numbers_are_left_out_and_counted(tmp_path: Path) -> None:
    table = only(zero_shot_table([bare_run(tmp_path / "a", "a", [score("de", float("nan")), score("de", 5, 1)])]))
    cell = table.lines[0].cells["a"]
    assert cell is not None
    assert (cell.mean, cell.seeds, table.left_out) == (5, 1, 1)


@pytest.mark.parametrize("seeds", [1, 4])
def test_one_seed_never_makes_a_difference_clear(tmp_path: Path, seeds: int) -> None:
    difference = only(zero_shot_table(seeded(tmp_path, {"a": 10, "b": 90}, seeds))).lines[0].differences["b"]
    assert difference is not None
    assert difference.clear is (seeds > 1)


def seeded(tmp_path: Path, bases: dict[str, float], seeds: int, runs: int = 0) -> list[Path]:
    """Systems that lie apart in every seed: checkpoints, or so many pre-trainings of each."""
    folders = []
    for name, base in bases.items():
        for run in range(runs or 1):
            scores = [score("de", base + seed + run / 10, seed) for seed in range(seeds)]
            folders.append(bare_run(tmp_path / f"{name}{run if runs else ''}", name, scores, run))
            if not runs:
                (folders[-1] / "recipe.json").unlink()
    return folders


def german(folders: list[Path]) -> dict[str, bool]:
    """By other recipe, whether it is told apart from the first in German."""
    found = only(zero_shot_table(folders)).lines[0].differences
    return {recipe: difference.clear for recipe, difference in found.items() if difference}


def test_fine_tunings_of_one_pre_training_tell_nothing_apart(tmp_path: Path) -> None:
    """Five of each are p = 2 / 252; but they share one pre-training, so the test has one value of each."""
    folders = seeded(tmp_path, {"a": 10, "b": 90}, 5, runs=1)
    assert german(folders) == {"b": False}
    page = write_report(folders, tmp_path / "page.html").read_text(encoding="utf-8")
    assert (
        "a permutation test over pre-trainings tells apart (p below 0.05, which takes four pre-trainings each" in page
    )
    assert "or rests on one. A pre-training&#39;s score is the mean over its fine-tunings." in page
    assert "fine-tunings alone" not in page


def test_nested_values_are_not_independent_where_sides_are_unlike(tmp_path: Path) -> None:
    """Three pre-trainings with two fine-tunings each against one with five, or against a checkpoint."""
    many = seeded(tmp_path, {"a": 10}, 2, runs=3)
    assert german([*many, *seeded(tmp_path, {"b": 90}, 5, runs=1), *seeded(tmp_path, {"c": 90}, 5)]) == {
        "b": False,
        "c": False,
    }


def test_pre_trainings_tell_systems_apart_and_checkpoints_are_told_by_fine_tunings(tmp_path: Path) -> None:
    trained = seeded(tmp_path, {"a": 10, "b": 90}, 1, runs=4)
    assert german(trained) == {"b": True}
    checkpoints = seeded(tmp_path, {"c": 10, "d": 90}, 4)
    assert german(checkpoints) == {"d": True}
    page = write_report(checkpoints, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "over fine-tunings alone tells apart" in page
    assert "Fine-tunings alone say nothing of other pre-trainings." in page
    page = write_report([*checkpoints, *trained], tmp_path / "page.html").read_text(encoding="utf-8")
    assert "over pre-trainings (of two checkpoints that were not pre-trained here: over fine-tunings alone)" in page


def test_a_single_measurement_has_its_interval_over_examples(tmp_path: Path) -> None:
    scores = [score("de", 50, low=40.2, high=59.8), score("tr", 30, low=29.0, high=31.0), score("tr", 34, seed=1)]
    folder = bare_run(tmp_path / "a", "a", scores)
    single, several = only(zero_shot_table([folder])).lines
    cells = single.cells["a"], several.cells["a"]
    assert [cell and cell.interval for cell in cells] == [(40.2, 59.8), None]
    assert [cell and cell.ends for cell in cells] == [(40.2, 59.8), (30, 34)]
    page = write_report([folder], tmp_path / "page.html").read_text(encoding="utf-8")
    assert re.findall(r"<small>(95 %: 40.2–59.8|30.0–34.0)</small>", page) == ["95 %: 40.2–59.8", "30.0–34.0"]
    assert "The small figures are the least and the greatest seed." in page
    assert "Small figures behind 95 % are of a single measurement: its middle 95 % over test examples drawn" in page
    assert "greatest seed. Of a single measurement it is the middle 95 % over test examples drawn again." in page
    assert "a: 50.0 (40.2–59.8)" in page


def test_no_caption_speaks_of_seeds_or_examples_where_there_is_no_spread(tmp_path: Path) -> None:
    page = write_report([bare_run(tmp_path / "a", "a", [score("de", 50)])], tmp_path / "page.html")
    text = page.read_text(encoding="utf-8")
    assert not re.search("mall figures|thin bar", text)


def test_a_mean_is_over_pre_trainings_however_often_each_was_tuned(tmp_path: Path) -> None:
    first = bare_run(tmp_path / "a1", "a", [score("de", 10, 0), score("de", 20, 1), score("de", 30, 2)], 1)
    cell = only(zero_shot_table([first, bare_run(tmp_path / "a2", "a", [score("de", 60)], 2)])).lines[0].cells["a"]
    assert cell is not None
    assert (cell.mean, cell.low, cell.high, cell.seeds) == (40, 10, 60, 4)


@pytest.mark.parametrize(("seeds", "clear"), [(4, False), (5, True)])
def test_differences_of_several_recipes_are_corrected_for_their_number(tmp_path: Path, seeds: int, clear: bool) -> None:
    """The least p is 2 / 70 of four runs each, so 4 / 70 of two such tests; of five it is 2 / 252."""
    runs = seeded(tmp_path, {"a": 10, "b": 50, "c": 90}, seeds)
    line = only(zero_shot_table(runs)).lines[0]
    assert [change and change.clear for change in line.differences.values()] == [clear, clear]
    page = write_report(runs, tmp_path / "page.html").read_text(encoding="utf-8")
    assert (
        "p below 0.05 after Holm over the differences of a row, and not over rows, which takes five fine-tunings each"
        in page
    )


def test_a_recipe_that_cannot_be_tested_costs_the_others_nothing(tmp_path: Path) -> None:
    runs = [*seeded(tmp_path, {"a": 10, "b": 50}, 4), bare_run(tmp_path / "c", "c", [score("de", 90)])]
    assert german(runs) == {"b": True, "c": False}


@pytest.mark.parametrize(("others", "seeds"), [(1, 4), (2, 5), (6, 5), (7, 6)])
def test_seeds_that_a_difference_takes(others: int, seeds: int) -> None:
    assert runs_to_tell(others) == seeds


@given(values=st.lists(st.floats(0, 100), min_size=1, max_size=8))
def test_the_mean_lies_in_the_range(values: list[float], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("run") / "a"
    table = only(zero_shot_table([bare_run(folder, "a", [score("de", v, seed) for seed, v in enumerate(values)])]))
    cell = table.lines[0].cells["a"]
    assert cell is not None
    assert cell.low - 1e-9 <= cell.mean <= cell.high + 1e-9
    assert (cell.low, cell.high, cell.seeds) == (min(values), max(values), len(values))


def test_recipes_that_are_scored_on_unlike_sets_are_told(tmp_path: Path) -> None:
    """Forty sentences of one set and a thousand of another; the count of each stands in its own cell."""
    first = bare_run(tmp_path / "a", "a", [score("de", 50, n=40), score("es", 50)])
    second = bare_run(tmp_path / "b", "b", [score("de", 60, n=1000), score("es", 61)])
    table = only(zero_shot_table([first, second]))
    german = next(line for line in table.lines if line.language == "de")
    assert [cell and cell.items for cell in german.cells.values()] == [40, 1000]
    assert table.unlike == ("de",)
    page = write_report([first, second], tmp_path / "page.html").read_text(encoding="utf-8")
    assert "scored on 40–1\N{NARROW NO-BREAK SPACE}000 examples a language" in page
    assert "Recipes are not scored on the same examples in German: differences there are of those too." in page


@pytest.mark.parametrize(
    ("names", "told"),
    [(("ab", "ab"), ()), (("ab", "cd"), ("de",)), (("ab", ""), ()), (("", ""), ())],
    ids=["same", "others", "one unknown", "unknown"],
)
def test_as_many_examples_may_be_others(names: tuple[str, str], told: tuple[str, ...], tmp_path: Path) -> None:
    runs = [
        bare_run(tmp_path / name, name, [score("de", 50, n=40, examples=asked), score("es", 50, examples="ef")])
        for name, asked in zip("ab", names, strict=True)
    ]
    assert only(zero_shot_table(runs)).unlike == told


def test_a_mean_of_directions_is_no_mean_of_others(tmp_path: Path) -> None:
    run = bare_run(tmp_path / "a", "a", [score("en-de", 50), score("de-en", 60)])
    page = write_report([run], tmp_path / "page.html").read_text(encoding="utf-8")
    assert re.search(r'<th scope="row">Mean</th>', page)
    assert "the source language" not in page.split("<figcaption>", 1)[1].split("</figcaption>")[0]


def test_a_score_that_is_no_number_is_of_no_examples(tmp_path: Path) -> None:
    rows = [[score("de", value, examples=name)] for value, name in ((50, "ab"), (float("nan"), "cd"))]
    runs = [bare_run(tmp_path / name, name, its) for name, its in zip("ab", rows, strict=True)]
    assert only(zero_shot_table(runs)).unlike == ()


def test_seeds_of_both_recipes_may_be_of_other_examples(tmp_path: Path) -> None:
    """Such as words that training left out, which its seed draws."""
    rows = [score("de", 50, seed, examples=f"drawn {seed}") for seed in (0, 1)]
    runs = [bare_run(tmp_path / name, name, rows) for name in "ab"]
    assert only(zero_shot_table(runs)).unlike == ()


@pytest.mark.parametrize("count", [8, 9])
def test_more_recipes_than_marks_stand_below_each_other(tmp_path: Path, count: int) -> None:
    """With nine, two recipes would have the same mark; then marks are languages."""
    runs = [
        bare_run(tmp_path / f"r{number}", f"recipe {number}", [score("en", 90), score("de", 50 + number)])
        for number in range(count)
    ]
    body = str(SECTIONS.get("zero_shot")(read_runs([*runs])).body)
    named = re.findall(r'<text x="0" y="[0-9.]+" class="tick">(recipe \d|\d)</text>', body)
    assert len(named) == (9 if count == 9 else 0)
    assert ('class="keys"' in body) is (count == 8)
    assert ("German: 50" in body) is (count == 9)
    assert body.count("accuracy in %</text>") == 1


def test_marks_that_repeat_are_seen_also_where_a_recipe_has_no_score(tmp_path: Path) -> None:
    """Eight columns, but the ninth style: its mark is the first one's."""
    runs = [
        bare_run(tmp_path / f"r{number}", f"recipe {number}", [] if number == 3 else [score("de", 50 + number)])
        for number in range(9)
    ]
    assert 'class="keys"' not in str(SECTIONS.get("zero_shot")(read_runs(runs)).body)


def test_the_mean_of_the_others_is_a_mark_and_long_names_are_cut_in_the_middle(tmp_path: Path) -> None:
    names = [f"{'ALIGN-MLM-' * 6}{number}" for number in range(9)]
    scores = [score("en", 90), score("de", 50), score("tr", 70)]
    body = str(SECTIONS.get("zero_shot")(read_runs([bare_run(tmp_path / n, n, scores) for n in names])).body)
    assert body.count("Mean of others: 60") == 9
    drawn = re.findall(r'<text x="0" y="[0-9.]+" class="tick">([^<]*)</text>', body)
    assert len(set(drawn)) == 9
    assert max(text_width(name, 11) for name in drawn) <= 380


def test_cells_of_collapsed_fine_tunings_have_a_sign_and_notes_count_them(tmp_path: Path) -> None:
    def scores(*collapsed: bool) -> list[dict[str, Any]]:
        return [
            score(language, 33.0, seed, task="xnli", tuning={"collapsed": flat})
            for seed, flat in enumerate(collapsed)
            for language in ("en", "de", "tr")
        ]

    runs = [bare_run(tmp_path / "a", "a", scores(True, False)), bare_run(tmp_path / "b", "b", scores(False, False))]
    table = only(zero_shot_table(runs))
    assert table.mean is not None
    signs = {
        recipe: {cell.sign for line in (*table.lines, table.mean) if (cell := line.cells[recipe])} for recipe in "ab"
    }
    assert signs == {"a": {"‡"}, "b": {""}}
    told = "‡: rests on a collapsed fine-tuning (1 of 4 here), whose model gives every example the same label"
    page = {name: SECTIONS.get(name)(read_runs(runs)).body for name in ("zero_shot", "heat_map", "published")}
    for body in page.values():
        assert told in body
    assert re.search(r"<b>33.0</b>‡", page["zero_shot"])
    assert "33.0‡" in page["heat_map"]
    assert "<b>33.0‡</b>" in page["published"]
    assert "‡" not in write_report(runs[1:], tmp_path / "page.html").read_text(encoding="utf-8")


def test_probes_are_no_fine_tunings_that_could_collapse(tmp_path: Path) -> None:
    rows = [score("de", 33.0, tuning={"collapsed": True}), score("de", 50.0, task="retrieval")]
    page = write_report([bare_run(tmp_path / "a", "a", rows)], tmp_path / "page.html").read_text(encoding="utf-8")
    assert "(1 of 1 here)" in page
    assert "of 2 here" not in page


@pytest.mark.parametrize(
    ("second", "told"), [("ab", ()), ("cd", ("de",)), ("", ("de",))], ids=["same", "others", "none"]
)
def test_counts_decide_only_where_examples_have_no_name(second: str, told: tuple[str, ...], tmp_path: Path) -> None:
    """Pairs that are mined are as many as a model puts out, of the same sentences."""
    rows = [score("de", 50, n=40, examples="ab"), score("de", 60, n=44, examples=second)]
    runs = [bare_run(tmp_path / name, name, [row]) for name, row in zip("ab", rows, strict=True)]
    assert only(zero_shot_table(runs)).unlike == told
