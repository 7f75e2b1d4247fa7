"""Runs of translation models: without pairs, killed and taken up, in two processes, measured by direction."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from interlace.core.errors import SettingsError
from interlace.experiments import monitoring as held_out
from interlace.experiments.monitoring import dev_scores
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import Recipe, read_recipe
from interlace.experiments.workspace import Workspace
from interlace.tasks.mt import Mt
from run_records import StoppedError, about, records, stop_at, weights

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
    held = (
        f'[corpora.held]\npairs = ["en-xx"]\ndev = ["{tmp_path}/pairs.en", "{tmp_path}/pairs.xx"]\n'
    )
    text = (
        before.partition("[corpora.pairs]")[0] + held + "[vocab]" + before.partition("[vocab]")[2]
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
    assert all(row["losses"]["length_ratio"] > 0 for row in back)
    scores = records(tmp_path / "whole", "evaluation")[-1]["scores"]
    assert {"perplexity/en-xx", "perplexity/xx-en", "perplexity/mean"} < set(scores)
    facts = about(tmp_path / "whole")
    assert facts["perplexity_unit"] == "per subword written"
    assert set(facts["mixture"]["tokens"]) <= {
        f"{name}/{text}" for name in recipe.objectives for text in ("en", "xx")
    }
    sample = json.loads((tmp_path / "whole" / "samples.json").read_text())[0]["rows"][0]
    first = sample["sides"].index(1)
    assert sample["tokens"][first].startswith("<2")
    assert sample["at"][0] == first
    assert sample["targets"][:-1] == sample["tokens"][first + 1 :]


def test_rejects_training_on_held_out_corpora(unsupervised):
    text = unsupervised.read_text()
    unsupervised.write_text(
        text.replace("[objectives.denoise]", "[objectives.translation]\n[objectives.denoise]")
    )
    with pytest.raises(SettingsError, match="reads sentence pairs, but the recipe has none"):
        read_recipe(str(unsupervised))
    unsupervised.write_text(
        text.replace("[objectives.denoise]", '[objectives.denoise]\ncorpora = ["held"]')
    )
    with pytest.raises(SettingsError, match="no corpus 'held'"):
        read_recipe(str(unsupervised))
    unsupervised.write_text(text)
    data = read_recipe(str(unsupervised)).dump()
    data["corpora"]["held"]["dev"] = []
    with pytest.raises(SettingsError, match="give 'train', or 'dev' alone"):
        Recipe.read(data)


def test_stops_and_chooses_weights_by_bleu(unsupervised, tmp_path, monkeypatch):
    """Of real translations; what they are worth is said here, so that the best is known."""
    bleu, asked, measure = iter([1.0, 2.0, 5.0, 7.0, 3.0, 1.0, 1.0, 1.0]), [], Mt.measure

    def judged(task, backbone, vocab, examples):
        found = measure(task, backbone, vocab, examples)
        asked.append((str(examples.direction), len(examples), task.search.beam, backbone.training))
        worth = next(bleu)
        return replace(
            found, outcomes=SimpleNamespace(columns=np.zeros((1, 1)), value=lambda _sums: worth)
        )

    monkeypatch.setattr(Mt, "measure", judged)
    changes = {
        "train.stop_by": "bleu",
        "train.patience": "2",
        "train.evaluate_every": "2",
        "train.evaluate_tokens": "256",
        "evaluate.tasks.mt.files": json.dumps(f"{tmp_path}/pairs.{{language}}"),
        "evaluate.tasks.mt.search.beam": "4",
    }
    recipe = read_recipe(str(unsupervised), changes)
    pretrain(recipe, tmp_path / "run")
    assert {(direction, *more) for direction, _, *more in asked} == {
        ("xx-en", 1, True),
        ("en-xx", 1, True),
    }
    assert all(10 < lines < 120 for _, lines, *_ in asked)
    scores = [row["scores"] for row in records(tmp_path / "run", "evaluation")]
    assert [row["bleu/mean"] for row in scores] == [1.5, 6, 2, 1]
    assert all(row["perplexity/mean"] > 1 for row in scores)
    assert "bleu has not improved for 2 evaluations" in about(tmp_path / "run")["stopped"]
    files = weights(tmp_path / "run"), weights(tmp_path / "run", 4)
    assert torch.equal(
        *(next(file[name] for name in file if "word_embeddings" in name) for file in files)
    )


def test_dev_scores_are_those_of_one_process_or_three(unsupervised, monkeypatch):
    """Each of three processes translates its own lines, and each comes to the score of all of them."""
    changes = {
        "train.stop_by": "bleu",
        "train.patience": "3",
        "train.evaluate_every": "4",
        "evaluate.tasks.mt.files": "same.{language}",
    }
    for language in ("en", "xx"):
        text = (unsupervised.parent / "dev.en").read_text()
        (unsupervised.parent / f"same.{language}").write_text(text)
    workspace = Workspace(read_recipe(str(unsupervised), changes)).open()
    monkeypatch.setattr(Mt, "translate", lambda *arguments: [said(line) for line in arguments[-1]])
    gathered = []
    whole = dev_scores(workspace, SimpleNamespace(process_index=0, num_processes=1))(None)
    assert 0 < whole["bleu/mean"] < 100
    names = ("bleu/en-xx", "bleu/xx-en")
    assert whole["bleu/mean"] == pytest.approx(sum(whole[name] for name in names) / 2, abs=1e-3)
    for rank in range(3):
        process = SimpleNamespace(process_index=rank, num_processes=3)
        monkeypatch.setattr(
            held_out, "gather_object", lambda mine: gathered.append(mine[0]) or mine
        )
        dev_scores(workspace, process)(None)
    by_direction = [gathered[0::2], gathered[1::2]]
    monkeypatch.setattr(held_out, "gather_object", lambda _mine: by_direction.pop(0))
    assert dev_scores(workspace, process)(None) == whole


def said(line):
    """A translation that loses a word here and there."""
    words = line.split()
    return SimpleNamespace(text=" ".join(words[: len(words) - len(line) % 2]), pieces=1)
