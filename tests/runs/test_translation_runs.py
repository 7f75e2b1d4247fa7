"""Runs of translation models: without pairs, killed and taken up, in two processes, measured by direction."""

import json
import logging
import subprocess
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from interlace.core.errors import SettingsError
from interlace.data.vocab import Vocab
from interlace.experiments import monitoring as held_out
from interlace.experiments.mixing import build_mixture
from interlace.experiments.monitoring import dev_scores
from interlace.experiments.pretrain import pretrain
from interlace.experiments.recipe import Recipe, read_recipe
from interlace.experiments.workspace import Workspace
from interlace.models.build import build_model, load
from interlace.tasks.mt import Mt
from interlace.tasks.round_trip import RoundTrip
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


def mixture_of(recipe):
    workspace = Workspace(recipe).open()
    model = build_model(recipe.model, workspace.vocab, recipe.languages, 0, seq2seq=True)
    return workspace, build_mixture(workspace, model.traits)


def test_skips_and_reports_too_long_rows(unsupervised, tmp_path, caplog):
    lines = (tmp_path / "train.en").read_text().splitlines()
    (tmp_path / "train.en").write_text(
        "".join(f"{line} {line if row % 3 else ''}\n" for row, line in enumerate(lines))
    )
    text = unsupervised.read_text().replace("max_length = 32\nweight", "max_length = 10\nweight")
    unsupervised.write_text(text)
    with caplog.at_level(logging.INFO):
        workspace, mixture = mixture_of(read_recipe(str(unsupervised)))
    source = next(source for source in mixture.sources if source.name == "denoise/en")
    lengths = workspace.train["en"].lengths
    told = f"denoise: skipping long rows: {(lengths > 8).sum()} of 200 rows of 'en' are longer than 8 tokens"
    assert told in caplog.text
    rows = [row for index in range(len(source.plan)) for row in source.plan.examples(index).lengths]
    assert sorted(rows) == sorted(lengths[lengths <= 8])
    assert 0 < len(rows) < 200


def test_trains_on_every_kind_of_example(small, tmp_path):
    """All kinds of examples in one model: text and pairs, both heads."""
    changes = {
        "objectives.mass": "{ max_length = 32 }",
        "objectives.translation": '{ max_length = 32, directions = "forward" }',
        "objectives.denoise": "{ max_length = 32 }",
        "train.steps": "10",
        "train.alternate": "true",
        "corpora.pairs.dev": json.dumps([f"{tmp_path}/pairs.en", f"{tmp_path}/pairs.xx"]),
    }
    recipe = read_recipe(str(small), changes)
    pretrain(recipe, tmp_path / "run")
    rows = records(tmp_path / "run", "step")
    assert [row["objective"] for row in rows[:5]] == [
        "mlm",
        "tlm",
        "mass",
        "translation",
        "denoise",
    ]
    assert all(
        set(row["languages"]) == {"en", "xx"} for row in rows if row["objective"] == "translation"
    )
    scores = records(tmp_path / "run", "evaluation")[-1]["scores"]
    named = {"perplexity/en-xx", "masked_perplexity/en", "masked_perplexity/xx", "perplexity/mean"}
    assert named < set(scores)
    assert "perplexity/xx-en" not in scores  # nothing learns it


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
    assert "BLEU has not risen for 2 evaluations" in about(tmp_path / "run")["stopped"]
    files = weights(tmp_path / "run"), weights(tmp_path / "run", 4)
    assert torch.equal(
        *(next(file[name] for name in file if "word_embeddings" in name) for file in files)
    )


def test_stops_by_round_trips_as_one_process_or_three(unsupervised, tmp_path, monkeypatch):
    """Each of three processes translates its own lines, and each comes to the score of all of them."""
    changes = {
        "train.stop_by": "round-trip",
        "train.patience": "3",
        "train.evaluate_every": "4",
        "evaluate.tasks.round_trip.files": "dev.{language}",
    }
    recipe = read_recipe(str(unsupervised), changes)
    pretrain(recipe, tmp_path / "run")
    scores = [row["scores"] for row in records(tmp_path / "run", "evaluation")]
    names = ("round-trip/en-xx", "round-trip/xx-en")
    assert [row["round-trip/mean"] for row in scores] == [
        pytest.approx(sum(row[name] for name in names) / 2, abs=1e-3) for row in scores
    ]

    workspace, vocab = Workspace(recipe).open(), Vocab.load(tmp_path / "run/model")
    monkeypatch.setattr(
        RoundTrip, "translate", lambda *arguments: [said(line) for line in arguments[-1]]
    )
    model, made = load(tmp_path / "run/model", vocab), []
    whole = dev_scores(workspace, SimpleNamespace(process_index=0, num_processes=1))(model)
    assert 0 < whole["round-trip/mean"] < 100
    for rank in range(3):
        process = SimpleNamespace(process_index=rank, num_processes=3)
        monkeypatch.setattr(held_out, "gather_object", lambda mine: made.append(mine[0]) or mine)
        dev_scores(workspace, process)(model)
    assert len({len(examples.score) for examples in made}) <= 2
    by_direction = [made[0::2], made[1::2]]
    monkeypatch.setattr(held_out, "gather_object", lambda _mine: by_direction.pop(0))
    assert dev_scores(workspace, process)(model) == whole


def said(line):
    """A translation that loses a word here and there."""
    words = line.split()
    return SimpleNamespace(text=" ".join(words[: len(words) - len(line) % 2]), pieces=1)


def test_rejects_stopping_by_what_is_not_translated(small):
    objectives = '{ translation = { max_length = 32, directions = "forward" } }'
    with pytest.raises(
        SettingsError, match=r"stop_by = 'round-trip': en-xx is learned but its reverse is not"
    ):
        read_recipe(str(small), {"train.stop_by": "round-trip", "objectives": objectives})
    with pytest.raises(
        SettingsError, match=r"train\.stop_by = 'bleu': no objective here translates"
    ):
        read_recipe(str(small), {"train.stop_by": "bleu"})


@pytest.mark.slow
@pytest.mark.distributed
def test_two_processes_end_with_the_model_of_one(python, torchrun, unsupervised, tmp_path):
    arguments = ["-m", "interlace", "pretrain", str(unsupervised), "--output"]
    subprocess.run([python, *arguments, str(tmp_path / "one")], check=True, capture_output=True)
    judged = [
        "train.stop_by=round-trip",
        "evaluate.tasks.round_trip.files=dev.{language}",
        "train.patience=9",
    ]
    sets = [part for change in judged for part in ("--set", change)]
    one = weights(tmp_path / "one", 8)
    run = tmp_path / "two"
    subprocess.run(
        torchrun(2, *arguments, str(run), *sets, unlike_sets=True), check=True, capture_output=True
    )
    two = weights(run, 8)
    assert set(one) == set(two)
    for name, weight in one.items():
        torch.testing.assert_close(weight, two[name], rtol=1e-4, atol=1e-6, msg=name)
    assert all("round-trip/mean" in row["scores"] for row in records(run, "evaluation"))
