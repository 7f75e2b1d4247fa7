"""The recipes of the page on Hugging Face are valid."""

import re
import tomllib
from pathlib import Path

from interlace.models.settings import ModelSettings

PAGE = (Path(__file__).parents[1] / "docs" / "huggingface.md").read_text(encoding="utf-8")


def test_the_recipes_of_the_page_are_valid():
    frozen, adapted = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert ModelSettings.read(tomllib.loads(frozen)["model"]).freeze == ["embeddings"]
    lora = ModelSettings.read(tomllib.loads(adapted)["model"]).lora
    assert lora is not None
    assert lora.train == ["embeddings"]
