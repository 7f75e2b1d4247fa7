"""sentence-transformers opens our models, and its vectors are those of `encode`."""

import numpy as np
import pytest

import interlace as il
from interlace.data.vocab import Vocab
from interlace.models.build import load
from interlace.models.sentence_modules import write_sentence_modules
from little_checkpoints import TRAINED_ON, save

sentence_transformers = pytest.importorskip("sentence_transformers")
LINES = [*TRAINED_ON, "the doctor reads " * 40]  # the last is truncated


@pytest.mark.parametrize("layer", [0, 1, 2])
@pytest.mark.parametrize("kind", ["mbert", "xlm-r", "mmbert"])
def test_vectors_are_those_of_encode(kind, layer, tmp_path):
    folder = save(kind, tmp_path / "start")
    vocab = Vocab.load(folder)
    backbone = load(folder, vocab)
    backbone.save_pretrained(tmp_path / "model", vocab)
    write_sentence_modules(tmp_path / "model", backbone, vocab, layer, 256)
    opened = sentence_transformers.SentenceTransformer(str(tmp_path / "model"), device="cpu")
    found = opened.encode(LINES)
    np.testing.assert_allclose(
        found, il.encode(tmp_path / "model", LINES, layer=layer), atol=1e-5
    )
    if kind != "mmbert":
        # no layer above is computed
        assert opened[0].auto_model.config.num_hidden_layers == layer
