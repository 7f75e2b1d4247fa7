"""`interlace list`: every setting with its whole default, and recipes like any registry."""

import json
import tomllib

import pytest

from command_line import command
from interlace.core.errors import DataError
from interlace.experiments.recipe import read_recipe


def listed(*arguments):
    return json.loads(command("list", *arguments, "--json").stdout)


def test_nested_settings_show_their_own_defaults():
    epochs = {
        task: {row["key"]: row["default"] for row in listed("tasks", task)}
        for task in ("pos", "xnli")
    }
    assert epochs["pos"]["tuning.epochs"] == "10.0"
    assert epochs["xnli"]["tuning.epochs"] == "5.0"
    keys = [row["key"] for row in listed("objectives", "mlm")]
    assert "masking.rate" in keys
    assert "masking" not in keys


def test_published_tables_show_corrections():
    rows = [
        row
        for row in listed("published", "weam")
        if row["task"] == "mlqa" and row["metric"] == "F1"
    ]
    assert "mean zero-shot 66.2 (correct: 65.3)" in rows[-1]["scores"]


def test_init_writes_a_shipped_recipe_or_study_to_change(tmp_path):
    assert "tiny/mlm" in {row["name"] for row in listed("recipes")}
    done = command("init", "tiny/quick")
    assert tomllib.loads(done.stdout)["systems"]["mlm"]["recipe"] == "tiny/mlm"
    with pytest.raises(DataError, match="did you mean 'tiny/mlm'"):
        command("init", "tiny/mln")
    mine = tmp_path / "mine.toml"
    command("init", "tiny/alm", "-o", mine)
    assert read_recipe(str(mine)) == read_recipe("tiny/alm")
    mine.write_text(mine.read_text() + "seed = 1\n")
    with pytest.raises(DataError, match=r"mine\.toml: exists, .* was changed since"):
        command("init", "tiny/alm", "-o", mine)
