"""Runs of translation models: without pairs, killed and taken up, in two processes, measured by direction."""

from types import SimpleNamespace

import pytest
import torch

from interlace.core.errors import SettingsError
from interlace.experiments.monitoring import DevTranslations
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import read_recipe
from interlace.experiments.workspace import Workspace
from interlace.tasks.mt import Mt
from run_records import StoppedError, about, records, stop_at, weights
from toy_settings import under

BOTH = """
[objectives.denoise]
max_length = 32
weight = "0:1,8:0.5"
[objectives.back_translation]
max_length = 32
"""


@pytest.fixture
def unsupervised(small, tmp_path):
    """A recipe that learns from text alone, and is measured on translations."""
    before, _, after = small.read_text().partition("[objectives.mlm]")
    after = after.partition("[train]")[2].replace("steps = 12", "steps = 8\nalternate = false")
    held = f'[corpora.held]\npairs = ["en-xx"]\ndev = ["{tmp_path}/pairs.en", "{tmp_path}/pairs.xx"]\n'
    text = (
        before.partition("[corpora.pairs]")[0]
        + held
        + "[vocab]"
        + before.partition("[vocab]")[2]
    )
    text = text.replace("heads = 2", "heads = 2\ndropout = 0.2")
    small.write_text(text + BOTH + "[train]" + after)
    return small


def test_resumed_run_repeats_the_same_translations(unsupervised, tmp_path):
    recipe = read_recipe(str(unsupervised))
    pretrain(recipe, tmp_path / "whole")
    with pytest.raises(StoppedError):
        pretrain(recipe, tmp_path / "killed", stop_at(6))
    seen = []
    pretrain(recipe, tmp_path / "killed", lambda step: seen.append(step.index))
    assert seen == [5, 6, 7, 8]  # from the checkpoint of step 4
    one, other = weights(tmp_path / "whole", 8), weights(tmp_path / "killed", 8)
    assert set(one) == set(other)
    assert all(torch.equal(weight, other[name]) for name, weight in one.items())
    rows = [records(tmp_path / run, "step") for run in ("whole", "killed")]
    assert [row["losses"] for row in rows[0]] == [row["losses"] for row in rows[1]]
    back = [row for row in rows[0] if row["objective"] == "back_translation"]
    assert len(back) > 2
    assert all(0 <= row["losses"]["copied_share"] <= 1 for row in back)
    scores = records(tmp_path / "whole", "evaluation")[-1]["scores"]
    assert {"perplexity/en-xx", "perplexity/xx-en", "perplexity/mean"} == set(scores)


def test_rejects_training_on_held_out_corpora(unsupervised):
    text = unsupervised.read_text()
    unsupervised.write_text(
        text.replace("[objectives.denoise]", "[objectives.translation]\n[objectives.denoise]")
    )
    with pytest.raises(SettingsError, match="reads sentence pairs, but the recipe has none"):
        read_recipe(str(unsupervised))


def test_stops_and_chooses_weights_by_bleu(unsupervised, tmp_path, monkeypatch):
    """What translations are worth is said here, so that the best is known."""
    worth = iter([1.5, 6.0, 2.0, 1.0])
    translations = SimpleNamespace(scores=lambda _backbone: {"bleu/mean": next(worth)})
    monkeypatch.setattr(DevTranslations, "of", lambda _workspace: translations)
    changes = under("train", stop_by="bleu", patience="2", evaluate_every="2")
    pretrain(read_recipe(str(unsupervised), changes), tmp_path / "run")
    found = [row["scores"]["bleu/mean"] for row in records(tmp_path / "run", "evaluation")]
    assert found == [1.5, 6, 2, 1]
    assert "bleu has not improved for 2 evaluations" in about(tmp_path / "run")["stopped"]
    files = weights(tmp_path / "run"), weights(tmp_path / "run", 4)
    assert torch.equal(
        *(next(file[name] for name in file if "word_embeddings" in name) for file in files)
    )


def test_dev_scores_are_those_of_greedy_translations(unsupervised, monkeypatch):
    changes = under("train", stop_by="bleu", patience="3", evaluate_every="4")
    changes["evaluate.tasks.mt.files"] = "same.{language}"
    for language in ("en", "xx"):
        text = (unsupervised.parent / "dev.en").read_text()
        (unsupervised.parent / f"same.{language}").write_text(text)
    workspace = Workspace(read_recipe(str(unsupervised), changes)).open()
    monkeypatch.setattr(
        Mt, "translate", lambda *arguments: [said(line) for line in arguments[-1]]
    )
    translations = DevTranslations.of(workspace)
    assert translations.task.search.beam == 1
    scores = translations.scores(None)
    assert scores.keys() == {"bleu/en-xx", "bleu/xx-en", "bleu/mean"}
    assert 0 < scores["bleu/mean"] < 100


def said(line):
    """A translation that loses a word here and there."""
    words = line.split()
    return SimpleNamespace(text=" ".join(words[: len(words) - len(line) % 2]), pieces=1)
