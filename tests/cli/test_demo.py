"""`interlace demo`: the whole way from text to report, in small."""

import pytest

from command_line import command
from interlace.cli.demo import RECIPES
from interlace.core.errors import DataError
from interlace.experiments.recipe import read_recipe
from toy_settings import SHORT, TOY, VOCAB, under

SMALL = TOY | VOCAB | SHORT | {"train.diagnostics.every": "0", "evaluate.seeds": "1"}
SMALL |= {"evaluate.tasks.pos.tuning.epochs": "1"} | under(
    "model.shape", layers="1", width="32", heads="2"
)


def test_the_demo_trains_scores_and_compares(tmp_path):
    changes = [part for key, value in SMALL.items() for part in ("--set", f"{key}={value}")]
    done = command("demo", "--output", tmp_path / "runs", *changes)
    assert done.exit_code == 0
    names = [read_recipe(name).name for name in RECIPES]
    assert all(
        name in done.stdout
        for name in [*names, "pos", "(accuracy, %)", "retrieval", "embedding_alignment"]
    )
    assert done.stdout.rstrip().endswith("report.html")
    again = command("demo", "--output", tmp_path / "runs", *changes)
    assert again.stdout == done.stdout  # nothing is trained twice


@pytest.mark.parametrize("name", ["report.html", "train.en"])
def test_a_folder_with_files_of_others_is_rejected(tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(DataError, match=f"holds '{name}'"):
        command("demo", "--output", tmp_path)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(name, "mine")]
