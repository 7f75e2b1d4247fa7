"""Every family of backbone keeps one contract, seen from plain transformers: same checkpoint, same inputs, same logits.

The checkpoints are tiny and random; their tokenizers are trained on a few lines.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    AutoTokenizer,
    DebertaV2ForMaskedLM,
)
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from interlace.core.errors import CheckpointError, SettingsError
from interlace.data.vocab import Vocab
from interlace.models.build import load
from little_checkpoints import FURTHER_KINDS, KINDS, LONGEST, save

if TYPE_CHECKING:
    from pathlib import Path

LINES = [
    "the old doctor reads three letters",
    "der alte Arzt liest drei Briefe",
    "el viejo médico lee tres cartas",
]
ALL = [*KINDS, *FURTHER_KINDS]
SILENT = ("mmbert", "deberta-v2", "eurobert", "distilbert")  # without language embeddings
SPEAKING = [kind for kind in ALL if kind not in SILENT]
WITHOUT_RESTARTS = ("mmbert", "deberta-v2")


@dataclass
class Checkpoint:
    kind: str
    folder: Path
    words: Vocab

    def plain(self, folder=None):
        return AutoModelForMaskedLM.from_pretrained(
            folder or self.folder, dtype=torch.float32, trust_remote_code=False
        ).eval()

    def rows(self, lengths):
        """Random subwords, padded to the longest row."""
        rng = np.random.default_rng(5)
        ids = np.full((len(lengths), max(lengths)), self.words.pad)
        for row, length in enumerate(lengths):
            ids[row, :length] = rng.integers(5, self.words.size, length)
        mask = np.arange(max(lengths)) < np.array(lengths)[:, None]
        return {
            "input_ids": torch.from_numpy(ids),
            "attention_mask": torch.from_numpy(mask.astype(np.int64)),
        }


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One checkpoint a kind, every weight random and large enough to matter."""
    folders = {kind: save(kind, tmp_path_factory.mktemp(kind), noise=0.3) for kind in ALL}
    return {
        kind: Checkpoint(kind, folder, Vocab.load(folder)) for kind, folder in folders.items()
    }


@pytest.fixture(params=ALL)
def checkpoint(made, request):
    return made[request.param]


@pytest.fixture(params=list(KINDS))
def shipped(made, request):
    """For what does not depend on the family."""
    return made[request.param]


@pytest.fixture(params=SPEAKING)
def speaking(made, request):
    return made[request.param]


def predict(backbone, inputs):
    """(real subwords, V) logits, gathered before the head."""
    real = inputs.get("attention_mask", torch.ones_like(inputs["input_ids"])).bool()
    with torch.no_grad():
        return backbone.eval().logits(backbone.encode(inputs)[real])


def close(ours, theirs):
    assert ours.shape == theirs.shape
    assert theirs.std() > 0.1  # logits that say something
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)


def test_selected_logits_match_transformers(checkpoint):
    inputs = checkpoint.rows((9, 5, 12))
    backbone = load(checkpoint.folder, checkpoint.words).eval()
    at = torch.tensor([0, 0, 1, 2]), torch.tensor([1, 8, 4, 11])
    with torch.no_grad():
        theirs = checkpoint.plain()(**inputs).logits[at]
        ours = backbone.logits(backbone.encode(inputs)[at])
    close(ours, theirs)


def test_hidden_states_of_all_layers(checkpoint):
    inputs = checkpoint.rows((6, 4))
    backbone = load(checkpoint.folder).eval()
    with torch.no_grad():
        layers, last = backbone.hidden_states(inputs), backbone.encode(inputs)
    assert [layer.shape for layer in layers] == [last.shape] * 3
    torch.testing.assert_close(layers[-1], last)
    assert not torch.allclose(layers[1], last)


def test_accepts_sequences_up_to_max_length(checkpoint):
    backbone = load(checkpoint.folder)
    assert backbone.traits.max_length == LONGEST
    assert predict(backbone, checkpoint.rows((LONGEST,))).isfinite().all()
    with pytest.raises(
        SettingsError, match=f"sequence of {LONGEST + 1} tokens.*at most {LONGEST}"
    ):
        backbone.encode(checkpoint.rows((LONGEST + 1,)))


def test_saved_model_opens_with_transformers(checkpoint, tmp_path):
    folder = load(checkpoint.folder, checkpoint.words).save_pretrained(
        tmp_path / "out", checkpoint.words
    )
    before, after = (
        AutoTokenizer.from_pretrained(checkpoint.folder, trust_remote_code=False),
        AutoTokenizer.from_pretrained(folder, trust_remote_code=False),
    )
    inputs = after(LINES, return_tensors="pt", padding=True, return_token_type_ids=False)
    assert torch.equal(
        inputs["input_ids"], before(LINES, return_tensors="pt", padding=True)["input_ids"]
    )
    assert (after.pad_token_id, after.mask_token_id) == (
        before.pad_token_id,
        before.mask_token_id,
    )
    with torch.no_grad():
        assert torch.equal(
            checkpoint.plain(folder)(**inputs).logits, checkpoint.plain()(**inputs).logits
        )
    assert not list(tmp_path.glob(".*"))


def test_keeps_unused_weights(shipped, tmp_path):
    folder = load(shipped.folder).save_pretrained(tmp_path / "out", shipped.words)
    before, after = (load_file(path / "model.safetensors") for path in (shipped.folder, folder))
    assert sorted(before) == sorted(after)
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_half_precision_loads_as_float32(shipped, tmp_path):
    half = load(shipped.folder).save_pretrained(
        tmp_path / "half", shipped.words, dtype=torch.bfloat16
    )
    assert (
        AutoModelForMaskedLM.from_pretrained(half, trust_remote_code=False).dtype
        == torch.bfloat16
    )
    again = load(half)
    assert {parameter.dtype for parameter in again.parameters()} == {torch.float32}
    full = again.save_pretrained(tmp_path / "full", shipped.words)
    tensors = load_file(full / "model.safetensors").values()
    assert {tensor.dtype for tensor in tensors} == {torch.float32}


def test_position_ids_can_restart(checkpoint):
    """A second side that restarts is read at a first side's places; ModernBERT's windows are not, so it says no."""
    inputs = checkpoint.rows((10,))
    backbone = load(checkpoint.folder)
    assert backbone.traits.restarts == (checkpoint.kind not in WITHOUT_RESTARTS)
    first = backbone.traits.first_position
    by_hand = torch.tensor([[0, 1, 2, 3, 4, 5, 0, 1, 2, 3]]) + first
    ours = predict(backbone, {**inputs, "position_ids": by_hand})
    with torch.no_grad():
        theirs = checkpoint.plain()(**inputs, position_ids=by_hand).logits[0]
    close(ours, theirs)
    if checkpoint.kind != "deberta-v2":  # which ignores them
        assert not torch.allclose(ours, predict(backbone, inputs), atol=1e-3)


def test_rejects_inputs_of_other_families(checkpoint):
    backbone = load(checkpoint.folder)
    inputs = checkpoint.rows((4,))
    foreign = "token_type_ids" if checkpoint.kind in (*SILENT, "xlm") else "langs"
    with pytest.raises(SettingsError, match=foreign):
        backbone.encode({**inputs, foreign: torch.zeros_like(inputs["input_ids"])})


def test_existing_language_embeddings_are_kept(speaking):
    inputs = speaking.rows((7, 5))
    name = "langs" if speaking.kind == "xlm" else "token_type_ids"
    row = 0 if speaking.kind in ("xlm-r", "xlm-roberta-xl", "gte") else 1
    inputs[name] = torch.full_like(inputs["input_ids"], row)
    with torch.no_grad():
        theirs = speaking.plain()(**inputs).logits[inputs["attention_mask"].bool()]
    close(predict(load(speaking.folder, languages=("sw", "qu")), inputs), theirs)


def trained(checkpoint):
    """A backbone whose languages have moved apart."""
    backbone = load(checkpoint.folder, languages=("en", "de", "sw"))
    table = backbone.family.language_embedding(backbone.model)
    torch.manual_seed(1)
    table.weight.data += torch.randn_like(table.weight)
    return backbone


def test_languages_are_saved_and_loaded(speaking, tmp_path):
    backbone = trained(speaking)
    folder = backbone.save_pretrained(tmp_path / "out", speaking.words)
    again = load(folder, speaking.words)
    assert again.traits == backbone.traits
    inputs = speaking.rows((6,))
    inputs[str(again.traits.language_input)] = torch.full_like(
        inputs["input_ids"], again.traits.languages["sw"]
    )
    close(predict(again, inputs), predict(backbone, inputs))


def test_folded_language_is_the_default_in_transformers(speaking, tmp_path):
    backbone = trained(speaking)
    folder = backbone.save_pretrained(tmp_path / "out", speaking.words, fold_language="sw")
    inputs = speaking.rows((8, 3))
    real = inputs["attention_mask"].bool()
    name, rows = str(backbone.traits.language_input), backbone.traits.languages
    with_ids = {
        language: predict(backbone, {**inputs, name: torch.full_like(inputs["input_ids"], row)})
        for language, row in rows.items()
    }
    plain = speaking.plain(folder)
    with torch.no_grad():
        close(plain(**inputs).logits[real], with_ids["sw"])
        ids = torch.full_like(inputs["input_ids"], rows["de"])
        close(plain(**inputs, **{name: ids}).logits[real], with_ids["de"])
    with pytest.raises(SettingsError, match="did you mean 'sw'"):
        backbone.save_pretrained(tmp_path / "other", speaking.words, fold_language="swa")


def test_the_head_of_a_published_deberta_is_its_own(made, tmp_path):
    """Microsoft's checkpoints name it otherwise than transformers' default class, which is what is written."""
    config = AutoConfig.from_pretrained(made["deberta-v2"].folder, trust_remote_code=False)
    config.legacy = False
    torch.manual_seed(1)
    published = DebertaV2ForMaskedLM(config).eval()
    with torch.no_grad():
        for parameter in published.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    published.save_pretrained(tmp_path / "published")
    path = tmp_path / "published" / "config.json"
    settings = json.loads(path.read_text())
    del settings["legacy"]  # as published
    path.write_text(json.dumps(settings))
    backbone = load(tmp_path / "published", made["deberta-v2"].words)
    assert (backbone.notes, backbone.fresh_head, backbone.extra_weights) == ((), False, {})
    inputs = made["deberta-v2"].rows((6,))
    with torch.no_grad():
        theirs = published(**inputs).logits[0]
    close(predict(backbone, inputs), theirs)
    folder = backbone.save_pretrained(tmp_path / "out", made["deberta-v2"].words)
    with torch.no_grad():
        close(made["deberta-v2"].plain(folder)(**inputs).logits[0], theirs)


def test_encoder_without_head_gets_a_random_head(checkpoint, tmp_path):
    AutoModel.from_pretrained(checkpoint.folder, trust_remote_code=False).save_pretrained(
        tmp_path / "encoder"
    )
    first, again, other = (load(tmp_path / "encoder", seed=seed) for seed in (3, 3, 4))
    assert len(first.notes) == 1
    assert "random weights" in first.notes[0]
    inputs = checkpoint.rows((6, 2))
    assert torch.equal(predict(first, inputs), predict(again, inputs))
    if checkpoint.kind != "xlm":  # its head is a bias alone, which starts at zero
        assert not torch.allclose(predict(first, inputs), predict(other, inputs))


def test_rejects_truncated_weights(shipped, tmp_path):
    for path in shipped.folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    weights = tmp_path / "model.safetensors"
    whole = weights.read_bytes()
    for kept in (0, 5, len(whole) // 2, len(whole) - 1):
        weights.write_bytes(whole[:kept])
        with pytest.raises(CheckpointError, match=r"model\.safetensors: damaged or truncated"):
            load(tmp_path)


def test_rejects_tokenizer_of_another_model(shipped, made):
    other = made["mmbert" if shipped.kind != "mmbert" else "mbert"].words
    with pytest.raises(
        CheckpointError, match=rf"{load(shipped.folder).vocab_size} tokens.* {other.size}"
    ):
        load(shipped.folder, other)


@pytest.mark.parametrize("kind", SILENT)
def test_families_without_language_embeddings_reject_languages(made, kind):
    with pytest.raises(SettingsError, match="model cannot take language embeddings"):
        load(made[kind].folder, languages=("en",))


@pytest.fixture
def causal(checkpoint):
    """A checkpoint of a family whose attention can be causal."""
    if checkpoint.kind == "deberta-v2":
        with pytest.raises(SettingsError, match="deberta-v2 model cannot be causal"):
            load(checkpoint.folder, causal=True).encode(checkpoint.rows((3,)))
        pytest.skip("attention of this family cannot be causal")
    return checkpoint


def test_causal_logits_match_transformers(causal, tmp_path):
    checkpoint = causal
    if load(checkpoint.folder).model.config.model_type not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        pytest.skip("transformers has no causal class of these weights")
    inputs = checkpoint.rows((9, 5, 12))
    backbone = load(checkpoint.folder, checkpoint.words, causal=True)
    plain = AutoModelForCausalLM.from_pretrained(
        backbone.save_pretrained(tmp_path / "out", checkpoint.words), trust_remote_code=False
    ).eval()
    with torch.no_grad():
        theirs = plain(**inputs).logits[inputs["attention_mask"].bool()]
    close(predict(backbone, inputs), theirs)


def test_states_are_equal_in_training_mode(checkpoint):
    if checkpoint.kind == "xlm":
        pytest.skip("XLM's dropout cannot be turned off from outside while it trains")
    inputs = checkpoint.rows((12, 6))
    real = inputs["attention_mask"].bool()
    backbone = load(checkpoint.folder)
    for module in backbone.modules():
        for share in ("p", "attention_dropout", "dropout_prob", "drop_prob"):
            if isinstance(getattr(module, share, None), float):
                setattr(module, share, 0.0)
    for causal in {False, backbone.family.causal}:
        with torch.no_grad():
            evaluated = backbone.eval().encode(inputs, causal=causal)[real]
            trained_on = backbone.train().encode(inputs, causal=causal)[real]
        torch.testing.assert_close(trained_on, evaluated, rtol=1e-4, atol=1e-5)


def test_layers_below_are_those_of_a_smaller_model(checkpoint):
    """Unless a norm follows the last layer, which sentence-transformers then must not apply to another one."""
    inputs = checkpoint.rows((6, 4))
    real = inputs["attention_mask"].bool()
    backbone = load(checkpoint.folder)
    smaller = AutoModel.from_pretrained(
        checkpoint.folder, num_hidden_layers=1, trust_remote_code=False
    )
    with torch.no_grad():
        layer = backbone.eval().hidden_states(inputs)[1][real]
        states = smaller.eval()(**inputs).last_hidden_state[real]
    assert torch.allclose(layer, states, atol=1e-5) != backbone.family.final_norm


def test_causal_checkpoint_opens_as_masked_model(causal, tmp_path):
    checkpoint = causal
    inputs = checkpoint.rows((12, 6))
    backbone = load(checkpoint.folder, checkpoint.words, causal=True)
    folder = backbone.save_pretrained(tmp_path / "out", checkpoint.words)
    again, masked = load(folder, checkpoint.words), load(folder, checkpoint.words, causal=False)
    assert (again.causal, masked.causal, load(checkpoint.folder).causal) == (True, False, False)
    close(predict(again, inputs), predict(backbone, inputs))
    close(predict(masked, inputs), predict(load(checkpoint.folder), inputs))


def test_no_token_of_a_causal_model_sees_later_ones(causal):
    """Of each family, with rows longer than ModernBERT's local window."""
    checkpoint = causal
    inputs = {"input_ids": checkpoint.rows((12,))["input_ids"]}
    backbone = load(checkpoint.folder, causal=True).eval()
    changed = inputs["input_ids"].clone()
    changed[:, 8:] = checkpoint.words.unk
    with torch.no_grad():
        states = backbone.encode(inputs)
        after = backbone.encode({"input_ids": changed})
    torch.testing.assert_close(after[:, :8], states[:, :8])
    assert not torch.allclose(after[:, 8:], states[:, 8:])
