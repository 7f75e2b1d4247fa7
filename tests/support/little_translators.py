"""Runs that translate, untrained: what they say is nonsense, but always the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import torch

from interlace.data.vocab import Vocab
from interlace.models.build import from_shape
from interlace.models.seq2seq import fresh_decoder, join
from interlace.models.settings import Shape

if TYPE_CHECKING:
    from pathlib import Path

    from interlace.models.seq2seq import Seq2Seq

LINES = [
    "the old doctor reads three letters",
    "a cat",
    "she sees two red books on the table and the young cat sees the old doctor in the big house",
    "der alte Arzt",
    "it",
    "the big house and a dog",
]
LONGEST = 64


def little_vocab(size: int = 120) -> Vocab:
    """Subwords of `LINES`, with targets for English and German."""
    return Vocab.learn({"en": LINES * 4}, size=size, kind="bpe").with_target_languages(
        ["en", "de"]
    )


def little_model(
    family: str, vocab: Vocab, seed: int = 3, languages: tuple[str, ...] = ()
) -> Seq2Seq:
    """Weights so large that what it says hangs on what it reads, and an end that comes now and then."""
    shape = Shape(family=family, layers=2, width=32, heads=4, max_length=LONGEST, init_std=0.3)
    encoder = from_shape(shape, vocab, languages, seed)
    model = join(encoder, fresh_decoder(encoder.model.config, seed)).eval()
    with torch.no_grad():
        head = model.decoder.model.get_output_embeddings()
        if head.bias is not None:
            head.bias[vocab.end] += 1.0
    return model


def little_run(folder: Path, vocab: Vocab, seed: int = 3, **objectives: Any) -> Path:
    """A finished run's folder; by default it learnt `translation` of en-de, both ways."""
    objectives = objectives or {"translation": {"max_length": LONGEST}}
    recipe = {
        "name": "little",
        "corpora": {
            "pairs": {"pairs": ["en-de"], "train": ["a.{language}"]},
            "text": {"languages": ["en", "fr"], "train": ["b.{language}"]},
        },
        "objectives": objectives,
    }
    little_model("modernbert", vocab, seed).save_pretrained(folder / "model", vocab)
    (folder / "recipe.json").write_text(json.dumps(recipe))
    (folder / "run.json").write_text(json.dumps({"finished": True}))
    return folder
