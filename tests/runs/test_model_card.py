"""The model card of a run that was really made: it is there at the end, and its three lines open the model."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import read_recipe

if TYPE_CHECKING:
    from pathlib import Path


def test_the_snippet_runs_on_a_finished_run(small: Path, tmp_path: Path) -> None:
    model = pretrain(read_recipe(str(small), {"train.steps": "2"}), tmp_path / "run")
    card = (model / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    found: dict = {}
    exec(code.replace("FOLDER-OR-HUB-NAME", str(model)), found)  # noqa: S102 - what the card tells people to run
    assert len(found["tokenizer"]) == found["model"].config.vocab_size
    about = json.loads((tmp_path / "run" / "run.json").read_text())
    names = {file["name"] for row in about["data"] for file in row["files"]}
    assert names == {"train.en", "train.xx", "dev.en", "dev.xx", "pairs.en", "pairs.xx"}
    assert all(file["digest"] in card for row in about["data"] for file in row["files"])
    assert str(tmp_path) not in card
