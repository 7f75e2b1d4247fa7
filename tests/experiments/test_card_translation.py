"""Cards of translation models: which directions, how to open them, and that the code they show runs."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from interlace.experiments.card import write_card
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import Recipe

if TYPE_CHECKING:
    from pathlib import Path

WORDS = ["the", "cat", "dog", "sees", "house", "big", "reads", "two", "books", "in"]


def recipe_of(root: Path, family: str = "bert", **model: Any) -> Recipe:
    """Two made-up languages, a model of one layer."""
    lines = [" ".join(WORDS[(row + step * (row % 7 + 1)) % 10] for step in range(6)) for row in range(80)]
    (root / "pairs.en").write_text("\n".join(lines) + "\n")
    (root / "pairs.xx").write_text("\n".join(" ".join(word[::-1] for word in line.split()) for line in lines) + "\n")
    shape = {"family": family, "layers": 1, "width": 16, "heads": 2, "max_length": 32}
    data: dict[str, Any] = {
        "name": "small",
        "data_root": str(root),
        "corpora": {"pairs": {"pairs": ["en-xx"], "train": ["pairs.{source}", "pairs.{target}"]}},
        "vocab": {"size": 400},
        "model": model or {"languages": "none" if family == "modernbert" else "embeddings", "shape": shape},
        "objectives": {"translation": {"max_length": 32}},
        "train": {"steps": 2, "tokens_per_batch": 256, "precision": "no", "threads": 1},
    }
    return Recipe.read(data, "here")


@pytest.mark.parametrize("family", ["bert", "modernbert"])
def test_a_card_says_how_the_model_is_opened_and_its_code_runs(
    family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLACE_CACHE", str(tmp_path / "cache"))
    model = pretrain(recipe_of(tmp_path, family), tmp_path / "run")
    card = (model / "README.md").read_text(encoding="utf-8")
    front = yaml.safe_load(card.split("---")[1])
    assert front["pipeline_tag"] == "translation"
    assert front["library_name"] == ("transformers" if family == "bert" else "interlace")
    assert "Translation directions: en-xx, xx-en." in card
    assert "interlace translate FOLDER-OR-HUB-NAME --from en --to xx" in card
    assert "special token per language, such as `<2en>`" in card
    (code,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    found: dict[str, Any] = {}
    exec(code.replace("FOLDER-OR-HUB-NAME", str(model)), found)  # noqa: S102 - what the card tells people to run
    asked = found["tokenizer"].convert_tokens_to_ids("<2xx>")
    assert len(found["tokenizer"]) == asked + 1
    if family == "bert":
        assert found["output"][0, 0] == asked
        assert capsys.readouterr().out
        assert "`decoder_token_type_ids` (one per sequence): en 2, xx 3." in card
    else:
        assert found["encoder"].config.vocab_size == found["model"].vocab_size == asked + 1


@pytest.mark.parametrize(
    ("decoder", "said"),
    [
        ({"take": "none"}, "Decoder: random; embeddings shared with the encoder."),
        ({"take": "none", "embeddings": "own"}, "Decoder: random."),
        ({"start": "somewhere/runs/clm"}, "Decoder: `clm`."),
        ({"start": "some/clm", "take": "embeddings"}, "Decoder: embeddings of `clm`."),
        (None, "Initialization: "),
    ],
)
def test_a_card_says_what_the_decoder_began_from(decoder: Any, said: str, tmp_path: Path) -> None:
    recipe = recipe_of(tmp_path, start="some/mlm", **({"decoder": decoder} if decoder else {}))
    (tmp_path / "model").mkdir()
    (tmp_path / "recipe.json").write_text(json.dumps(recipe.dump()))
    (tmp_path / "model" / "config.json").write_text(json.dumps({"model_type": "encoder-decoder"}))
    path = write_card(tmp_path, {"steps": 1, "tokens": 2, "parameters": 3})
    assert path is not None
    card = path.read_text(encoding="utf-8")
    assert said in card
    assert "somewhere" not in card
    assert "That of `mlm`, unchanged. A special token per language" in card
