"""Pages about folders of a checkpoint's scores: nothing in them was pre-trained here."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest

from interlace.report import SECTIONS, write_report
from interlace.report._run import read_runs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def scored(folder: Path, models: dict[str, str]) -> Path:
    """A folder of scores: by task the checkpoint that it is of."""
    row: dict[str, Any] = {"metric": "p@1", "unit": "%", "source": "en", "language": "de", "score": 50.0}
    rows = [
        {**row, "task": task, "seed": seed, **({"model": model} if model else {})}
        for task, model in models.items()
        for seed in (0, 1)
    ]
    folder.mkdir()
    (folder / "scores.json").write_text(json.dumps(rows))
    return folder


def commands(page: Path) -> list[str]:
    """What "To make it again" says."""
    found = re.search(r"To make it again</h3>\n<pre[^>]*><code>(.*?)</code>", page.read_text("utf-8"), re.DOTALL)
    assert found
    return unescape(found[1]).strip().split("\n")


def test_a_checkpoint_is_scored_again_by_its_name_and_the_kept_recipe(tmp_path: Path) -> None:
    folder = scored(tmp_path / "xlmr", {"retrieval": "some/xlm-r", "mining": "some/xlm-r"})
    page = write_report([folder], tmp_path / "page.html")
    assert commands(page) == [
        "interlace evaluate some/xlm-r --recipe xlmr/evaluate.json --tasks retrieval,mining --seeds 2 --output again/xlmr",
        "interlace report again/xlmr --output again/report.html",
    ]
    text = page.read_text("utf-8")
    assert "Not pre-trained here: scores of some/xlm-r." in text
    assert "<dt>checkpoint</dt><dd>some/xlm-r</dd>" in text


def test_a_page_tells_no_path_of_a_checkpoint(tmp_path: Path) -> None:
    page = write_report([scored(tmp_path / "a", {"pos": str(tmp_path / "mine" / "bert")})], tmp_path / "page.html")
    assert commands(page)[0].startswith("interlace evaluate bert --recipe a/evaluate.json ")
    assert str(tmp_path) not in page.read_text("utf-8")


def test_a_checkpoint_of_no_known_name_is_said_to_be_so(tmp_path: Path) -> None:
    page = write_report([scored(tmp_path / "a", {"pos": ""})], tmp_path / "page.html")
    assert commands(page) == [
        "# a: which checkpoint was scored is not known",
        "interlace report a --output again/report.html",
    ]
    assert "Not pre-trained here: which checkpoint was scored is not known." in page.read_text("utf-8")


def test_recipes_and_text_are_those_of_what_was_pre_trained_here(make_run: Callable[..., Path], tmp_path: Path) -> None:
    folder = scored(tmp_path / "xlmr", {"pos": "some/xlm-r"})
    runs = read_runs([make_run("mlm", gain=0.0), folder])
    recipe = SECTIONS.get("recipe")(runs)
    assert recipe.lead == "Every setting of the run, defaults included. xlmr was not pre-trained here."
    assert "{}" not in recipe.body
    assert "xlmr" not in recipe.body
    assert SECTIONS.get("recipe")(read_runs([folder])).body == ""
    assert "as much text" not in SECTIONS.get("data_size")(read_runs([folder])).lead


@pytest.mark.parametrize("name", ["mlm", "mlm+tlm"])
def test_what_was_pre_trained_here_is_pre_trained_again(
    name: str, make_run: Callable[..., Path], tmp_path: Path
) -> None:
    page = write_report([make_run(name, gain=0.0)], tmp_path / "page.html")
    assert commands(page)[0] == f"interlace pretrain {name}/recipe.json --output again/{name}"
    assert "<dt>checkpoint" not in page.read_text("utf-8")
