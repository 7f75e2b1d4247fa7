"""The page on translation models: its settings are settings, and its table says what the families can."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from interlace.models.shape import ModelSettings

PAGE = Path(__file__).parents[1] / "docs" / "translation-models.md"
BLOCKS = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS)
def test_its_settings_are_settings(block: str) -> None:
    settings = ModelSettings.read(tomllib.loads(block)["model"], "model")
    assert settings.start is not None


def test_it_shows_the_ways_to_begin() -> None:
    found = [ModelSettings.read(tomllib.loads(block)["model"], "model") for block in BLOCKS]
    ways = {(one.take, one.decoder.take if one.decoder else None) for one in found}
    assert ways == {
        ("whole", None), ("whole", "whole"), ("whole", "none"), ("none", "whole"), ("embeddings", "embeddings")
    }  # fmt: skip
