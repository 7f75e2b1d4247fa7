"""What the page on Hugging Face shows runs."""

import re
import runpy
import tomllib
from pathlib import Path

import little_checkpoints
from interlace.models.settings import ModelSettings

PAGE = (Path(__file__).parents[2] / "docs" / "huggingface.md").read_text(encoding="utf-8")


def test_the_blocks_of_the_page_run_in_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(little_checkpoints, "WORDPIECES", 400)  # all words are whole
    little_checkpoints.save("mbert", Path("start"))
    Path("page.py").write_text(
        "".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)), encoding="utf-8"
    )
    runpy.run_path("page.py")
    assert "torch.Size([4, " in capsys.readouterr().out


def test_the_recipes_of_the_page_are_valid():
    frozen, adapted = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert ModelSettings.read(tomllib.loads(frozen)["model"]).freeze == ["embeddings"]
    lora = ModelSettings.read(tomllib.loads(adapted)["model"]).lora
    assert lora is not None
    assert lora.train == ["embeddings"]
