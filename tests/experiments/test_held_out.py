"""What translation models are measured by while they learn: what their objectives learn, on what is held out."""

import pytest

from interlace.experiments.monitoring import held_out
from interlace.experiments.recipe import Recipe
from interlace.experiments.workspace import Workspace
from interlace.models.families import Traits
from interlace.text.lines import write_lines

WORDS = {
    "en": "old house small garden green river".split(),
    "de": "alt Haus klein Garten grün Fluss".split(),
}
TEXT = {"languages": ["en", "de"], "train": "train.{language}", "dev": "dev.{language}"}
PAIRS = {"pairs": ["de-en"], "dev": ["dev.{source}", "dev.{target}"]}
LEARNT = {**PAIRS, "train": ["train.{source}", "train.{target}"]}
TURNED = {"pairs": ["en-de"], "train": LEARNT["train"]}


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """The held-out rows of a recipe with these objectives and corpora."""
    monkeypatch.setenv("INTERLACE_CACHE", str(tmp_path / "cache"))
    for split, count in (("train", 60), ("dev", 20)):
        for language, words in WORDS.items():
            lines = [
                f"{words[i % 6]} {words[(i + 1) % 6]} {words[3 * i % 6]} {i % 3}"
                for i in range(count)
            ]
            write_lines(tmp_path / f"{split}.{language}", lines)

    def made(objectives, **corpora):
        recipe = Recipe.read({
            "name": "small",
            "data_root": str(tmp_path),
            "corpora": corpora,
            "vocab": {"size": 300},
            "objectives": {name: {"max_length": 32, **settings} for name, settings in objectives.items()},
        })  # fmt: skip
        return held_out(Workspace(recipe).open(), Traits("bert", 64))

    return made


def said(found):
    return {(one.name, one.corpus): type(one.objective).__name__ for one in found}


def test_evaluates_with_the_training_objective(measured):
    for names, expected in (
        ("mass", "Mass"),
        ("mass denoise", "Denoise"),
        ("back_translation", "Denoise"),
    ):
        found = said(measured({name: {} for name in names.split()}, text=TEXT))
        assert found == {("perplexity", "en"): expected, ("perplexity", "de"): expected}


def test_held_out_pairs_evaluate_every_direction_of_translation_objectives_only(measured):
    """A run of fragments that holds out pairs is measured on their sides."""
    translated = {("perplexity", "de-en"): "Translation", ("perplexity", "en-de"): "Translation"}
    assert (
        said(measured({"denoise": {}, "back_translation": {}}, text=TEXT, held=PAIRS)) == translated
    )
    fragments = said(measured({"mass": {}}, text={**TEXT, "dev": []}, held=PAIRS))
    assert set(fragments.values()) == {"Mass"}
    assert len(fragments) == 2
    forward = {"translation": {"directions": "forward"}}
    assert {corpus for _, corpus in said(measured(forward, pairs=LEARNT))} == {"de-en"}
    both = measured(forward, pairs=LEARNT, turned=TURNED)  # as in xlm/mt-ro-en:bt-offline-mlm
    assert {one.corpus.rpartition(":")[2] for one in both} == {"de-en", "en-de"}
    unmeasured = measured({"translation": {}, "mlm": {}}, pairs={**LEARNT, "dev": []}, text=TEXT)
    assert {one.name for one in unmeasured} == {"masked_perplexity"}
