"""The table of scores in the terminal."""

from __future__ import annotations

from rich.console import Console

from interlace.cli._tables import comparison_table, score_table


def row(language: str, score: float, setting: str = "zero-shot", seed: int = 0) -> dict[str, object]:
    return {
        "task": "pos",
        "metric": "accuracy",
        "unit": "%",
        "language": language,
        "source": "en",
        "setting": setting,
        "seed": seed,
        "score": score,
    }


def cells(table: object) -> list[list[str]]:
    """The body of a table, cell by cell."""
    console = Console(width=200)
    with console.capture() as capture:
        console.print(table)
    lines = [line for line in capture.get().splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]


def test_settings_of_one_task_are_not_averaged() -> None:
    rows = [row("en", 80.0), row("en_x", 30.0), row("en_x", 70.0, "supervised")]
    assert cells(score_table(rows)) == [
        ["pos (accuracy, %)", "80.0", "30.0", "30.0"],
        ["pos, supervised (accuracy, %)", "–", "70.0", "70.0"],
    ]


def test_seeds_are_averaged_and_recipes_stay_apart() -> None:
    one = [row("de", 30.0, seed=0), row("de", 40.0, seed=1)]
    assert cells(comparison_table({"mlm": one, "tlm": [row("de", 50.0)]})) == [
        ["pos (accuracy, %)", "mlm", "35.0 ±7.1", "35.0 ±7.1"],
        ["pos (accuracy, %)", "tlm", "50.0", "50.0"],
    ]


def test_scores_over_held_out_words_say_so_beside_those_over_all() -> None:
    learnt = row("de", 30.0) | {"scores": {"accuracy": 30.0, "accuracy, all": 60.0, "held out": 50.0}}
    assert cells(comparison_table({"align_mlm": [learnt], "mlm": [row("de", 50.0)]})) == [
        ["pos (accuracy of held-out words, %)", "align_mlm", "30.0", "30.0"],
        ["pos (accuracy of all words, %)", "mlm", "50.0", "50.0"],
    ]
