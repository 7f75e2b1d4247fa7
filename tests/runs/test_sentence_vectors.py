"""Runs that train sentence vectors: what is exported is what was trained, also after an interruption."""

import numpy as np
import pytest

import interlace as il
from interlace.core.errors import CheckpointError
from interlace.core.json_files import read_json
from interlace.experiments import pretrain as experiment
from interlace.experiments.recipe import read_recipe
from interlace.text.lines import read_lines
from little_checkpoints import save
from run_records import StoppedError, about, records, stop_at, weights

DENSE = "2_Dense/model.safetensors"


def like_labse(folder):
    """A checkpoint as sentence-transformers writes it, with a dense layer after the first state."""
    library = pytest.importorskip("sentence_transformers")
    from sentence_transformers.sentence_transformer import modules

    encoder = modules.Transformer(str(save("mbert", folder / "encoder")), max_seq_length=64)
    dense = modules.Dense(16, 6)
    parts = [encoder, modules.Pooling(16, "cls"), dense, modules.Normalize()]
    library.SentenceTransformer(modules=parts, device="cpu").save(str(folder / "start"))
    return folder / "start"


@pytest.fixture
def recipe(small, tmp_path):
    """A function that returns the recipe with other objectives, and a start if there is one."""

    def changed(objectives, start=None):
        text = small.read_text()
        before, _, after = text.partition("[objectives.mlm]")
        after = after.partition("[train]")[2]
        if start is not None:
            before = before.partition("[vocab]")[0] + f'[model]\nstart = "{start}"\n'
        small.write_text(f"{before}{objectives}\n[train]{after}")
        return read_recipe(str(small))

    return changed


@pytest.mark.slow
def test_the_vectors_that_were_trained_are_exported(recipe, tmp_path):
    """In micro-batches, from a start with a dense layer, with an interruption."""
    library = pytest.importorskip("sentence_transformers")
    start = like_labse(tmp_path)
    changed = recipe("[objectives.contrastive]\nmax_length = 32", start)
    whole = tmp_path / "whole"
    run = tmp_path / "run"
    experiment.pretrain(changed, whole)
    with pytest.raises(StoppedError):
        experiment.pretrain(changed, run, stop_at(6))
    experiment.pretrain(changed, run)
    for name in ("model.safetensors", DENSE):
        assert (run / "model" / name).read_bytes() == (whole / "model" / name).read_bytes()
    assert (run / "model" / DENSE).read_bytes() != (start / DENSE).read_bytes()
    lines = list(read_lines(tmp_path / "dev.en"))
    vectors = il.encode(run, lines)
    assert vectors.shape == (30, 6)
    opened = library.SentenceTransformer(str(run / "model"), device="cpu")
    np.testing.assert_allclose(opened.encode(lines), vectors, atol=1e-5)


def test_a_model_without_sentence_vectors_gets_the_mean_of_its_last_states(recipe, tmp_path):
    run = tmp_path / "run"
    experiment.pretrain(recipe("[objectives.contrastive]\nmax_length = 32"), run)
    pooling = read_json(run / "model/1_Pooling/config.json")
    assert pooling["pooling_mode_mean_tokens"] is True
    assert not any("sentence_head" in name for name in weights(run, 12))
    assert "pipeline_tag: sentence-similarity" in (run / "model/README.md").read_text()


@pytest.mark.slow
def test_a_run_imitates_a_teacher_with_another_tokenizer(recipe, tmp_path):
    """Its text is stored, without word alignments; a resumed run has the teacher of its checkpoint."""
    teacher = like_labse(tmp_path)
    objective = f'[objectives.distillation]\nmax_length = 32\nteacher = "{teacher}"'
    changed = recipe(objective)
    run = tmp_path / "run"
    with pytest.raises(StoppedError):
        experiment.pretrain(changed, run, stop_at(6))
    experiment.pretrain(changed, run)
    whole = tmp_path / "whole"
    experiment.pretrain(changed, whole)
    for name in ("model.safetensors", DENSE):
        assert (run / "model" / name).read_bytes() == (whole / "model" / name).read_bytes()
    losses = [row["losses"]["distillation"] for row in records(run, "step")]
    assert losses[-1] < losses[0]
    assert il.encode(run, ["the cat"], language="en").shape == (1, 6)
    assert "aligner" not in about(run)["data"][2]


def test_a_missing_teacher_is_named_with_its_objective(recipe, tmp_path):
    objective = f'[objectives.distillation]\nmax_length = 32\nteacher = "{tmp_path}/absent"'
    with pytest.raises(CheckpointError, match=r"\[objectives.distillation\]: .*absent"):
        experiment.pretrain(recipe(objective), tmp_path / "run")
