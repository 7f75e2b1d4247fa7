"""The summary says who is ahead only where the scores say so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from interlace.report._headline import caution, summary, title
from interlace.report._run import read_runs
from interlace.report._scores import tables
from interlace.report.errors import errors
from interlace.report.zero_shot import zero_shot

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SPACE = "\N{NARROW NO-BREAK SPACE}"


def sentences(folders: list[Path]) -> tuple[str, str, str]:
    runs = read_runs(folders)
    results = tables(runs)
    return title(results), summary(runs, results), caution(runs, results)


def as_checkpoints(folders: list[Path]) -> list[Path]:
    """Folders of scores alone, as of models that were not pre-trained here."""
    for folder in folders:
        (folder / "recipe.json").unlink()
    return folders


def test_a_clear_winner_on_both_tasks(two_runs: list[Path]) -> None:
    for folder in two_runs:  # a fourth seed: 2 / 70 is below 0.05, and 2 / 20 is not
        rows = json.loads((folder / "scores.json").read_text())
        more = [{**row, "seed": 3, "score": row["score"] + 0.1} for row in rows if row["seed"] == 2]
        (folder / "scores.json").write_text(json.dumps(rows + more))
    heading, text, care = sentences(as_checkpoints(two_runs))
    assert heading == "Zero-shot transfer from English"
    assert text.startswith(
        "Averaged over five languages other than English, mlm+tlm is ahead of mlm on both tasks: by "
    )
    assert f"{SPACE}% against " in text
    assert "four seeds" in care
    assert "pre-trained once" in care


def test_a_run_that_is_not_finished_is_named(two_runs: list[Path]) -> None:
    assert "not finished" not in sentences(two_runs)[2]
    (two_runs[1] / "run.json").unlink()
    care = sentences(two_runs)[2]
    assert care.startswith(f"The training of {two_runs[1].name} was not finished when this page was written. Each ")
    (two_runs[1] / "recipe.json").unlink()  # the scores of a checkpoint alone
    assert "not finished" not in sentences(two_runs)[2]


def test_three_seeds_are_too_few_for_a_win(two_runs: list[Path]) -> None:
    text = sentences(as_checkpoints(two_runs))[1]
    assert "mlm+tlm is above mlm by " in text
    assert "which so few fine-tunings cannot tell from luck (p = 0.1)" in text
    assert "ahead" not in text


def test_fine_tunings_of_one_pre_training_each_are_no_win(two_runs: list[Path]) -> None:
    """Five of each lie apart, which is p = 2 / 252 over fine-tunings; studies say p = 1 of the same rows."""
    for number, folder in enumerate(two_runs):
        rows = [row for row in json.loads((folder / "scores.json").read_text()) if row["seed"] == 0]
        some = [{**row, "seed": seed, "score": 50.0 + seed + 10 * number} for row in rows for seed in range(5)]
        (folder / "scores.json").write_text(json.dumps(some))
    _, text, care = sentences(two_runs)
    assert "which one pre-training cannot tell from luck" in text
    assert "ahead" not in text
    assert "pre-trained once" in care


def test_what_was_pre_trained_once_beside_what_was_several_times_is_named(make_run: Callable[..., Path]) -> None:
    runs = [make_run("a", folder=f"a-{seed}", gain=0.0, seed=seed) for seed in (1, 2, 3)]
    _, text, care = sentences([*runs, make_run("b", gain=1.0)])
    assert "which one pre-training cannot tell from luck" in text
    assert care.endswith("b was pre-trained once, so part of a difference may be the luck of one pre-training.")


def test_seeds_that_lie_among_each_other_are_not_called_a_win(make_run: Callable[..., Path]) -> None:
    runs = [make_run("a", gain=0.5), make_run("b", gain=0.5)]
    for number, folder in enumerate(runs):
        rows = [row for row in json.loads((folder / "scores.json").read_text()) if row["seed"] == 0]
        some = [{**row, "seed": seed, "score": 50.0 + 2 * seed + number} for row in rows for seed in range(4)]
        (folder / "scores.json").write_text(json.dumps(some))
    text = sentences(as_checkpoints(runs))[1]
    assert "b and a cannot be told apart" in text
    assert "over fine-tunings)" in text
    assert "ahead" not in text


def test_pre_trainings_are_what_is_tested_where_there_are_several(make_run: Callable[..., Path]) -> None:
    runs = [
        make_run(name, folder=f"{name}-{seed}", gain=gain, seed=seed)
        for name, gain in (("a", 0.0), ("b", 1.0))
        for seed in (1, 2)
    ]
    assert (
        "which so few pre-trainings cannot tell from luck (p = 0.33)" in sentences(runs)[1]
    )  # of six seeds, but two runs


def test_the_best_of_several_is_tested_against_each(make_run: Callable[..., Path]) -> None:
    """Four seeds tell two recipes apart (2 / 70), and no three of them."""
    runs = [make_run(name, gain=0.5) for name in ("a", "b", "c")]
    for number, folder in enumerate(runs):
        rows = [row for row in json.loads((folder / "scores.json").read_text()) if row["seed"] == 0]
        some = [{**row, "seed": seed, "score": 50.0 + seed + 10 * number} for row in rows for seed in range(4)]
        (folder / "scores.json").write_text(json.dumps(some))
    text = sentences(as_checkpoints(runs))[1]
    assert "c is above b by " in text
    assert "(p = 0.057 after Holm)" in text
    assert "c is ahead of b" in sentences(runs[1:])[1]


def test_one_recipe_is_set_beside_the_source(make_run: Callable[..., Path]) -> None:
    text = sentences([make_run("mlm", gain=0.0)])[1]
    assert "mlm reaches " in text
    assert "(English: " in text


def test_without_scores(make_run: Callable[..., Path]) -> None:
    folder = make_run("mlm", gain=0.0)
    (folder / "scores.json").unlink()
    assert sentences([folder]) == (
        "Cross-lingual pre-training",
        "mlm: pre-training of mlm is recorded below; no task has been scored yet.",
        "",
    )


def test_several_pretraining_seeds_drop_the_warning(make_run: Callable[..., Path]) -> None:
    runs = [make_run("mlm", folder=f"mlm-{seed}", gain=0.0, seed=seed) for seed in (1, 2)]
    assert "pre-trained once" not in sentences(runs)[2]
    assert "six seeds" in sentences(runs)[2]


def test_equal_figures_are_level_even_without_a_spread(make_run: Callable[..., Path]) -> None:
    runs = [make_run("a", gain=0.5), make_run("b", gain=0.5)]
    for folder, shift in zip(runs, (0.0, 0.004), strict=True):  # what rounds to the same figure is no lead
        rows = [row for row in json.loads((folder / "scores.json").read_text()) if row["seed"] == 0]
        for row in rows:
            row["score"] = 50.0 + shift
        (folder / "scores.json").write_text(json.dumps(rows))
    text = sentences(runs)[1]
    assert f"level on part-of-speech tagging (50.0{SPACE}%)" in text
    assert "ahead" not in text


def test_one_sentence_speaks_of_the_same_languages_throughout(tmp_path: Path) -> None:
    """A mean over two languages is not what is reached in the one of them that another task is scored in."""
    (tmp_path / "a").mkdir()
    row = {"metric": "f1", "unit": "%", "source": "en", "seed": 0}
    scores = [("ner", "de", 10), ("mlqa", "de", 30), ("mlqa", "es", 50), ("pos", "de", 60)]
    rows = [{**row, "task": task, "language": language, "score": value} for task, language, value in scores]
    (tmp_path / "a" / "scores.json").write_text(json.dumps(rows))
    text = sentences([tmp_path / "a"])[1]
    assert text.startswith("In German, a reaches 10.0")
    assert "60.0" in text
    assert "40.0" not in text


def probes(tmp_path: Path, languages: dict[str, tuple[str, ...]]) -> list[Path]:
    """Checkpoints that are measured as they are, each in some languages."""
    rows = {"task": "retrieval", "metric": "p@1", "unit": "%", "source": "en", "seed": 0, "score": 50.0}
    for name, spoken in languages.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "scores.json").write_text(json.dumps([{**rows, "language": one} for one in spoken]))
    return [tmp_path / name for name in languages]


def test_probes_of_checkpoints_are_no_transfer_and_no_pre_training(tmp_path: Path) -> None:
    folders = probes(tmp_path, {"a": ("de", "es"), "b": ("hi", "tr")})
    heading, text, _ = sentences(folders)
    assert heading == "Probes of cross-lingual models"
    assert text == "a and b: one table of scores follows, without a mean over several languages that all systems share."
    lead = zero_shot(read_runs(folders)).lead
    assert lead == "Nothing is fine-tuned: probes measure each model as it is."


def test_only_what_was_pre_trained_here_has_its_pre_training_recorded(
    make_run: Callable[..., Path], tmp_path: Path
) -> None:
    folder = make_run("mlm", gain=0.0)
    (folder / "scores.json").unlink()
    text = sentences([folder, *probes(tmp_path, {"a": ()})])[1]
    assert text == "mlm and a: pre-training of mlm is recorded below; no task has been scored yet."


def test_what_probes_keep_of_examples_is_told(tmp_path: Path) -> None:
    (folder,) = probes(tmp_path, {"a": ("de", "es")})
    assert errors(read_runs([folder])).lead == "No predictions were kept with these runs."
    (folder / "predictions").mkdir()
    (folder / "predictions" / "retrieval.zero-shot.0.safetensors").touch()
    kept = "Of these tasks it is kept what each example got, but not what was predicted."
    assert errors(read_runs([folder])).lead == kept
